"""CEL's types and values."""
