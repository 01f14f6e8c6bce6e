"""No change of a pod is too much for its comparison; the rules are in ``requests/pod-updates.yaml``."""

import copy
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from tests.objects import places, seeded, value
from webhook import validate

TABLE = Path(__file__).parent / "requests" / "pod-updates.yaml"
GATED: dict[str, Any] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))["objects"]["gated"]


def test_a_pod_nested_without_end_is_compared() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"items": [deep]}
    assert validate(GATED | {"spec": GATED["spec"] | {"dnsConfig": deep}}, GATED)


VALUES: dict[str, Any] = {"keys": ["name", "limits", "x"], "more": ["gpu", "1Gi", "x:y@z"]}


def changed(dice: Random) -> Any:
    """Change up to three places of the pod."""
    pod = copy.deepcopy(GATED)
    for _ in range(dice.randrange(4)):
        if found := [place for place in places(pod["spec"]) if place[1] is not None]:
            holder, key = dice.choice(found)
            holder[key] = value(dice, **VALUES)
    return pod


@pytest.mark.slow
@settings(max_examples=800)
@given(seeded(changed), seeded(changed))
def test_no_change_makes_an_update_raise(new: Any, old: Any) -> None:
    for problem in validate(new, old):
        assert problem.field is not None
        assert problem.message
