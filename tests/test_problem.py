"""Findings are spelled as Kubernetes spells them."""

import pytest

from tests.rows import each_row, each_row_beside
from webhook.budget import INLINE, Budget, limited
from webhook.problem import Key, Path, Verbatim, forbidden, invalid, quoted, required, shown, too_long, too_many
from webhook.release import Release
from webhook.schema.decoding import wrong_type


def test_a_path_is_spelled_with_fields_indices_and_keys() -> None:
    path = Path() / "spec" / "devices" / 0 / "attributes" / Key("example.com/model") / "string"
    assert str(path) == "spec.devices[0].attributes[example.com/model].string"
    assert str(Path()) == ""
    assert list(path)[:3] == ["spec", "devices", 0]


def test_of_a_long_path_the_middle_is_left_out() -> None:
    path = Path(("spec", *[Key("k" * 100_000)] * 3, "name"))
    assert len(str(path)) < 4010
    assert str(path).startswith("spec[kk")
    assert str(path).endswith("kk].name")


def test_a_finding_moves_down_with_its_object_and_may_be_spelled_differently_from_where_it_sits() -> None:
    problem = required(Path(("name",))).under(0).under("requests")
    assert (str(problem.path), problem.field) == ("requests[0].name", "requests[0].name")
    problem = required(Path(("count",))).below((), ("exactly",)).under(0).under("requests")
    assert (str(problem.path), problem.field) == ("requests[0].count", "requests[0].exactly.count")


def test_a_finding_reads_as_field_then_what_is_wrong() -> None:
    assert str(forbidden(Path(("a", "b")), "not now")) == "a.b: Forbidden: not now"
    assert str(required(Path(("a",)))) == "a: Required value"


@each_row(
    ("text", "go"),
    ("plain", '"plain"'),
    ('a"b\\c', '"a\\"b\\\\c"'),
    ("a\nb\tc\x00\x7f", '"a\\nb\\tc\\x00\\x7f"'),
    ("ümlaut 🐈", '"ümlaut 🐈"'),
    ("\u200b\U000e0001", '"\\u200b\\U000e0001"'),
)
def test_texts_are_quoted_as_go_does(text: str, go: str) -> None:
    assert quoted(text) == go


@each_row(
    ("value", "text"),
    ("x", '"x"'),
    (3, "3"),
    (True, "true"),
    (None, "null"),
    ({"a": ["é"]}, '{"a":["é"]}'),
    (Verbatim("[]string{}"), "[]string{}"),
)
def test_rejected_values_are_shown_as_the_server_shows_them(value: object, text: str) -> None:
    assert shown(value) == text
    assert invalid(Path(), value, "no").message == f"Invalid value: {text}: no"


@each_row_beside("release", "text", "in_bytes", "items", "reason")
def test_limits_are_worded_as_the_release_words_them(
    release: int, text: str, in_bytes: str, items: str, reason: str
) -> None:
    assert too_long(Path(), 1, Release(release)).message == f"Too long: {text}"
    assert too_long(Path(), 1, Release(release), in_bytes=True).message == f"Too long: {in_bytes}"
    many = too_many(Path(), 2, 1, Release(release))
    assert (many.message, many.reason) == (items, reason)


@pytest.mark.parametrize(("is_offline", "spent"), [(True, 0), (False, 60)])
def test_a_finding_is_work_in_a_review_and_not_offline(*, is_offline: bool, spent: int) -> None:
    with limited(Budget(INLINE, is_offline=is_offline)) as budget:
        required(Path())
        wrong_type("a", "Pod", "int")
    assert budget.left == INLINE - spent
