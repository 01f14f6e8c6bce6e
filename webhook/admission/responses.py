"""AdmissionReview responses, within the limits that API servers set."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from webhook.admission.requests import API_VERSION, kind_of, name_of
from webhook.budget import current
from webhook.objects import text
from webhook.problem import BAD_REQUEST, ERROR, Problem, aggregate, cut

if TYPE_CHECKING:
    from webhook.policy.evaluation.verdict import Verdict

MAX_WARNING_BYTES = 256
"""The API server cuts longer warnings (apiserver ``pkg/endpoints/filters/warning.go``)."""
MAX_WARNINGS_BYTES = 4096
"""The API server drops warnings beyond this sum."""
MAX_CAUSES = 100
"""The maximum number of causes in a refusal; the message states the total."""
_MAX_TEXT = 4000
"""The maximum characters of a cause; only a cause that quotes the object can be longer."""
_MAX_TEXTS = 1 << 15
"""The maximum bytes of all causes of a refusal: as JSON, with the message, they stay below 1 MiB."""
_MAX_NAME = 1000
"""The maximum characters of a name that a response repeats; the API server accepts 253."""
MAX_ANNOTATION_KEY = 63
"""The API server drops an audit annotation with a longer key (apiserver ``pkg/audit/context.go``, checkKeyFormat)."""
MAX_ANNOTATION_BYTES = 10 * 1024
"""The maximum size of a policy's audit annotation (apiserver ``policy/validating/validator.go``), and so of ours."""

_MAX_PATCH_BYTES = 3 << 18
"""The maximum size of a patch in base64: with warnings and annotations the response stays below 1 MiB."""
_MAX_ANNOTATIONS = 1 << 19
"""The maximum size of the audit annotations of policies in JSON; those beside a patch are shorter."""

_MORE = "…"
_ASSUMED = "assumed"
"""The audit annotation with the assumptions of policies."""


class PatchTooLargeError(Exception):
    """A patch is too long for a response."""


def as_review(uid: str, response: Mapping[str, Any]) -> dict[str, Any]:
    """Make an AdmissionReview of a response, which has no ``uid``."""
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": {"uid": uid, **response}}


def refused(problems: Sequence[Problem], request: Mapping[str, Any], obj: Any) -> dict[str, Any]:
    """Refuse a request as the API server does (apimachinery ``pkg/api/errors/errors.go``)."""
    kind, group, version = (cut(text, _MAX_NAME) for text in kind_of(request, obj))
    name = cut(name_of(request, obj), _MAX_NAME)
    first = problems[0]
    if first.reason == BAD_REQUEST:
        message = cut(first.message, _MAX_TEXTS)
        what = f'{kind} in version "{version}" cannot be handled as a {kind}: ' if kind else ""
        return refusal(400, BAD_REQUEST, f"{what}{message}")
    if first.reason == "Conflict":
        plural = cut(text(request, "resource", "resource"), _MAX_NAME) or kind.lower()
        message = (
            f'Operation cannot be fulfilled on {_qualified(plural, group)} "{name}": {cut(first.message, _MAX_TEXTS)}'
        )
        return refusal(409, "Conflict", message, {"name": name, "group": group, "kind": plural})
    texts = list(dict.fromkeys(str(problem) for problem in problems))
    shown = _bounded(texts)
    if len(texts) > len(shown):
        shown.append(f"and {len(texts) - len(shown)} more")
    causes = [
        {"reason": problem.reason, "message": text, "field": cut(problem.field, _MAX_NAME)}
        for problem, text in zip(
            problems, _bounded([problem.message for problem in problems[:MAX_CAUSES]]), strict=False
        )
    ]
    details = {"name": name, "group": group, "kind": kind, "causes": causes}
    return refusal(422, "Invalid", f'{_qualified(kind, group)} "{name}" is invalid: {aggregate(shown)}', details)


def denied(verdict: Verdict, request: Mapping[str, Any]) -> dict[str, Any]:
    """Refuse a request as a policy in the API server does (apiserver ``policy/validating/dispatcher.go``)."""
    details = {
        "name": cut(name_of(request, request.get("object")), _MAX_NAME),
        "group": cut(text(request, "resource", "group"), _MAX_NAME),
        "kind": cut(text(request, "resource", "resource"), _MAX_NAME),
        "causes": [{"message": cause} for cause in _bounded(verdict.causes)],
    }
    return refusal(verdict.code, verdict.reason, cut(verdict.message, _MAX_TEXTS), details)


def _bounded(texts: Sequence[str]) -> list[str]:
    """Limit the number and length of texts, so that the response remains small."""
    return list(_fitting((cut(each, _MAX_TEXT) for each in texts[:MAX_CAUSES]), _MAX_TEXTS))


