"""Costs of Kubernetes' functions, most of them as apiserver/pkg/cel/library/cost_test.go has them.

Upstream's tests do not fold constants as the API server does: a list of literals costs 10 there, and nothing here.
"""

from __future__ import annotations

import pytest

from tests.cel.authorizer import BINDINGS
from tests.cel.judging import NEWEST
from tests.rows import each_row
from webhook.cel import EvaluationError, Meter
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.costs import Bounds, EstimatedNode
from webhook.cel.kubernetes.environments import admission_environment
from webhook.cel.types.base import BYTES, STRING

ENVIRONMENT = admission_environment(NEWEST, patch_types=True)


def spent(expression: str) -> int:
    meter = Meter()
    ENVIRONMENT.compile(expression).evaluate(BINDINGS | {"object": {"text": "a,b,c"}}, meter=meter)
    return meter.cost


def declared(node: EstimatedNode) -> Bounds | None:
    return Bounds(0, 12) if node.type in {STRING, BYTES} else None


def estimated(expression: str) -> Bounds:
    return estimate_cost(ENVIRONMENT.check(expression), ENVIRONMENT, declared)


@each_row(
    ("expression", "least", "most", "actual"),
    [
        ("['aaaaaaaaaa', 'bbbbbbbbbb'].isSorted()", 12, 16, 2),
        ("[1, 2, 3].sum()", 13, 13, 3),
        ("['a', 'b'].indexOf('b')", 12, 16, 0),
        ("'abc'.indexOf('c')", 1, 1, 0),
        ("url('https:://kubernetes.io/')", 3, 3, 3),
        ("url('https:://kubernetes.io/').getHost()", 4, 4, 4),
        ("isURL('https:://kubernetes.io/')", 1, 1, 1),
        ("'abc 123 def 123'.find('123')", 2, 2, 2),
        ("'abc 123 def 123'.findAll('123')", 2, 2, 2),
        ("'abcdefghij'.lowerAscii()", 1, 1, 1),
        ("'abc 123 def 123'.replace('123', '456')", 3, 3, 3),
        ("'abc 123 def 123'.split(' ')", 3, 3, 3),
        ("'abc 123 def 123'.split(' ', 2)", 3, 3, 3),
        ("['aa', 'bb', 'cc', 'd', 'e', 'f', 'g', 'h', 'i', 'j'].join(' ')", 11, 23, 5),
        ("'abc 123 def 123'.substring(5)", 2, 2, 2),
        ("'  abc 123 def 123 '.trim()", 2, 2, 2),
        ("'a'.replace('', 'bb') == ''", 1, 1, 1),
        ("'aaaa'.replace('aa', 'bbbb') == object.text", 3, 3, 4),
        ("object.text.split(',').size() > 0", 3, 3689348814741910531, 5),
        ("[b'abcdefghij', b'b'].isSorted() || [{'k': 1}] == [{'k': 2}]", 12, 97, 1),
        ("dyn('a').indexOf('a') == 0", 3, 3, 1),
        ("dyn(format.uuid()).validate('a')", 34, 34, 20),
        ("dyn([{'abcdefghij': 1}]).indexOf({'abcdefghij': 1})", 72, 72, 2),
        ("isIP('2001:db8::68')", 2, 2, 2),
        ("ip('2001:db8::68').family()", 3, 3, 3),
        ("ip.isCanonical('2001:db8::68')", 3, 3, 3),
        ("ip('127.0.0.1') == ip('127.0.0.1')", 3, 3, 3),
        ("ip('::1') == ip('::2')", 3, 3, 3),
        ("cidr('192.168.0.0/16').ip()", 3, 3, 3),
        ("cidr('192.168.0.0/16').containsIP(ip('192.168.0.1'))", 5, 8, 5),
        ("cidr('192.168.0.0/16').containsIP('192.168.0.1')", 5, 8, 5),
        ("cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24'))", 7, 11, 7),
        ("cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24')", 7, 11, 7),
        ("quantity('12Mi').isGreaterThan(quantity('13Mi'))", 3, 3, 3),
        ("quantity('12Mi') == quantity('12Mi')", 3, 3, 3),
        ("semver('1.2.3').compareTo(semver('1.2.3'))", 3, 3, 3),
        ("format.dns1123Subdomain().validate('a.b')", 33, 33, 16),
        ("format.named('uuid').hasValue()", 2, 2, 2),
        ("format.uuid() == format.uuid()", 3, 9, 3),
        ("url('https://kubernetes.io/') == url('https://kubernetes.io/')", 7, 9, 7),
        ("jsonpatch.escapeKey('abc/def')", 1, 1, 1),
        ("authorizer.path('/healthz').check('get')", 350002, 350002, 350002),
        ("authorizer.group('').resource('pods').labelSelector('k')", 64, 64, 64),
    ],
)
def test_costs_are_kubernetes(expression: str, least: int, most: int, actual: int) -> None:
    assert (estimated(expression), spent(expression)) == (Bounds(least, most), actual)


@each_row("function", ["sum", "min", "max"])
@each_row(
    "numbers", ["[]", "[7]", "[3, 1, 2]", "[-1, 5]", f"[{2**63 - 1}, 1]", f"[{2**63 - 1}, 1, -5]", f"[{1 - 2**63}, -5]"]
)
def test_integers_cost_and_come_to_the_same_whether_they_are_known_to_be_some(numbers: str, function: str) -> None:
    results = []
    for conversion in ("int", "dyn"):
        program, meter = ENVIRONMENT.compile(f"{numbers}.map(x, {conversion}(x)).{function}()"), Meter()
        try:
            results.append((program.evaluate({}, meter=meter), meter.cost))
        except EvaluationError as error:
            results.append((str(error), meter.cost))
    assert results[0] == results[1]


def test_inequality_costs_by_size_where_equality_has_a_cost_of_its_own() -> None:
    assert spent("ip('::1') != ip('::2')") == spent("ip('::1') == ip('::2')") + 1
    assert spent("cidr('::/0') != cidr('::/1')") == spent("cidr('::/0') == cidr('::/1')") - 1


@each_row(
    ("expression", "cost"),
    [
        ("authorizer.serviceAccount('n_s', 'sa').group('')", 3),
        ("authorizer.serviceAccount('n_s', 'sa').path('/x').check('get')", 350_003),
        ("authorizer.group('').resource('').check('get')", 350_003),
    ],
)
def test_a_question_about_an_invalid_name_costs_what_others_cost(expression: str, cost: int) -> None:
    meter = Meter()
    with pytest.raises(EvaluationError):
        ENVIRONMENT.compile(expression).evaluate(BINDINGS, meter=meter)
    assert meter.cost == cost
