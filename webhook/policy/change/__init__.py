"""What mutating policies change: apply configurations, JSON Patches, conversion, defaults."""
