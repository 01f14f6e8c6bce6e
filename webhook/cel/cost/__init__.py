"""What expressions cost, as cel-go counts: while they run, and estimated before."""
