"""The scheduler's structured allocator: which devices claims get on a node, or why they get none.

Gives the same results as k8s.io/dynamic-resource-allocation ``structured`` in 1.34, 1.35 and 1.36. An `Allocator` (the
state of a cluster) makes an `Attempt` (some claims, read by ``demand``). The attempt looks at one node after the other
(its ``pools``, and the part of them that is in use) and searches for devices (``search``).
"""

from webhook.allocation.allocator import Allocator, Answer, Attempt
from webhook.allocation.features import Features

__all__ = ["Allocator", "Answer", "Attempt", "Features"]
