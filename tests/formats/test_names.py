"""Errors of names, addresses, versions, UUIDs and images, release by release."""

import inspect
import tracemalloc
from collections.abc import Callable
from itertools import product
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rows import each_row
from webhook import formats
from webhook.formats import canonical_cidr, cidr, quantities, semver, tag_of, timestamps, uuid
from webhook.release import Release

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
CASELESS = (
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'Example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
KEY = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
C_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)
REASON = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    "'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
    "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)
WITH_PREFIX = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
LONG = "a" * 64
LONGER = ".".join(["a" * 61] * 5)


def in_bytes(messages: tuple[str, ...]) -> tuple[str, ...]:
    """Return what newer releases say: that a limit is one of bytes."""
    return tuple(each.replace("3 characters", "3 bytes") for each in messages)


@each_row(
    ("messages", "values"),
    ((), ["gpu-0", "0", "a" * 63]),
    ((LABEL,), ["", "-a", "a-", "Gpu", "gpu\n", "\u0663", "gpu..0", "ü" * 31]),
    (("must not contain dots",), ["gpu.0"]),
    (("must be no more than 63 characters",), [LONG]),
    (("must be no more than 63 characters", "must not contain dots"), [LONGER]),
    (("must be no more than 63 characters", LABEL), ["ü" * 32]),
)
def test_a_label_is_short_lower_case_and_without_dots(messages: tuple[str, ...], values: list[str]) -> None:
    for value, release in product(values, (27, 36)):
        assert formats.dns_label(value, release) == messages
        assert formats.short_name(value, release) == in_bytes(messages)


@each_row(
    ("messages", "values"),
    ((), ["gpu.example.com", "a", "1.2.3", LONG, "a" * 253]),
    ((SUBDOMAIN,), ["", "a..b", "a.b.", "a/b", "a.b\n", "Example.com", "ü" * 126]),
    (("must be no more than 253 characters",), [LONGER]),
    (("must be no more than 253 characters", SUBDOMAIN), ["ü" * 127]),
)
def test_a_subdomain_is_made_of_labels_of_any_length(messages: tuple[str, ...], values: list[str]) -> None:
    for value, release in product(values, (27, 36)):
        assert formats.dns_subdomain(value, release) == messages
        assert formats.long_name(value, release) == in_bytes(messages)


def test_case_folds_as_in_go_where_it_does_not_count() -> None:
    assert formats.dns_subdomain_caseless("GPU.Example.com", 36) == ()
    assert formats.dns_subdomain_caseless("GPU_0", 36) == (CASELESS,)
    assert formats.dns_subdomain_caseless("A" * 254, 36) == ("must be no more than 253 bytes",)
    assert formats.dns_subdomain_caseless("\u212aube\u017f", 36) == ()
    assert formats.dns_subdomain_caseless("\u0130", 36) == formats.dns_subdomain_caseless("\u0131", 36) == (CASELESS,)
    assert formats.driver_name("GPU.Example.com", Release(36)) == ()
    assert formats.driver_name("\u212aube.\u0130o", Release(36)) == ()
    assert formats.driver_name("gpu_0", Release(36)) == (SUBDOMAIN,)
    assert formats.driver_name("", Release(34)) == (SUBDOMAIN,)


@each_row(("value", "masked"), ("gpu-", "gpa"), ("gpu", "gpu"), ("-", "-"), ("--", "a"), ("", ""), ("a.-", "aa"))
def test_a_trailing_dash_is_masked_with_the_byte_before_it(value: str, masked: str) -> None:
    assert formats.mask_trailing_dash(value) == masked
    assert formats.name_prefix(value, Release(36)) == formats.dns_subdomain(masked, 36)


def test_half_a_character_before_the_dash_is_not_a_name() -> None:
    assert formats.name_prefix("aü-", Release(36)) == (SUBDOMAIN,)
    assert formats.name_prefix("a\ud800-", Release(36)) == (SUBDOMAIN,)


@each_row(
    ("messages", "values"),
    ((), ["zone", "topology.kubernetes.io/Zone_1", "a" * 253 + "/" + "b" * 63]),
    (("name part must be non-empty", f"name part {KEY}"), ["", "a/"]),
    ((f"name part {KEY}",), ["a b", "a\n"]),
    (("prefix part must be non-empty",), ["/a"]),
    (("prefix part must be non-empty", "name part must be non-empty", f"name part {KEY}"), ["/"]),
    ((f"prefix part {SUBDOMAIN}",), ["A/b"]),
    ((f"prefix part {SUBDOMAIN}", f"name part {KEY}"), ["A/-"]),
    (("name part must be no more than 63 characters",), [LONG, f"a/{LONG}"]),
    (("name part must be no more than 63 characters", f"name part {KEY}"), ["ü" * 32]),
    (("prefix part must be no more than 253 characters",), [f"{LONGER}/a"]),
    ((f"a qualified name {KEY} {WITH_PREFIX}",), ["a/b/c"]),
)
def test_a_label_key_is_a_name_with_an_optional_prefix(messages: tuple[str, ...], values: list[str]) -> None:
    newer = tuple(each.replace("a qualified name", "a valid label key") for each in in_bytes(messages))
    for value in values:
        assert formats.label_key(value, Release(34)) == messages
        assert formats.label_key(value, Release(35)) == newer


