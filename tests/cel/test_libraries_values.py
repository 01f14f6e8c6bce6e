from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tests.cel.judging import NEWEST, outcome
from tests.rows import each_row
from webhook.cel import EvaluationError
from webhook.cel.kubernetes import semver
from webhook.cel.kubernetes.environments import admission_environment

UNREADABLE = "strconv.ParseUint: parsing"
WRONG_QUANTITY = "error: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"


@each_row(
    ("expression", "expected"),
    [
        ('quantity("1k").add(quantity("1")).asInteger()', 1001),
        ('quantity("1k").add(2) == quantity("1002")', True),
        ('quantity("1002") == quantity("1k").add(2)', "error: no such overload"),
        ('quantity("1k").sub(500).asInteger()', 500),
        ('quantity("1k").sub(quantity("1m")).isInteger()', False),
        ('quantity("1Ki").compareTo(quantity("1024"))', 0),
        ('quantity("1").isLessThan(quantity("2")) && quantity("2").isGreaterThan(quantity("1"))', True),
        ('quantity("1") == quantity("1000m")', True),
        ('dyn(quantity("1")) == dyn(1)', "error: no such overload"),
        ('sign(quantity("-1"))', -1),
        ('quantity("500m").asApproximateFloat()', 0.5),
        ('quantity("1Mi").asApproximateFloat()', 1048576.0),
        ('quantity("0.0000000001").asApproximateFloat()', 1e-9),
        ('quantity("9223372036854775807").isInteger()', False),
        ('quantity("999999999999999999").isInteger()', True),
        ('quantity("999999999999999999").add(999999999999999999).isInteger()', True),
        ('quantity("9E").add(quantity("9E")).isInteger()', False),
        ('quantity("0").add(quantity("3m")).isInteger() || quantity("3m").add(0).isInteger()', False),
        ('quantity("1E").isInteger() && !quantity("10E").isInteger()', True),
        ('quantity("1000m").isInteger()', False),
        ('quantity("1.5").asInteger()', "error: cannot convert value to integer"),
        ('quantity("abc")', WRONG_QUANTITY),
        ('isQuantity("1.5Gi") && !isQuantity("x")', True),
        ('quantity("1").compareTo(quantity("2")) + quantity("3").compareTo(quantity("2"))', 0),
        ('quantity("10000000000000000000000000000000000000000000").isInteger()', False),
        ('type(quantity("1")) == type(quantity("2"))', True),
        ('quantity("1").value', "refused: ERROR: <input>:1:14: unexpected failed resolution of 'kubernetes.Quantity'"),
    ],
)
def test_quantities_come_to(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


@each_row(
    ("expression", "expected"),
    [
        ('semver("1.2.3").isGreaterThan(semver("1.2.3-beta"))', True),
        ('semver("1.2.3-1").isLessThan(semver("1.2.3-a"))', True),
        ('semver("1.2.3-a.1").isLessThan(semver("1.2.3-a.1.0"))', True),
        ('semver("1.2.3-2").isLessThan(semver("1.2.3-10"))', True),
        ('semver("1.2.3").compareTo(semver("1.10.0"))', -1),
        ('semver("1.2.3-a+x") == semver("1.2.3-a+y")', True),
        ('semver("1.2.3").major() * 100 + semver("1.2.3").minor() * 10 + semver("1.2.3").patch()', 123),
        ('semver("18446744073709551615.0.0").major()', -1),
        ('semver("v01.002", true) == semver("1.2.0")', True),
        ('semver("1.00.0", true) == semver("1.0.0")', True),
        ('semver("1.0-a", true)', "error: short version cannot contain PreRelease/Build meta data"),
        ('semver("", true)', 'error: strconv.ParseUint: parsing "": invalid syntax'),
        ('semver("")', "error: Version string empty"),
        ('semver("bad")', "error: No Major.Minor.Patch elements found"),
        ('semver("a.b.c")', 'error: Invalid character(s) found in major number "a"'),
        ('semver("01.2.3")', 'error: Major number must not contain leading zeroes "01"'),
        ('semver("1.02.3")', 'error: Minor number must not contain leading zeroes "02"'),
        ('semver("1.2.x")', 'error: Invalid character(s) found in patch number "x"'),
        ('semver("1.2.99999999999999999999")', f'error: {UNREADABLE} "99999999999999999999": value out of range'),
        ('semver("1.2.3-")', "error: Prerelease is empty"),
        ('semver("1.2.3-01")', 'error: Numeric PreRelease version must not contain leading zeroes "01"'),
        ('semver("1.2.3-ü")', 'error: Invalid character(s) found in prerelease "ü"'),
        ('semver("1.2.3+")', "error: Build meta data is empty"),
        ('semver("1.2.3+ü")', 'error: Invalid character(s) found in build meta data "ü"'),
        ('isSemver("1.2.3") && !isSemver("v1.2.3") && isSemver("v1.2", true) && !isSemver("x", true)', True),
    ],
)  # fmt: skip
def test_versions_come_to(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


def test_values_of_libraries_can_be_keys_of_python() -> None:
    """Equal values hash alike, so that a set of them has one element."""
    for expression in ('quantity("1k")', 'semver("1.0.0")', 'ip("::1")', 'cidr("::/0")', 'url("/a")', "format.uuid()"):
        assert len({outcome(expression), outcome(expression)}) == 1


@given(st.tuples(*[st.integers(0, 3)] * 3, st.lists(st.sampled_from(["0", "1", "a", "b-"]), max_size=2)))
def test_a_version_equals_itself_and_nothing_less(parts: tuple[int, int, int, list[str]]) -> None:
    *numbers, pre = parts
    text = ".".join(map(str, numbers)) + (f"-{'.'.join(pre)}" if pre else "")
    parsed = semver.parse(text)
    assert parsed == semver.parse(f"{text}+build")
    assert hash(parsed) == hash(semver.parse(text))
    assert not parsed.version < parsed.version


@each_row(
    ("expression", "expected"),
    [
        ("[].sum()", 0),
        ("[1, 2, 3].sum() == 6 && [1u, 2u].sum() == 3u && [1.5, 2.5].sum() == 4.0", True),
        ('[duration("1s"), duration("2s")].sum() == duration("3s")', True),
        ("[9223372036854775807, 1].sum()", "error: integer overflow"),
        ("[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3", True),
        ('["b", "a"].min()', "a"),
        ("[].min()", "error: min called on empty list"),
        ("[1, 2, 0].min() + [1, 2, 0].max()", 2),
        ("[].max()", "error: max called on empty list"),
        ("[1, 2, 2].isSorted() && [].isSorted() && !([2, 1].isSorted())", True),
        ('[dyn(1), dyn("a"), dyn(0)].isSorted()', True),
        ("[dyn(2), dyn(1), dyn(null)].isSorted()", False),
        ("[dyn(1), dyn(null)].max()", "error: no such overload"),
        ("[1, 2, 2].indexOf(2) * 10 + [1, 2, 2].lastIndexOf(2)", 12),
        ("[1].indexOf(2) + [1].lastIndexOf(2)", -2),
        ('"hello".indexOf("l") * 10 + "hello".lastIndexOf("l")', 23),
    ],
)
def test_lists_come_to(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


@each_row(
    ("expression", "expected"),
    [
        ('"abc 123 def".find("[0-9]+")', "123"),
        ('"abc".find("[0-9]+")', ""),
        ('"1 23 456".findAll("[0-9]+")', ["1", "23", "456"]),
        ('"1 23 456".findAll("[0-9]+", 2)', ["1", "23"]),
        ('"1 23 456".findAll("[0-9]+", 0)', []),
        ('"baac".findAll("a*")', ["", "aa", ""]),
        ('"é1ü".find("[^a-z0-9]1")', "é1"),
        ('jsonpatch.escapeKey("a/b~c")', "a~1b~0c"),
    ],
)
def test_texts_come_to(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


def test_a_pattern_that_is_none_is_refused_when_it_is_used() -> None:
    assert outcome("'x'.find(object)", {"object": "("}).startswith("error: Illegal regex: error parsing regexp: ")


def test_lone_surrogates_of_json_match_no_letter() -> None:
    assert outcome('object.find("[a-z]+")', {"object": "\ud800ab"}) == "ab"
    assert outcome('object.matches("^.ab$")', {"object": "\ud800ab"}) is True
    assert outcome('!object.matches("a")', {"object": "\ud800ab"}) is False


LABEL = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'"


@each_row(
    ("name", "text", "start"),
    [
        ("dns1123Label", "ABC", LABEL),
        ("dns1123Label", "a.b", "must not contain dots"),
        ("dns1123Subdomain", "a_b", "a lowercase RFC 1123 subdomain must consist of"),
        ("dns1035Label", "1abc", "a DNS-1035 label must consist of"),
        ("dns1035Label", "a" * 64, "must be no more than 63 characters"),
        ("qualifiedName", "a/b/c", "a valid label key must consist of"),
        ("labelValue", "a b", "a valid label must be an empty string or consist of"),
        ("dns1123LabelPrefix", "-", LABEL),
        ("dns1123SubdomainPrefix", "a__-", "a lowercase RFC 1123 subdomain must consist of"),
        ("dns1035LabelPrefix", "1-1", "a DNS-1035 label must consist of"),
        ("uri", "nope", 'parse "nope": invalid URI for request'),
        ("uuid", "x", "does not match the UUID format"),
        ("byte", "a", "invalid base64"),
        ("byte", "", "invalid base64"),
        ("date", "2026-1-2", "invalid date"),
        ("date", "2025-02-29", "invalid date"),
        ("datetime", "2026-01-02", "invalid datetime"),
        ("datetime", "t", "invalid datetime"),
        ("datetime", "2026-01-02T24:00:00Z", "invalid datetime"),
        ("datetime", "2026-01-02T10:00Z", "invalid datetime"),
        ("datetime", "x-01-02T10:00:00Z", "invalid datetime"),
    ],
)
def test_formats_say_what_is_wrong(name: str, text: str, start: str) -> None:
    assert outcome(f'format.{name}().validate("{text}").value()[0]').startswith(start)


@each_row(
    ("name", "text"),
    [
        ("dns1123Label", "a-1"),
        ("dns1123Subdomain", "a.b"),
        ("dns1035Label", "a-1"),
        ("qualifiedName", "a.b/C"),
        ("labelValue", ""),
        ("dns1123LabelPrefix", "a-"),
        ("dns1123SubdomainPrefix", "a.b-"),
        ("dns1035LabelPrefix", "a-"),
        ("uri", "/x"),
        ("uuid", "123E4567e89b12d3a456-426614174000"),
        ("byte", "aGk="),
        ("date", "0000-02-29"),
        ("datetime", "2026-01-02t10:59:59.5z"),
        ("datetime", "2026-01-02T10:00:00+01:00"),
    ],
)
def test_formats_take(name: str, text: str) -> None:
    assert outcome(f'format.{name}().validate("{text}").hasValue()') is False
    assert outcome(f'format.named("{name}").value() == format.{name}()') is True


def test_there_is_no_format_of_another_name() -> None:
    assert outcome('format.named("nope").hasValue()') is False
    assert outcome("format.date() == format.uuid()") is False


PROGRAMS = [
    admission_environment(NEWEST, patch_types=True).compile(expression)
    for expression in (
        "quantity(object).add(1).sub(quantity(object)).asApproximateFloat() > 0.0",
        "quantity(object).isInteger() && quantity(object).asInteger() > 0",
        "semver(object, true).major() > 0 || isSemver(object)",
        "ip(object).isGlobalUnicast() || string(ip(object)) == object || ip.isCanonical(object)",
        "string(cidr(object).masked()) == object || cidr(object).containsCIDR(object) || isCIDR(object)",
        "url(object).getQuery().size() > 0 || url(object).getEscapedPath() == object || isURL(object)",
        "['uri', 'uuid', 'byte', 'date', 'datetime'].all(n, format.named(n).value().validate(object).hasValue())",
        "['labelValue', 'qualifiedName', 'dns1035Label'].all(n, format.named(n).value().validate(object).hasValue())",
        "object.find(object) == object || object.findAll(object).size() > 0 || jsonpatch.escapeKey(object) == object",
    )
]


@given(
    st.text(st.characters(exclude_categories=()), max_size=40)
    | st.text("0123456789abcdefgimktpevxEMKGTPi.+-/:%#?[]@_", max_size=40)
)
@example("\ud800")
def test_no_text_makes_a_function_raise_anything_but_its_own_error(text: str) -> None:
    for program in PROGRAMS:
        try:
            value = program.evaluate({"object": text})
        except EvaluationError as error:
            assert str(error)  # noqa: PT017  # both outcomes are right
        else:
            assert type(value) is bool
