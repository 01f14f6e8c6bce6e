"""What real kube-apiservers answered, and how far draguard agrees with it."""
