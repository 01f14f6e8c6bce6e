"""Runs a whole scenario for `webhook.allocate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.allocation.allocator import Allocator
from webhook.allocation.answers import Result
from webhook.allocation.features import NEWEST, Features

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, Any]


def outcome(scenario: Mapping[str, Any]) -> Json:
    """Return what the allocator answers on each node of a scenario; see `webhook.allocate`.

    Raises:
        ValueError: The scenario is malformed.
    """
    try:
        allocator = Allocator(
            scenario.get("classes") or (),
            scenario.get("slices") or (),
            scenario.get("allocated") or (),
            scenario.get("taintRules") or (),
            features=_features(scenario.get("features") or {}),
            release=scenario.get("release", NEWEST),
            implementations=scenario.get("enable") or (),
        )
        attempt = allocator.attempt(scenario.get("claims") or ())
        nodes = []
        for node in scenario.get("nodes") or ():
            answer = attempt.on(node)
            entry: Json = {"node": node["metadata"]["name"], "result": None, "error": None}
            if isinstance(answer, Result):
                entry["result"] = answer.allocations
            elif answer.error is not None:
                entry["error"], entry["errorScope"] = answer.error, answer.scope
            if answer.depends_on_order:
                entry["dependsOnOrder"] = True
            nodes.append(entry)
    except (KeyError, TypeError, AttributeError) as error:
        detail = f"no {error}" if isinstance(error, KeyError) else str(error)
        message = f"the scenario is malformed: {detail}"
        raise ValueError(message) from error
    return {"implementation": allocator.implementation, "nodes": nodes}


def _features(given: Mapping[str, bool]) -> Features:
    unknown = sorted(set(given) - set(Features.__dataclass_fields__))
    if unknown:
        message = f"unknown feature {unknown[0]}: known are {', '.join(Features.__dataclass_fields__)}"
        raise ValueError(message)
    return Features(**{name: bool(is_on) for name, is_on in given.items()})
