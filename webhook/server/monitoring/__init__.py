"""What is told of a running server: its log, its metrics."""
