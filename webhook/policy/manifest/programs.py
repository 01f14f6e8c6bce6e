"""The compiled expressions of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain

from webhook.cel import CelError
from webhook.policy.manifest.expressions import (
    ANNOTATION,
    CONDITION,
    MESSAGE,
    MUTATIONS,
    VALIDATION,
    CompiledExpression,
    Compiler,
    Failure,
    Role,
)
from webhook.policy.manifest.model import MUTATING, Policy, Stated
from webhook.records import NamedTuple
from webhook.release import Release


class NamedExpression(NamedTuple):
    """An expression as the policy states it, and compiled."""

    stated: Stated
    compiled: CompiledExpression | Failure


class Programs(NamedTuple):
    """A policy's expressions, in the order of the manifest; a validation without messageExpression has None."""

    conditions: tuple[NamedExpression, ...]
    variables: Mapping[str, NamedExpression]
    validations: tuple[NamedExpression, ...]
    messages: tuple[NamedExpression | None, ...]
    annotations: tuple[NamedExpression, ...]
    mutations: tuple[NamedExpression, ...]

    def prepare(self) -> None:
        """Compile all expressions now instead of during the first request that evaluates them."""
        for each in chain(self.conditions, *self._others):
            if each and isinstance(each.compiled, CompiledExpression):
                with suppress(CelError):  # which is reported when it is evaluated
                    each.compiled.program.prepare()

    @property
    def _others(self) -> tuple[Iterable[NamedExpression | None], ...]:
        return self.variables.values(), self.validations, self.messages, self.annotations, self.mutations

    @property
    def without_messages(self) -> Iterator[NamedExpression]:
        """All expressions, but those of messages."""
        return chain(self.conditions, self.variables.values(), self.validations, self.annotations, self.mutations)

    @property
    def uses(self) -> frozenset[str]:
        """The variables that the expressions use: ``object``, ``request``, …; conditions see no namespace."""
        return _names(chain(*self._others)) | (_names(self.conditions) - {"namespaceObject"})


def _names(expressions: Iterable[NamedExpression | None]) -> frozenset[str]:
    return frozenset(
        name
        for each in expressions
        if each and isinstance(each.compiled, CompiledExpression)
        for name in each.compiled.program.variables
    )


def compile_policy(policy: Policy, release: Release) -> Programs:
    """Compile a policy's expressions."""
    mutating = policy.kind == MUTATING
    compiler = Compiler(release, params=policy.param_kind is not None, composed=mutating, patches=mutating)

    def compiled(stated: Stated, role: Role) -> NamedExpression:
        return NamedExpression(stated, compiler.compile(role, stated.text))

    messages = (each.message_expression for each in policy.validations)
    return Programs(
        conditions=tuple(compiled(each, CONDITION) for each in policy.conditions),
        variables={
            each.name: NamedExpression(each, compiler.variable(each.name, each.text)) for each in policy.variables
        },
        validations=tuple(compiled(each.expression, VALIDATION) for each in policy.validations),
        messages=tuple(each and compiled(each, MESSAGE) for each in messages),
        annotations=tuple(compiled(each, ANNOTATION) for each in policy.annotations),
        mutations=tuple(compiled(each, MUTATIONS[each.name]) for each in policy.mutations),
    )
