"""Tells whether the findings of a claim depend on the constants in its selectors, and on the names that they read."""

from __future__ import annotations

from itertools import repeat

from webhook.cel.kubernetes.shapes import shape_of
from webhook.cel.syntax.ast import Call
from webhook.cel.syntax.reads import reads
from webhook.deviceselectors.parts import compared, parts_of, read_of
from webhook.deviceselectors.reads import drivers
from webhook.deviceselectors.witnesses import PLAIN, by_value, is_presence
from webhook.deviceselectors.written import OR
from webhook.objects import text
from webhook.references.alike import Plain
from webhook.references.requests import drivers_of
from webhook.references.selecting import reads_of, selectors_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.cel.syntax.ast import Expression
    from webhook.deviceselectors.parts import Parts
    from webhook.drivers import Profile
    from webhook.objects import JSONObject
    from webhook.references.rules import Context
    from webhook.references.selecting import Selector


def plain_in(claim: JSONObject, context: Context) -> Plain:
    """Tell what does not matter in the selectors of a claim: it has no findings, whatever that is.

    Constants do not if each is compared with a different value of the device, and no devices or their kinds are known;
    names neither if nothing is known of their drivers and classes.

    Args:
        claim: A claim or template, in the newest version, without findings.
        context: The context of the rules.
    """
    selectors = selectors_of(claim, context)
    if context.inventory.knows("ResourceSlice") or not all(map(_is_indifferent, selectors, repeat(context))):
        return Plain.NOTHING
    if any(each.around or not _has_plain_names(each.parts) for each in selectors):
        return Plain.CONSTANTS  # another selector or part may read the same
    is_known = any(not profile.is_example for each in selectors for profile in _profiles(each, context))
    return Plain.CONSTANTS if is_known else Plain.NAMES


def _is_indifferent(selector: Selector, context: Context) -> bool:
    expressions = [text(each, "cel", "expression") for each in (*selector.around, *selector.own)]
    known = [parts for each in expressions if (parts := parts_of(each, context.release, context.gates))]
    for path, conditions in by_value(known).items():
        if len(path) > 1 and sum(not is_presence(each.part) for each in conditions) > 1:
            return False  # their constants may contradict each other
    if not all(map(_is_plain, selector.parts.all)):
        return False
    # A kind of devices is recognized by its name in the selectors.
    return not any(each.kind_attribute for each in _profiles(selector, context))


def _profiles(selector: Selector, context: Context) -> Iterator[Profile]:
    """Return the profiles of the drivers whose devices a selector may read."""
    named = {*drivers_of([*selector.around, *selector.own], context), context.driver_of_class(selector.class_name)}
    for read in reads_of(selector.parts):
        for each in {read.domain, *named}:
            if profile := context.profile(each):
                yield profile


def _has_plain_names(parts: Parts) -> bool:
    """Tell whether the shape of a selector has the names of all attributes and capacities that it looks at."""
    shape = shape_of(parts.text)
    paths = [path for path in reads(parts.root, "device") if path not in PLAIN]
    named = [path[2] for path in paths if len(path) > 2]  # noqa: PLR2004 - holder and domain come first
    return shape is not None and len(named) == len(paths) and sorted(named) == sorted(shape.names)


def _is_plain(part: Expression) -> bool:
    """Tell whether a part compares a value of the device with constants, or tests whether it exists."""
    if isinstance(part, Call) and part.function == OR:
        return all(map(_is_choice, part.arguments))
    subject, _ = compared(part)
    return is_presence(part) or bool(drivers([part])) or (subject is not None and read_of(subject) is not None)


def _is_choice(part: Expression) -> bool:
    """Tell whether a part is true for some values that it names, and false for others."""
    if isinstance(part, Call) and part.function == OR:
        return all(map(_is_choice, part.arguments))
    subject, wish = compared(part)
    return subject is not None and read_of(subject) is not None and wish.startswith(("== ", "one of ", "to "))
