"""Selectors of classes and requests, as rules read them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.api.dra.names import ONE_VALUE
from webhook.api.dra.selectors import SELECTORS_MAX_ITEMS
from webhook.cel.syntax.ast import Call, Expression, ListExpression, Literal
from webhook.deviceselectors.parts import Parts, Read, comparison, parts_of, read_of
from webhook.formats.quantities import readable_quantity
from webhook.hints.names import in_expression
from webhook.inventory import is_noted
from webhook.inventory.claims import ClaimRequest
from webhook.objects import JSONObject, text
from webhook.patterns import Pattern
from webhook.problem import Advice, Fix, Meant, Path, Problem, Steps
from webhook.references.rules import SELECTING, Context, rule

if TYPE_CHECKING:
    from webhook.allocation.selecting import SelectorFault
    from webhook.deviceselectors.fleet import ContentGroup, Fleet

A_VERSION: Final = '.compareTo(semver("1.2.3")) >= 0'
"""How a version is compared, for example."""
_NUMERIC: Final = Pattern(r"v?[0-9]+(\.[0-9]+){0,2}")


class Selector(NamedTuple):
    """A selector of a class, a request or an alternative.

    Args:
        path: Where its expression is.
        request: The request; of a class, what this selects.
        place: Its place among all selectors of the request.
    """

    path: Steps
    parts: Parts
    request: ClaimRequest
    place: int

    @property
    def around(self) -> Sequence[JSONObject]:
        """The selectors of the request's class; none for a selector of a class."""
        return self.request.of_class[:SELECTORS_MAX_ITEMS]

    @property
    def own(self) -> Sequence[JSONObject]:
        """All selectors of the request, or of the class."""
        return self.request.own[:SELECTORS_MAX_ITEMS]

    @property
    def is_certain(self) -> bool:
        """Whether the class is known, so that it is only evaluated for devices of the class."""
        device_class = self.request.device_class
        return self.request.is_class or (device_class is not None and not is_noted(device_class))


def selectors_of(obj: JSONObject, context: Context) -> Sequence[Selector]:
    """List the selectors of an object; cached, as several rules need those of the same object."""
    if context.looked_at[0] is not obj:
        context.looked_at = obj, list(_selectors(obj, context))
    found: Sequence[Selector] = context.looked_at[1]
    return found


def _selectors(obj: JSONObject, context: Context) -> Iterator[Selector]:
    """Yield selectors, no more than the API server accepts: each is looked at together with all others."""
    for request in context.requests(obj):
        for index, each in enumerate(request.own[:SELECTORS_MAX_ITEMS]):
            if parts := parts_of(text(each, "cel", "expression"), context.release, context.gates):
                yield Selector((*request.path, "selectors", index, "cel", "expression"), parts, request, index)


SelectorCheck = Callable[[Selector, Context], Iterator[Problem]]


def rule_of_selectors(**facts: Any) -> Callable[[SelectorCheck], SelectorCheck]:
    """Declare a rule about a selector, as :func:`~webhook.references.rules.rule` does.

    Its findings are without the path of the expression.
    """

    def declare(check: SelectorCheck) -> SelectorCheck:
        @rule(*SELECTING, **facts)
        @wraps(check)
        def checked(obj: JSONObject, context: Context) -> Iterator[Problem]:
            for each in selectors_of(obj, context):
                yield from (found._replace(path=Path(each.path)) for found in check(each, context))

        return check

    return declare


WRITTEN_TYPES: Final = frozenset({*ONE_VALUE, "value"})
"""The fields in which a slice writes a value, which selectors do not name."""
OTHER_HOLDER: Final = {"attributes": "capacity", "capacity": "attributes"}


