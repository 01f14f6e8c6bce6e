"""Tells whether the findings of a claim depend on the constants in its selectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.cel.syntax.ast import Call, Select
from webhook.deviceselectors.parts import OR, compared, parts_of, read_of
from webhook.deviceselectors.reads import drivers
from webhook.deviceselectors.witnesses import by_value
from webhook.objects import text
from webhook.references.requests import drivers_of
from webhook.references.selecting import reads_of, selectors_of

if TYPE_CHECKING:
    from webhook.cel.syntax.ast import Expression
    from webhook.objects import JSONObject
    from webhook.references.rules import Context
    from webhook.references.selecting import Selector


def has_plain_constants(claim: JSONObject, context: Context) -> bool:
    """Tell whether a claim has no findings for any constants in its selectors.

    This holds if each constant is compared with a different value of the device, and no devices or their kinds are
    known.

    Args:
        claim: A claim or template, in the newest version, without findings.
        context: The context of the rules.
    """
    return not context.inventory.knows("ResourceSlice") and all(
        _is_indifferent(each, context) for each in selectors_of(claim, context)
    )


def _is_indifferent(selector: Selector, context: Context) -> bool:
    together = [*selector.around, *selector.own]
    expressions = [text(each, "cel", "expression") for each in together]
    known = [parts for each in expressions if (parts := parts_of(each, context.release, context.gates))]
    for path, conditions in by_value(known).items():
        if len(path) > 1 and sum(not _is_presence(each.part) for each in conditions) > 1:
            return False  # their constants may contradict each other
    if not all(map(_is_plain, selector.parts.all)):
        return False
    named = drivers_of(together, context)
    profiles = (context.profile(min(named, default=each.domain)) for each in reads_of(selector.parts))
    # A kind of devices is recognized by its name in the selectors.
    return not any(each and each.kind_attribute for each in profiles)


def _is_plain(part: Expression) -> bool:
    """Tell whether a part compares a value of the device with constants, or tests whether it exists."""
    if isinstance(part, Call) and part.function == OR:
        return all(map(_is_choice, part.arguments))
    subject, _ = compared(part)
    return _is_presence(part) or bool(drivers([part])) or (subject is not None and read_of(subject) is not None)


def _is_choice(part: Expression) -> bool:
    """Tell whether a part is true for some values that it names, and false for others."""
    if isinstance(part, Call) and part.function == OR:
        return all(map(_is_choice, part.arguments))
    subject, wish = compared(part)
    return subject is not None and read_of(subject) is not None and wish.startswith(("== ", "one of ", "to "))


def _is_presence(part: Expression) -> bool:
    return isinstance(part, Select) and part.test
