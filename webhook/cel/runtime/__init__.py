"""From a checked tree to a program: closures, their frame, and what evaluating costs."""