def refusal(code: int, reason: str, message: str, details: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Refuse a request with a ``metav1.Status``."""
    status = {"status": "Failure", "code": code, "reason": reason, "message": message}
    return {"allowed": False, "status": status | ({"details": details} if details else {})}


def _qualified(name: str, group: str) -> str:
    return f"{name}.{group}" if group else name


def patch(operations: Sequence[Mapping[str, object]]) -> dict[str, Any]:
    """Return a patch of an object as fields of a response; none for no operations.

    Raises:
        PatchTooLargeError: The patch is longer than `_MAX_PATCH_BYTES`.
    """
    written = list(_fitting(map(json.dumps, operations), _MAX_PATCH_BYTES // 4 * 3, len(", ")))
    if len(written) < len(operations):
        raise PatchTooLargeError
    encoded = base64.b64encode(f"[{', '.join(written)}]".encode()).decode()
    return {"patchType": "JSONPatch", "patch": encoded} if written else {}


def _fitting(texts: Iterable[str], most: int, between: int = 0) -> Iterator[str]:
    """Yield the first texts, as many as fit into some bytes; what is between them counts, too."""
    for each in texts:
        most -= len(each.encode(errors="replace")) + between
        if most < 0:
            return
        yield each


def with_remarks(response: dict[str, Any], texts: Sequence[str], annotations: Mapping[str, str]) -> dict[str, Any]:
    """Add warnings within the API server's limits, and audit annotations."""
    if not texts and not annotations:
        return response
    kept = warnings(texts)
    return response | ({"warnings": kept} if kept else {}) | ({"auditAnnotations": annotations} if annotations else {})


def warnings(texts: Iterable[str]) -> list[str]:
    """Keep warnings within the API server's limits."""
    return list(_fitting((_clipped(each, MAX_WARNING_BYTES) for each in texts), MAX_WARNINGS_BYTES))


def _clipped(text: str, most: int) -> str:
    """Shorten a text to the most bytes."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) > most:
        encoded = encoded[: most - len(_MORE.encode())].decode("utf-8", "ignore").encode() + _MORE.encode()
    return encoded.decode()


def noted(problems: Iterable[Problem]) -> dict[str, str]:
    """List the findings that fit into an audit annotation."""
    fields = ({"rule": each.rule, "field": each.field, "message": each.message} for each in problems)
    texts = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in fields)
    listed = ",".join(_fitting(texts, MAX_ANNOTATION_BYTES - 1, len(",")))  # brackets are one more than commas
    return {"findings": f"[{listed}]"} if listed else {}


def annotations_of(verdict: Verdict) -> dict[str, str]:
    """Rename audit annotations for a webhook: the API server prefixes each key with the webhook's name and ``/``."""
    named = {_annotation_key(key): value for key, value in verdict.audit_annotations.items()}
    fitting = _fitting(map(json.dumps, named.values()), _MAX_ANNOTATIONS)
    return {key: named[key] for key, _ in zip(named, fitting, strict=False)} | assumed(verdict.notes)


def assumed(notes: Collection[str]) -> dict[str, str]:
    """Write an audit annotation with the assumptions of policies."""
    return {_ASSUMED: _clipped("; ".join(notes), MAX_ANNOTATION_BYTES)} if notes else {}


def _annotation_key(key: str) -> str:
    """Spell ``policy/key`` without a slash; a long one is cut at its start, which tells least."""
    prefix, _, name = key.rpartition("/")
    own = name if prefix == "validation.policy.admission.k8s.io" else f"{prefix}.{name}"
    return own[-MAX_ANNOTATION_KEY:].lstrip("-._")


_LARGEST: Final = 4096
"""The largest object to look for hints in: its values and their characters, without metadata."""
_LONGEST: Final = MAX_WARNING_BYTES // 2
"""The most bytes of a hint: the rest of a warning is its finding, shortened for it."""


def worded(problems: Sequence[Problem], obj: Any) -> list[str]:
    """Write findings as warnings.

    Args:
        problems: The findings, of which warnings have their hints already.
    """
    texts = list(map(str, problems))
    errors = [index for index, problem in enumerate(problems) if problem.level == ERROR]
    if not errors or not isinstance(obj, dict):
        return texts
    size = _size([value for field, value in obj.items() if field != "metadata"])
    if size > _LARGEST:
        return texts
    from webhook.hints.fields import hint_of  # most objects are valid

    for index in errors:
        if current().left < 2 * size:
            break
        current().spend(size)
        if hint := problems[index].hint or hint_of(problems[index], obj).hint:
            end = f" ({hint})"
            length = len(end.encode("utf-8", "replace"))
            if length <= _LONGEST:
                texts[index] = _clipped(texts[index], MAX_WARNING_BYTES - length) + end
    return texts


def _size(value: Any) -> int:
    """Count the values in a value, and the characters of texts; no further than the largest."""
    size, pending = 0, [value]
    while pending and size <= _LARGEST:
        each = pending.pop()
        size += 1 + (len(each) if isinstance(each, str | list | dict) else 0)
        if size > _LARGEST:
            break
        if isinstance(each, dict):
            pending += (*each, *each.values())
        elif isinstance(each, list):
            pending += each
    return size
