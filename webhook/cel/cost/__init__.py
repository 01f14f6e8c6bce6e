"""The cost of calls, as cel-go counts it: at run time, and estimated."""
