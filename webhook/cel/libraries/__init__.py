"""The libraries that Kubernetes adds to CEL (apiserver/pkg/cel/library), a module each.

Formats of Kubernetes, quantities and names above all, are read by `webhook.formats`, the lowest layer, which knows
nothing of objects either.
"""
