"""Type-checks expressions against the kinds that a policy matches.

Follows apiserver ``pkg/admission/plugin/policy/validating/typechecking.go``: kinds of rules without wildcards, ten of a
rule at most. What the API server writes into the policy's status is a warning, or a note where its types are wrong and
the policy works. It checks validations only, and no subresources; here all other expressions are checked for what fails
when evaluated.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import chain, islice
from typing import Final, NamedTuple

from webhook.budget import DOCUMENT, Budget, BudgetExceededError, limited
from webhook.cel.checker.checker import Checker
from webhook.cel.checker.declarations import Checked, Library, StructType
from webhook.cel.environment import Environment, Program
from webhook.cel.errors import NO_OVERLOAD, NO_RANGE, UNDEFINED, CelError, CompileError, Issues
from webhook.cel.kubernetes.authorizer import AUTHORIZER
from webhook.cel.kubernetes.environments import admission_environment, any_object, variable_type, with_variables
from webhook.cel.runtime.meter import Meter
from webhook.cel.syntax.ast import Call, Comprehension, Expression, Ident, Select, Shared, within
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.hints.policies import hint_of, nearest_field, parts_with
from webhook.issues import Issue
from webhook.patterns import Pattern
from webhook.policy.manifest.kinds import OF_OBJECT, GroupVersionKind, Kinds, Resource
from webhook.policy.manifest.model import MUTATING, Policy, ResourceRule, StatedExpression
from webhook.problem import NOTE, WARNING, Path, Problem
from webhook.release import Release
from webhook.schema.derive import shape as shapes
from webhook.schema.derive.shape import Anything, ListOf, MapOf, Scalar, Shape, Structure
from webhook.structural.rules import TYPES

MAX_KINDS: Final = 10
_WORKS: Final = "the API server states this in status.typeChecking, and evaluates the expression all the same"
_BRANCHES: Final[Mapping[str, bool | None]] = {"_||_": True, "_&&_": False, "_?_:_": None}
"""The operators that may leave operands out, with the value of an operand that decides; a condition has none."""
_WORDS: Final = Pattern(r"\w+")
_APART: Final = "the API server tells the types of different fields apart: write dyn(…) around one of them"


def warning(rule: str, path: Path, message: str, hint: str = "", character: int | None = None) -> Problem:
    """Warn of a policy that the API server accepts, although it cannot work.

    Args:
        character: Where the fault is in an expression, in code points; None for what the message locates.
    """
    return Problem(WARNING, rule, "", path, message, hint, character=character)


def type_warnings(policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Check the types of a policy's expressions."""
    own = kinds_to_check(policy, kinds)
    checked, all_ = (list(filter(kinds.schema_of, each)) for each in (own, kinds_matched(policy, kinds)))
    of_validations = {each.path for each in policy.of_validations}
    with limited(Budget(DOCUMENT, is_offline=True)):
        evaluated = _found(all_, policy, kinds)
        stated = _found(checked, policy, kinds, as_stated=True) if of_validations else {}
    for path, errors in stated.items():
        if path not in of_validations:
            continue
        if any(each.kind in checked for each in evaluated.get(path, ())):
            yield _mistyped(path, errors, evaluated[path][0].hint)
        elif any(map(_tells_apart, errors)):
            yield _mistyped(path, errors, _APART)
        else:
            yield _mistyped(path, errors, _WORKS)._replace(level=NOTE)
    variables = {each.path for each in policy.variables}
    for_some_kinds = of_validations.union(variables, (each.path for each in policy.mutations))
    for path, errors in evaluated.items():
        if path in of_validations and checked:
            continue
        if len(errors) < len(all_) and (path in for_some_kinds or not any(each.kind in own for each in errors)):
            continue
        if path in variables and len({each.text for each in errors}) > 1:
            continue  # it chooses by the kind, and lacks for each kind what the others have
        yield _mistyped(path, errors, errors[0].hint)._replace(rule="mistyped")
    with limited(Budget(DOCUMENT, is_offline=True)):
        yield from list(_unread(policy, kinds, {*evaluated, *of_validations.intersection(stated)}))