def meant_read(read: Read, parts: Parts, known: Collection[tuple[str, str]], *, is_other: bool) -> Advice:
    """Suggest what a selector means by an attribute or a capacity that no device has.

    Args:
        known: The domains and names of those that devices have.
        is_other: Whether devices have an attribute in place of the capacity, or a capacity in place of the attribute.
    """
    if is_other:
        return Advice(_wrong_holder(read, parts))
    domains = {domain for domain, _ in known}
    if read.domain in domains:
        names = sorted(name for domain, name in known if domain == read.domain)
        advice = in_expression(parts.text, read.name, names, "it has")
    else:
        advice = in_expression(parts.text, read.domain, sorted(domains), "domains") if domains else Advice()
    # device.attributes["model"].string is meant as model of some domain.
    name, steps = (read.domain, rf"\.{read.name}\b") if read.name in WRITTEN_TYPES else (read.name, "")
    if advice.fix or not (elsewhere := sorted(domain for domain, each in known if each == name)):
        return advice
    holder = f'device.{read.holder}["{elsewhere[0]}"]'
    written = rf"""device\.{read.holder}\[(["']){re.escape(read.domain)}\1\]{steps}"""
    corrected = re.sub(written, lambda _: f"{holder}.{name}" if steps else holder, parts.text)
    return Advice(Meant(f"did you mean {holder}.{name}?"), Fix("replace", corrected, safe=False))


def _wrong_holder(read: Read, parts: Parts) -> str:
    """Return the hint for a capacity that is read from ``device.attributes``, or the other way round."""
    if read.holder == "capacity":
        return f'{read.name} is an attribute: device.attributes["{read.domain}"].{read.name}'
    meant = f'device.capacity["{read.domain}"].{read.name}'
    orderings = (each for each in map(comparison, parts.nodes) if each and each.has_operator)
    compared = (each for each in orderings if (one := read_of(each.subject)) and one[:3] == read[:3])
    if found := next(compared, None):
        meant += f".compareTo(quantity({_amount(found.wanted)})) {found.operator} 0"
    return f"{read.name} is a capacity: {meant}"


def _amount(wanted: Expression) -> str:
    """Return the amount that a constant means, in quotes; of a number, whose unit is unknown, as Gi."""
    if isinstance(wanted, Call):
        wanted = wanted.arguments[0]
    value = wanted.value if isinstance(wanted, Literal) else None
    amount = f"{value}Gi" if type(value) is int else value
    return f'"{amount}"' if isinstance(amount, str) and readable_quantity(amount) else '"40Gi"'


class Comparison(NamedTuple):
    """A comparison of an attribute or capacity with a constant by an operator.

    Args:
        operator: The operator, as in ``read operator value``; ``in`` for the first value of a list.
        offset: The offset of the constant in the expression.
    """

    read: Read
    operator: str
    value: Any
    offset: int

    @property
    def is_number(self) -> bool:
        """Whether the constant is a text with a version or a number."""
        return isinstance(self.value, str) and bool(_NUMERIC.fullmatch(self.value))

    @property
    def of_versions(self) -> str:
        """The comparison as one of versions; with an example if the constant is none."""
        version = ".".join([*self.value.removeprefix("v").split("."), "0", "0"][:3]) if self.is_number else "1.2.3"
        return f'.compareTo(semver("{version}")) {"==" if self.operator == "in" else self.operator} 0'


def text_comparisons(parts: Parts) -> list[Comparison]:
    """List the comparisons of a selector with texts."""
    return [each for each in comparisons(parts) if isinstance(each.value, str)]


def comparisons(parts: Parts) -> list[Comparison]:
    """List the comparisons of a selector with constants."""
    return parts.once("comparisons", lambda parts: list(_comparisons(parts)))


def _comparisons(parts: Parts) -> Iterator[Comparison]:
    for found in filter(None, map(comparison, parts.nodes)):
        among = found.wanted.elements[:1] if isinstance(found.wanted, ListExpression) else [found.wanted]
        read = read_of(found.subject) if found.has_operator or found.operator == "in" else None
        for each in among:
            if read and isinstance(each, Literal):
                yield Comparison(read, found.operator, each.value, each.offset)


def failures(selector: Selector, fleet: Fleet) -> Sequence[tuple[ContentGroup, SelectorFault]]:
    """Return the devices on which a selector fails, with the errors; none if the class is unknown."""
    if not selector.is_certain:
        return ()
    answer = fleet.sorted_out(selector.around, selector.own[: selector.place + 1])
    return [pair for pair in answer.failing if (pair[1].of_class, pair[1].place) == (False, selector.place)]
