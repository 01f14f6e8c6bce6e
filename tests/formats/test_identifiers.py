"""Errors of versions and UUIDs."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webhook.formats import semver, uuid

GOOD = "123e4567-e89b-12d3-a456-426614174000"
NO_SEMVER = ("must be a string compatible with semver.org spec 2.0.0",)
NOT_NORMALIZED = (
    "uid must be in RFC 4122 normalized form, "
    "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
)


@each_row(
    "value",
    [
        "0.0.0",
        "1.2.3",
        "535.104.5-beta.1+build.007",
        "1.0.0-alpha",
        "1.0.0+001",
        "1.0.0--",
        "1.0.0-0a",
        "9" * 40 + ".0.0",
    ],
)
def test_a_semantic_version_has_three_numbers(value: str) -> None:
    assert semver(value, 36) == ()


@each_row(
    "value",
    [
        "",
        "1",
        "1.2",
        "v1.2.3",
        "1.2.3.4",
        "01.2.3",
        "1.2.3-",
        "1.2.3-01",
        "1.2.3+",
        "1.2.3\n",
        "1.2.\u0663",
        "1.0.0-a..b",
    ],
)
def test_other_versions_are_refused(value: str) -> None:
    assert semver(value, 30) == semver(value, 36) == NO_SEMVER


@each_row("value", [GOOD.upper(), "{" + GOOD + "}", "urn:uuid:" + GOOD, "URN:UUID:" + GOOD, GOOD.replace("-", "")])
def test_a_uuid_must_be_in_its_normal_form(value: str) -> None:
    assert uuid(value, 34) == (NOT_NORMALIZED,)


@each_row(
    ("value", "wrong"),
    [
        ("", "invalid UUID length: 0"),
        ("abc", "invalid UUID length: 3"),
        ("üü", "invalid UUID length: 4"),
        ("x" * 36, "invalid UUID format"),
        ("x" * 32, "invalid UUID format"),
        (GOOD[:-1] + "g", "invalid UUID format"),
        (GOOD.replace("-", "+"), "invalid UUID format"),
        ("{" + GOOD + ")", "invalid bracketed UUID format"),
        ("{" + "{" + GOOD[1:-1] + "}" + "}", "invalid UUID format"),
        ("uri:uuid:" + GOOD, 'invalid urn prefix: "uri:uuid:"'),
        ("urn:uuid:" + "x" * 36, "invalid UUID format"),
        ('urn"uuid\u00fc' + "x" * 35, 'invalid urn prefix: "urn\\"uuid\\xc3"'),
    ],
)
def test_an_invalid_uuid_has_the_librarys_message(value: str, wrong: str) -> None:
    assert uuid(value, 34) == (f"error validating uid: {wrong}",)


@given(st.uuids())
def test_any_uuid_is_fine(value: UUID) -> None:
    assert uuid(str(value), 36) == ()
