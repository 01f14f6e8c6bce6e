"""Certificates that the webhook manages itself, by means of the Kubernetes API."""
