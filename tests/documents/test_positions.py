"""Positions of fields and items in a text."""

from tests.documents.reading import documents
from tests.rows import each_row
from webhook.documents import Position, parse


class TestPositions:
    TEXT = """\
# A claim.
metadata: {name: x, labels: {"a b": c}}
spec:
  devices:
    requests:
    - name: gpu
      count: 1
    -   name: nic
    - [1, {x: y}]
    text: |
      x
    merged: &m {p: 1}
    again: *m
    <<: [{q: 1}, {q: 2, r: 3}]
    ? s
    : 4
    1.0: 5
    t: &key u
    *key : 6
---
second: 1
"""

    @each_row(
        ("path", "line", "column"),
        [
            ((), 2, 1),
            (("metadata",), 2, 1),
            (("metadata", "name"), 2, 12),
            (("metadata", "labels", "a b"), 2, 30),
            (("spec", "devices"), 4, 3),
            (("spec", "devices", "requests", 0), 6, 7),
            (("spec", "devices", "requests", 0, "count"), 7, 7),
            (("spec", "devices", "requests", 1), 8, 9),
            (("spec", "devices", "requests", 2, 1, "x"), 9, 12),
            (("spec", "devices", "text"), 10, 5),
            (("spec", "devices", "again"), 13, 5),
            (("spec", "devices", "again", "p"), 12, 17),
            (("spec", "devices", "q"), 14, 11),
            (("spec", "devices", "r"), 14, 25),
            (("spec", "devices", "s"), 15, 7),
            (("spec", "devices", "1"), 17, 5),
            (("spec", "devices", "u"), 19, 5),
        ],
    )
    def test_a_field_is_at_its_key_and_an_item_at_its_start(
        self, path: tuple[str | int, ...], line: int, column: int
    ) -> None:
        assert documents(self.TEXT)[0].position(path) == Position(line, column)

    @each_row(
        ("path", "line"),
        [
            (("status",), 2),
            (("spec", "nodeName"), 3),
            (("spec", "devices", "requests", 9, "name"), 5),
            (("spec", "devices", "requests", -1), 5),
            (("spec", "devices", "requests", "name"), 5),
            (("spec", 0), 3),
            (("spec", "devices", "text", "x", 1), 10),
        ],
    )
    def test_a_missing_field_is_where_it_would_belong(self, path: tuple[str | int, ...], line: int) -> None:
        assert documents(self.TEXT)[0].position(path).line == line

    def test_positions_count_from_the_start_of_the_file(self) -> None:
        assert documents(self.TEXT)[1].position(("second",)) == Position(21, 1)

    def test_positions_in_json(self) -> None:
        text = '{"x": 1}\n{"a": {"b": [1, {"c d": "x,y"}]},\n "e": "\\ud800", "\\ud800": 5}'
        document = documents(text)[1]
        assert document.position(()) == Position(2, 1)
        assert document.position(("a", "b", 1)) == Position(2, 17)
        assert document.position(("a", "b", 1, "c d")) == Position(2, 18)
        assert document.position(("a", "b", 7)) == Position(2, 8)
        assert document.position(("\ufffd",)) == Position(3, 17)

    def test_columns_count_characters(self) -> None:
        assert documents('{é: "\U0001f600", b: 1}')[0].position(("b",)) == Position(1, 10)

    def test_only_line_feeds_end_lines_as_in_an_editor(self) -> None:
        assert documents("a: 'x\u2028y\x85'\nb: 1\n")[0].position(("b",)) == Position(2, 1)

    def test_lines_are_shown_without_their_breaks(self) -> None:
        (document,) = documents("a: 1\r\nb: 2\n\n")
        assert [document.file.line(number) for number in range(6)] == ["", "a: 1", "b: 2", "", "", ""]

    def test_a_document_knows_its_source(self) -> None:
        assert [each.source for each in parse("a: 1", "claims.yaml")] == ["claims.yaml"]
