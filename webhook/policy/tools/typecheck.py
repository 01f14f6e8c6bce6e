"""Type-checks expressions against the kinds that a policy matches.

Follows apiserver ``pkg/admission/plugin/policy/validating/typechecking.go``: kinds of rules without wildcards, ten at
most. The API server writes its findings into the policy's status; here they are warnings. It does not check
variables and the mutations of mutating policies; here they are checked in the same way.
"""

from __future__ import annotations

from functools import lru_cache

from webhook.budget import DOCUMENT, Budget, BudgetExceededError, limited
from webhook.cel import CompileError, Environment, Library, StructType
from webhook.cel.kubernetes.environments import admission_environment, any_object, variable_type, with_variables
from webhook.cel.types import base as types
from webhook.policy.manifest.hints import hint_of
from webhook.policy.manifest.kinds import Kind
from webhook.policy.manifest.model import MUTATING
from webhook.policy.tools.warnings import warning
from webhook.schema.derive.shape import (
    BOOLEAN,
    BYTES,
    DURATION,
    INTEGER,
    NUMBER,
    STRING,
    TIMESTAMP,
    Anything,
    ListOf,
    MapOf,
    Scalar,
    Structure,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Final

    from webhook.cel.types.base import Type
    from webhook.policy.manifest.kinds import Kinds
    from webhook.policy.manifest.model import Policy
    from webhook.problem import Path, Problem
    from webhook.release import Release
    from webhook.schema.derive.shape import Shape

MAX_KINDS: Final = 10
_SCALARS: Final[Mapping[str, Type]] = {
    STRING: types.STRING,
    INTEGER: types.INT,
    NUMBER: types.DOUBLE,
    BOOLEAN: types.BOOL,
    TIMESTAMP: types.TIMESTAMP,
    DURATION: types.DURATION,
    BYTES: types.BYTES,
}


def type_warnings(policy: Policy, kinds: Kinds, release: Release) -> Iterator[Problem]:
    """Check the types of a policy's expressions.

    Args:
        policy: The policy.
        kinds: The known kinds.
        release: The Kubernetes release, as the minor of 1.x.
    """
    checked = [kind for kind in kinds_to_check(policy, kinds) if kinds.schema_of(kind)]
    found: dict[Path, list[tuple[Kind, str]]] = {}
    hints: dict[Path, str] = {}
    with limited(Budget(DOCUMENT, is_offline=True)):
        for kind in checked:
            for path, error, environment in _errors(kind, policy, kinds, release):
                found.setdefault(path, []).append((kind, str(error)))
                hints.setdefault(path, hint_of(error, environment))
    variables = {each.path for each in policy.variables}
    for_some_kinds = variables.union(each.path for each in policy.mutations)
    for path, errors in found.items():
        if path in for_some_kinds and len(errors) < len(checked):
            continue
        if path in variables and len({error for _, error in errors}) > 1:
            continue  # it chooses by the kind, and lacks for each kind what the others have
        message = "\n".join(f"{kind}: {error}\n" for kind, error in errors).strip()
        yield warning("type-check", path, message, hints[path])


def _errors(
    kind: Kind, policy: Policy, kinds: Kinds, release: Release
) -> Iterator[tuple[Path, CompileError, Environment]]:
    """Yield the expressions that are wrong for a kind, with their errors and environments."""
    typed = environment = _environment(kind, policy, kinds, release)
    known: dict[str, Type] = {}
    for variable in policy.variables:
        type_: Type = types.DYN
        try:
            type_ = environment.check(variable.expression).type
        except CompileError as error:
            yield variable.path, error, environment
        except BudgetExceededError:
            pass  # compiling the policy reports this
        known[variable.name] = variable_type(type_)
        environment = with_variables(typed, dict(known))
    for path, text in _expressions(policy):
        try:
            environment.check(text)
        except CompileError as error:
            yield path, error, environment
        except BudgetExceededError:
            pass  # as above


def kinds_to_check(policy: Policy, kinds: Kinds) -> list[Kind]:
    """List the kinds that a policy matches, if its rules name them."""
    found = set()
    for rule in policy.match.rules:
        if "*" in rule.groups | rule.versions:
            continue
        names = {name for name, subresource in rule.resources if name != "*" and not subresource}
        found |= {
            kind
            for group in rule.groups.intersection(kinds.groups)
            for known in kinds.of_group(group)
            if known.resource in names
            for version in rule.versions.intersection(known.versions)
            if kinds.find(kind := Kind(group, version, known.kind))
        }
    return sorted(found)[:MAX_KINDS]


def _expressions(policy: Policy) -> Iterator[tuple[Path, str]]:
    for validation in policy.validations:
        yield validation.path / "expression", validation.expression
        if validation.message_expression:
            yield validation.path / "messageExpression", validation.message_expression
    for named in (*policy.conditions, *policy.annotations):
        yield named.path, named.expression
    for mutation in policy.mutations:
        yield mutation.path, mutation.expression


def _environment(kind: Kind, policy: Policy, kinds: Kinds, release: Release) -> Environment:
    has_params, makes_changes = policy.param_kind is not None, policy.kind == MUTATING
    environment = admission_environment(release, stored=True, params=has_params, patch_types=makes_changes)
    schema = kinds.schema_of(kind)
    assert schema is not None  # noqa: S101 - only known kinds are checked
    own = _typed(schema, f"{kind.api_version}.{kind.kind}")
    declared = {"object": own[0], "oldObject": own[0]}
    libraries = [own[1]]
    if policy.param_kind and (of_params := kinds.schema_of(policy.param_kind)):
        params = _typed(of_params, f"{policy.param_kind.api_version}.{policy.param_kind.kind}")
        declared["params"] = params[0]
        libraries.append(params[1])
    if makes_changes:
        libraries.append(_makeable(schema))
    return environment.extend(*libraries, variables=declared)


@lru_cache(maxsize=64)
def _typed(schema: Structure, prefix: str) -> tuple[Type, Library]:
    """Declare the types of a known kind."""
    declared: dict[str, StructType] = {}
    type_ = _declare(schema, prefix, declared)
    return type_, Library(prefix, structs=tuple(declared.values()))


@lru_cache(maxsize=64)
def _makeable(schema: Structure) -> Library:
    """Declare the types that a mutation of a known kind can make: ``Object``, ``Object.spec`` and so on."""
    return Library(f"changes of {schema.name}", structs=tuple(_makeable_below(schema, "Object")))


def _makeable_below(shape: Shape, name: str) -> Iterator[StructType]:
    while isinstance(shape, ListOf):
        shape = shape.item
    if isinstance(shape, Structure):
        fields = dict(shape.fields())
        yield StructType(types.struct(name), dict.fromkeys(fields, types.DYN))
        for field, each in fields.items():
            yield from _makeable_below(each, f"{name}.{field}")
    elif not isinstance(shape, Scalar):
        yield any_object(name)


def _declare(shape: Shape, prefix: str, declared: dict[str, StructType]) -> Type:
    if isinstance(shape, Scalar):
        return _SCALARS.get(shape.kind, types.DYN)
    if isinstance(shape, Anything):
        return types.DYN
    if isinstance(shape, ListOf):
        return types.list_of(_declare(shape.item, prefix, declared))
    if isinstance(shape, MapOf):
        return types.map_of(types.STRING, _declare(shape.item, prefix, declared))
    return _declare_structure(shape, prefix, declared)


def _declare_structure(structure: Structure, prefix: str, declared: dict[str, StructType]) -> Type:
    type_ = types.struct(f"{prefix}.{structure.name}")
    if type_.name not in declared:
        fields: dict[str, Type] = {}
        declared[type_.name] = StructType(type_, fields)
        fields |= {name: _declare(each, prefix, declared) for name, each in structure.fields()}
    return type_
