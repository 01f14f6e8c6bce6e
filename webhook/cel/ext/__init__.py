"""CEL's standard library, and the extension libraries of cel-go that Kubernetes uses."""
