"""Finds comparisons of a field of the request with a value that it never has, such as a misspelt kind.

Only fields whose values follow from the policy's rules are judged: where a rule leaves the group open, there may be
custom resources of any name.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Final

from webhook.cel.syntax.ast import Call, Ident, ListExpression, Literal, Select
from webhook.policy.manifest.expressions import CompiledExpression
from webhook.policy.manifest.kinds import SUBRESOURCES
from webhook.policy.manifest.matchresources import OPERATIONS
from webhook.policy.manifest.programs import with_paths
from webhook.policy.tools.typecheck import TypeWarning
from webhook.problem import quoted
from webhook.records import NamedTuple
from webhook.spelling import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from webhook.cel.syntax.ast import Expression
    from webhook.policy.manifest.kinds import Kinds
    from webhook.policy.manifest.model import Policy, Rule
    from webhook.policy.manifest.programs import Programs

_LISTED: Final = 4
"""The most values that a warning lists."""
_OF_THE_OBJECT: Final = frozenset({"", "approval", "ephemeralcontainers", "finalize", "resize", "status"})
"""The subresources whose requests hold the object itself, and not one of another kind, such as a Scale."""
_COMPARISONS: Final = frozenset({"_==_", "_!=_"})
_STEPS: Final = frozenset({"_?._", "_[_]", "_[?_]"})


class _Matched(NamedTuple):
    """What a rule matches; None for what it leaves open."""

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


def comparison_warnings(policy: Policy, programs: Programs, kinds: Kinds) -> Iterator[TypeWarning]:
    """Find constants that a field of the request never has, whatever the policy's rules match.

    Args:
        policy: The policy.
        programs: Its compiled expressions.
        kinds: The known kinds.
    """
    matched = [each for rule in policy.match.rules for each in _matched(rule, kinds)]
    for path, expression in with_paths(policy, programs):
        if not isinstance(expression.compiled, CompiledExpression):
            continue
        before = expression.text.index(expression.compiled.checked.text)
        for field, constant in _compared(expression.compiled.checked.root):
            values = {_FIELDS[field](each) for each in matched}
            if None not in values and constant.value not in values:
                known = sorted(each for each in values if each is not None)
                near = nearest(constant.value, known)
                text = f"{field} is never {quoted(constant.value)}: the policy's rules match only {_listed(known)}"
                yield TypeWarning(path, text, f'did you mean "{near}"?' if near else "", before + constant.offset)


def _matched(rule: Rule, kinds: Kinds) -> Iterator[_Matched]:
    operations = set(OPERATIONS) - {"*"} if "*" in rule.operations else rule.operations
    for group, version, (name, below) in product(rule.groups, rule.versions, rule.resources):
        is_closed = kinds.has_group(group)
        known = [each for each in kinds.of_group(group) if name == each.resource or (name == "*" and is_closed)]
        subresources = (("", *SUBRESOURCES) if is_closed else (None,)) if below == "*" else (below,)
        for each, subresource, operation in product(known or (None,), subresources, operations):
            resource = each.resource if each else None if name == "*" else name
            kind = each.kind if each and subresource in _OF_THE_OBJECT else None
            for every in (each.versions if each else (None,)) if version == "*" else (version,):
                yield _Matched(operation, None if group == "*" else group, every, resource, subresource, kind)


def _compared(root: Expression) -> Iterator[tuple[str, Literal]]:
    """Yield the fields that an expression compares with constants, and the constants, in the order of the text."""
    found, left, known = [], [root], set[int]()
    while left:
        node = left.pop()
        if id(node) in known:  # nested macros share their targets: 2^n ways lead to the innermost
            continue
        known.add(id(node))
        left += node.children()
        if isinstance(node, Call) and node.target is None:
            found += [
                (field, constant)
                for one, constants in _sides(node)
                if (field := _field(one)) in _FIELDS
                for constant in constants
                if isinstance(constant, Literal) and isinstance(constant.value, str) and constant.value
            ]
    return iter(sorted(found, key=lambda each: each[1].offset))


def _sides(call: Call) -> Iterator[tuple[Expression, Iterable[Expression]]]:
    """Yield each side of a comparison, and the values with which it is compared."""
    if call.function in _COMPARISONS:
        left, right = call.arguments
        yield left, [right]
        yield right, [left]
    elif call.function == "@in" and isinstance(call.arguments[1], ListExpression):
        yield call.arguments[0], call.arguments[1].elements


def _field(node: Expression) -> str:
    """Spell a field with its path from a variable, such as ``request.operation``; empty if it is none."""
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
