"""The scheduler's structured allocator: which devices claims get on a node, or why none.

Result for result what k8s.io/dynamic-resource-allocation ``structured`` does in 1.34, 1.35 and 1.36. An `Allocator` (a
state of a cluster) makes an `Attempt` (some claims, read by ``demand``). That looks at one node after the other
(``view``: its ``pools``, and what of them is in use by ``usage``) and has devices looked for (``search``).
"""

from webhook.allocation.allocator import Allocator, Attempt
from webhook.allocation.answers import Failure, Result
from webhook.allocation.features import Features

__all__ = ["Allocator", "Attempt", "Failure", "Features", "Result"]
