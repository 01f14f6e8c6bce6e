"""Hints for findings of the API server, by the object around them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from webhook.api.core import placement
from webhook.api.core.placement import COMPARING, COMPARING_GATE, COMPARING_SINCE
from webhook.api.core.podspec import SOURCES
from webhook.api.dra import taints
from webhook.api.dra.devicerequest import ALL
from webhook.api.dra.names import STANDARD_ATTRIBUTES, STANDARD_DOMAIN
from webhook.documents.dump import dump
from webhook.documents.placeholders import has_placeholder
from webhook.formats import NO_CASELESS_SUBDOMAIN, NO_LABEL, NO_SUBDOMAIN, near_semver
from webhook.formats.quantities import near_quantity
from webhook.hints import selectors
from webhook.hints.names import in_place, listed, renamed, well_formed
from webhook.objects import items, text
from webhook.patterns import Pattern
from webhook.problem import NOT_FOUND, REQUIRED, Advice, Fix, InYaml, Meant, Problem, value_at
from webhook.schema.decoding import holds_one
from webhook.spelling import certain, nearest

_TOLERATION: Final = {
    **dict.fromkeys(
        (placement.NO_VALUE, taints.NO_VALUE),
        "leave out value to tolerate all values of the key, or write operator: Equal to tolerate this one",
    ),
    placement.ONLY_EVICTING: "only NoExecute evicts pods: leave out tolerationSeconds, or write effect: NoExecute",
    placement.ONLY_EXISTS: "add the key of the taint, or write operator: Exists without a value for all taints",
}
"""How to fix a toleration, by the API server's text about it."""


def of_toleration(problem: Problem, obj: Any) -> Advice:
    """Suggest the fields that make a toleration valid; empty if unclear."""
    operator = text(value_at(obj, problem.path[:-1]), "operator")
    if operator in COMPARING and problem.path[-1] == "operator":
        is_known = COMPARING[0] in problem.allowed
        needs = f"needs the feature gate {COMPARING_GATE}, which is off"
        return Advice(f"{operator} {needs if is_known else f'is supported from Kubernetes 1.{COMPARING_SINCE} on'}")
    needless = Fix("remove", safe=False) if problem.path[-1] == "value" and operator == "Exists" else None
    return Advice(_TOLERATION.get(problem.detail, ""), needless)


_TAINT: Final = Pattern(r"([^=:]{1,317})(?:=([^=:]{0,63}))?(?::(\w{1,16}))?")
"""A taint as kubectl takes it: key=value:effect, perhaps without value or effect."""


def of_key(problem: Problem, _obj: Any) -> Advice:
    """Write the parts of a key that has a value in it as fields of their own; empty for other keys."""
    parts = _TAINT.fullmatch(problem.value)
    if parts is None or parts.group() == parts[1]:
        return Advice()
    key, value, effect = parts.groups(default="")
    shown = dump([value]).rstrip("\n")  # in quotes where YAML reads another type, such as true
    holder = next(step for step in reversed(problem.path) if isinstance(step, str) and step != "key")
    if holder == "nodeSelector":
        return Advice(f"write {key}: {shown}")
    if holder == "matchExpressions":
        fields = {"key": key, "operator": "In" if value else "Exists", "values": value and f"[{shown}]"}
    else:
        operator = {"operator": "Equal" if value else "Exists"} if holder == "tolerations" else {}
        fields = {"key": key, **operator, "value": value and shown, "effect": effect}
    stated = ", ".join(f"{name}: {part}" for name, part in fields.items() if part)
    return Advice(f"each part is a field of its own: {stated}")


_MISNAMED: Final = {NO_LABEL: False, NO_SUBDOMAIN: True, NO_CASELESS_SUBDOMAIN: True}
"""Whether a name may have dots, by the API server's text about a name with characters that are not allowed."""
_CLASS: Final = "DeviceClass"
"""The kind whose name has hints of its own; it stands in the place of the field."""
_NOT_IN_NAMES: Final = re.compile("[^a-z0-9.-]+")
_NOT_IN_IDENTIFIERS: Final = re.compile("[^A-Za-z0-9_]")
_REQUESTS: Final = "the claim's requests"
_AMOUNTS: Final = {"cpu": "write a number of CPUs, or of thousandths with m: 2, 1.5, 500m"}
"""An example of an amount, by resource."""
_LONGEST: Final = 253
"""The most characters of a name."""
_WITHOUT_QUOTES: Final = InYaml(
    "write a map: without quotes around it, and without | after the key",
    json="write an object: without quotes around it",
)


