"""The type checker: declarations, type inference, cost estimates."""
