"""Finds comparisons of a field of the request with a value that it never has, such as a misspelt kind.

Only fields whose values follow from the policy's rules are judged: where a rule leaves the group open, there may be
custom resources of any name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from itertools import islice, product
from typing import Final

from webhook.cel.syntax.ast import Call, Expression, Ident, ListExpression, Literal, Select, within
from webhook.policy.manifest.expressions import CompiledExpression
from webhook.policy.manifest.kinds import OF_OBJECT, SUBRESOURCES, Kinds, Known
from webhook.policy.manifest.matchresources import OPERATIONS
from webhook.policy.manifest.model import Policy, Rule
from webhook.policy.manifest.programs import Programs, with_paths
from webhook.policy.tools.warnings import warning
from webhook.problem import Problem, quoted
from webhook.records import NamedTuple
from webhook.spelling import did_you_mean

_ALL: Final = "*"
_COMBINATIONS: Final = 20_000
"""A policy whose rules match more combinations, as made-up ones do, is not judged."""
_LISTED: Final = 4
"""The most values that a warning lists."""
_COMPARISONS: Final = frozenset({"_==_", "_!=_"})
_STEPS: Final = frozenset({"_?._", "_[_]", "_[?_]"})


class _Matched(NamedTuple):
    """A combination that a rule matches; None for what it leaves open."""

    operation: str
    group: str | None
    version: str | None
    resource: str | None
    subresource: str | None
    kind: str | None


def _api_version(matched: _Matched) -> str | None:
    if matched.kind is None or matched.group is None or matched.version is None:
        return None
    return f"{matched.group}/{matched.version}" if matched.group else matched.version


_FIELDS: Final[Mapping[str, Callable[[_Matched], str | None]]] = {
    "request.operation": lambda matched: matched.operation,
    "request.resource.group": lambda matched: matched.group,
    "request.resource.version": lambda matched: matched.version,
    "request.resource.resource": lambda matched: matched.resource,
    "request.requestResource.resource": lambda matched: matched.resource,
    "request.subResource": lambda matched: matched.subresource,
    "request.requestSubResource": lambda matched: matched.subresource,
    "request.kind.group": lambda matched: matched.group if matched.kind else None,
    "request.kind.version": lambda matched: matched.version if matched.kind else None,
    "request.kind.kind": lambda matched: matched.kind,
    "request.requestKind.kind": lambda matched: matched.kind,
    **dict.fromkeys(("object.kind", "oldObject.kind"), lambda matched: matched.kind),
    **dict.fromkeys(("object.apiVersion", "oldObject.apiVersion"), _api_version),
}
"""The fields whose values follow from the rules. Those of ``request.request…`` may be in another version, or group."""


def comparison_warnings(policy: Policy, programs: Programs, kinds: Kinds) -> Iterator[Problem]:
    """Find comparisons of a field of the request with a constant that it never has.

    Args:
        programs: Its compiled expressions.
        kinds: The known kinds.
    """
    combinations = (each for rule in policy.match.rules for each in _matched(rule, kinds))
    matched = list(islice(combinations, _COMBINATIONS + 1))
    if len(matched) > _COMBINATIONS:
        return

    @cache
    def values_of(field: str) -> set[str | None]:
        return set(map(_FIELDS[field], matched))

    aliases = _aliases(programs)
    for path, expression in with_paths(policy, programs):
        if not isinstance(expression.compiled, CompiledExpression):
            continue
        before = expression.text.index(expression.compiled.checked.text)
        for field, constant in _compared(expression.compiled.checked.root, aliases):
            values = values_of(field)
            if None not in values and constant.value not in values:
                known = sorted(each for each in values if each is not None)
                message = f"{field} is never {quoted(constant.value)}: the policy's rules match only {_listed(known)}"
                hint = did_you_mean(constant.value, known, quotes='"')
                yield warning("impossible-value", path, message, hint, before + constant.offset)


def _matched(rule: Rule, kinds: Kinds) -> Iterator[_Matched]:
    """Yield all combinations that a rule matches."""
    operations = set(OPERATIONS) - {_ALL} if _ALL in rule.operations else rule.operations
    for group, (name, subresource) in product(rule.groups, rule.resources):
        subresources = _subresources(subresource, is_closed=kinds.has_group(group))
        for known in _known(group, name, kinds) or (None,):
            resource = known.resource if known else _stated(name)
            versions = known.versions if known and _ALL in rule.versions else map(_stated, rule.versions)
            for operation, version, below in product(operations, versions, subresources):
                kind = known.kind if known and below in {"", *OF_OBJECT} else None
                yield _Matched(operation, _stated(group), version, resource, below, kind)


def _known(group: str, name: str, kinds: Kinds) -> list[Known]:
    """Return the kinds that a rule matches in a group; none if there may be others, too."""
    known = kinds.of_group(group)
    if name == _ALL:
        return known if kinds.has_group(group) else []
    return [each for each in known if each.resource == name]


def _subresources(stated: str, *, is_closed: bool) -> tuple[str | None, ...]:
    """Return the subresources that a rule matches, of a group whose resources are all known, or of another one."""
    if stated != _ALL:
        return (stated,)
    return ("", *SUBRESOURCES) if is_closed else (None,)


def _stated(text: str) -> str | None:
    return None if text == _ALL else text


def _aliases(programs: Programs) -> dict[str, str]:
    """Return the fields for which variables of the policy stand, such as ``variables.kind`` for ``object.kind``."""
    found: dict[str, str] = {}
    for name, expression in programs.variables.items():  # each can use those before it
        if isinstance(expression.compiled, CompiledExpression):
            found[f"variables.{name}"] = _resolved(_field(expression.compiled.checked.root), found)
    return found


def _resolved(field: str, aliases: Mapping[str, str]) -> str:
    """Replace a variable of the policy by the field for which it stands."""
    steps = field.split(".")
    holder = ".".join(steps[:2])
    return ".".join([aliases.get(holder, holder), *steps[2:]])


def _compared(root: Expression, aliases: Mapping[str, str]) -> list[tuple[str, Literal]]:
    """Return the fields that an expression compares with texts, and these texts, in their order in the expression."""
    found = [
        (field, constant)
        for call in within(root)
        if isinstance(call, Call) and call.target is None
        for side, constants in _sides(call)
        if (field := _resolved(_field(side), aliases)) in _FIELDS
        for constant in constants
        if isinstance(constant, Literal) and isinstance(constant.value, str) and constant.value
    ]
    return sorted(found, key=lambda each: each[1].offset)


def _sides(call: Call) -> Iterator[tuple[Expression, Iterable[Expression]]]:
    """Yield each side of a comparison, and the values with which it is compared."""
    if call.function in _COMPARISONS:
        left, right = call.arguments
        yield left, [right]
        yield right, [left]
    elif call.function == "@in" and isinstance(call.arguments[1], ListExpression):
        yield call.arguments[0], call.arguments[1].elements


def _field(node: Expression) -> str:
    """Return the path of a field from its variable, such as ``request.operation``; empty for another expression."""
    steps: list[str] = []
    while not isinstance(node, Ident):
        if isinstance(node, Select):
            steps.append(node.field)
            node = node.operand
        elif isinstance(node, Call) and node.target is not None and node.function in {"orValue", "value"}:
            node = node.target
        elif isinstance(node, Call) and node.function in _STEPS and isinstance(key := node.arguments[-1], Literal):
            steps.append(str(key.value))
            node = node.arguments[0]
        else:
            return ""
    return ".".join([node.name, *reversed(steps)]) if node.resolved == f".{node.name}" else ""


def _listed(values: list[str]) -> str:
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return ", ".join(map(quoted, values[:_LISTED])) + more