def test_an_annotation_key_may_have_upper_case_in_its_prefix() -> None:
    assert formats.annotation_key("Example.COM/Note", Release(36)) == ()
    assert formats.label_key("Example.COM/Note", Release(36)) != ()
    assert formats.annotation_key("a b", Release(36)) == (f"name part {KEY}",)


@each_row(
    ("messages", "values"),
    ((), ["", "a_B.c-1"]),
    ((VALUE,), ["a/b", "-a", "a\n"]),
    (("must be no more than 63 characters",), [LONG]),
    (("must be no more than 63 characters", VALUE), [f"{LONG}/"]),
)
def test_a_label_value_is_short_or_empty(messages: tuple[str, ...], values: list[str]) -> None:
    for value in values:
        assert formats.label_value(value, Release(34)) == messages
        assert formats.label_value(value, Release(35)) == in_bytes(messages)


def test_c_identifiers_and_reasons_of_conditions_begin_with_a_letter() -> None:
    assert formats.c_identifier("_memorySize0", 36) == formats.c_identifier(LONG, 36) == ()
    for value in ("", "0a", "a-b", "ü", "a\n"):
        assert formats.c_identifier(value, 36) == (C_IDENTIFIER,)
    assert formats.condition_reason("ReasonA,ReasonB_", 36) == ()
    for value in ("", "1a", "_a", "a:", "a b", "a\n"):
        assert formats.condition_reason(value, 36) == (REASON,)


def test_an_extended_resource_has_a_domain_that_is_not_of_kubernetes() -> None:
    assert formats.extended_resource_name("example.com/gpu", Release(36)) == ()
    wrong = "gpu kubernetes.io/gpu x.kubernetes.io/gpu requests.example.com/gpu example.com/gpu/0"
    for text in [*wrong.split(), ""]:
        assert formats.extended_resource_name(text, Release(36)) == ("must be a valid extended resource name",)


PUBLIC = {
    name: each
    for module in (formats, quantities, timestamps)
    for name, each in vars(module).items()
    if inspect.isfunction(each) and each.__module__ == module.__name__ and not name.startswith("_")
}
FORMATS = {name: each for name, each in PUBLIC.items() if "release" in list(inspect.signature(each).parameters)[-1]}


@given(
    st.text(alphabet=st.characters(), max_size=80) | st.text(alphabet="aZ0-_./:,+e", max_size=80), st.integers(27, 36)
)
def test_a_format_answers_any_text(value: str, release: int) -> None:
    for function in FORMATS.values():
        function(value, release)


@each_row("unit", "a", "a.", "a-", "0", "1.", "a/", ":0", "A,", "é", "\ud800", "e", " ")
def test_time_is_linear_in_the_text(unit: str) -> None:
    # A quadratic format would take minutes.
    for function in FORMATS.values():
        function(unit * 40_000 + "!", 36)


def test_every_format_says_what_it_is_in_a_sentence() -> None:
    for name, function in FORMATS.items():
        sentence = (inspect.getdoc(function) or "").split("\n\n")[0]
        assert sentence.endswith("."), name


NO_ADDRESS = ("must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)",)
NO_CIDR = ("must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)",)


@each_row("value", "10.9.8.7/24", "0.0.0.0/0", "2001:db8::1/64", "::/0", "fe80::1/128", "1:2:3:4:5:6:7:0/64")
def test_the_canonical_spelling_is_fine_everywhere(value: str) -> None:
    assert [cidr(value, Release(release)) for release in (32, 33, 36)] == [(), (), ()]


@each_row(
    ("value", "canonical"),
    ("010.009.8.7/24", "10.9.8.7/24"),
    ("10.9.8.7/024", "10.9.8.7/24"),
    ("2001:DB8::1/64", "2001:db8::1/64"),
    ("2001:0db8:0:0:0:0:0:1/64", "2001:db8::1/64"),
    ("1:2:3:4:5:6:7::/64", "1:2:3:4:5:6:7:0/64"),
    ("::1.2.3.4/96", "::102:304/96"),
    ("::ffff:192.168.0.1/120", "192.168.0.1/24"),
    ("::ffff:192.168.000.1/20", "192.168.0.1/20"),
)
def test_other_spellings_are_refused_since_1_33(value: str, canonical: str) -> None:
    assert cidr(value, Release(36)) == cidr(value, Release(33)) == (f'must be in canonical form ("{canonical}")',)
    assert cidr(value, Release(32)) == ()
    assert canonical_cidr(value, Release(36)) == canonical


def test_1_32_compares_without_shortening_the_prefix_length() -> None:
    assert canonical_cidr("::ffff:192.168.0.1/120", Release(32)) == "192.168.0.1/120"