def _unread(policy: Policy, kinds: Kinds, mistyped: Collection[Path]) -> Iterator[Problem]:
    """Find fields that no kind has, and those that the usual version of one has elsewhere only.

    This concerns what the API server states no types of, rules for any version and structs in variables: a test
    takes such fields for absent.

    Args:
        mistyped: The expressions whose types are wrong.
    """
    words = {word for each in (*policy.variables, *_expressions(policy)) for word in _WORDS.findall(each.text)}
    named, in_any_version = kinds_matched(policy, kinds), list(islice(_of_any_version(policy, kinds), MAX_KINDS))
    matched, is_alone = in_any_version or named, not (in_any_version and named)
    reported, one = (set[Path](), "version of ") if in_any_version else ({*mistyped}, "")
    for (path, offset, name, is_tested), places in _missing(matched, policy, kinds).items():
        usual = next((each for each in places if each.version in kinds.versions(each)[:1]), None)
        place, hint = places[usual] if usual else ("", "")
        rule, effect = "mistyped", ": a test for it is always false" if is_tested else ""
        having = {each.kind for each in {*matched} - {*places}}
        if is_alone and len(places) == len(matched) and (in_any_version or hint):  # or another release may have it
            of = " or ".join(dict.fromkeys(each.kind for each in matched))
            message = f"no {one}{of} has {name} there{effect}"
        # An expression that asks for the version may read the fields of each.
        elif usual and place and words.isdisjoint({place, "apiVersion", "version"}) and usual.kind in having:
            rule, effect = (rule, effect) if is_tested else ("fails-on-valid", f": no such key: {name}")
            message = f"a {usual.kind} of {usual.api_version} never has {name} there{effect}"
        else:
            continue
        if path not in reported:
            reported.add(path)
            yield warning(rule, path, message, f"read {place}.{name}" if place else hint, offset)


def _missing(
    matched: Iterable[GroupVersionKind], policy: Policy, kinds: Kinds
) -> Mapping[tuple[Path, int, str, bool], Mapping[GroupVersionKind, tuple[str, str]]]:
    """Find the fields that some kinds do not have: where they stand, their name, and whether the policy tests for them.

    Returns:
        For each, the kinds, with the field beside it that has one of that name, empty if there is none, and a hint.
    """
    missing: dict[tuple[Path, int, str, bool], dict[GroupVersionKind, tuple[str, str]]] = {}
    for kind in matched:
        if (schema := kinds.schema_of(kind)) is None:
            continue
        own = {each.type.name for each in _typed(schema, kind, kinds.release, as_stated=False)[1].structs}
        for stated, error, reached, environment in _errors(kind, policy, kinds, of_variable=lambda each: each):
            # The sides of a condition may differ in their types: the value may be of either.
            is_choice = any(each.code == NO_OVERLOAD and each.arguments[0] == "_?_:_" for each in reached.issues)
            if not isinstance(stated.compiled, Program) or is_choice:
                continue
            tested, start = _tested(stated.compiled.checked.root), stated.start
            for issue in dict.fromkeys(each for each in (*error.issues, *reached.issues) if each.code == UNDEFINED):
                (name, owner), is_tested = issue.arguments, issue.offset - start in tested
                if is_tested or owner in own:  # not a field of the parameters
                    place = next(iter(parts_with(name, owner, environment)), "")
                    of_kind = missing.setdefault((stated.path, issue.offset, name, is_tested), {})
                    of_kind[kind] = place, nearest_field(name, owner, environment)
    return missing


def _tested(root: Expression) -> frozenset[int]:
    """Return where an expression reads fields that may be missing: ``has(object.spec)``, ``object.?spec``."""
    return frozenset(
        each.offset
        for each in within(root)
        if (isinstance(each, Select) and each.test) or (isinstance(each, Call) and each.function == "_?._")
    )


class _Mistyped(NamedTuple):
    """The error of an expression for a kind."""

    kind: GroupVersionKind
    text: str
    hint: str
    issues: tuple[Issue, ...]


def _tells_apart(error: _Mistyped) -> bool:
    """Tell whether an error is about the types of two fields: the API server names the type of a struct by its path."""
    own = f"{_by_path(error.kind)}."
    return any(len({each for each in _types_of(issue) if each.name.startswith(own)}) > 1 for issue in error.issues)


