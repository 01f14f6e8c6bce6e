"""The type checker: what an environment declares, the types of expressions, and what they can cost."""
