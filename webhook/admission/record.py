"""The record of a review, for metrics and the decision log."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from webhook.admission.enforcement import Mode
from webhook.admission.requests import kind_of, name_of
from webhook.objects import text

Endpoint = Literal["validate", "mutate"]
ALLOWED: Literal["allowed"] = "allowed"
DENIED: Literal["denied"] = "denied"
EXEMPT: Literal["exempt"] = "exempt"
FAILED: Literal["failed"] = "failed"
"""Answering failed: the failure policy has decided."""
MALFORMED: Literal["malformed"] = "malformed"
"""The body was not an AdmissionReview."""
Decided = Literal["allowed", "denied", "exempt", "failed", "malformed"]


class Call(msgspec.Struct, frozen=True):
    """A call of the webhook.

    Args:
        endpoint: The validating or the mutating endpoint.
        fail_open: Whether a request is admitted when answering it fails; None to follow the options.
        deadline: When the answer is due, in seconds of ``time.monotonic()``; None without a deadline.
        is_inline: Whether other requests wait meanwhile, so that too much work is reported instead of done.
    """

    endpoint: Endpoint
    fail_open: bool | None = None
    deadline: float | None = None
    is_inline: bool = False

    @property
    def is_late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() >= self.deadline


class RecordedFinding(NamedTuple):
    """A finding, and its effect.

    Args:
        rule: The rule's name; empty if a policy found it.
        policy: The policy's name; empty if a rule found it.
        mode: Its effect: a refusal, a warning, or a record in the audit log.
        is_error: Whether the policy could not be evaluated.
    """

    rule: str
    policy: str
    mode: Mode
    is_error: bool = False


class Record(msgspec.Struct):
    """The record of a review; never the object itself.

    Args:
        endpoint: The endpoint that was called.
        request: The request as it was sent; empty if there was none.
        found: The findings and their effects.
        patched: Whether the object is changed.
        warnings: The number of warnings to the user.
        cost: The cost of evaluating policies, in CEL's units.
        message: Why the request was refused; else the first finding, or why the review could not be answered.
    """

    endpoint: Endpoint
    decision: Decided = ALLOWED
    request: Mapping[str, Any] = msgspec.field(default_factory=dict)
    found: list[RecordedFinding] = msgspec.field(default_factory=list)
    patched: bool = False
    warnings: int = 0
    cost: int = 0
    message: str = ""

    @property
    def uid(self) -> str:
        """The uid of the request; an API server makes a new one for each webhook that it calls."""
        return str(self.request.get("uid") or "")

    @property
    def operation(self) -> str:
        """CREATE, UPDATE, DELETE or CONNECT."""
        return str(self.request.get("operation") or "")

    @property
    def kind(self) -> tuple[str, str, str]:
        """The object's kind, group and version."""
        return kind_of(self.request, self.request.get("object"))

    @property
    def resource(self) -> str:
        """The resource, such as ``resourceclaims.resource.k8s.io/status``."""
        group, name = text(self.request, "resource", "group"), text(self.request, "resource", "resource")
        subresource = str(self.request.get("subResource") or "")
        return (f"{name}.{group}" if group else name) + (f"/{subresource}" if subresource else "")

    @property
    def namespace(self) -> str:
        """The object's namespace, empty if it has none."""
        return text(self.request, "namespace")

    @property
    def name(self) -> str:
        """The object's name, empty if the API server has not generated it yet."""
        return name_of(self.request, self.request.get("object"))

    @property
    def user(self) -> str:
        """The user who sent the object."""
        return text(self.request, "userInfo", "username")

    @property
    def dry_run(self) -> bool:
        """Whether nothing will be stored."""
        return self.request.get("dryRun") is True
