"""What a user may do, as far as that can be told without a cluster: by a list of rules, and not at all otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.policy.request import Request


class Authorizer(Protocol):
    """Knows what users may do."""

    def bindings(self, request: Request) -> Mapping[str, Any]:
        """Return what expressions ask: ``authorizer`` and ``authorizer.requestResource``."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Say what was assumed, if anything was asked."""
        ...


class _DenyAll:
    def bindings(self, request: Request) -> Mapping[str, Any]:
        del request
        return {}

    def notes(self) -> tuple[str, ...]:
        return ()


DENY_ALL: Authorizer = _DenyAll()
