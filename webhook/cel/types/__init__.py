"""CEL's types, and the checker that finds them."""
