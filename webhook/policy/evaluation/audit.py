"""Audit annotations of policies (apiserver ``pkg/admission/plugin/policy/validating``)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from webhook.problem import GO_JSON_ESCAPES

if TYPE_CHECKING:
    from webhook.objects import JSONObject
    from webhook.policy.evaluation.verdict import Decision
    from webhook.policy.manifest.model import Policy

MAX_ANNOTATION_BYTES: Final = 10 * 1024
"""The maximum length of an audit annotation's value; the rest is cut off."""
MAX_AUDITED_FAILURES: Final = 50
VALIDATION_FAILURE: Final = "validation.policy.admission.k8s.io/validation_failure"
"""The audit annotation that lists failures of bindings with the action Audit."""
MUTATION_FAILURE: Final = "mutation_failure"
"""draguard's own audit annotation: if a mutating policy fails, the API server refuses the request or ignores it."""


class Audit:
    """Collects audit annotations; `failures` is the key of the one that lists failures."""

    def __init__(self, failures: str) -> None:
        self._key = failures
        self._failures: list[JSONObject] = []
        self._values: dict[str, list[str]] = {}

    def failure(self, index: int, decision: Decision) -> None:
        """Record that an object fails a policy's expression, the ``index``-th of its sort."""
        binding = decision.binding
        if len(self._failures) == MAX_AUDITED_FAILURES:
            return
        self._failures.append(
            {
                "message": decision.message,
                "policy": decision.policy.name,
                "binding": binding.name if binding else "",
                "expressionIndex": index,
                "validationActions": list(decision.actions),
            }
        )

    def annotate(self, policy: Policy, key: str, value: str) -> None:
        """Record the value of an audit annotation; equal values of several bindings are recorded once."""
        cut = value.encode(errors="replace")[:MAX_ANNOTATION_BYTES].decode(errors="replace")
        values = self._values.setdefault(f"{policy.name}/{key}", [])
        if cut not in values:
            values.append(cut)

    def published(self) -> dict[str, str]:
        """Return the annotations."""
        published = {key: ", ".join(values) for key, values in self._values.items()}
        if self._failures:
            text = json.dumps(self._failures, ensure_ascii=False, separators=(",", ":"))
            published[self._key] = text.translate(GO_JSON_ESCAPES)
        return published