def hinted(problem: Problem, obj: Any) -> Problem:
    """Add the intended value to a refusal that lacks advice.

    Args:
        problem: The API server's finding.
    """
    if problem.spelled and problem.spelled[: len(problem.path)] == problem.path:  # in a text, which is the value there
        return problem
    if has_placeholder(obj, problem.path):
        hint = "fill in the placeholder first, for example with helm template or envsubst"
        return problem._replace(hint=hint, fix=None)
    hint, fix = hint_of(problem, obj)
    return problem._replace(hint=hint or problem.hint, fix=fix)


def hint_of(problem: Problem, obj: Any) -> Advice:
    """Suggest the intended value; empty if unclear.

    Args:
        problem: The API server's finding.
    """
    if problem.reason == "FieldValueDuplicate":
        return _repeated(problem, obj)
    if (hint := _BY_RULE.get(problem.rule)) and (advice := hint(problem, obj)).hint:
        return advice
    written, allowed = problem.value, problem.allowed
    if allowed and written in _ELSEWHERE:
        return Advice(_ELSEWHERE[written])
    if allowed and written not in allowed:  # else it may lack its gate
        same = _SAME.get(written.lower(), "")
        meant = certain(written, allowed) or (same if same in allowed else "")
        near = meant or nearest(written, allowed)
        return renamed(near, safe=bool(meant)) if near else Advice()
    if not allowed and problem.detail in _MISNAMED:
        is_class = text(obj, "kind") == _CLASS and problem.path[-1] == "name"
        field = _CLASS if is_class else problem.path[-1]
        return _respelt(value_at(obj, problem.path), field, has_dots=_MISNAMED[problem.detail])
    return Advice()


_ELSEWHERE: Final = {
    "PreferNoSchedule": "nodes have this effect, devices do not: NoSchedule keeps new pods away, None only informs"
}
"""Values of similar fields, by what this field has instead."""

_SAME: Final = {
    **dict.fromkeys(("no", "false"), "Never"),
    "unless-stopped": "Always",
    **dict.fromkeys(("=", "==", "in"), "Equal"),
    "evict": "NoExecute",
}
"""Values of Docker Compose, other fields and programming languages, and the verb for an effect: the value meant."""


def _repeated(problem: Problem, obj: Any) -> Advice:
    """Suggest leaving out an item of a list that repeats an earlier one, or another name for it."""
    around, place = value_at(obj, problem.path[:-1]), problem.path[-1]
    if place == "name":
        return Advice(_CALLED.format(text(around, "name")))
    if not isinstance(around, list) or not isinstance(place, int) or place >= len(around):  # in the old object
        return Advice()
    if around[place] in around[:place]:
        is_reference = not isinstance(around[place], dict) or problem.rule == "container-claims"
        return Advice("leave it out: the list has it already", Fix("remove", safe=is_reference))
    if problem.rule == "container-claims":
        return Advice("a container names a claim as a whole, or each request of it that it uses: keep one of the two")
    name = text(around[place], "name")
    is_second = name and name in [text(each, "name") for each in around[:place]]
    return Advice(_CALLED.format(name) if is_second else "")


_CALLED: Final = 'another one is called "{}", too: give this one a name of its own'


def _respelt(name: object, field: str | int, *, has_dots: bool = True) -> Advice:
    """Suggest a name with only allowed characters for a field."""
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST:
        return Advice("add a name" if field == "name" and not name else "")
    if "/" in name and (advice := _of_parts(field, *name.split("/", 1))):
        return advice
    written = name.lower() if has_dots else name.lower().replace(".", "-")
    respelt = _NOT_IN_NAMES.sub("-", written).strip("-.")
    if field == "generateName" and respelt:
        respelt += "-"
    return Advice(f'did you mean "{respelt}"?', Fix("respell", respelt, safe=False)) if respelt else Advice()


