"""Faults of the objects in a cluster: claims that no pod uses, hardware that is published twice, silent drivers.

Each rule is a function over all of the cluster, with its page in ``draguard explain``. Beside these, some rules about
references apply, and all objects of Dynamic Resource Allocation are judged as if they were written again.
"""

from webhook.scan.rules import every_rule

__all__ = ["every_rule"]
