"""The types of other groups that use or describe devices: metadata, pods, workloads, pod groups."""
