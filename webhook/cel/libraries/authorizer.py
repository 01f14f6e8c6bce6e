"""Questions to the cluster's authorizer: `authorizer.group("").resource("pods").check("get")` (library/authz.go)."""

from __future__ import annotations

from typing import Final

from webhook.cel.declarations import Library
from webhook.cel.types import struct

_PREFIX: Final = "kubernetes.authorization."
AUTHORIZER: Final = struct(f"{_PREFIX}Authorizer")
PATH_CHECK: Final = struct(f"{_PREFIX}PathCheck")
GROUP_CHECK: Final = struct(f"{_PREFIX}GroupCheck")
RESOURCE_CHECK: Final = struct(f"{_PREFIX}ResourceCheck")
DECISION: Final = struct(f"{_PREFIX}Decision")


SELECTORS: Final = Library(
    "kubernetes.authzSelectors",
    functions=(
        _narrowing("fieldSelector", "authorizer_fieldselector", "field_selector"),
        _narrowing("labelSelector", "authorizer_labelselector", "label_selector"),
    ),
)

VARIABLES: Final = {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}
"""The variables that the functions start from."""
