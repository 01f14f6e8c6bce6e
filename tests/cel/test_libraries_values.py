import ipaddress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.cel.authorizer import ADMIN, BINDINGS
from tests.cel.judging import NEWEST, outcome
from tests.rows import each_row_beside
from webhook.cel.errors import EvaluationError
from webhook.cel.kubernetes import net, semver
from webhook.cel.kubernetes import url as gourl
from webhook.cel.kubernetes.authorizer import AuthorizerValue, Decision, PathCheck, ResourceCheck, User
from webhook.cel.kubernetes.environments import admission_environment


@each_row_beside("expression", "expected")
def test_expressions_come_to(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


def test_values_of_libraries_can_be_keys_of_python_and_formats_have_names() -> None:
    """Equal values hash alike, so that a set of them has one element."""
    for expression in ('quantity("1k")', 'semver("1.0.0")', 'ip("::1")', 'cidr("::/0")', 'url("/a")', "format.uuid()"):
        assert len({outcome(expression), outcome(expression)}) == 1
    assert outcome('format.named("nope").hasValue()') is False
    assert outcome("format.date() == format.uuid()") is False


@given(st.tuples(*[st.integers(0, 3)] * 3, st.lists(st.sampled_from(["0", "1", "a", "b-"]), max_size=2)))
def test_a_version_equals_itself_and_nothing_less(parts: tuple[int, int, int, list[str]]) -> None:
    *numbers, pre = parts
    text = ".".join(map(str, numbers)) + (f"-{'.'.join(pre)}" if pre else "")
    parsed = semver.parse(text)
    assert parsed == semver.parse(f"{text}+build")
    assert hash(parsed) == hash(semver.parse(text))
    assert not parsed < parsed  # noqa: PLR0124 - whatever the order


def test_lone_surrogates_match_no_letter_and_what_comes_to_be_no_pattern_is_refused() -> None:
    assert outcome('object.find("[a-z]+")', {"object": "\ud800ab"}) == "ab"
    assert outcome('object.matches("^.ab$")', {"object": "\ud800ab"}) is True
    assert outcome('!object.matches("a")', {"object": "\ud800ab"}) is False
    assert outcome("'x'.find(object)", {"object": "("}).startswith("error: Illegal regex: error parsing regexp: ")


@each_row_beside("name", "text", "start")
def test_formats_say_what_is_wrong(name: str, text: str, start: str) -> None:
    assert outcome(f'format.{name}().validate("{text}").value()[0]').startswith(start)


@each_row_beside("name", "text")
def test_formats_take(name: str, text: str) -> None:
    assert outcome(f'format.{name}().validate("{text}").hasValue()') is False
    assert outcome(f'format.named("{name}").value() == format.{name}()') is True


PROGRAMS = [
    admission_environment(NEWEST, patch_types=True).compile(expression)
    for expression in (
        "quantity(object).add(1).sub(quantity(object)).asApproximateFloat() > 0.0",
        "quantity(object).isInteger() && quantity(object).asInteger() > 0",
        "semver(object, true).major() > 0 || isSemver(object)",
        "ip(object).isGlobalUnicast() || string(ip(object)) == object || ip.isCanonical(object)",
        "string(cidr(object).masked()) == object || cidr(object).containsCIDR(object) || isCIDR(object)",
        "url(object).getQuery().size() > 0 || url(object).getEscapedPath() == object || isURL(object)",
        "url(object) == url(object) && url(object).getHostname() + url(object).getPort() == object",
        "['uri', 'uuid', 'byte', 'date', 'datetime'].all(n, format.named(n).value().validate(object).hasValue())",
        "['labelValue', 'qualifiedName', 'dns1035Label'].all(n, format.named(n).value().validate(object).hasValue())",
        "object.find(object) == object || object.findAll(object).size() > 0 || jsonpatch.escapeKey(object) == object",
    )
]


@given(
    st.text(st.characters(exclude_categories=()), max_size=40)
    | st.text("0123456789abcdefgimktpevxEMKGTPi.+-/:%#?[]@_", max_size=40)
    | st.text("0123456789abcdef:./%x", max_size=30)
    | st.text("ab:/?#[]@%25;&=+ü \x00", max_size=30)
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


@each_row_beside("expression", "expected")
def test_questions_come_to(expression: str, expected: object) -> None:
    assert outcome(expression, BINDINGS) == expected


def test_a_question_says_all_that_it_was_given() -> None:
    asked: list[PathCheck | ResourceCheck] = []

    def remember(question: PathCheck | ResourceCheck) -> Decision:
        asked.append(question)
        return Decision(allowed=True)

    authorizer = AuthorizerValue(ADMIN, remember)
    expression = (
        'authorizer.serviceAccount("ns", "sa").group("apps").resource("deployments").subresource("scale")'
        '.namespace("n").name("x").fieldSelector("a=b").labelSelector("c=d").check("list").allowed()'
    )
    assert outcome(expression, {"authorizer": authorizer}) is True
    account = User("system:serviceaccount:ns:sa", ("system:serviceaccounts", "system:serviceaccounts:ns"))
    assert asked == [
        ResourceCheck(authorizer._replace(user=account), "apps", "deployments", "scale", "n", "x", "a=b", "c=d", "list")
    ]


NETWORK = "error: " + "network address parse error during conversion from string: " * 2 + "netip.ParsePrefix({}): {}"


@each_row_beside("text", "reason")
def test_an_invalid_address_has_gos_message(text: str, reason: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole text is compared
        net.parse_address(text)
    assert str(caught.value) == f'ParseAddr("{text}"): {reason}'


@each_row_beside("text", "reason")
def test_an_invalid_network_has_gos_message(text: str, reason: str) -> None:
    assert outcome(f'cidr("{text}")') == NETWORK.format(f'"{text}"', reason)


@given(st.ip_addresses())
def test_addresses_are_written_as_python_writes_them(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert int(address) == int(net.parse_address(str(address)))
    if address.version == 4 or address.ipv4_mapped is None:
        assert str(net.parse_address(address.exploded)) == address.compressed


@each_row_beside("text", "written")
def test_urls_are_written_as_go_writes_them(text: str, written: str) -> None:
    assert str(gourl.parse(text)) == written


def test_a_relative_url_has_no_colon_in_its_first_segment() -> None:
    with pytest.raises(ValueError, match=r'^parse "1a:b": first path segment in URL cannot contain colon$'):
        gourl.parse("1a:b")
