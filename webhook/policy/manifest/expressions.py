"""Compiles the CEL expressions of policies.

Follows apiserver ``pkg/admission/plugin/cel/compile.go`` and ``composition.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from webhook.budget import DOCUMENT, Budget, BudgetExceededError, current, limited
from webhook.cel.cache import Cache
from webhook.cel.environment import Environment, Program, Refusal
from webhook.cel.errors import CompileError
from webhook.cel.kubernetes.environments import admission_environment, variable_type, with_variables
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.escapes import GO_SPACE
from webhook.problem import ERROR, Path, Problem, invalid
from webhook.release import Release

TYPE_SHOWN: Final = 32
"""From Kubernetes 1.32, errors name the wrong type."""


class ExpressionScope(NamedTuple):
    """The variables that an expression may use beside the object and the request.

    Args:
        patches: Whether it may make objects and patches.
        variables: The policy's variables that it may use, with their types; None if the policy has no variables.
    """

    release: Release
    params: bool
    authorizer: bool = True
    patches: bool = False
    variables: tuple[tuple[str, Type], ...] | None = None


@lru_cache(maxsize=256)
def _environment(scope: ExpressionScope) -> Environment:
    release, params, authorizer, patches, variables = scope
    environment = admission_environment(release, params=params, authorizer=authorizer, patch_types=patches)
    return environment if variables is None else with_variables(environment, dict(variables))


_ENTRY: Final = 1000
_BYTES_PER_UNIT: Final = 50
"""The measured bytes of an evaluated program for each unit of work that compiling it took."""
_kept: Final[Cache[Program | Refusal]] = Cache(32 << 20)


def compile_expression(text: str, scope: ExpressionScope, *wanted: Type) -> Program | Refusal:
    """Compile an expression, or return it from the cache.

    Args:
        *wanted: The types that it may evaluate to; any type if none are given.
    """
    key = text, scope, wanted
    if (found := _kept.get(key)) is None:
        budget = current()
        before = budget.left
        try:
            found = _compile(text, scope, wanted)
        except BudgetExceededError:
            why = "the expressions of this policy take more work than draguard allows; this one was not compiled"
            return Refusal(why)
        _kept.put(key, found, _ENTRY + len(text) + (before - budget.left) * _BYTES_PER_UNIT)
    return found


def _compile(text: str, scope: ExpressionScope, wanted: tuple[Type, ...]) -> Program | Refusal:
    environment = _environment(scope)

    def refuse(type_: Type) -> Refusal | None:
        if not wanted or type_ in wanted:
            return None
        from webhook.hints.policies import hint_of_type  # most expressions are right

        names = " ".join(map(_go_name, wanted))
        reason = f"must evaluate to {f'one of [{names}]' if len(wanted) > 1 else names}"
        text = f"{reason} but got {_go_name(type_)}" if scope.release >= TYPE_SHOWN else reason
        return Refusal(text, hint=hint_of_type(type_, wanted))

    def hint_of(error: CompileError) -> str:
        from webhook.hints import policies  # as above

        return policies.hint_of(error, environment)

    return environment.attempt(text, refuse, hint_of)


def _go_name(type_: Type) -> str:
    """Name a type as ``Type.String`` of cel-go does; its checker names some types differently."""
    if not type_.parameters:
        return type_.name
    return f"{type_.name}({', '.join(map(_go_name, type_.parameters))})"


class Role(NamedTuple):
    """A place of expressions in a policy.

    Args:
        wanted: The types that they may evaluate to; any type if there are none.
        is_composed: Whether they may use the policy's variables.
        is_stripped: Whether the API server compiles them without the space around them.
    """

    wanted: tuple[Type, ...] = ()
    is_composed: bool = True
    is_stripped: bool = False
    authorizer: bool = True


CONDITION: Final = Role((types.BOOL,), is_composed=False, is_stripped=True)
VALIDATION: Final = Role((types.BOOL,))
MESSAGE: Final = Role((types.STRING,), authorizer=False)
ANNOTATION: Final = Role((types.STRING, types.NULL), is_stripped=True)
MUTATIONS: Final = {
    "ApplyConfiguration": Role((types.struct("Object"),), is_stripped=True),
    "JSONPatch": Role((types.list_of(types.struct("JSONPatch")),), is_stripped=True),
}


class Compiler:
    """Compiles the expressions of one policy in their order, within one budget, and reports their errors.

    Args:
        composed: Whether ``variables`` exists even if the policy has none, as in mutating policies.
        patches: Whether expressions may make objects and patches.
    """

    def __init__(self, release: Release, *, params: bool, composed: bool = False, patches: bool = False) -> None:
        self._budget = Budget(DOCUMENT, is_offline=True)
        self._plain = ExpressionScope(release, params)
        self._scope = ExpressionScope(release, params, patches=patches, variables=() if composed else None)

    def _compile(self, text: str, scope: ExpressionScope, wanted: tuple[Type, ...] = ()) -> Program | Refusal:
        with limited(self._budget):
            return compile_expression(text, scope, *wanted)

    def compile(self, role: Role, text: str) -> Program | Refusal:
        """Compile an expression."""
        scope = self._scope if role.is_composed else self._plain
        if not role.authorizer:
            scope = scope._replace(authorizer=False)
        return self._compile(text.strip(GO_SPACE) if role.is_stripped else text, scope, role.wanted)

    def variable(self, name: str, text: str) -> Program | Refusal:
        """Compile a variable; later variables may use it."""
        # The API server does not let variables make objects or patches.
        scope = self._scope._replace(variables=self._scope.variables or ())
        compiled = self._compile(text, scope._replace(patches=False))
        type_ = variable_type(compiled.checked.type if isinstance(compiled, Program) else None)
        declared = dict(scope.variables or ()) | {name: type_}
        self._scope = scope._replace(variables=tuple(declared.items()))
        return compiled

    def complaints(self, role: Role, path: Path, stated: str) -> Iterator[Problem]:
        """Compile an expression, and report it if it cannot be evaluated."""
        shown = stated.strip(GO_SPACE) if role.is_stripped and role is not ANNOTATION else stated
        yield from complaints(self.compile(role, stated), path, shown, stated if role.is_stripped else "")


def complaints(result: Program | Refusal, path: Path, text: str, stated: str = "") -> Iterator[Problem]:
    """Report an expression that cannot be evaluated, as the API server does.

    Args:
        text: The expression as the API server shows it.
        stated: The expression in the policy, if it was compiled without the space around it.
    """
    if not isinstance(result, Refusal):
        return
    if result.is_internal:
        yield Problem(ERROR, "expression", "InternalError", path, f"Internal error: {result.text}")
    else:
        cut = len(stated) - len(stated.lstrip(GO_SPACE))
        issues = tuple(each._replace(offset=each.offset + cut) if each.offset >= 0 else each for each in result.issues)
        yield invalid(path, text, result.text)._replace(hint=result.hint, issues=issues)
