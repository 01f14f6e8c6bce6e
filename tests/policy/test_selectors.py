"""Label selectors: which are valid, and the objects that they select."""

from __future__ import annotations

from typing import Any

from tests.policy.examples import POLICY, spec
from tests.rows import each_row
from webhook.policy.manifest.selectors import selector_of
from webhook.policy.manifest.versions import validate_policy

LABELS = {"app": "a", "empty": ""}


@each_row(
    ("selector", "selects"),
    [
        (None, True),
        ({}, True),
        ({"matchLabels": None, "matchExpressions": None}, True),
        ({"matchLabels": {"app": "a"}}, True),
        ({"matchLabels": {"app": "b"}}, False),
        ({"matchLabels": {"app": "a", "missing": "a"}}, False),
        ({"matchLabels": {"empty": None}}, True),
        ({"matchLabels": {"missing": ""}}, False),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "In", "values": ["b"]}]}, False),
        ({"matchExpressions": [{"key": "missing", "operator": "In", "values": [""]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a"]}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["b"]}]}, True),
        ({"matchExpressions": [{"key": "missing", "operator": "NotIn", "values": ["a"]}]}, True),
        ({"matchExpressions": [{"key": "app", "operator": "Exists"}]}, True),
        ({"matchExpressions": [{"key": "missing", "operator": "Exists"}]}, False),
        ({"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}, False),
        ({"matchExpressions": [{"key": "missing", "operator": "DoesNotExist"}]}, True),
        ({"matchLabels": {"app": "a"}, "matchExpressions": [{"key": "empty", "operator": "DoesNotExist"}]}, False),
    ],
)
def test_what_a_selector_selects(selector: dict[str, Any] | None, selects: bool) -> None:
    assert selector_of(selector).matches(LABELS) is selects


def said(selector: dict[str, Any]) -> list[str]:
    constraints = POLICY["spec"]["matchConstraints"] | {"objectSelector": selector}
    path = "spec.matchConstraints.objectSelector."
    return [str(each).removeprefix(path) for each in validate_policy(spec(POLICY, matchConstraints=constraints))]


@each_row(
    ("selector", "start"),
    [
        ({"matchLabels": {"a b": "x"}}, 'matchLabels: Invalid value: "a b": name part must consist of alphanumeric'),
        ({"matchLabels": {"a": "x y"}}, 'matchLabels: Invalid value: "x y": a valid label must be an empty string or'),
        (
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
            (
                "matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or "
                "'DoesNotExist'"
            ),
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
            'matchExpressions[0].operator: Invalid value: "Gt": not a valid selector operator',
        ),
        (
            {"matchExpressions": [{"key": "-", "operator": "Exists"}]},
            'matchExpressions[0].key: Invalid value: "-": name part must consist of alphanumeric',
        ),
        (
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["ok", "-"]}]},
            'matchExpressions[0].values[1]: Invalid value: "-": a valid label must be an empty string or',
        ),
    ],
)
def test_what_no_selector_is(selector: dict[str, Any], start: str) -> None:
    (text,) = said(selector)
    assert text.startswith(start)
