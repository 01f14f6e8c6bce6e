"""The API types of Dynamic Resource Allocation; reads like Kubernetes' ``types.go``, one module per kind."""
