"""What calls cost, as cel-go counts: measured while they run, and estimated before."""
