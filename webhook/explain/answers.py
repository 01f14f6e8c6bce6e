"""Finds what an answer of Kubernetes is about, as kubectl and events print it: fields, a kind, or another command."""

from __future__ import annotations

import re

from webhook.explain.query import UnknownNameError, explain, only_kind_with
from webhook.problem import cut

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Final

_INVALID: Final = re.compile(r'\b(\w+)(?:\.[\w.-]+)? "[^"]*" is invalid:\s')
_FIELD: Final = re.compile(r"(?:\[|, |: |\* |\A)((?:metadata|spec|status|webhooks)[^\s:,]*): ")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
"""A value, which may look like a field."""
_NOT_DECODED: Final = re.compile(r'\b(\w+) in version "([\w./-]+)" cannot be handled as a ')
_IN_GO: Final = re.compile(r'unknown field "([^"]+)"|Go struct field \w+\.([\w.]+) of type ')
_NO_MATCH: Final = re.compile(r'no matches for kind "(\w+)" in version "([^"]*)"')
_OF_SCHEDULER: Final = re.compile(
    r'nodes are available: |running (?:\w+ plugin )?"DynamicResources"|cannot allocate all claims|'
    r"cannot schedule extended resource claim|invalid resource pools|timed out trying to allocate|"
    r"waiting for binding conditions|Scheduling is blocked|device class \S+ does not exist|"
    r"(?:deallocation|deletion) of ResourceClaim completed|"
    r"(?i:resource ?claim) (?:in use|.*not (?:allocated|available|created|reserved))|"
    r"\bnode\(s\) |\bInsufficient [\w./-]+"
)
_OTHERS: Final = (
    (
        re.compile(r"(\w+AdmissionPolicy) '?([\w.-]+)'? with binding"),
        r"\1 \2 of the cluster says this: `draguard validate --policies POLICIES MANIFESTS` shows the expression",
    ),
    (
        _OF_SCHEDULER,
        "The scheduler says this: `draguard simulate --cluster CLUSTER` explains why the pod stays pending",
    ),
    (
        re.compile(r'cannot (\S+) resource "([^"]+)" in API group "([^"]*)"'),
        r'RBAC says this: no role of the user has a rule with apiGroups: ["\3"], resources: ["\2"], verbs: ["\1"]',
    ),
)
"""Answers that are not about a field, and who explains them."""
_MOST: Final = 5
"""The most fields of one answer that are described."""
_LONGEST: Final = 4096
"""The characters of an answer that are read: it may quote a whole object."""
_END: Final = "`draguard validate` shows where a manifest is wrong, and what was probably meant"


def explain_answer(answer: str, *, kubernetes: str | None = None) -> str:
    """Describe what an answer of Kubernetes is about.

    Args:
        answer: The answer, such as ``The ResourceClaim "gpu" is invalid: spec.devices.requests: Required value``.
        kubernetes: The release whose fields and rules are shown; None for all releases.

    Raises:
        UnknownNameError: It names no field and no kind.
        ValueError: ``kubernetes`` is not a known version.
    """
    answer = answer[:_LONGEST]
    parts = _described(_subjects(answer), kubernetes)
    for pattern, says in () if parts else _OTHERS:
        if found := pattern.search(answer):
            return found.expand(says)
    if not parts:
        parts = _described(_without_kind(answer, kubernetes), kubernetes)
    if not parts:
        what = "neither a name nor an answer of the API server that names a field"
        raise UnknownNameError(f"{cut(answer, 80)} is {what}: {_END}")
    return "\n\n".join([*parts[:_MOST], _END])


def _described(subjects: Iterable[tuple[str, str | None]], kubernetes: str | None) -> list[str]:
    """Describe fields or kinds, each with its API version, if that is stated."""
    parts = []
    for name, api_version in dict.fromkeys(subjects):
        try:
            parts.append(explain(name, api_version=api_version, kubernetes=kubernetes))
        except UnknownNameError as error:
            parts.append(str(error))
    return parts


def _without_kind(answer: str, kubernetes: str | None) -> Iterator[tuple[str, str | None]]:
    """Yield the fields of a part of an answer that does not name their kind, of the only kind that can be meant.

    Raises:
        UnknownNameError: Several kinds can be meant, or none.
    """
    unknown = [name or wrong for name, wrong in _IN_GO.findall(answer)]
    paths = dict.fromkeys(unknown or _FIELD.findall(_QUOTED.sub("", answer)))
    meant = {kind for path in paths if (kind := only_kind_with(path, kubernetes=kubernetes))}
    if paths and len(meant) != 1:
        path = next(iter(paths))
        raise UnknownNameError(f"{path} has no kind before it: write KIND.{path}, such as Pod.spec")
    for path in paths:
        for name, newest in meant:
            yield f"{name}.{path}", newest if unknown else None


def _subjects(answer: str) -> Iterator[tuple[str, str | None]]:
    """Yield the fields or the kind that an answer is about, each with its API version, if that is stated."""
    if refused := list(_INVALID.finditer(answer)):
        ends = [*(each.start() for each in refused[1:]), len(answer)]
        for each, end in zip(refused, ends, strict=True):
            for path in _FIELD.findall(_QUOTED.sub("", answer[each.end() : end])):
                yield f"{each[1]}.{path}", None
    elif found := _NOT_DECODED.search(answer):
        for unknown, wrong in _IN_GO.findall(answer):
            yield f"{found[1]}.{unknown or wrong}", found[2]
    elif found := _NO_MATCH.search(answer):
        yield found[1], None
