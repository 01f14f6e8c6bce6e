"""Structural schemas: custom resources as an API server decodes, completes and validates them.

Follows apiextensions-apiserver ``pkg/apiserver/schema`` and ``pkg/apiserver/validation``, and kube-openapi
``pkg/validation/validate``. :func:`webhook.structural.validation.validate` judges a JSON value by a schema with rules;
:mod:`webhook.structural.definition` reads CustomResourceDefinitions.
"""
