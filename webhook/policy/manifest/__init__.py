"""Policies and bindings as manifests: types, validation, compiled expressions."""
