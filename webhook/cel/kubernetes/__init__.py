"""CEL as kube-apiserver has it: its environments by release, its libraries, and its device selectors."""
