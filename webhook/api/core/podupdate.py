"""Updates of pods: which fields of the spec may change.

Rules follow ``pkg/apis/core/validation/validation.go`` (ValidatePodUpdate). Specs are compared with the defaults of
``pkg/apis/core/v1/defaults.go`` and the additions of admission plugins that see updates: DefaultTolerationSeconds and
Priority. The ServiceAccount plugin sees only new pods: an update without the account and the volume that it added
removes them, and is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from webhook.api.core.nodeselector import NodeSelectorRequirement, NodeSelectorTerm, shown_terms
from webhook.formats.quantities import decode_quantity
from webhook.problem import Path, Problem, forbidden, invalid, value_at
from webhook.release import Release

Complete = Callable[[Any], Any]

_MAX_INT32 = 2**31 - 1
_MAX_DEPTH = 32
"""The greatest depth of a pod's fields; deeper values are not compared."""
_RESOURCES = frozenset({"limits", "requests", "overhead"})
_QUANTITIES = frozenset({"divisor", "sizeLimit"})


def changes(
    new: dict[str, Any], old: dict[str, Any], complete: Complete, path: Path, release: Release
) -> Iterator[Problem]:
    """Find the changes of a pod's spec that the API server refuses.

    Args:
        complete: Sets the defaults of a pod.
    """
    if new == old:
        return
    before = _settled(old, complete)
    after = _admitted(_settled(new, complete), before)
    for kind in ("containers", "initContainers"):
        if len(after.get(kind, ())) != len(before.get(kind, ())):
            yield forbidden(path / kind, "pod updates may not add or remove containers")
            return
    if refused := list(_deadline(after, before, path / "activeDeadlineSeconds")):
        yield from refused
        if "activeDeadlineSeconds" in after:
            return
    yield from _scheduling(after, before, new, path, release)
    _overlook(after, before)
    if changed := list(_different(after, before, "")):
        detail = f"pod updates may not change fields other than {','.join(_UPDATABLE)}"
        yield forbidden(path, detail)._replace(hint=f"changed: {', '.join(changed)}")


_UPDATABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)


def _deadline(after: dict[str, Any], before: dict[str, Any], path: Path) -> Iterator[Problem]:
    """Allow a deadline to be set, or moved to an earlier time."""
    new, old = after.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds")
    if new is None:
        if old is not None:
            yield invalid(path, None, "must not update from a positive integer to nil value")
    elif not 0 <= new <= _MAX_INT32:
        yield invalid(path, new, f"must be between 0 and {_MAX_INT32}, inclusive")
    elif old is not None and old < new:
        yield invalid(path, new, "must be less than or equal to previous value")


def _scheduling(
    after: dict[str, Any], before: dict[str, Any], new: dict[str, Any], path: Path, release: Release
) -> Iterator[Problem]:
    """Allow tolerations to be added, and their seconds to change; gates to be removed; and gated pods to be narrowed.

    Args:
        new: The spec as submitted.
    """
    given = [_lasting(toleration) for toleration in after.get("tolerations", ())]
    if any(_lasting(toleration) not in given for toleration in before.get("tolerations", ())):
        yield forbidden(path / "tolerations", "existing toleration can not be modified except its tolerationSeconds")
    known = [gate.get("name") for gate in before.get("schedulingGates", ())]
    for name, index in {gate.get("name"): index for index, gate in enumerate(after.get("schedulingGates", ()))}.items():
        if name not in known:
            detail = f"only deletion is allowed, but found new scheduling gate '{name or ''}'"
            yield forbidden(path / "schedulingGates" / index / "name", detail)
    if before.get("schedulingGates"):
        selector = new.get("nodeSelector")
        if not before.get("nodeSelector", {}).items() <= (selector or {}).items():
            detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
            yield invalid(path / "nodeSelector", selector, detail)
        yield from _node_affinity(after, before, path / "affinity", new.get("affinity"), release)


def _lasting(toleration: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in toleration.items() if name != "tolerationSeconds"}


def _node_affinity(
    after: dict[str, Any], before: dict[str, Any], path: Path, affinity: object, release: Release
) -> Iterator[Problem]:
    """Allow conditions to be added to the terms of a gated pod's node affinity."""
    path = path / "nodeAffinity" / "requiredDuringSchedulingIgnoredDuringExecution" / "nodeSelectorTerms"
    new, old = _terms(after), _terms(before)
    if old and len(new) != len(old):
        detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        submitted = value_at(affinity, path[2:])
        yield invalid(path, shown_terms([*map(_shown, new)] if submitted else submitted, release), detail)
        return
    for index, term in enumerate(old):
        # A term without conditions matches no node, and cannot get any.
        added = all(new[index].get(name, [])[: len(each)] == each for name, each in term.items())
        if not added or (new[index] and not term):
            yield invalid(path / index, _shown(new[index]), "only additions are allowed (no mutations or deletions)")