def _types_of(issue: Issue) -> set[Type]:
    """Return the types that an error is about, and all that are part of them."""
    found = set[Type]()
    left = list(issue.arguments)
    if issue.code == NO_OVERLOAD:
        left = [issue.arguments[1].target, *issue.arguments[1].arguments]
    while left:
        each = left.pop()
        if isinstance(each, Type) and each not in found:
            found.add(each)
            left += each.parameters
    return found


def _found(
    checked: Iterable[GroupVersionKind], policy: Policy, kinds: Kinds, *, as_stated: bool = False
) -> dict[Path, list[_Mistyped]]:
    found: dict[Path, list[_Mistyped]] = {}
    for kind in checked:
        for stated, _, error, environment in _errors(kind, policy, kinds, as_stated=as_stated):
            nulls = map(_is_comparison_with_null, error.issues)
            if not as_stated and (all(nulls) or _takes_object_as_map(error, kind, kinds)):
                continue
            issues = tuple(issue._replace(kind=(kind.api_version, kind.kind)) for issue in error.issues)
            mistyped = _Mistyped(kind, str(error), hint_of(error, environment), issues)
            found.setdefault(stated.path, []).append(mistyped)
    return found


_OF_MAPS: Final = frozenset({"@in", "_[_]", "_[?_]", "size"})
"""The functions that take maps."""


def _takes_object_as_map(error: CompileError, kind: GroupVersionKind, kinds: Kinds) -> bool:
    """Tell whether an expression takes the whole object as the map that it is when the expression is evaluated."""
    schema = kinds.schema_of(kind)
    whole = schema and _typed(schema, kind, kinds.release, as_stated=False)[0]
    return any(
        whole in _types_of(each)
        for each in error.issues
        if each.code == NO_RANGE or (each.code == NO_OVERLOAD and each.arguments[0] in _OF_MAPS)
    )


def _is_comparison_with_null(issue: Issue) -> bool:
    if issue.code != NO_OVERLOAD:
        return False
    function, signature = issue.arguments
    return function in {"_==_", "_!=_"} and types.NULL in signature.arguments


def _reached(
    root: Expression, text: str, environment: Environment, kind: GroupVersionKind
) -> tuple[CompileError, Type]:
    """Check the parts of an expression that are evaluated for a kind, as it may ask for the kind first.

    Args:
        root: The expression, which was checked as a whole.

    Returns:
        Their errors, if any, and the type of the value, if there are none.
    """
    with_items = set[Expression]()  # the parts that read the items of a list or map: they cannot be evaluated alone
    for node in within(root):
        if isinstance(node, Comprehension):
            with_items.update(*map(within, (node.condition, node.step, node.result)))
        if not isinstance(node, Call) or node.function not in _BRANCHES or node in with_items:
            continue
        deciding, operands = _BRANCHES[node.function], node.arguments
        if deciding is not None:
            node.arguments = [each for each in operands if _value_for(each, environment, kind) is deciding] or operands
        elif (value := _value_for(operands[0], environment, kind)) is not None:
            side = Shared(node.offset, operands[1 if value else 2])
            node.arguments = [operands[0], side, side]
    issues = Issues(text)
    Checker(environment, issues).check(root)
    return CompileError(text, [*dict.fromkeys(issues.found)]), types.DYN if issues.found else root.type


def _value_for(node: Expression, environment: Environment, kind: GroupVersionKind) -> bool | None:
    """Return the value of a part for a kind; None if it reads anything but the kind."""
    nodes = list(within(node))
    asked = {each.operand for each in nodes if isinstance(each, Select) and each.field in {"apiVersion", "kind"}}
    read = (each for each in nodes if isinstance(each, Ident) and str(each.resolved).startswith("."))
    if not all(each.resolved == ".object" and each in asked for each in read):
        return None
    with suppress(CelError, BudgetExceededError):
        program = environment.program(Checked("", node, node.type))
        if [*program.variables] == ["object"]:
            obj = {"apiVersion": kind.api_version, "kind": kind.kind}
            value = program.evaluate({"object": obj}, meter=Meter(1_000))
            return value if isinstance(value, bool) else None
    return None


def _mistyped(path: Path, errors: Iterable[_Mistyped], hint: str) -> Problem:
    """Report errors as ``status.typeChecking`` has them."""
    message = "\n".join(f"{each.kind}: {each.text}\n" for each in errors).strip()
    issues = tuple(issue for each in errors for issue in each.issues)
    return warning("type-check", path, message, hint)._replace(issues=issues)


