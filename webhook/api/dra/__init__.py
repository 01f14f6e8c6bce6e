"""The types of resource.k8s.io; reads like Kubernetes' types.go."""
