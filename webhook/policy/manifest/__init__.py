"""Policies and bindings as manifests: their types, what is wrong with them, and their compiled expressions."""
