"""Mutations of policies: apply configurations, JSON Patches, defaults."""
