"""Runs a whole scenario for `webhook.allocate`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from webhook.allocation.allocator import Allocator, Result
from webhook.allocation.features import RECORDED, Features
from webhook.arguments import check_mapping, check_objects
from webhook.objects import JSONObject


def outcome(scenario: Mapping[str, Any]) -> JSONObject:
    """Return the allocator's result on each node of a scenario; see `webhook.allocate`.

    Raises:
        ValueError: The scenario is malformed.
    """
    _check(scenario)
    try:
        allocator = allocator_of(scenario)
        attempt = allocator.attempt(scenario.get("claims") or ())
        nodes = []
        for node in scenario.get("nodes") or ():
            answer = attempt.on(node)
            entry: JSONObject = {"node": node["metadata"]["name"], "result": None, "error": None}
            if isinstance(answer, Result):
                entry["result"] = answer.allocations
            elif answer.error is not None:
                entry["error"], entry["errorScope"] = answer.error, answer.scope
            if answer.timed_out:
                entry["timedOut"] = True
            if answer.depends_on_order:
                entry["dependsOnOrder"] = True
            nodes.append(entry)
    except (KeyError, TypeError, AttributeError) as error:
        detail = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"the scenario is malformed: {detail}") from error
    return {"implementation": allocator.variant.name, "nodes": nodes}


def allocator_of(scenario: Mapping[str, Any]) -> Allocator:
    """Return the allocator of a scenario.

    Raises:
        ValueError: No implementation supports the features.
    """
    return Allocator(
        scenario.get("classes") or (),
        scenario.get("slices") or (),
        scenario.get("allocated") or (),
        scenario.get("taintRules") or (),
        features=_features(scenario.get("features") or {}),
        release=scenario.get("release", RECORDED),
        patch=scenario.get("patch", 0),
        implementations=scenario.get("enable") or (),
    )


_REQUIRED: Final = {
    "classes": ("metadata",),
    "slices": ("metadata", "spec"),
    "claims": (),
    "allocated": (),
    "taintRules": ("spec",),
    "nodes": ("metadata",),
}
"""The lists of a scenario, and the fields that each of their objects must have."""


def _check(scenario: Mapping[str, Any]) -> None:
    """Check the top level of a scenario.

    Raises:
        ValueError: The scenario is malformed.
    """
    if not isinstance(scenario, dict):
        raise ValueError(f"a scenario must be an object, not {type(scenario).__name__}")
    for name, required in _REQUIRED.items():
        check_objects(name, scenario.get(name) or (), *required)
    check_mapping("features", scenario.get("features"), bool)
    if not isinstance(scenario.get("release", RECORDED), int):
        raise ValueError(
            f"release must be the minor of Kubernetes 1.x, such as {RECORDED}, not {scenario['release']!r}"
        )
    if not isinstance(scenario.get("patch", 0), int):
        raise ValueError(f"patch must be a number, such as 3 for Kubernetes 1.36.3, not {scenario['patch']!r}")
    names = scenario.get("enable") or ()
    if not isinstance(names, (list, tuple)) or not all(isinstance(each, str) for each in names):
        raise ValueError(f"enable must be a list of implementations, not {names!r}")


def _features(given: Mapping[str, bool]) -> Features:
    unknown = sorted(set(given) - set(Features.__dataclass_fields__))
    if unknown:
        raise ValueError(f"unknown feature {unknown[0]}: known are {', '.join(Features.__dataclass_fields__)}")
    return Features(**{name: bool(is_on) for name, is_on in given.items()})