def _of_parts(field: str | int, first: str, last: str) -> Advice | None:
    """Explain the parts of a name around a slash; None if the field gives them no meaning."""
    if field == "request" and first:
        hint = f'containers name the request alone, whichever alternative is allocated: "{first}"'
        return Advice(hint, Fix("replace", first))
    if field in {"deviceClassName", "driver", _CLASS} and last and first:
        # Extended resources are named nvidia.com/gpu.
        meant = (first if first.startswith(f"{last}.") else f"{last}.{first}").lower()
        if field != _CLASS:
            return renamed(meant)
        hint = f'did you mean "{meant}"? Pods request {first}/{last} if the class has it as extendedResourceName'
        return Advice(hint, Fix("respell", meant, safe=False))
    if field in SOURCES and last:
        return Advice("write the name alone: a pod can use only claims and templates of its own namespace")
    return None


def _version(problem: Problem, obj: Any) -> Advice:
    written = value_at(obj, problem.path)
    if not isinstance(written, str):  # YAML reads 1.10 as 1.1
        return Advice('write three numbers, in quotes, as in "1.2.0"')
    near = near_semver(written)
    return renamed(near) if near else Advice()


def _quantity(problem: Problem, obj: Any) -> Advice:
    written = value_at(obj, problem.path)
    if problem.path[-2:] in {("limits", "claims"), ("requests", "claims")}:
        return Advice("claims are not quantities: they stand beside limits and requests, in resources.claims")
    if holds_one(written, problem.path[-1]):
        return Advice("write the amount alone, as in memory: 40Gi", Fix("alone"))
    resource = str(problem.path[-1])
    near, is_certain = near_quantity(written, resource) if isinstance(written, str) else ("", False)
    if near:
        return renamed(near, safe=is_certain)
    is_counted = "/" in resource and "resources" in problem.path
    amount = _AMOUNTS.get(resource, "write a number, perhaps with a suffix such as k, M, Gi: 40Gi")
    return Advice("write a whole number" if is_counted else amount)


def _request(problem: Problem, obj: Any) -> Advice:
    steps = problem.path
    devices = value_at(obj, steps[: steps.index("devices") + 1]) if "devices" in steps else None
    wanted = value_at(obj, steps)
    known = []
    for request in items(devices, "requests"):
        name = text(request, "name")
        known += [name, *(f"{name}/{text(each, 'name')}" for each in items(request, "firstAvailable"))]
    if not isinstance(wanted, str):
        return Advice()
    if wanted in known:  # the request's own name is refused, too
        return _respelt(wanted, "name")
    if alternatives := [each for each in dict.fromkeys(known) if each.endswith(f"/{wanted}")]:
        fix = Fix("replace", alternatives[0], safe=False) if not alternatives[1:] else None
        named = " or ".join(f'"{each}"' for each in alternatives[:2])
        return Advice(f"did you mean {named}? {_REQUESTS}: {listed(known)}", fix)
    hint, fix = in_place(wanted, known, _REQUESTS)
    whole = in_place(wanted, [each for each in known if "/" not in each], _REQUESTS).fix
    if fix and whole and fix.value != whole.value:  # gpux is as near to gpu as to gpu/x
        hint, fix = Meant(f'did you mean "{whole.value}" or "{fix.value}"?'), None
    return Advice(f"{hint} {_REQUESTS}: {listed(known)}" if isinstance(hint, Meant) and known[1:] else hint, fix)


def _claim(problem: Problem, obj: Any) -> Advice:
    written = value_at(obj, problem.path)
    wanted, below = (written, "") if isinstance(written, str) else (text(written, "name"), "name")
    if not wanted or problem.reason != NOT_FOUND:
        return Advice()
    around = (value_at(obj, problem.path[:end]) for end in reversed(range(len(problem.path))))
    spec = next((each for each in around if isinstance(each, dict) and "resourceClaims" in each), None)
    known = (text(each, "name") for each in items(spec, "resourceClaims"))
    if near := nearest(wanted, well_formed(each for each in known if each != wanted)):
        return Advice(f'did you mean "{near}"?', Fix("replace", near, safe=False, below=below))
    return Advice(f"list it in resourceClaims of the pod, too: {wanted}, with the name of its claim or template")


def _of_identifier(name: str) -> Advice:
    """Suggest the name of an attribute or a capacity without the characters that no identifier has."""
    stated, slash, own = name.rpartition("/")
    respelt = _NOT_IN_IDENTIFIERS.sub("_", own)
    return renamed(f"{stated}{slash}{respelt}") if own and respelt != own else Advice()


