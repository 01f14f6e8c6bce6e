"""Tests of the webhook's own certificate in a cluster."""
