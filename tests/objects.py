"""Objects of all kinds, and mutations of them."""

from __future__ import annotations

import copy
import gzip
import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from tests.conformance.recorded import FILES


def base_objects() -> Iterator[Any]:
    """Read the objects that the recorded verdicts are about."""
    for file in FILES:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            for line in lines:
                value = json.loads(line)
                if "op" in value:
                    break
                yield value["object"]
                yield from value.get("stored", [])


OBJECTS = list(base_objects())


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["", "a", "A_b", "x" * 300, "1Gi", "1.2.3", "2024-01-31T12:00:00Z", "\ud800", "é"]),
)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)


@st.composite
def mutated(draw: st.DrawFn, bases: list[Any]) -> Any:
    """Change some places of a real object: another value, one left out, one more."""
    value = copy.deepcopy(draw(st.sampled_from(bases)))
    for _ in range(draw(st.integers(0, 4))):
        holder, key = draw(st.sampled_from(list(places(value))))
        change = draw(st.integers(0, 3))
        if change == 0 or key is None:
            insert(holder, draw(st.text(max_size=12)), draw(json_values))
        elif change == 1:
            del holder[key]
        else:
            holder[key] = draw(json_values)
        if not isinstance(value, dict) or not value:
            break
    return value


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """List the places of a value: a holder and a key, None for a new one."""
    if isinstance(value, dict | list):
        yield value, None
        for key, each in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from places(each)


def insert(holder: Any, key: str, value: Any) -> None:
    """Put one more value into a map or list."""
    if isinstance(holder, dict):
        holder[key] = value
    else:
        holder.append(value)
