"""Pod templates within other objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webhook.objects import JSONObject
from webhook.problem import WARNING, Path, Problem
from webhook.records import NamedTuple

Steps = tuple["str | int", ...]


class PodsIn(NamedTuple):
    """A pod template in an object.

    Args:
        places: Where parts of that manifest are in the object: pairs of paths, the longest first.
        is_known: Whether the object's kind is known to keep pods there, or only seems to.
        is_of_job: Whether Jobs make the pods.
        number: How many such pods the object makes; 1 if that is not known.
        unsure: Why the number may be another one; empty if it is certain.
    """

    manifest: JSONObject
    places: tuple[tuple[Steps, Steps], ...]
    is_known: bool = True
    is_of_job: bool = False
    number: int = 1
    unsure: str = ""

    def place(self, path: Iterable[str | int]) -> Path:
        """Return the path in the object of a path in the manifest."""
        steps = tuple(path)
        for here, there in self.places:
            if steps[: len(here)] == here:
                return Path((*there, *steps[len(here) :]))
        return Path(self.places[-1][1])

    def seen(self, problem: Problem) -> Problem:
        """Return a problem of the manifest as one of the object."""
        path = self.place(problem.path)
        spelled = None if problem.spelled is None else self.place(problem.spelled)
        message = problem.message.replace(f'"{problem.path}"', f'"{path}"')
        level = problem.level if self.is_known else WARNING
        return problem._replace(level=level, path=path, spelled=spelled, message=message)


def manifest(obj: JSONObject, template: Any) -> JSONObject:
    """Return a PodTemplate with a template and the name of an object."""
    metadata = obj.get("metadata")
    stated = metadata if isinstance(metadata, dict) else {}
    names = {field: stated[field] for field in ("name", "namespace") if isinstance(stated.get(field), str)}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": names or {"name": "unnamed"}, "template": template}


def every_object(value: Any, at: Steps = ()) -> Iterator[tuple[Steps, JSONObject]]:
    """Return every object in a value, with its path."""
    pending: list[tuple[Steps, Any]] = [(at, value)]
    while pending:
        steps, each = pending.pop()
        if isinstance(each, list):
            pending += (((*steps, index), inner) for index, inner in enumerate(each))
        elif isinstance(each, dict):
            yield steps, each
            pending += (((*steps, key), inner) for key, inner in each.items())