def _terms(spec: dict[str, Any]) -> Sequence[dict[str, Any]]:
    node = spec.get("affinity", {}).get("nodeAffinity", {})
    required = node.get("requiredDuringSchedulingIgnoredDuringExecution", {})
    terms: Sequence[dict[str, Any]] = required.get("nodeSelectorTerms", ())
    return terms


def _shown(term: dict[str, Any]) -> dict[str, Any]:
    """Return a term for messages: without empty fields, the others in Go's order."""
    return {
        name: [{part: each[part] for part in NodeSelectorRequirement.fields if each.get(part)} for each in term[name]]
        for name in NodeSelectorTerm.fields
        if term.get(name)
    }


def _overlook(after: dict[str, Any], before: dict[str, Any]) -> None:
    """Undo the changes that are allowed, or already reported."""
    for kind in ("containers", "initContainers"):
        for container, stored in zip(after.get(kind, ()), before.get(kind, ()), strict=True):
            container["image"] = stored.get("image")
            stored.setdefault("image", None)
    overlooked = ["activeDeadlineSeconds", "tolerations", "schedulingGates"]
    if before["terminationGracePeriodSeconds"] < 0 and after["terminationGracePeriodSeconds"] == 1:
        overlooked.append("terminationGracePeriodSeconds")
    if before.get("schedulingGates"):
        overlooked.append("nodeSelector")
        _overlook_node_affinity(after, before)
    for name in overlooked:
        after.pop(name, None)
        before.pop(name, None)


def _overlook_node_affinity(after: dict[str, Any], before: dict[str, Any]) -> None:
    """Undo a change of node affinity; an affinity that is empty then goes, if it came with the node affinity."""
    given, kept = after.get("affinity", {}), before.get("affinity", {}).get("nodeAffinity")
    if given.get("nodeAffinity") == kept:
        return
    others = {name: value for name, value in given.items() if name != "nodeAffinity"}
    if kept is not None:
        after["affinity"] = {**others, "nodeAffinity": kept}
    elif others or "affinity" in before:
        after["affinity"] = others
    else:
        del after["affinity"]


def _different(after: dict[str, Any], before: dict[str, Any], prefix: str) -> Iterator[str]:
    """Name the fields that differ, those of containers one by one."""
    for name in sorted({**before, **after}):
        new, old = after.get(name), before.get(name)
        if new == old:
            continue
        if name in {"containers", "initContainers"} and not prefix:
            for index, (container, stored) in enumerate(zip(new or (), old or (), strict=True)):
                yield from _different(container, stored, f"{name}[{index}].")
        else:
            yield f"{prefix}{name}"


# What is compared


def _settled(spec: dict[str, Any], complete: Complete) -> dict[str, Any]:
    """Return a pod's spec with the API server's defaults, and quantities in place of their texts."""
    result: dict[str, Any] = _measured(complete({"spec": spec})["spec"], "", 0)
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        for container in result.get(kind, ()):
            # Whether the API server adds the default policy depends on the release; it means the same.
            policies = container.pop("resizePolicy", ())
            if policies := [each for each in policies if each.get("restartPolicy") != "NotRequired"]:
                container["resizePolicy"] = policies
    if account := result.pop("serviceAccount", None):
        result.setdefault("serviceAccountName", account)
    return result


def _measured(value: Any, name: str, depth: int) -> Any:
    """Return a value without nulls and empty lists, and with quantities in place of their texts."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [_measured(each, name, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    if name in _RESOURCES:
        return {key: _quantity(each) for key, each in value.items()}
    return {
        key: _quantity(each) if key in _QUANTITIES else each if type(each) is str else _measured(each, key, depth + 1)
        for key, each in value.items()
        if each or (each is not None and type(each) is not list)
    }


def _quantity(value: Any) -> Any:
    try:
        return decode_quantity(value)
    except ValueError:
        return value


def _admitted(after: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Add the additions of admission plugins to an update."""
    given = after.get("tolerations", [])
    added = [
        {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
        for taint in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
        if not any(each.get("key") in {None, taint} and each.get("effect") in {None, "NoExecute"} for each in given)
    ]
    kept: dict[str, Any] = {name: before[name] for name in ("priority", "preemptionPolicy") if name in before}
    return {**kept, **after, "tolerations": [*given, *added]}
