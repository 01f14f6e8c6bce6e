"""Structural schemas: custom resources as an API server decodes, completes and validates them.

Follows apiextensions-apiserver ``pkg/apiserver/schema`` and ``pkg/apiserver/validation``, and kube-openapi
``pkg/validation/validate``. :mod:`webhook.structural.definition` reads CustomResourceDefinitions, and judges objects by
their schemas (:mod:`webhook.structural.validation`) and rules in CEL (:mod:`webhook.structural.rules`).
"""

from __future__ import annotations

from typing import Final

SCHEMA: Final = "schema"
"""The name of the rule that a schema has no other name for."""
