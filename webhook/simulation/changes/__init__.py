"""Changes to pods, claims, nodes and the cluster that would let a pending pod be scheduled."""