def _errors(
    kind: GroupVersionKind,
    policy: Policy,
    kinds: Kinds,
    *,
    as_stated: bool = False,
    of_variable: Callable[[Type], Type] = variable_type,
) -> Iterator[tuple[StatedExpression, CompileError, CompileError, Environment]]:
    """Yield the expressions that are wrong for a kind, with all errors, those of parts that count, and environments."""
    typed = environment = _environment(kind, policy, kinds, as_stated=as_stated)
    known: dict[str, Type] = {}
    for index, stated in enumerate(chain(policy.variables, _expressions(policy))):
        type_: Type = types.DYN
        with suppress(BudgetExceededError, RecursionError):  # compiling the policy reports this
            try:
                root = environment.parse(stated.text)
                type_ = environment.typed(root, Issues(stated.text)).type
            except CompileError as error:
                reached = error
                if not as_stated and isinstance(stated.compiled, Program):  # then its syntax is right
                    with suppress(BudgetExceededError, RecursionError):  # nested too deeply
                        reached, type_ = _reached(root, stated.text, environment, kind)
                yield stated, error, reached, environment
        if index < len(policy.variables):
            known[stated.name] = of_variable(type_)
            environment = with_variables(typed, dict(known))


def kinds_to_check(policy: Policy, kinds: Kinds) -> list[GroupVersionKind]:
    """List the kinds that a policy matches, if its rules name them."""
    found: set[GroupVersionKind] = set()
    for rule in policy.match.rules:
        if any("*" in each for each in (*rule.groups, *rule.versions)):
            continue
        named = [*islice(_kinds_of(rule, [""], kinds), MAX_KINDS)]
        found.update(named)
        if len(named) == MAX_KINDS:
            break
    return sorted(found)


def kinds_matched(policy: Policy, kinds: Kinds) -> list[GroupVersionKind]:
    """List the kinds that the API server checks, and those of the objects that are sent to subresources."""
    sent = chain.from_iterable(_kinds_sent(rule, kinds) for rule in policy.match.rules)
    return list(dict.fromkeys([*kinds_to_check(policy, kinds), *islice(sent, MAX_KINDS)]))


def _of_any_version(policy: Policy, kinds: Kinds) -> Iterator[GroupVersionKind]:
    """Yield the kinds, in each version that is served, of rules that name resources, but no versions."""
    for rule in policy.match.rules:
        if "*" in rule.versions:
            known = (each for group in rule.groups for each in kinds.of_group(group))
            named = (each for each in known if (each.resource, "") in rule.resources)
            yield from (each.at(version) for each in named for version in kinds.versions(each))


def _kinds_sent(rule: ResourceRule, kinds: Kinds) -> Iterator[GroupVersionKind]:
    """Yield the kinds of the objects that are sent to the subresources that a rule names."""
    yield from (kind for kind in _kinds_of(rule, OF_OBJECT, kinds) if kind.group in rule.groups)
    for name, subresource in rule.resources:
        if subresource not in {"", *OF_OBJECT}:
            yield from filter(None, [kinds.sent_kind(Resource("", "", name), subresource)])


def _kinds_of(rule: ResourceRule, subresources: Collection[str], kinds: Kinds) -> Iterator[GroupVersionKind]:
    """Yield the kinds of a rule's resources that have one of some subresources; an empty one is the resource itself.

    The core group stands for all, as an empty one does in the RESTMapper (apimachinery ``pkg/api/meta/restmapper.go``,
    ResourcesFor).
    """
    names = {name for name, subresource in rule.resources if subresource in subresources}
    found = sorted(
        (group, version, known.resource, known.at(version))
        for each in kinds.groups
        for known in kinds.of_group(each)
        if known.resource in names
        for group in rule.groups & {"", known.group}
        for version in rule.versions & known.versions.keys()
    )
    return (kind for _, _, _, kind in found if kinds.find(kind))


def _expressions(policy: Policy) -> Iterator[StatedExpression]:
    """Yield the expressions of a policy, without those of variables."""
    return chain(policy.of_validations, policy.conditions, policy.annotations, policy.mutations)


