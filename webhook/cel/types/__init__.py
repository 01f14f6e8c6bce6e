"""CEL's types, and the values that are of them."""
