from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cel.judging import outcome
from tests.rows import each_row_beside
from webhook.cel.kubernetes import url as gourl

FAILED = "error: URL parse error during conversion from string: parse "


@each_row_beside("expression", "expected")
def test_urls_come_to(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


@each_row_beside("text", "written")
def test_urls_are_written_as_go_writes_them(text: str, written: str) -> None:
    assert str(gourl.parse(text)) == written


def test_a_relative_url_has_no_colon_in_its_first_segment() -> None:
    with pytest.raises(ValueError, match=r'^parse "1a:b": first path segment in URL cannot contain colon$'):
        gourl.parse("1a:b")


@given(st.text(alphabet="ab:/?#[]@%25;&=+ü \x00", max_size=30))
def test_no_text_makes_the_reader_raise_anything_else(text: str) -> None:
    for parse in (gourl.parse, gourl.parse_request_uri):
        try:
            url = parse(text)
        except ValueError as error:
            assert str(error).startswith("parse ")  # noqa: PT017  # both outcomes are right
        else:
            assert isinstance(str(url) + url.hostname() + url.port() + url.escaped_path() + str(url.query()), str)
