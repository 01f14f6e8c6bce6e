"""Recorded verdicts of real kube-apiservers, and how far draguard agrees with them."""
