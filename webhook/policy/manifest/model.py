"""Policies and bindings, read from validated manifests, with their label selectors and their compiled expressions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

from webhook.cel.environment import Program, Refusal
from webhook.cel.errors import CelError
from webhook.cel.syntax.ast import Expression, within
from webhook.later import cached_property
from webhook.objects import JSONObject
from webhook.policy.manifest.expressions import ANNOTATION, CONDITION, MESSAGE, MUTATIONS, VALIDATION, Compiler, Role
from webhook.policy.manifest.kinds import GroupVersionKind, kind_of, served_as
from webhook.problem import Path
from webhook.release import Release


class LabelRequirement(NamedTuple):
    """A condition on one label: In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: frozenset[str]

    def holds(self, labels: Mapping[str, Any]) -> bool:
        """Tell whether labels meet the condition; an absent label meets NotIn."""
        if self.operator == "In":
            return labels.get(self.key) in self.values
        if self.operator == "NotIn":
            return self.key not in labels or labels[self.key] not in self.values
        return (self.key in labels) == (self.operator == "Exists")


Selector = tuple[LabelRequirement, ...]
"""A label selector; all its requirements must hold."""
EVERYTHING: Final[Selector] = ()


def selects(selector: Selector, labels: Mapping[str, Any]) -> bool:
    """Tell whether a selector selects labels."""
    return all(each.holds(labels) for each in selector)


def selector_of(selector: Mapping[str, Any] | None) -> Selector:
    """Read a well-formed label selector; None, the API server's default, selects everything."""
    stated = selector or {}
    labels = (stated.get("matchLabels") or {}).items()
    found = [LabelRequirement(key, "In", frozenset({value or ""})) for key, value in labels]
    for each in stated.get("matchExpressions") or ():
        values = frozenset(each.get("values") or ())
        found.append(LabelRequirement(each.get("key") or "", each.get("operator") or "", values))
    return tuple(found)


IGNORE: Final = "Ignore"
VALIDATING: Final = "ValidatingAdmissionPolicy"
MUTATING: Final = "MutatingAdmissionPolicy"
DENY: Final = "Deny"
WARN: Final = "Warn"
AUDIT: Final = "Audit"
"""The actions if a policy denies something (admissionregistration/v1, ValidationAction)."""

PATCHES: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
"""The field of a mutation for each patchType."""

_PAIRS: Final = 1_000
"""The maximum number of groups and resources to look up at once; with more, each request is matched with the rules."""


class Given(NamedTuple):
    """An object and its origin, such as a document or a path, which findings repeat.

    Args:
        place: The place in a suite where the object, or the name of its file, stands; empty for other objects.
    """

    object: Any
    manifest: Any = None
    place: Path = Path()

    @property
    def at(self) -> Path:
        """The place of the object in its document: a suite, or a file of its own."""
        return self.place if self.manifest is None else Path()


def has(values: frozenset[str], wanted: str) -> bool:
    """Tell whether a rule's values have a wanted one; ``*`` stands for all."""
    return "*" in values or wanted in values


