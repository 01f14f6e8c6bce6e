"""What is known of a condition without evaluating it is what evaluating it tells."""

from itertools import product
from unittest import mock

import pytest

from webhook.cel.errors import CelError
from webhook.cel.syntax.ast import Expression
from webhook.deviceselectors import witnesses
from webhook.deviceselectors.parts import Parts
from webhook.deviceselectors.witnesses import always_holds, conflict_of
from webhook.release import Release

VALUES = [
    'device.attributes["gpu.example.com"].model',
    'device.capacity["gpu.example.com"].memory',
    "device.driver",
    "device.allowMultipleAllocations",
]
CONDITIONS = [
    '{0} == "a"',
    '{0} != "a"',
    '{0} in ["a", "b"]',
    "{0} in []",
    '{0} < "b"',
    '{0} == quantity("1Gi")',
    '{0} in [quantity("x")]',
    "has({0})",
    "{0} == true",
    "true",
]
COMPOUNDS = ["{0}", "!({0})", "has({0}) && {1}", "!({0}) && has({1})", "{0} || {1}", "!({0} && {1})", "{0} ? {1} : {0}"]


def selectors() -> list[Parts]:
    """Return all that compile."""
    found = []
    for value, compound, *pair in product(VALUES, COMPOUNDS, CONDITIONS, CONDITIONS):
        text = compound.format(*(each.format(value) for each in pair))
        try:
            found.append(Parts(text, Release(36)))
        except CelError:
            continue
    return found


@pytest.mark.slow
def test_shortcuts_tell_what_evaluation_tells() -> None:
    def is_simple(node: Expression, _: object) -> bool:
        return not witnesses._is_compound(node)  # noqa: SLF001 - as without the shortcut

    known = selectors()
    shortened = [(conflict_of([each]), always_holds(each)) for each in known]
    with (
        mock.patch.object(witnesses, "_holds_for_some", is_simple),
        mock.patch.object(witnesses, "_telling", list),
        mock.patch.object(witnesses, "_may_hold_without", return_value=True),
    ):
        evaluated = [(conflict_of([each]), always_holds(each)) for each in known]
    assert shortened == evaluated
    assert any(conflict for conflict, _ in shortened)
    assert any(always for _, always in shortened)
