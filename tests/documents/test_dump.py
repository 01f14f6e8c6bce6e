"""Kubernetes and other readers read written documents as the same values."""

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.documents.reading import objects
from tests.rows import each_row
from webhook.documents.dump import dump

ODD = ["y", "on", "1e3", "0o7", "12:30", "2001-01-01", "", "a: b", "a #b", "- a", "x\n", " x\ny", "a\n\n"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(-(2.0**53), 2.0**53)  # beyond, Go spells an integer that float64 rounds
    | st.floats(1e21, allow_infinity=False)
    | st.text()
    | st.sampled_from(ODD),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(["y", "a"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(JSON.filter(lambda value: value is not None and not isinstance(value, dict)), max_size=3), JSON)
def test_what_is_written_is_read_as_the_same(several: list[Any], inner: Any) -> None:
    values = [*several, {"kind": "Any", "inner": inner}]
    assert objects(dump(values)) == values


CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc"]) | st.sampled_from("\n\n :#-'\"ab01")


@given(st.text(CHARACTERS, max_size=20))
def test_other_yaml_readers_read_the_same(text: str) -> None:
    assert yaml.safe_load(dump([{"a": [text], text: 1}])) == {"a": [text], text: 1}


WORDS = "y N yes on Off null ~ true 1 1e3 0o7 08 0x1f 1_000 .5 -1 12:30 12:30:45 2001-01-01 = << .inf +1 1.5"


@each_row("text", *WORDS.split(), "2001-01-01T00:00:00Z", "")
def test_strings_that_are_something_else_to_kubernetes_or_others_are_quoted(text: str) -> None:
    assert dump([{text: text}, ""]) == f'"{text}": "{text}"\n---\n""\n'


@each_row("text", "a b", "g.com/model", "40Gi", "a:b", "a#b", 'device.driver == "gpu" && true', "it's", "v1", "a-b")
def test_strings_that_need_no_quotes_get_none(text: str) -> None:
    assert dump([text]) == f"{text}\n"


BLOCKS = """\
kind: ResourceClaim
apiVersion: resource.k8s.io/v1
spec:
  requests:
  - name: gpu
    count: 2
    of:
    - - a
      - []
    - {}
  - null
  "on": true
"""


def test_maps_and_lists_are_blocks_with_keys_in_the_order_given() -> None:
    assert dump([yaml.safe_load(BLOCKS)]) == BLOCKS


def test_texts_of_several_lines_are_blocks() -> None:
    value = {"a": "x\n  y\n\nz", "b": ["x\ny\n", "x\n\n\n"], "c": "x \ny", "d": " x\ny"}
    assert dump([value, "p\nq"]) == (
        'a: |-\n  x\n    y\n\n  z\nb:\n- |\n  x\n  y\n- |+\n  x\n\n\nc: "x \\ny"\nd: " x\\ny"\n---\n|-\n  p\n  q\n'
    )
    shared = {"a": 1}
    assert dump([[shared, shared]]) == "- a: 1\n- a: 1\n"
    assert dump([]) == ""


def test_a_very_long_key_is_given_apart() -> None:
    key = "k" * 2000
    value = [{key: {"a": [1]}, "b": {key: [1]}}]
    assert dump([value]).startswith(f"- ? {key}\n  :\n    a:\n")
    assert objects(dump([value])) == [value]


@each_row(("number", "text"), (1.0, "1"), (-0.0, "0"), (0.1, "0.1"), (1e21, "1.0e+21"), (1e-7, "1.0e-07"))
def test_numbers_are_spelled_so_that_all_read_numbers(number: float, text: str) -> None:
    assert dump([number]) == f"{text}\n"
    assert objects(dump([number])) == [number]


def test_half_a_surrogate_pair_is_replaced_as_in_go() -> None:
    assert dump(["a\ud800"]) == '"a\\ufffd"\n'


@each_row("number", math.inf, -math.inf, math.nan)
def test_json_has_no_infinity(number: float) -> None:
    with pytest.raises(ValueError, match="JSON has no number"):
        dump([{"a": number}])
