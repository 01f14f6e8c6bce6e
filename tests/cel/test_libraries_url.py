from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cel.judging import outcome
from tests.rows import each_row
from webhook.cel.kubernetes import gourl

FAILED = "error: URL parse error during conversion from string: parse "


@each_row(
    ("expression", "expected"),
    [
        ('url("https://user@example.com:8080/a%20b/c?x=1#frag").getHost()', "example.com:8080"),
        ('url("https://example.com:8080/a").getHostname()', "example.com"),
        ('url("https://example.com:8080/a").getPort()', "8080"),
        ('url("https://example.com/a").getPort()', ""),
        ('url("https://[::1]:80/").getHostname()', "::1"),
        ('url("https://[::1]:80/").getHost()', "[::1]:80"),
        ('url("https://[fe80::1%25en0]/").getHostname()', "fe80::1%en0"),
        ('url("HTTPS://example.com").getScheme()', "https"),
        ('url("/path").getScheme()', ""),
        ('url("mailto:a@b.c").getHost()', ""),
        ('url("https://example.com/a%20b").getEscapedPath()', "/a%20b"),
        ('url("https://example.com/a b/ü").getEscapedPath()', "/a%20b/%C3%BC"),
        ('url("https://example.com/a[1]%2f").getEscapedPath()', "/a[1]%2f"),
        ('url("*").getEscapedPath()', "*"),
        ('url("/?x=1&x=2&y=&&a;b&z=%zz&q=a+b%21").getQuery()', {"x": ["1", "2"], "y": [""], "q": ["a b!"]}),
        ('url("https://a:b@example.com/x?y#z") == url("https://a:b@example.com/x?y#z")', True),
        ('url("https://example.com/x?") == url("https://example.com/x")', False),
        ('url("https://example.com/x#a") == url("https://example.com/x#b")', False),
        ('isURL("/a/b") && isURL("https://x") && !isURL("a/b") && !isURL("")', True),
        ('url("nope")', FAILED + '"nope": invalid URI for request'),
        ('url("")', FAILED + '"": empty url'),
        ('url(":x")', FAILED + '":x": missing protocol scheme'),
        (r'url("/a\nb")', FAILED + r'"/a\nb": net/url: invalid control character in URL'),
        ('url("https://a b/")', FAILED + '"https://a b/": invalid character " " in host name'),
        ('url("https://a%41/")', FAILED + '"https://a%41/": invalid URL escape "%41"'),
        ('url("/a%4")', FAILED + '"/a%4": invalid URL escape "%4"'),
        ('url("https://a:b/")', FAILED + '"https://a:b/": invalid port ":b" after host'),
        ('url("https://[::1/")', FAILED + "\"https://[::1/\": missing ']' in host"),
        ('url("https://[::1]x/")', FAILED + '"https://[::1]x/": invalid port "x" after host'),
        ('url("https://[1.2.3.4]/")', FAILED + '"https://[1.2.3.4]/": invalid IP-literal'),
        ('url("https://[x]/")', FAILED + '"https://[x]/": invalid host: ParseAddr("x"): unable to parse IP'),
        ('url("https://[fe80::1%25%3C]/").getHostname()', "fe80::1%<"),
        ('url("https://[fe80::1%25%2F]/")', FAILED + '"https://[fe80::1%25%2F]/": invalid URL escape "%2F"'),
        ('url("https://a^b@c/")', FAILED + '"https://a^b@c/": net/url: invalid userinfo'),
        ('url("/a#%zz")', FAILED + '"/a#%zz": invalid URL escape "%zz"'),
    ],
)
def test_urls_come_to(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


@each_row(
    ("text", "written"),
    [
        ("https://a%20b:c@example.com/x", "https://a%20b:c@example.com/x"),
        ("https://example.com", "https://example.com"),
        ("a:b/c?x#y%20z", "a:b/c?x#y%20z"),
        ("/a?", "/a?"),
        ("x/y", "x/y"),
        ("//host/x", "//host/x"),
        ("https:///x", "https:///x"),
        ("/a b", "/a%20b"),
        ("/a#b c", "/a#b%20c"),
    ],
)
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
