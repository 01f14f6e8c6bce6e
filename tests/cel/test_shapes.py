"""Selectors that differ only in plain constants get the same verdict."""

from __future__ import annotations

from itertools import product

import pytest

from webhook.api.gates import enabled
from webhook.cel.kubernetes import devices, verdicts
from webhook.cel.kubernetes.devices import Selector, compile_selector
from webhook.cel.kubernetes.refusals import Refusal
from webhook.cel.kubernetes.shapes import shape_of
from webhook.cel.kubernetes.verdicts import refusal_of
from webhook.release import Release

READ = 'device.attributes["gpu.example.com"].model'
ALIKE = [
    (f'{READ} == "a100"', f'{READ} == "h200"'),
    (f"{READ} != 'a100' && true", f"{READ} != 'it s' && true"),
    (f"({READ} >= 10)", f"({READ} >= 99)"),
    (f'{READ}.compareTo(semver("1.2.3")) < 0', f'{READ}.compareTo(semver("0.9.0")) < 0'),
    ('device.capacity["a.b"].c.isLessThan(quantity("1Gi"))', 'device.capacity["a.b"].c.isLessThan(quantity("9Mi"))'),
    (f'{READ} == "a" || {READ} == "b"', f'{READ} == "c" || {READ} == "a"'),
    (f"{READ} in ['a', \"bc\", 17] && true", f"{READ} in ['x', \"yz\", 42] && true"),
    (f'{READ}.startsWith("a")', f'{READ}.startsWith("b")'),
    (f'{READ}.endsWith("a") || {READ}.contains("b")', f'{READ}.endsWith("c") || {READ}.contains("d")'),
    ('device.attributes["a.b"].driverVersion == "a"', 'device.attributes["a.b"].driverVersion == "b"'),
    (f'{READ} == "a100"', 'device.attributes["gpu.example.com"].brand == "h200"'),
    ('device.attributes["a.b"].?c.orValue("d") == "e"', 'device.attributes["a.b"].?f.orValue("d") == "e"'),
    ('has(device.capacity["a.b"].c)', 'has(device.capacity["a.b"].d)'),
]
UNLIKE = [
    (f'{READ} == "a100"', f'{READ} == "a10"'),
    (f'{READ} == "a"', f"{READ} == 1"),
    (f'{READ} == "a100"', f'{READ} != "a100"'),
    (f'{READ} == "a100"', 'device.attributes["gpu.example.com"].type == "a100"'),
    (f'{READ} == "a100"', 'device.attributes["amd.example.com"].model == "a100"'),
    (f'{READ} == "a100"', 'device.attributes["gpu.example.com"]["model"] == "a100"'),
    (f"{READ} == 1", 'device.attributes["gpu.example.com"].?model == 1'),
    (f"{READ} == 1", 'device.capacity["gpu.example.com"].model == 1'),
    (f"{READ}.size()", f"{READ}.trim()"),
    ('device.attributes["a.b"].null == "x"', 'device.attributes["a.b"].main == "x"'),
    ('device.attributes["a.b"].size() == 1', 'device.attributes["a.b"].trim() == 1'),
    ('my.device.attributes["a.b"].size == 1', 'my.device.attributes["a.b"].trim == 1'),
    ('device.driver == "a.example.com"', 'device.driver == "b.example.com"'),
    ('(device.driver) == "a.example.com"', '(device.driver) == "b.example.com"'),
    ('device.driver in ["a.example.com"]', 'device.driver in ["b.example.com"]'),
    ('device.driver.startsWith("a & b == ")', 'device.driver.startsWith("a & c == ")'),
    (f'{READ} in ["a", "b"]', f'{READ} in ["a", 1]'),
    (f'{READ} in ["a", "bc"]', f'{READ} in ["ab", "c"]'),
    (f'{READ} in ["a"]', f'{READ} in ["a", "b"]'),
    ('device.attributes["a.b"].main["a"] == 1', 'device.attributes["a.b"].main["b"] == 1'),
    ('device.attributes.in ["a"]', 'device.attributes.in ["b"]'),
    (f'{READ} in ["a"].map(x, x)', f'{READ} in ["b"].map(x, x)'),
    (f'{READ}.matches("x == 1 ")', f'{READ}.matches("x == 2 ")'),
    (f'{READ} == "a".replace("a", "b")', f'{READ} == "b".replace("a", "b")'),
    (f"{READ} == 1 / 0", f"{READ} == 1 / 1"),
    ('device.capacity["a.b"].c.isLessThan(quantity("1Gb"))', 'device.capacity["a.b"].c.isLessThan(quantity("2Gb"))'),
]
WITHOUT = [
    "true",
    r'x == "\n"',
    'x == """a"""',
    "x == 1 // y",
    "x == `a`",
    'x == "é"',
    'x == "\0"',
    f"x == {'(' * 300}",
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_constants_that_are_compared_do_not_tell_selectors_apart(one: str, other: str) -> None:
    assert _written(one) == _written(other) != one


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_all_else_does(one: str, other: str) -> None:
    assert _written(one) != _written(other)


def test_names_that_are_read_are_told() -> None:
    shape = shape_of(f"has(device.capacity['a.b'].c) && {READ} == {READ}")
    assert shape is not None
    assert shape.names == ("c", "model", "model")


def _written(expression: str) -> str:
    shape = shape_of(expression)
    return shape.text if shape else expression


@pytest.mark.parametrize("expression", WITHOUT)
def test_what_could_be_read_in_two_ways_has_no_shape(expression: str) -> None:
    assert shape_of(expression) is None


FORMS = [
    "{read} == {value}",
    "{read} != {value} || {read} in [{value}]",
    "{read}.matches({value})",
    "{read} in [{value}, {value}]",
    "{read} == {value} || {read} == {value}",
    "{read}.startsWith({value}) || {read}.contains({value})",
    "{value}.endsWith({value})",
    "{read}[{value}] in [{value}]",
    'device.driver.startsWith({value}) && {value} in ["a", {value}]',
    "[{value}].exists(x, x == {value})",
    "{read} == {value}.size()",
    'device.capacity["a.b"].c.compareTo(quantity({value})) >= 0',
    'duration("1h") == duration({value})',
    "cel.bind(x, {read} == {value}, x)",
    "{read} == {value} ? true : false",
    "({value} == {value}) == {value}",
    'int("1") == {value} && "x == 1" == {value}',
    'b"a" == {value}',
    "{read}.string == {value}",
    'device.attributes["gpu.example.com"].?model.orValue({value}) == {value}',
    'device.attributes["gpu.example.com"].?brand.orValue({value}) == {value}',
]
VALUES = [
    '"a"',
    '"("',
    '"1"',
    "'1'",
    "1",
    "7",
    "999999999",
    '"1h"',
    '"1Gi"',
    '"1.0.0"',
    "true",
    '""',
    '"\n"',
    "1.5",
    "1u",
]


def texts() -> list[str]:
    """Write every form with every value."""
    reads = (READ, READ.replace("model", "brand"), READ.replace("model", "value"))
    return [form.format(read=read, value=value) for form, value, read in product(FORMS, VALUES, reads)]


@pytest.mark.parametrize(("release", "stored"), [(30, False), (34, True), (37, False)])
def test_selectors_of_a_shape_are_taken_alike(release: int, stored: bool) -> None:
    taken: dict[str, set[bool]] = {}
    for each in texts():
        found = compile_selector(each, Release(release), enabled(Release(release)), stored=stored)
        is_taken = not isinstance(found, Refusal) and not found.is_too_complex
        taken.setdefault(_written(each), set()).add(is_taken)
    assert len(taken) < len(texts())
    assert all(len(each) == 1 for each in taken.values())


def test_one_of_a_shape_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []

    def compiling(expression: str, *arguments: frozenset[str], stored: bool) -> Selector | Refusal:
        compiled.append(expression)
        return compile_selector(expression, Release(36), *arguments[1:], stored=stored)

    for number in range(verdicts._FEW):  # noqa: SLF001 - before shapes are sought
        refusal_of(f"1{'0' * number} == size('')", Release(36))
    monkeypatch.setattr(devices, "compile_selector", compiling)
    taken = [f'device.attributes["of.a.shape"].model == "{number}" && 1 < 2' for number in range(100, 110)]
    refused = [f'device.attributes["of.a.shape"] == "{number}"' for number in range(100, 110)]
    assert [refusal_of(each, Release(36)) for each in taken] == [None] * 10
    assert all(refusal_of(each, Release(36)) for each in refused)
    assert compiled == [taken[0], *refused]
