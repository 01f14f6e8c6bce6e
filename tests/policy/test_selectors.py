"""Label selectors: which are valid, and the objects that they select."""

from __future__ import annotations

from typing import Any

from tests.policy.examples import POLICY, spec
from tests.rows import each_row_beside
from webhook.policy.manifest.model import selector_of
from webhook.policy.manifest.policies import validate_policy

LABELS = {"app": "a", "empty": ""}


@each_row_beside("selector", "selects")
def test_what_a_selector_selects(selector: dict[str, Any] | None, selects: bool) -> None:
    assert selector_of(selector).matches(LABELS) is selects


def said(selector: dict[str, Any]) -> list[str]:
    constraints = POLICY["spec"]["matchConstraints"] | {"objectSelector": selector}
    path = "spec.matchConstraints.objectSelector."
    return [str(each).removeprefix(path) for each in validate_policy(spec(POLICY, matchConstraints=constraints))]


@each_row_beside("selector", "start")
def test_what_no_selector_is(selector: dict[str, Any], start: str) -> None:
    (text,) = said(selector)
    assert text.startswith(start)
