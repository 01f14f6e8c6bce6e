"""The compiled expressions of a policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain

from webhook.cel import CelError
from webhook.escapes import GO_SPACE
from webhook.policy.manifest.expressions import CompiledExpression, Compiler, Failure
from webhook.policy.manifest.model import MUTATING, Policy
from webhook.problem import Path
from webhook.records import NamedTuple
from webhook.release import Release


class NamedExpression(NamedTuple):
    """An expression as text and compiled."""

    text: str
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
    conditions = tuple(
        NamedExpression(each.expression, compiler.condition(each.expression.strip(GO_SPACE)))
        for each in policy.conditions
    )
    variables = {
        each.name: NamedExpression(each.expression, compiler.variable(each.name, each.expression))
        for each in policy.variables
    }
    return Programs(
        conditions=conditions,
        variables=variables,
        validations=tuple(
            NamedExpression(each.expression, compiler.validation(each.expression)) for each in policy.validations
        ),
        messages=tuple(
            NamedExpression(each.message_expression, compiler.message(each.message_expression))
            if each.message_expression
            else None
            for each in policy.validations
        ),
        annotations=tuple(
            NamedExpression(each.expression, compiler.annotation(each.expression.strip(GO_SPACE)))
            for each in policy.annotations
        ),
        mutations=tuple(
            NamedExpression(each.expression, compiler.mutation(each.patch_type, each.expression.strip(GO_SPACE)))
            for each in policy.mutations
        ),
    )


def with_paths(policy: Policy, programs: Programs) -> Iterator[tuple[Path, NamedExpression]]:
    """Yield a policy's expressions with their paths, without those of messages."""
    yield from zip((each.path for each in policy.conditions), programs.conditions, strict=True)
    yield from zip((each.path for each in policy.variables), programs.variables.values(), strict=True)
    yield from zip((each.path / "expression" for each in policy.validations), programs.validations, strict=True)
    yield from zip((each.path for each in policy.annotations), programs.annotations, strict=True)
    yield from zip((each.path for each in policy.mutations), programs.mutations, strict=True)