def _domain(problem: Problem, obj: Any) -> Advice:
    name = value_at(obj, problem.path)
    if not isinstance(name, str) or not name:
        return Advice()
    if "/" in name:
        return _of_identifier(name)
    if standard := certain(name, STANDARD_ATTRIBUTES):
        return renamed(f"{STANDARD_DOMAIN}/{standard}")
    if domain := selectors.only_domain(obj):
        return renamed(f"{domain}/{name}")
    return Advice(f"{selectors.NAME_DOMAIN}: {selectors.DRIVER}/{name}")


def _mode(problem: Problem, obj: Any) -> Advice:
    """Explain that mode All has no count, or what a mode of v1alpha2 was."""
    if text(value_at(obj, problem.path[:-1]), "allocationMode") == ALL:
        return Advice("All takes all matching devices: leave out count", Fix("remove", safe=False))
    now = "said when to allocate in v1alpha2, now always when a pod needs the devices: leave the field out"
    return Advice(f"{problem.value} {now}" if problem.value in {"Immediate", "WaitForFirstConsumer"} else "")


def _again(problem: Problem, _obj: Any) -> Advice:
    return _if("status" not in problem.path[:1], "delete the object and create it again")


def _if(condition: object, hint: str) -> Advice:
    return Advice(hint if condition else "")


_BY_RULE: Final[dict[str, Callable[[Problem, Any], Advice]]] = {
    "immutable": _again,
    "claims-of-job": _again,
    "requests-that-exist": _request,
    "container-claims": _claim,
    "claim-names": lambda problem, _: _if(problem.reason == REQUIRED, "add a name, by which containers use the claim"),
    "cel-selector": selectors.hint_of,
    "attribute-of-a-domain": _domain,
    "qualified-name": lambda problem, _: Advice(  # no fix writes keys
        (_respelt(problem.value, "") if problem.detail in _MISNAMED else _of_identifier(problem.value)).hint
    ),
    "one-source": lambda *_: Advice(
        "resourceClaimTemplateName gives each pod a claim of its own; resourceClaimName names one that pods share"
    ),
    "one-way-to-select-nodes": lambda *_: Advice(
        "nodeName for the devices of one node, nodeSelector for those of some nodes, allNodes: true for those of all"
    ),
    "quantity": _quantity,
    "semver": _version,
    "json-object": lambda problem, obj: _if(isinstance(value_at(obj, problem.path), str), _WITHOUT_QUOTES),
    # Requests of v1beta1 have the fields of `exactly` themselves, and perhaps alternatives.
    "exactly-or-first-available": lambda _, obj: Advice(
        f"set `{'deviceClassName' if text(obj, 'apiVersion').endswith('/v1beta1') else 'exactly'}` for one class, "
        "or list alternatives in `firstAvailable`, most preferred first"
    ),
    "pods-that-end": lambda problem, obj: Advice(
        "write restartPolicy: Never" if problem.reason == REQUIRED else "",
        Fix("replace", "Never", safe=False) if problem.reason == REQUIRED and value_at(obj, problem.path) else None,
    ),
    "pods-without-end": lambda *_: Advice(
        "pods of this kind run until they are deleted, those of a Job end: leave the field out, or use a Job"
    ),
    "prefixed-resource-name": lambda problem, _: _if(
        problem.value and "/" not in problem.value, f"put a domain in front of it, as in example.com/{problem.value}"
    ),
    "devices-or-counters": lambda *_: Advice(
        "write sharedCounters into a slice of their own in the same pool, and count it in resourceSliceCount"
    ),
    "timestamp": lambda *_: Advice("write a time as in 2026-01-31T12:00:00Z"),
    "required": lambda problem, _: _if(
        problem.path[-1:] == ("effect",), "NoSchedule keeps new pods away, NoExecute evicts running ones, too"
    ),
    "claims-of-pod-level": lambda *_: Advice("containers use claims: write them into resources.claims of each"),
    "value-to-tolerate": of_toleration,
    "value-for-operator": of_toleration,
    "label-key": of_key,
    "node-labels": of_key,
    "count-for-mode": _mode,
}
