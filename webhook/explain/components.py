"""Messages of a cluster's components about pods and claims, their meaning and cures, by ``components.yaml``.

A component is recognized by the first of its texts in an answer; what it quotes of another one comes later.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Final, NamedTuple

from webhook.documents import Document, parse
from webhook.objects import JSONObject, text

API_SERVER: Final = "API server"
"""The component whose answers name fields."""
CLIENT: Final = "kubectl, or another client of the API server"
"""The component that looks a kind up before it sends an object."""
LONGEST: Final = 4096
"""The characters of an answer that are read: it may quote a whole object."""
_QUOTED_MAX: Final = 16
"""How many answers within one another are read."""
_NAME: Final = r'"?([\w./-]+?)"?'


class Component(NamedTuple):
    """A component of a cluster.

    Args:
        head: Finds what all its texts have in common, such as the reasons of its events.
        general: The meaning and the cure of a text that is not among its sayings; empty if nothing can be said of it.
        sayings: Its texts: the pattern that finds one, its meaning and its cure, with references to groups of the
            pattern; the cure is empty if a quoted answer tells. A group ``answer`` is the answer of another component
            that it quotes; a group ``quoted`` is a text that is not read any further.
    """

    name: str
    head: re.Pattern[str]
    general: Sequence[tuple[str, str]]
    sayings: Sequence[tuple[re.Pattern[str], str, str]]


@cache
def components() -> Sequence[Component]:
    """Return the known components."""
    file = resources.files("webhook.explain") / "components.yaml"
    read = next(each.data for each in parse(file.read_text("utf-8")) if isinstance(each, Document))
    return [
        Component(
            each["name"],
            re.compile("|".join(each["head"])),
            [_told(each["general"])] if "general" in each else [],
            [(re.compile(one["says"].replace("NAME", _NAME)), *_told(one)) for one in each.get("sayings", ())],
        )
        for each in read
    ]


def _told(entry: JSONObject) -> tuple[str, str]:
    return text(entry, "means"), text(entry, "cure")


def _speaker(answer: str) -> Component | None:
    """Return the component from which an answer comes."""
    firsts = [
        (found.start(), place)
        for place, each in enumerate(components())
        for pattern in (each.head, *(pattern for pattern, *_ in each.sayings))
        if (found := pattern.search(answer))
    ]
    return components()[min(firsts)[1]] if firsts else None


def answers_in(answer: str) -> Iterator[tuple[Component, list[tuple[str, str]], str, str]]:
    """Yield an answer, then the answers that it quotes, each within the one before.

    Yields:
        The component, the meaning and cure of each of its texts, the answer, and the answer that this quotes.
    """
    for _ in range(_QUOTED_MAX):
        if (component := _speaker(answer)) is None:
            return
        said, quoted = _said_by(component, answer)
        yield component, said, answer, quoted
        answer = quoted


def _said_by(component: Component, answer: str) -> tuple[list[tuple[str, str]], str]:
    """Return meaning and cure of each text of a component that an answer has, and the answer that it quotes."""
    line = " ".join(answer.split())
    matches = [(found, means, cure) for pattern, means, cure in component.sayings for found in pattern.finditer(line)]
    end, said, quoted = 0, [], ""
    for found, meaning, cure in sorted(matches, key=lambda each: each[0].start()):
        if found.start() >= end:
            said.append((found.expand(meaning), found.expand(cure)))
            quoted = found.groupdict().get("answer") or quoted
            end = found.end()
    return list(dict.fromkeys(said)) or list(component.general), quoted


def cures(answer: str, *, of_scheduler: bool = False) -> list[str]:
    """Say what to do about a text of a component, such as the words of an event; nothing if the text is not known.

    Args:
        of_scheduler: Also about reasons of the scheduler, which a simulation finds but for a few.
    """
    found: list[str] = []
    for component, said, *_ in answers_in(answer[:LONGEST]):
        if component.name == "kube-scheduler" and not of_scheduler:
            break
        own = [] if said == list(component.general) else [cure for _, cure in said if cure]
        found = own or found
    return found