class ResourceRule(NamedTuple):
    """Operations on resources, and the names of objects; without names, on all objects."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str
    names: frozenset[str]


class MatchResources(NamedTuple):
    """Match criteria for requests; the defaults match all requests.

    Args:
        rules: The matching operations and resources; without rules, all.
        exclude: Exceptions to the rules.
        namespaces: A selector for the namespaces.
        objects: A selector for the objects.
        is_exact: Whether other versions of a resource do not match.
        named: The groups and resources of the rules, under all their names; None without rules, with wildcards, or if
            they are many.
    """

    rules: tuple[ResourceRule, ...] = ()
    exclude: tuple[ResourceRule, ...] = ()
    namespaces: Selector = EVERYTHING
    objects: Selector = EVERYTHING
    is_exact: bool = False
    named: frozenset[tuple[str, str]] | None = None

    @property
    def is_about_places(self) -> bool:
        """Whether a match depends only on operation and resource, not on the object."""
        return self.is_about_namespaces and not self.namespaces

    @property
    def is_about_namespaces(self) -> bool:
        """Whether a match depends only on operation, resource and namespace."""
        return not self.objects and not any(rule.names for rule in (*self.rules, *self.exclude))


class StatedExpression(NamedTuple):
    """An expression as a policy states it, and compiled.

    Args:
        name: The name of a match condition or a variable, the key of an audit annotation, the patchType of a mutation.
    """

    text: str
    path: Path
    name: str
    compiled: Program | Refusal

    @property
    def start(self) -> int:
        """The offset of the compiled text in the expression: the API server strips the space around some."""
        return self.text.index(self.compiled.checked.text) if isinstance(self.compiled, Program) else 0

    @property
    def uses(self) -> Collection[str]:
        """The variables that it uses; none if it does not compile."""
        return self.compiled.variables if isinstance(self.compiled, Program) else ()

    @property
    def nodes(self) -> Iterator[Expression]:
        """All parts of it; none if it does not compile."""
        return within(self.compiled.checked.root) if isinstance(self.compiled, Program) else iter(())


class CompiledValidation(NamedTuple):
    """A condition on an object."""

    expression: StatedExpression
    message: str
    message_expression: StatedExpression | None
    reason: str


@dataclass(frozen=True, eq=False)
class Policy:
    """A ValidatingAdmissionPolicy or a MutatingAdmissionPolicy.

    Args:
        fails_open: Whether an error means that the policy does not apply.
        composed: Its variables by name; the last one of a name.
        reinvoked: Whether a mutating policy is evaluated again after a later change.
        strongest: The strongest action that it may lead to here, even if its bindings state a stronger one.
    """

    kind: str
    name: str
    given: Given
    fails_open: bool
    match: MatchResources
    param_kind: GroupVersionKind | None
    conditions: tuple[StatedExpression, ...]
    variables: tuple[StatedExpression, ...]
    composed: Mapping[str, StatedExpression]
    validations: tuple[CompiledValidation, ...] = ()
    annotations: tuple[StatedExpression, ...] = ()
    mutations: tuple[StatedExpression, ...] = ()
    reinvoked: bool = False
    strongest: str = DENY

    @cached_property
    def uses(self) -> frozenset[str]:
        """The variables that the expressions use: ``object``, ``request``, …; conditions see no namespace."""
        others = chain(self.composed.values(), self.of_validations, self.annotations, self.mutations)
        return _variables(others) | (_variables(self.conditions) - {"namespaceObject"})

    @property
    def of_validations(self) -> list[StatedExpression]:
        """The expressions of validations and of their messages."""
        pairs = ((each.expression, each.message_expression) for each in self.validations)
        return [each for pair in pairs for each in pair if each]

    @property
    def without_messages(self) -> Iterator[StatedExpression]:
        """All expressions, but those of messages."""
        validations = (each.expression for each in self.validations)
        return chain(self.conditions, self.composed.values(), validations, self.annotations, self.mutations)

    def prepare(self) -> None:
        """Compile all expressions now instead of during the first request that evaluates them."""
        for each in chain(self.without_messages, self.of_validations):
            if isinstance(each.compiled, Program):
                with suppress(CelError):  # which is reported when it is evaluated
                    each.compiled.prepare()


def _variables(expressions: Iterable[StatedExpression]) -> frozenset[str]:
    return frozenset(name for each in expressions for name in each.uses)


class ParamRef(NamedTuple):
    """The parameters of a binding: one object by name, or objects by a selector."""

    name: str
    namespace: str
    selector: Selector | None
    denies_missing: bool


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    """A binding, which puts a policy to work.

    Args:
        kind: The kind of the policy.
        match: The requests that it selects among those that the policy matches; None for all of them.
        actions: The actions on a failure: Deny, Warn, Audit.
    """

    kind: str
    name: str
    policy: str
    given: Given
    match: MatchResources | None = None
    param_ref: ParamRef | None = None
    actions: tuple[str, ...] = ()


def policy_of(given: Given, release: Release, strongest: str = DENY) -> Policy:
    """Read a policy that the API server of a release accepts; ``strongest`` is as in :class:`Policy`."""
    obj: JSONObject = given.object
    spec: JSONObject = obj["spec"]
    param_kind = spec.get("paramKind")
    mutating = obj["kind"] == MUTATING
    compiler = Compiler(release, params=bool(param_kind), composed=mutating, patches=mutating)

    def compiled(
        holder: JSONObject, path: Path, role: Role, name: str = "", field: str = "expression"
    ) -> StatedExpression:
        return StatedExpression(holder[field], path / field, name, compiler.compile(role, holder[field]))

    def variable(each: JSONObject, path: Path) -> StatedExpression:
        name, text = each["name"], each["expression"]
        return StatedExpression(text, path / "expression", name, compiler.variable(name, text))

    def validation(each: JSONObject, path: Path) -> CompiledValidation:
        expression = compiled(each, path, VALIDATION)
        message = compiled(each, path, MESSAGE, field="messageExpression") if each.get("messageExpression") else None
        return CompiledValidation(expression, each.get("message") or "", message, each.get("reason") or "Invalid")

    def mutation(each: JSONObject, path: Path) -> StatedExpression:
        kind = each["patchType"]
        return compiled(each[PATCHES[kind]], path / PATCHES[kind], MUTATIONS[kind], kind)

    conditions = [compiled(each, path, CONDITION, each["name"]) for each, path in _each(spec, "matchConditions")]
    annotated = _each(spec, "auditAnnotations")
    variables = [variable(*each) for each in _each(spec, "variables")]
    return Policy(
        kind=obj["kind"],
        name=name_of(obj),
        given=given,
        fails_open=spec.get("failurePolicy") == IGNORE,
        match=_match_of(spec["matchConstraints"]),
        param_kind=kind_of(param_kind["apiVersion"], param_kind["kind"]) if param_kind else None,
        conditions=tuple(conditions),
        variables=tuple(variables),
        composed={each.name: each for each in variables},
        validations=tuple(validation(*each) for each in _each(spec, "validations")),
        annotations=tuple(compiled(each, at, ANNOTATION, each["key"], "valueExpression") for each, at in annotated),
        mutations=tuple(mutation(*each) for each in _each(spec, "mutations")),
        reinvoked=spec.get("reinvocationPolicy") == "IfNeeded",
        strongest=strongest,
    )


def name_of(obj: JSONObject) -> str:
    """Return the name of a policy or binding that the API server accepts."""
    metadata: JSONObject = obj["metadata"]
    name: str = metadata.get("name") or metadata["generateName"]
    return name


def binding_of(given: Given) -> Binding:
    """Read a binding that the API server accepts."""
    obj: JSONObject = given.object
    spec: JSONObject = obj["spec"]
    match, ref, param_ref = spec.get("matchResources"), spec.get("paramRef"), None
    if ref:
        selector = None if ref.get("selector") is None else selector_of(ref["selector"])
        denies_missing = (ref.get("parameterNotFoundAction") or DENY) == DENY
        param_ref = ParamRef(ref.get("name") or "", ref.get("namespace") or "", selector, denies_missing)
    return Binding(
        kind=obj["kind"].removesuffix("Binding"),
        name=name_of(obj),
        policy=spec["policyName"],
        given=given,
        match=None if match is None else _match_of(match),
        param_ref=param_ref,
        actions=tuple(spec.get("validationActions") or (DENY,)),
    )


def _each(spec: Mapping[str, Any], field: str) -> list[tuple[JSONObject, Path]]:
    path = Path(("spec", field))
    return [(each or {}, path / index) for index, each in enumerate(spec.get(field) or ())]


def _match_of(match: Mapping[str, Any]) -> MatchResources:
    rules = tuple(rule_of(each or {}) for each in match.get("resourceRules") or ())
    return MatchResources(
        rules=rules,
        exclude=tuple(rule_of(each or {}) for each in match.get("excludeResourceRules") or ()),
        namespaces=selector_of(match.get("namespaceSelector")),
        objects=selector_of(match.get("objectSelector")),
        is_exact=match.get("matchPolicy") == "Exact",
        named=_named_by(rules),
    )


def _named_by(rules: tuple[ResourceRule, ...]) -> frozenset[tuple[str, str]] | None:
    if not rules or sum(len(each.groups) * len(each.resources) for each in rules) > _PAIRS:
        return None
    pairs = {(group, name) for rule in rules for group in rule.groups for name, _ in rule.resources}
    if any("*" in pair for pair in pairs):
        return None
    return frozenset(each for pair in pairs for each in served_as(*pair))


def rule_of(rule: Mapping[str, Any]) -> ResourceRule:
    """Read a rule of a policy, a binding or a webhook that the API server accepts."""
    return ResourceRule(
        operations=frozenset(rule.get("operations") or ()),
        groups=frozenset(each or "" for each in rule.get("apiGroups") or ()),
        versions=frozenset(rule.get("apiVersions") or ()),
        resources=tuple((each.partition("/")[0], each.partition("/")[2]) for each in rule.get("resources") or ()),
        scope=rule.get("scope") or "*",
        names=frozenset(rule.get("resourceNames") or ()),
    )
