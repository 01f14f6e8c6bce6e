"""Node affinity that no node can meet."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webhook.inventory.affinity import as_int64, term_selects, unmatched

VALUES = ["0", "1", "01", "2", "a"]
LABELS: list[dict[str, str]] = [{}, *({"k": value} for value in [*VALUES, "3", "b"])]
REQUIREMENTS = st.one_of(
    st.fixed_dictionaries(
        {
            "operator": st.sampled_from(["In", "NotIn"]),
            "values": st.lists(st.sampled_from(VALUES), min_size=1, max_size=3),
        }
    ),
    st.fixed_dictionaries({"operator": st.sampled_from(["Exists", "DoesNotExist"])}),
    st.fixed_dictionaries(
        {"operator": st.sampled_from(["Gt", "Lt"]), "values": st.lists(st.sampled_from(VALUES), min_size=1, max_size=1)}
    ),
)


def spec(*terms: Any, **more: Any) -> dict[str, Any]:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    return {"affinity": {"nodeAffinity": required}, **more}


@given(st.lists(REQUIREMENTS, min_size=1, max_size=4))
def test_a_term_is_unmatched_exactly_if_no_label_meets_it(requirements: list[dict[str, Any]]) -> None:
    term = {"matchExpressions": [{"key": "k", **each} for each in requirements]}
    # A label may have more zeros than those that are tried.
    labels = [*LABELS, *({"k": number.zfill(9)} for number in "0123")]
    assert bool(unmatched(spec(term))) is not any(term_selects(term, "node", each) for each in labels)


def test_nothing_is_said_without_affinity() -> None:
    assert unmatched({"nodeSelector": {"a": "b"}}) == []


@each_row("requirement", [None, {"operator": "Gt", "values": ["1", "2"]}, {"operator": "In"}, {"operator": "Equals"}])
def test_what_the_api_server_refuses_counts_as_met(requirement: Any) -> None:
    assert unmatched(spec({"matchExpressions": [requirement]})) == []


def test_a_term_without_content_is_empty() -> None:
    (found,) = unmatched(spec(None))
    assert found.reason == "an empty term matches no node"


def test_of_many_values_and_conditions_only_some_are_named() -> None:
    values = [f"v{number}" for number in range(9)]
    first = {"key": "k", "operator": "In", "values": values}
    others = [{"key": "k", "operator": "NotIn", "values": [each]} for each in values]
    (found,) = unmatched(spec({"matchExpressions": [first, *others]}))
    assert found.reason == (
        "no node matches k In v0, v1, v2, v3, … and k NotIn v0 and k NotIn v1 and k NotIn v2 and k NotIn v8"
    )


@each_row(
    ("text", "number"),
    [("+5", 5), ("007", 7), (str(2**63 - 1), 2**63 - 1), (str(2**63), None), ("9" * 5000, None), ("1.5", None)],
)
def test_numbers_are_read_as_in_go(text: str, number: int | None) -> None:
    assert as_int64(text) == number


def test_long_keys_and_values_are_cut() -> None:
    first, *others = [
        {"key": "k" * 5000, "operator": operator, "values": ["v" * 5000]} for operator in ("In", "NotIn", "Gt")
    ]
    for conditions in ([first, others[0]], [others[1]]):
        (found,) = unmatched(spec({"matchExpressions": conditions}))
        assert len(found.reason) < 2000
    (found,) = unmatched(spec({"matchExpressions": [others[0]]}, nodeSelector={"k" * 5000: "v" * 5000}))
    assert len(found.reason) < 2000