def _environment(kind: GroupVersionKind, policy: Policy, kinds: Kinds, *, as_stated: bool) -> Environment:
    release, has_params, makes_changes = kinds.release, policy.param_kind is not None, policy.kind == MUTATING
    environment = admission_environment(
        release, stored=True, params=has_params, authorizer=not as_stated, patch_types=makes_changes
    )
    schema = kinds.schema_of(kind)
    assert schema is not None  # noqa: S101 - only such kinds are checked
    type_, library = _typed(schema, kind, release, as_stated=as_stated)
    declared, libraries = {"object": type_, "oldObject": type_}, [library]
    if as_stated:
        declared["authorizer"] = AUTHORIZER
    if policy.param_kind and (params := kinds.schema_of(policy.param_kind)):
        declared["params"], library = _typed(params, policy.param_kind, release, as_stated=as_stated)
        libraries.append(library)
    if makes_changes:
        libraries.append(_makeable(schema))
    return environment.extend(*libraries, variables=declared)


@lru_cache(maxsize=64)
def _typed(schema: Structure, kind: GroupVersionKind, release: Release, *, as_stated: bool) -> tuple[Type, Library]:
    """Declare the types of a known kind."""
    declaration = Declaration(release, as_stated=as_stated)
    type_ = declaration.of(schema, _by_path(kind) if as_stated else f"{kind.api_version}.{kind.kind}")
    assert type_ is not None  # noqa: S101 - it is a struct
    return type_, Library(structs=tuple(declaration.structs.values()))


def _by_path(kind: GroupVersionKind) -> str:
    """Name the type of a kind as the API server does, which adds the nanoseconds of the time in place of N."""
    return f"{kind.kind}N"


@lru_cache(maxsize=64)
def _makeable(schema: Structure) -> Library:
    """Declare the types that a mutation of a known kind can make: ``Object``, ``Object.spec`` and so on."""
    return Library(structs=tuple(_makeable_below(schema, "Object")))


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


class Declaration:
    """Declares the types of a kind's fields.

    Args:
        as_stated: Whether they are those by which the API server checks types: each struct is a type of its own, named
            by its path, and quantities, which have no type in OpenAPI, are not declared (apiserver
            ``pkg/cel/common/schemas.go``, SchemaDeclType). By default they are those of evaluated expressions.
    """

    def __init__(self, release: Release, *, as_stated: bool = False) -> None:
        self._release, self._as_stated = release, as_stated
        self.structs: dict[str, StructType] = {}
        self._open: list[str] = []

    def of(self, shape: Shape, name: str) -> Type | None:
        """Return the type of a shape, named by its path or kind; None if it has none: its field does not exist."""
        if isinstance(shape, Scalar):
            if shape.nullable and not self._as_stated:
                return types.DYN
            return None if self._as_stated and shape.kind == shapes.QUANTITY else TYPES.get(shape.kind, types.DYN)
        if isinstance(shape, Anything):
            return self._struct(name, {}) if shape.is_object and self._as_stated else types.DYN
        if isinstance(shape, ListOf):
            item = self.of(shape.item, f"{name}.@idx" if self._as_stated else name)
            return None if item is None else types.list_of(item)
        if isinstance(shape, MapOf):
            value = self.of(shape.item, f"{name}.@elem" if self._as_stated else name)
            return None if value is None else types.map_of(types.STRING, value)
        return self._structure(shape, name)

    def _structure(self, structure: Structure, name: str) -> Type:
        if structure.is_open and not self._as_stated:
            return types.DYN
        own = name if self._as_stated else f"{name}.{structure.name}"
        if own in self.structs:
            return self.structs[own].type
        fields: dict[str, Type] = {}
        type_ = self._struct(own, fields)
        if structure.name in self._open:  # by path, one that holds itself has no fields within (``PopulateRefs``)
            return type_
        self._open.append(structure.name)
        for field, shape in structure.fields(self._release):
            if (declared := self.of(shape, f"{name}.{field}" if self._as_stated else name)) is not None:
                fields[field] = declared
        self._open.pop()
        return type_

    def _struct(self, name: str, fields: Mapping[str, Type]) -> Type:
        self.structs[name] = StructType(types.struct(name), fields)
        return self.structs[name].type
