"""CEL in kube-apiserver: environments by release, libraries, device selectors."""