INVALID = (
    "/ 10.9.8.7 10.9.8/24 10.9.8.7/33 10.9.8.256/24 10.9.8.7/-1 10.9.8.7/+1 10.9.8.7/24/8 10.9.8.7/ "
    "::1/129 ::1/1000 fe80::1%eth0/64 1::2::3/64 0x10.9.8.7/8 1:2:3:4:5:6:7:8::/64 ::1.2.3/64 "
)
ODD = ["", "\u0661.2.3.4/8", "10.9.8.7/\u0668", "10.9.8.7/24\n", "10.9.8.7 /24"]


@each_row("value", *ODD, *INVALID.split())
def test_an_invalid_address_has_the_message_of_the_release(value: str) -> None:
    assert canonical_cidr(value, Release(36)) == ""
    assert cidr(value, Release(32)) == NO_CIDR
    assert cidr(value, Release(33)) == cidr(value, Release(36)) == NO_ADDRESS


@given(st.ip_addresses(), st.integers(0, 32))
def test_what_is_spelled_canonically_is_canonical(address: object, bits: int) -> None:
    canonical = canonical_cidr(f"{address}/{bits}", Release(36))
    assert cidr(canonical, Release(36)) == ()


GOOD = "123e4567-e89b-12d3-a456-426614174000"
NO_SEMVER = ("must be a string compatible with semver.org spec 2.0.0",)
NOT_NORMALIZED = (
    "uid must be in RFC 4122 normalized form, "
    "`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters"
)


VERSIONS = "0.0.0 1.2.3 535.104.5-beta.1+build.007 1.0.0-alpha 1.0.0+001 1.0.0-- 1.0.0-0a"
NO_VERSIONS = "1 1.2 v1.2.3 1.2.3.4 01.2.3 1.2.3- 1.2.3-01 1.2.3+ 1.2.\u0663 1.0.0-a..b"


def test_a_semantic_version_has_three_numbers() -> None:
    for value in [*VERSIONS.split(), "9" * 40 + ".0.0"]:
        assert semver(value, 36) == (), value
    for value in [*NO_VERSIONS.split(), "", "1.2.3\n"]:
        assert semver(value, 30) == semver(value, 36) == NO_SEMVER, value


@each_row("value", GOOD.upper(), "{" + GOOD + "}", "urn:uuid:" + GOOD, "URN:UUID:" + GOOD, GOOD.replace("-", ""))
def test_a_uuid_must_be_in_its_normal_form(value: str) -> None:
    assert uuid(value, 34) == (NOT_NORMALIZED,)


@each_row(
    ("wrong", "values"),
    *((f"UUID length: {length}", [value]) for value, length in (("", 0), ("abc", 3), ("üü", 4))),
    ("UUID format", ["x" * 36, "x" * 32, GOOD[:-1] + "g", GOOD.replace("-", "+"), "urn:uuid:" + "x" * 36]),
    ("UUID format", ["{{" + GOOD[1:-1] + "}}"]),
    ("bracketed UUID format", ["{" + GOOD + ")"]),
    ('urn prefix: "uri:uuid:"', ["uri:uuid:" + GOOD]),
    ('urn prefix: "urn\\"uuid\\xc3"', ['urn"uuid\u00fc' + "x" * 35]),
)
def test_an_invalid_uuid_has_the_librarys_message(wrong: str, values: list[str]) -> None:
    assert [uuid(value, 34) for value in values] == [(f"error validating uid: invalid {wrong}",)] * len(values)


@given(st.uuids())
def test_any_uuid_is_fine(value: UUID) -> None:
    assert uuid(str(value), 36) == ()


@each_row(
    ("tag", "images"),
    ("latest", ["ubuntu", "example.com/a/b", "localhost/a", "team/a", "a" * 247]),
    ("24.04", ["ubuntu:24.04"]),
    ("v1.2_3-x", ["example.com:5000/a_b/c--d:v1.2_3-x"]),
    ("x", ["[fe80::1]:5000/a:x", "EXAMPLE.com/a:x", f"ubuntu:x@sha256:{'0' * 64}"]),
    ("", [f"ubuntu@sha256:{'0' * 64}", "", "Ubuntu", "team/Ubuntu", "a b", "ubuntu:", "ubuntu@", "-a.com/b"]),
    ("", ["a" * 248, f"example.com/{'a' * 256}", "ubuntu:x@sha256:0123", "a" * 1_000_000, "0" * 64]),
)
def test_an_image_has_a_tag_unless_it_is_malformed(tag: str, images: list[str]) -> None:
    assert [tag_of(image) for image in images] == [tag] * len(images)


CHECKS = [each for each in FORMATS.values() if each.__annotations__["return"] == "Messages"]
STARTS = ("", "1.2.3-", "1.2.3+", "example.com/")
UNITS = ("a", "1", "a.", "1.", "a-", "-", ":", "a/")
LENGTH = 200_000


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_memory_of_a_check_does_not_grow_faster_than_the_text(check: Callable[[str, int], formats.Messages]) -> None:
    for start, unit in product(STARTS, UNITS):
        text = start + unit * (LENGTH // len(unit))
        tracemalloc.start()
        check(text, 36)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 20 * LENGTH, (start, unit)
