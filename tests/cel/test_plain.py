"""Plain selectors are accepted by their form alone, as the compiler accepts them."""

from __future__ import annotations

import random

import pytest

from webhook.budget import Budget, limited
from webhook.cel.kubernetes.devices import compile_selector
from webhook.cel.kubernetes.gates import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES
from webhook.cel.kubernetes.plain import plain_tree
from webhook.cel.kubernetes.refusals import Refusal
from webhook.cel.kubernetes.verdicts import refusal_of
from webhook.deviceselectors.parts import Parts
from webhook.release import Release

RELEASES = [Release(number) for number in range(31, 39)]
NEWEST = RELEASES[-1]
GATES = [frozenset[str](), frozenset({CONSUMABLE_CAPACITY, LIST_ATTRIBUTES})]
ATTRIBUTE = 'device.attributes["gpu.example.com"].model'
CAPACITY = 'device.capacity["gpu.example.com"].memory'
PLAIN = [
    f'{ATTRIBUTE} == "A100"',
    f"{ATTRIBUTE} != 'A100'",
    f"{ATTRIBUTE} == true",
    f"{ATTRIBUTE} >= 3",
    f"{ATTRIBUTE} < -3",
    ATTRIBUTE,
    f"!{ATTRIBUTE}",
    'device.attributes["gpu.example.com"]["model"] == 1',
    f"has({ATTRIBUTE})",
    f"has({CAPACITY})",
    '"gpu.example.com" in device.attributes',
    '"memory" in device.capacity["gpu.example.com"]',
    f'{ATTRIBUTE} in ["a", "b"]',
    f"{ATTRIBUTE} in [1, 2]",
    f'{ATTRIBUTE}.startsWith("A")',
    f'{ATTRIBUTE}.endsWith("A")',
    f'{ATTRIBUTE}.contains("A")',
    f'{ATTRIBUTE}.isGreaterThan(semver("1.2.3"))',
    f'{ATTRIBUTE}.compareTo(semver("1.2.3")) >= 0',
    f'{CAPACITY}.isLessThan(quantity("40Gi"))',
    f'{CAPACITY}.compareTo(quantity("40Gi")) == 0',
    'device.driver == "gpu.example.com"',
    'device.driver.endsWith(".com")',
    'device.driver in ["a", "b"]',
]
OTHER = [
    "",
    "1 == 1",
    "true",
    "device",
    "device.driver",
    "device.driver == 1",
    "device.driver in [1]",
    "device.model",
    CAPACITY,
    f'{CAPACITY} == "40Gi"',
    f'{CAPACITY}.compareTo(semver("1.2.3")) == 0',
    f'{CAPACITY}.compareTo(quantity("40GB")) == 0',
    f'{CAPACITY}.isLessThan("40Gi")',
    f"{CAPACITY}.isLessThan()",
    f'has({ATTRIBUTE}) == "a"',
    f'{ATTRIBUTE} in ["a", 1]',
    f"{ATTRIBUTE} in []",
    f"{ATTRIBUTE} == {ATTRIBUTE}",
    f"{ATTRIBUTE} == null",
    f"{ATTRIBUTE} == 1.5",
    f'{ATTRIBUTE}.matches("(")',
    f"{ATTRIBUTE}.startsWith(1)",
    f'{ATTRIBUTE}.compareTo(semver("1.2.3"))',
    f'{ATTRIBUTE}.compareTo(semver("1.2.3")) == "a"',
    'device.attributes["a"]',
    'device.attributes[device.driver].a == "a"',
    "1 in device.attributes",
    'devices.attributes["a"].b == "a"',
    f'{ATTRIBUTE} == "A100" && 1',
    f'{ATTRIBUTE} == "A100" &&',
    f'{ATTRIBUTE} == "{"A" * 512}"',
]


def accepts(expression: str, release: Release, gates: frozenset[str], *, stored: bool) -> bool:
    """Tell whether the compiler accepts a selector."""
    found = compile_selector(expression, release, gates, stored=stored)
    return not isinstance(found, Refusal) and not found.is_too_complex


@pytest.mark.parametrize("release", RELEASES)
def test_plain_selectors_compile(release: Release) -> None:
    for expression in PLAIN:
        assert plain_tree(expression, release), expression
        for gates in GATES:
            assert all(accepts(expression, release, gates, stored=stored) for stored in (False, True)), expression


@pytest.mark.parametrize("expression", OTHER)
def test_other_selectors_are_compiled(expression: str) -> None:
    assert plain_tree(expression, NEWEST) is None


def test_what_is_joined_and_changed_is_accepted_if_it_is_still_plain() -> None:
    dice = random.Random(1)  # noqa: S311 - no secrets
    plain = 0
    for _ in range(1_500):
        parts = [dice.choice(PLAIN) for _ in range(dice.randint(1, 3))]
        text = dice.choice([" && ", " || "]).join(f"({each})" if dice.random() < 0.3 else each for each in parts)
        for _ in range(dice.randint(0, 2)):
            at = dice.randrange(len(text))
            piece = dice.choice(['"', "(", ")", "[", "]", "!", ".", "a", "1", " ", "in", "==", "-", ", 1", "\\n", ""])
            text = text[:at] + piece + text[at + dice.randint(0, 2) :]
        release, stored = dice.choice(RELEASES), dice.random() < 0.5
        if plain_tree(text, release):
            plain += 1
            assert accepts(text, release, dice.choice(GATES), stored=stored), text
    assert plain > 500


def test_the_costliest_plain_selector_is_accepted() -> None:
    contains = f"{ATTRIBUTE.replace('model', 'a')}.contains('{'a' * 9}')"
    text = "||".join([contains] * (512 // (len(contains) + 2)))
    assert plain_tree(text, NEWEST)
    assert all(accepts(text, release, gates, stored=False) for release in RELEASES for gates in GATES)


def test_a_plain_selector_is_evaluated_part_by_part() -> None:
    parts = Parts(f'{ATTRIBUTE} == "A100" && device.driver == "gpu.example.com"', NEWEST)
    attributes = {"gpu.example.com": {"model": "A100"}}
    device = {"driver": "cpu.example.com", "attributes": attributes, "capacity": {}}
    assert [parts.evaluate(each, {"device": device}) for each in parts.all] == [True, False]


def test_the_release_with_other_selectors_and_the_webhook_compile_all() -> None:
    assert plain_tree(PLAIN[0], Release(30)) is None
    with limited(Budget()):
        assert plain_tree(PLAIN[0], NEWEST) is None


@pytest.mark.parametrize("release", [Release(30), *RELEASES])
def test_the_refusal_of_no_text_is_that_of_the_compiler(release: Release) -> None:
    assert refusal_of("", release) == compile_selector("", release)
