"""Checks policies before they meet an object, for ``draguard policy check``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice, product
from typing import Any, Final, NamedTuple

from webhook.api.dra.devicerequest import ALL, EXACT_COUNT
from webhook.api.dra.taints import EFFECTS
from webhook.api.versions import DEFAULT
from webhook.budget import DOCUMENT, Budget, BudgetExceededError, current, limited
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.checker.declarations import ORDERS
from webhook.cel.environment import Program, Refusal
from webhook.cel.errors import CelError
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.cel.runtime.meter import Meter
from webhook.cel.syntax.ast import (
    Call,
    Comprehension,
    Expression,
    Ident,
    ListExpression,
    Literal,
    Select,
    StructExpression,
    step_of,
    within,
)
from webhook.cel.types.values import type_of
from webhook.formats import near_semver, semver
from webhook.formats.quantities import decode_quantity, near_quantity, quantity
from webhook.grouping import by_key
from webhook.hints.selectors import AS_TEXT, COMMENTED, FOR_PATTERNS, comments_in, compared, patterns_in
from webhook.objects import JSONObject, full_name_of, name_of, text
from webhook.patch import OPERATIONS as PATCH_OPERATIONS
from webhook.patch import steps_of
from webhook.policy.evaluation.policyset import PolicyFinding, PolicySet
from webhook.policy.evaluation.request import SERVICE_ACCOUNT
from webhook.policy.evaluation.validate import usable_message
from webhook.policy.load import RULES, load, named_versions
from webhook.policy.manifest.kinds import OF_OBJECT, SUBRESOURCES, GroupVersionKind, Kinds, Resource, kind_in
from webhook.policy.manifest.matchresources import OPERATIONS
from webhook.policy.manifest.model import (
    MUTATING,
    Binding,
    Given,
    MatchResources,
    ParamRef,
    Policy,
    ResourceRule,
    Selector,
    StatedExpression,
    policy_of,
)
from webhook.policy.tools.typecheck import kinds_matched, type_warnings, warning
from webhook.problem import ERROR, NOT_DECODED, NOTE, WARNING, Path, Problem, quoted, value_at
from webhook.release import Release
from webhook.schema.decoding import UNKNOWN_FIELD
from webhook.schema.derive.shape import ATOMIC, BOOLEAN, INTEGER, STRING, ListOf, Scalar, Shape, Structure, part_of
from webhook.spelling import did_you_mean, either, nearest, some_of

# -- Finds comparisons of a field of the request with a value that it never has, such as a misspelt kind


_ALL: Final = "*"
_COMBINATIONS: Final = 20_000
"""A policy whose rules match more combinations, or whose bindings may mean so many parameters, is not judged."""
_MOST_ALIKE: Final = 20
"""The most warnings of a rule about one expression: to locate thousands in a long one takes minutes."""

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "operation": ("request.operation",),
    "group": ("request.resource.group",),
    "version": ("request.resource.version",),
    "resource": ("request.resource.resource", "request.requestResource.resource"),
    "subresource": ("request.subResource", "request.requestSubResource"),
    "kind group": ("request.kind.group",),
    "kind version": ("request.kind.version",),
    "kind": ("request.kind.kind", "request.requestKind.kind", "object.kind", "oldObject.kind"),
    "apiVersion": ("object.apiVersion", "oldObject.apiVersion"),
}
"""The fields whose values follow from the rules. Those of ``request.request…`` may be in another version, or group."""
_PARTS: Final = {field: part for part, fields in _FIELDS.items() for field in fields}
_USER: Final = "request.userInfo.username"
_OF_ACCOUNTS: Final = GroupVersionKind("", "v1", "ServiceAccount")


def comparison_warnings(policy: Policy, kinds: Kinds, accounts: Collection[str] = ()) -> Iterator[Problem]:
    """Find comparisons of a field of the request with a constant that it never has.

    Args:
        accounts: The users of the service accounts that are defined beside the policy.
    """
    combinations = (each for rule in policy.match.rules for each in _matched(rule, kinds))
    matched = list(islice(combinations, _COMBINATIONS + 1))
    if len(matched) > _COMBINATIONS:
        return

    values_of = {part: {each[part] for each in matched} for part in _FIELDS}
    aliases: dict[str, str] = {}  # the fields for which variables stand, such as `variables.kind` for `object.kind`
    for name, root in _variables(policy).items():  # each can use those before it
        aliases[name] = _resolved(_field(root), aliases)
    for stated, call in _calls(policy):
        for field, constant in _compared(call, aliases):
            if field == _USER:
                if meant := _meant_account(constant.value, accounts):
                    message = f"no ServiceAccount in these manifests has the user name {quoted(constant.value)}"
                    hint = f'did you mean "{meant}"?'
                    yield warning("impossible-value", stated.path, message, hint, stated.start + constant.offset)
                continue
            values = values_of[_PARTS[field]]
            if None not in values and constant.value not in values:
                known = sorted(each for each in values if each is not None)
                only = ", ".join(some_of([*map(quoted, known)], 4, "and {} more"))
                message = f"{field} is never {quoted(constant.value)}: the rules match only {only}"
                hint = did_you_mean(constant.value, known, quotes='"')
                problem = warning("impossible-value", stated.path, message, hint, stated.start + constant.offset)
                # Generated policies ask for the operation, whatever their rules match.
                yield problem._replace(level=NOTE) if _PARTS[field] == "operation" and not hint else problem


def _meant_account(user: str, accounts: Collection[str]) -> str:
    """Return the service account with a similar name, such as a longer one; empty if there is none, or no doubt."""
    if user in accounts or not user.startswith(SERVICE_ACCOUNT):
        return ""
    alike = (each for each in accounts if each.startswith(user) or user.startswith(each))
    return next(alike, "") or nearest(user, accounts)


def _matched(rule: ResourceRule, kinds: Kinds) -> Iterator[Mapping[str, str | None]]:
    """Yield all combinations of operation, resource and kind that a rule matches; None for what it leaves open."""
    operations = set(OPERATIONS) - {_ALL} if _ALL in rule.operations else rule.operations
    for group, (name, subresource) in product(rule.groups, rule.resources):
        subresources = [*SUBRESOURCES] if subresource == _ALL and kinds.has_group(group) else [_stated(subresource)]
        kinds_known = kinds.of_group(group) if name != _ALL or kinds.has_group(group) else []
        for known in [each for each in kinds_known if name in {_ALL, each.resource}] or (None,):
            resource = known.resource if known else _stated(name)
            versions = known.versions if known and _ALL in rule.versions else map(_stated, rule.versions)
            for operation, version, below in product(operations, versions, subresources):
                kind = known.kind if known and below in {"", *OF_OBJECT} else None
                of_kind = (_stated(group), version) if kind else (None, None)
                stated = None if None in of_kind else "/".join(filter(None, of_kind))
                values = (operation, _stated(group), version, resource, below, *of_kind, kind, stated)
                yield dict(zip(_FIELDS, values, strict=True))


def _stated(text: str) -> str | None:
    return None if text == _ALL else text


def _resolved(field: str, aliases: Mapping[str, str]) -> str:
    """Replace a variable of the policy by the field for which it stands."""
    steps = field.split(".")
    holder = ".".join(steps[:2])
    return ".".join([aliases.get(holder, holder), *steps[2:]])


def _variables(policy: Policy) -> dict[str, Expression]:
    """Return the expressions of a policy's variables, by names such as ``variables.kind``."""
    compiled = ((each.name, each.compiled) for each in policy.composed.values())
    return {f"variables.{name}": each.checked.root for name, each in compiled if isinstance(each, Program)}


def _compared(call: Call, aliases: Mapping[str, str]) -> Iterator[tuple[str, Literal]]:
    """Yield the fields that a call compares with texts, and these texts."""
    for side, constants in compared(call):
        if (field := _resolved(_field(side), aliases)) in _PARTS or field == _USER:
            yield from ((field, each) for each in constants if isinstance(each, Literal) and _text(each))


def _text(node: Expression) -> str | None:
    """Return the text that a literal holds; None for other expressions."""
    return node.value if isinstance(node, Literal) and isinstance(node.value, str) else None


def _field(node: Expression) -> str:
    """Return the path of a field from its variable, such as ``request.operation``; empty for another expression."""
    steps: list[str] = []
    while not isinstance(node := _unwrapped(node), Ident):
        if step := step_of(node):
            node, name, _ = step
            steps.append(name)
        else:
            return ""
    return ".".join([node.name, *reversed(steps)]) if node.resolved == f".{node.name}" else ""


def _unwrapped(node: Expression) -> Expression:
    """Return the optional value that an expression reads; others as they are."""
    while isinstance(node, Call) and node.target is not None and node.function in {"orValue", "value"}:
        node = node.target
    return node


_SOME: Final = "1"
"""The value of a label or annotation that may have any: a number, as policies often convert it."""


def metadata_asked(policy: Policy) -> Mapping[str, JSONObject]:
    """Return the labels and annotations of an object for which the selector and the conditions of a policy ask."""
    asked: dict[str, JSONObject] = {"labels": labels_asked(policy.match.objects), "annotations": {}}
    for call in (node for stated in policy.conditions for node in stated.nodes if isinstance(node, Call)):
        read = [(_field(side), _text(each)) for side, constants in compared(call) for each in constants]
        if call.function == "@in" and (key := _text(call.arguments[0])):
            read.append((f"{_field(call.arguments[1])}.{key}", _SOME))
        for (field, value), name in product(read, asked):
            key = field.removeprefix(f"object.metadata.{name}.")
            if value is not None and key != field:
                asked[name].setdefault(key, value)
    return {name: values for name, values in asked.items() if values}


def labels_asked(selector: Selector) -> JSONObject:
    """Return the labels for which a selector asks."""
    return {each.key: min(each.values, default=_SOME) for each in selector if each.operator in {"In", "Exists"}}


# -- Finds constants in mutations that fail at run time, whatever the object


_TAKEN: Final[Mapping[str, tuple[type, ...]]] = {STRING: (str,), INTEGER: (int, float), BOOLEAN: (bool,)}
"""The constants that fields take; whole numbers may be written with a point."""


def literal_warnings(policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Find constants in a policy's mutations that fail for every kind that it matches."""
    schemas = [kinds.schema_of(each) for each in kinds_matched(policy, kinds)] or [None]
    for stated in policy.mutations:
        structs = [each for each in stated.nodes if isinstance(each, StructExpression)]
        found = Counter(fault for schema in schemas for fault in dict.fromkeys(_faults(structs, schema)))
        for fault in (each for each, times in found.items() if times == len(schemas)):
            yield fault._replace(path=stated.path, character=stated.start + (fault.character or 0))


def _faults(structs: Iterable[StructExpression], schema: Structure | None) -> Iterator[Problem]:
    """Find the constants that do not fit a kind; the warnings have no path yet."""
    for struct in structs:
        shape = None if schema is None else _below(schema, struct.name.split(".")[1:])
        for entry in struct.entries:
            is_path = struct.name == "JSONPatch" and entry.key in {"path", "from"}
            if is_path and schema and (start := _start(entry.value)):
                yield from _of_path(*start, schema)
            if isinstance(shape, Structure) and (filtered := _filtered(entry.key, entry.value)):
                yield from _of_filter(entry.key, filtered, shape)
            if not isinstance(entry.value, Literal):
                continue
            offset, value = entry.value.offset, entry.value.value
            if (struct.name, entry.key) == ("JSONPatch", "op") and value not in PATCH_OPERATIONS:
                text = f"op must be one of {', '.join(PATCH_OPERATIONS)}, but is {quoted(value)}"
                yield warning("mistyped", Path(), text, did_you_mean(value, PATCH_OPERATIONS, quotes='"'), offset)
            elif struct.name != "JSONPatch" and isinstance(shape, Structure):
                yield from _of_field(entry.key, value, offset, shape)


def _start(path: Expression) -> tuple[str, int] | None:
    """Return the steps with which a path begins, whatever the object, and their offset; None if it has none.

    In ``"/spec/containers/" + string(…)`` they are those before the last slash.
    """
    first = path
    while isinstance(first, Call) and first.function == "_+_":
        first = first.arguments[0]
    text = _text(first) or ""
    if first is not path:
        text = text.rpartition("/")[0]
    return (text, first.offset) if text.startswith("/") else None


def _of_path(path: str, offset: int, schema: Structure) -> Iterator[Problem]:
    shape: Shape | None = schema
    for name in steps_of(path):
        around, shape = shape, part_of(shape, name)
        if shape is None and isinstance(around, Structure):
            effect = "the API server drops it" if around.is_pruned else f"the path {quoted(path)} cannot work"
            hint = did_you_mean(name, (each for each, _ in around.fields()), quotes='"')
            rule = UNKNOWN_FIELD if around.is_pruned else "mistyped"
            yield warning(rule, Path(), f"{around.name} has no field {quoted(name)}: {effect}", hint, offset)


def _filtered(field: str, value: Expression) -> Comprehension | None:
    """Return the filter in the value of a field that leaves out items of that field, and copies the others."""
    if not isinstance(value, Comprehension) or not _copies(value.step, value.variable):
        return None
    for node in within(value):
        if not isinstance(node, Comprehension) or node.shape != "map":
            continue
        if isinstance(node.step, Call) and node.step.function == "_?_:_":
            below = list(within(node.range))
            optional = (each.arguments[1] for each in below if isinstance(each, Call) and each.function == "_?._")
            names = [each.field for each in below if isinstance(each, Select)]
            if field in {*names, *(each.value for each in optional if isinstance(each, Literal))}:
                return node
    return None


def _copies(step: Expression, variable: str) -> bool:
    """Tell whether an element of a list is the item, or has only fields of it: others may be left out on purpose."""
    match step:
        case Call(arguments=[_, ListExpression(elements=[Ident(name=name)])]):
            return bool(name == variable)
        case Call(arguments=[_, ListExpression(elements=[StructExpression(entries=entries)])]):
            return all(
                isinstance(each.value, Select)
                and each.value.field == each.key
                and isinstance(each.value.operand, Ident)
                and each.value.operand.name == variable
                for each in entries
            )
        case Call(function="_?_:_", arguments=[_, added, _]):
            return _copies(added, variable)
    return False


def _of_filter(field: str, filtered: Comprehension, shape: Structure) -> Iterator[Problem]:
    of = shape.field(field)
    if isinstance(of, ListOf) and of.merging != ATOMIC:
        by = f" by {', '.join(name for name, _ in of.keys)}" if of.keys else ""
        text = f"the list '{field}' is merged{by}: items that are left out stay in the object"
        hint = "remove them by patchType: JSONPatch, with op: 'remove'"
        yield warning("never-removes", Path(), text, hint, filtered.offset)


def _of_field(field: str, value: Any, offset: int, shape: Structure) -> Iterator[Problem]:
    of = shape.field(field)
    if not isinstance(of, Scalar) or of.kind not in _TAKEN or type(value) in _TAKEN[of.kind]:
        return
    given = "null" if value is None else type_of(value).name
    hint = f"write {quoted(str(value))}" if of.kind == STRING and type(value) is int else ""
    if of.kind == INTEGER and type(value) is str and value.isdecimal():
        hint = f"write {value}, without quotation marks"
    text = f"expected type of field '{field}' is '{of.kind}' but provided type is '{given}'"
    yield warning("mistyped", Path(), text, hint, offset)


def _below(shape: Shape | None, steps: Iterable[str]) -> Shape | None:
    for step in steps:
        shape = part_of(_item(shape), step)
    return _item(shape)


def _item(shape: Shape | None) -> Shape | None:
    while isinstance(shape, ListOf):
        shape = shape.item
    return shape


# -- Finds resources and kinds that a policy names although the release lacks them, or the policy cannot change them


def _of_rules(match: MatchResources, path: Path, kinds: Kinds) -> Iterator[Problem]:
    """Find what the rules of match criteria at a path name although no request has it."""
    for field, rules in (("resourceRules", match.rules), ("excludeResourceRules", match.exclude)):
        for index, rule in enumerate(rules):
            yield from unknown_resources(rule, path / field / index, kinds)
            for each in sorted(each for each in rule.names if "*" in each):
                place, hint = path / field / index / "resourceNames", "match names by .startsWith() in matchConditions"
                yield warning("pattern-as-text", place, AS_TEXT.format(quoted(each)), hint)


def unknown_resources(rule: ResourceRule, path: Path, kinds: Kinds) -> Iterator[Problem]:
    """Find the resources in a rule that the release does not have, and operations that requests to them never have.

    Args:
        path: The path of the rule.
    """
    yield from _unmatched_operations(rule, path / "resources")
    if "*" in rule.groups:
        return
    yield from _unknown_groups(rule, path / "apiGroups", kinds)
    if not all(kinds.has_group(group) or kinds.defines(group) for group in rule.groups):
        return
    is_closed = all(map(kinds.has_group, rule.groups))
    """Whether no CustomResourceDefinition elsewhere can add a resource."""
    groups = ", ".join(sorted(group or "the core group" for group in rule.groups))
    known = [each.resource for group in rule.groups for each in kinds.served(group)]
    for position, (name, subresource) in enumerate(rule.resources):
        at_name = path / "resources" / position
        if is_closed and subresource not in {"*", *SUBRESOURCES}:
            message = f"subresource {quoted(subresource)} does not exist in {groups}: the rule matches nothing"
            yield warning("unknown-resource", at_name, message, did_you_mean(subresource, SUBRESOURCES, quotes='"'))
        if name == "*":
            continue
        found = [kind for group in rule.groups if (kind := kinds.kind_of(Resource(group, "", name)))]
        if not found:
            hint = did_you_mean(name, known, quotes='"')
            if is_closed or hint:
                message = f"resource {quoted(name)} does not exist in {groups}: the rule matches nothing"
                elsewhere = " and ".join(quoted(each.group) for each in kinds.of_resource(name))
                there = f"{name} are in the API group {elsewhere}" if elsewhere else ""
                yield warning("unknown-resource", at_name, message, hint or there)
        elif "*" not in rule.versions and not any(map(rule.versions.intersection, map(kinds.versions, found))):
            versions = ", ".join(sorted(rule.versions))
            server = f"Kubernetes 1.{kinds.release}" if is_closed else "its CustomResourceDefinition"
            message = f"{server} does not serve {name} in {versions}: the rule matches nothing"
            served = ", ".join(version for kind in found for version in kinds.versions(kind))
            yield warning("unserved-version", path / "apiVersions", message, f"it serves {served}" if served else "")
        elif rule.scope != _ALL and all(kinds.is_namespaced(kind) is (rule.scope == "Cluster") for kind in found):
            where = "namespaced" if rule.scope == "Cluster" else "cluster-scoped"
            message = f"{name} are {where}: with scope {rule.scope} the rule matches none of them"
            yield warning("unknown-resource", path / "scope", message, "leave the scope out")


def _unmatched_operations(rule: ResourceRule, path: Path) -> Iterator[Problem]:
    operations = ", ".join(sorted(rule.operations))
    for position, (name, subresource) in enumerate(rule.resources):
        made = SUBRESOURCES.get(subresource)
        if made is not None and rule.operations.isdisjoint({_ALL, *made}):
            sent, hint = name, "connections are made to subresources, such as pods/exec"
            if subresource:
                sent, hint = f"{name}/{subresource}", f"add the operation {made[0]}" if made else ""
            wanted = f"{either(made) or 'reads'}, not {operations}"
            message = f"requests to {sent} are {wanted}: the rule matches none of them"
            yield warning("unmatched-operation", path / position, message, hint)


def _unknown_groups(rule: ResourceRule, path: Path, kinds: Kinds) -> Iterator[Problem]:
    for group in sorted(group for group in rule.groups if not (kinds.has_group(group) or kinds.defines(group))):
        if "." not in group or "/" in group:  # groups outside Kubernetes have a dot (apiextensions ``validation.go``)
            message = f"API group {quoted(group)} does not exist: the rule matches nothing in it"
            hint = 'write ""' if group == "core" else did_you_mean(group, kinds.groups, quotes='"')
            if re.fullmatch(r"v\d+\w*", group):
                hint = 'that is a version; the core group is ""'
            if "/" in group:
                hint = f"write {quoted(group.partition('/')[0])}, and the version into apiVersions"
            yield warning("unknown-resource", path, message, hint)
            continue
        # Groups of Kubernetes' projects that are not its own, such as the scheduler's plugins, are like those that are.
        near = "" if group.endswith(".x-k8s.io") else nearest(group, kinds.groups)
        if near and {name for name, _ in rule.resources}.intersection(each.resource for each in kinds.served(near)):
            message = f"Kubernetes has no API group {quoted(group)}: the rule matches only custom resources in it"
            yield warning("unknown-resource", path, message, f'did you mean "{near}"?')


def _unchangeable(policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Find resources in versions that a mutating policy matches, but cannot change (mutating/dispatcher.go)."""
    if policy.kind != MUTATING or policy.match.is_exact:
        return
    for kind, (index, versions) in named_versions(policy, kinds).items():
        on = kinds.versions_on(kind)
        others = [] if "*" in versions else [version for version in on if version not in versions]
        if others and len(others) < len(on):
            resource, where = kinds.resource_of(kind).resource, ", ".join(others)
            message = f"the policy matches {resource} in {where}, too, and fails there: "
            message += "the API server cannot convert changed objects"
            hint = "list these versions, too, or set matchPolicy: Exact"
            yield warning("unchangeable-version", RULES / index / "apiVersions", message, hint)


_ONLY_BELOW: Final = "ephemeralContainers"
"""The field that requests to the whole object do not change."""
_CHANGED: Final = (
    (_ONLY_BELOW, "", "pods", "ephemeralcontainers", 0),
    ("resources", "", "pods", "resize", 33),
    *(("replicas", "apps", each, "scale", 0) for each in ("deployments", "replicasets", "statefulsets")),
)
"""The fields that requests to a subresource change: of which group and resource, and from which release on."""


def _unmatched_subresources(policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Find fields that a validating policy reads, while no rule names the subresource that changes them."""
    if policy.kind == MUTATING:
        return
    expressions = [*policy.composed.values(), *(each.expression for each in policy.validations)]
    read = {step[1] for each in expressions for node in each.nodes if (step := step_of(node))}
    for field, group, resource, below, since in _CHANGED:
        rules = [(index, rule) for index, rule in enumerate(policy.match.rules) if group in rule.groups]
        own = [(index, rule) for index, rule in rules if (resource, "") in rule.resources]
        of_subresource = {*product((resource, _ALL), (below, _ALL))}
        if field not in read or since > kinds.release or not own:
            continue
        if any(of_subresource.intersection(rule.resources) for _, rule in rules):
            continue
        path, subresource = RULES / own[0][0] / "resources", f"{resource}/{below}"
        if field == _ONLY_BELOW:
            message = f"{field} are set by requests to {subresource} only, which no rule names"
            yield warning("unmatched-subresource", path, message, f"add {subresource}, with the operation UPDATE")
        elif any({"UPDATE", _ALL} & rule.operations for _, rule in own):
            message = f"requests to {subresource} change {field}, too, and no rule names it"
            yield warning("unmatched-subresource", path, message, f"add {subresource}")._replace(level=NOTE)


def _of_bindings(policies: PolicySet, given: Iterable[Given]) -> Iterator[PolicyFinding]:
    """Find bindings whose parameters or rules cannot work with their policy."""
    stated = by_key((kind_in(each.object), each.object) for each in given)
    for hook in (*policies.validating, *policies.mutating):
        kind = hook.policy.param_kind
        without = _without_namespace(hook.policy, kind, policies)
        objects = stated.get(kind, []) if kind else []
        params = [(text(each, "metadata", "namespace"), name_of(each)) for each in objects]
        for binding in hook.bindings:
            ref, problems = binding.param_ref, [*_unmatched(binding, hook.policy, policies.kinds)]
            if ref and without and not ref.namespace and not (binding.match and binding.match.rules):
                message = "parameters are looked for in the namespace of the request: "
                message += f"for a {without}, which is in none, the policy always fails"
                hint = "state the namespace of the parameters"
                problems.append(warning("params-without-namespace", Path(("spec", "paramRef")), message, hint))
            if kind and ref and ref.name and len(params) * len(hook.bindings) <= _COMBINATIONS:
                problems += _missing(kind, ref, params)
            yield from (PolicyFinding(binding.given, each) for each in problems)


def _without_namespace(policy: Policy, params: GroupVersionKind | None, policies: PolicySet) -> str:
    """Return a kind without a namespace that a policy with namespaced parameters matches; empty if there is none."""
    if params is None or not policies.is_namespaced(params):
        return ""
    matched = (each for each in kinds_matched(policy, policies.kinds) if policies.is_namespaced(each) is False)
    return next((each.kind for each in matched if each.kind != "Namespace"), "")


def _missing(kind: GroupVersionKind, ref: ParamRef, params: Sequence[tuple[str, str]]) -> Iterator[Problem]:
    """Find parameters that are not among the files, but almost: misspelt, or in another namespace.

    Args:
        params: The known ones: their namespaces, which are those of any if they are not stated, and names.
    """
    around = [name for space, name in params if not ref.namespace or space in {"", ref.namespace}]
    spaces = sorted({space for space, name in params if name == ref.name})
    hint = f"it is in namespace {either(spaces)}" if spaces else did_you_mean(ref.name, around, quotes='"')
    if hint and ref.name not in around:
        where = f" in namespace {ref.namespace}" if ref.namespace else ""
        effect = f"without it, the policy {'always fails' if ref.denies_missing else 'never applies'}"
        message = f"{kind.kind} {quoted(ref.name)} is not among the files{where}: {effect}"
        path = Path(("spec", "paramRef", "namespace" if spaces else "name"))
        yield warning("params-not-found", path, message, hint)


def _unmatched(binding: Binding, policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Find rules for resources that do not exist, or that the policy does not name, without wildcards."""
    if match := binding.match:
        path, named, of_policy = Path(("spec", "matchResources")), match.named, policy.match.named
        yield from (problems := [*_of_rules(match, path, kinds)])
        if not problems and named and of_policy and named.isdisjoint(of_policy):
            message = f"no rule of {policy.kind} {quoted(policy.name)} names any of these resources"
            hint = "a binding narrows its policy: name resources that the policy names, too"
            yield warning("unmatched-rule", path / "resourceRules", message, hint)


def _param_kind(policy: Policy, policies: PolicySet) -> Iterator[Problem]:
    """Find a paramKind that does not exist; kinds of groups outside Kubernetes are unknown."""
    kind, kinds = policy.param_kind, policies.kinds
    if kind is None or policies.is_namespaced(kind) is not None:
        return
    path, is_defined = Path(("spec", "paramKind")), kinds.defines(kind.group)
    names = [each.kind for each in kinds.served(kind.group)]
    if not kinds.has_group(kind.group) and not (is_defined and nearest(kind.kind, names)):
        return
    if versions := kinds.versions(kind):
        server = "its CustomResourceDefinition" if is_defined else f"Kubernetes 1.{kinds.release}"
        message = f"{server} does not serve {kind.kind} in {kind.api_version}: the policy always fails"
        yield warning("unserved-version", path / "apiVersion", message, f"it serves {', '.join(versions)}")
    else:
        message = f"kind {quoted(kind.kind)} does not exist in {kind.api_version}: the policy always fails"
        yield warning("unknown-resource", path / "kind", message, did_you_mean(kind.kind, names, quotes='"'))


class Cost(NamedTuple):
    """The estimated cost of an expression, without an object; a `most` beyond ``CALL_LIMIT`` means unbounded."""

    policy: Policy
    path: Path
    least: int
    most: int


class CheckResult(NamedTuple):
    """The result of ``policy check``.

    Args:
        findings: The problems; ``level`` tells refusals by the API server from policies that it accepts
            although they cannot work.
        unchecked: How many objects have errors that left no policy to look for warnings in.
    """

    policies: PolicySet
    findings: tuple[PolicyFinding, ...]
    costs: tuple[Cost, ...]
    unchecked: int = 0


def check_policies(
    given: Iterable[Given | JSONObject], release: Release = DEFAULT, stated: Mapping[str, bool] | None = None
) -> CheckResult:
    """Check policies and bindings; never raises.

    Args:
        given: The policies and bindings, with the objects that they read.
        stated: The value of ``--runtime-config``; None if it is unknown.
    """
    manifests = [each if isinstance(each, Given) else Given(each) for each in given]
    policies = load(manifests, release, by_cluster=True, runtime_config=stated)
    kinds = policies.kinds
    findings = [*policies.findings, *_of_bindings(policies, manifests)]
    costs: list[Cost] = []
    accounts = [SERVICE_ACCOUNT + full_name_of(each).replace("/", ":") for _, each in policies.find(_OF_ACCOUNTS, "")]
    checked, budget = set[int](), Budget(DOCUMENT, is_offline=True)
    for policy, wrong in _checkable(policies):
        unused = list(_unused(policy))
        ignored = {each.path for each in unused}  # their types do not matter
        problems = [
            *_of_rules(policy.match, Path(("spec", "matchConstraints")), kinds),
            *_unmatched_subresources(policy, kinds),
            *_unchangeable(policy, kinds),
            *_param_kind(policy, policies),
            *_messages(policy),
            *unused,
            *(each for each in expression_warnings(policy, kinds, accounts, budget) if each.path not in ignored),
            *literal_warnings(policy, kinds),
        ]
        checked.add(id(policy.given))
        for _, path, _, compiled in () if wrong else policy.without_messages:
            if isinstance(compiled, Program):
                least, most = estimate_cost(compiled.checked, compiled.scope)
                costs.append(Cost(policy, path, least, most))
                if least > CALL_LIMIT:
                    message = f"costs at least {least}, beyond the limit of {CALL_LIMIT}: it always fails"
                    problems.append(warning("over-cost", path, message))
        alike = by_key(((each.rule, each.path), each) for each in problems if each.path not in wrong)
        findings += [PolicyFinding(policy.given, each) for group in alike.values() for each in group[:_MOST_ALIKE]]
    unchecked = {id(each.given) for each in policies.findings if each.problem.level == ERROR} - checked
    return CheckResult(policies, tuple(findings), tuple(costs), len(unchecked))


def expression_warnings(
    policy: Policy, kinds: Kinds, accounts: Collection[str] = (), budget: Budget | None = None
) -> Iterator[Problem]:
    """Find expressions of which a part cannot work, whatever the object is.

    Args:
        accounts: The users of the service accounts that are defined beside the policy.
        budget: The work that evaluating expressions without variables may take; by default, what is in force.
    """
    yield from _constants(policy, budget or current())
    yield from _malformed(policy)
    yield from _ordered_texts(policy)
    yield from _unwritten_amounts(policy, kinds)
    yield from _unknown_words(policy, kinds)
    yield from _patterns(policy)
    yield from _comments(policy)
    yield from type_warnings(policy, kinds)
    yield from comparison_warnings(policy, kinds, accounts)


def _checkable(policies: PolicySet) -> Iterator[tuple[Policy, frozenset[Path]]]:
    """Yield the policies that can be checked, each with its expressions that are wrong.

    A policy with errors is among them if they are in expressions on which nothing else depends.
    """
    for policy in policies.policies:
        yield policy, frozenset()
    errors = (each for each in policies.findings if each.problem.level == ERROR)
    for found in by_key((id(each.given), each) for each in errors).values():
        given = found[0].given
        if all(map(_is_apart, found)):
            yield policy_of(given, policies.release), frozenset(each.problem.path for each in found)


def _is_apart(error: PolicyFinding) -> bool:
    """Tell whether an error is in an expression that can be decoded, and that no other one reads."""
    problem, path = error.problem, error.problem.path
    is_text = path[-1:] in _EXPRESSIONS and bool(value_at(error.given.object, path))
    return is_text and path[:2] != ("spec", "variables") and problem.reason not in NOT_DECODED


def _constants(policy: Policy, budget: Budget) -> Iterator[Problem]:
    """Find conditions and validations with the same result for every object."""
    for stated in policy.conditions:
        if (value := _constant(stated, budget)) is False:
            yield warning("never-applies", stated.path, "the condition is always false: the policy never applies")
        elif value is True:
            yield warning("no-condition", stated.path, "the condition is always true: it can be left out")
    for validation in policy.validations:
        if _constant(validation.expression, budget) is True:
            message = "the expression is always true: it never refuses anything"
            yield warning("never-refuses", validation.expression.path, message)
        expression = validation.message_expression
        value = expression and _constant(expression, budget)
        if expression and value is not None and (unused := usable_message(value)[1]):
            level, instead = (NOTE, "message") if validation.message else (WARNING, "expression")
            text = f"is never used, and the {instead} is shown instead: {unused}"
            yield Problem(level, "fails-on-valid", "", expression.path, text)


def _constant(stated: StatedExpression, budget: Budget) -> object:
    """Return the value of an expression that uses no variables, else None, as if it takes too much work."""
    compiled = stated.compiled
    if not isinstance(compiled, Program) or compiled.variables:
        return None
    try:
        with limited(budget):
            return compiled.evaluate({}, meter=Meter(CALL_LIMIT))
    except (CelError, BudgetExceededError):
        return None


_PLACEHOLDER: Final = re.compile(r"\{\{\s*(?:object|oldObject|params|request|variables)\b")

_MADE: Final[Mapping[str, Callable[[str], str]]] = {
    "quantity": lambda text: near_quantity(text)[0],
    "semver": near_semver,
    **dict.fromkeys(("ip", "cidr", "url"), lambda _: ""),
}
"""The functions that make a value of a string, or fail when they are called; each with what corrects the string."""


def _calls(policy: Policy) -> Iterator[tuple[StatedExpression, Call]]:
    """Yield the calls in the expressions of a policy, but those of messages."""
    for stated in policy.without_messages:
        yield from ((stated, node) for node in stated.nodes if isinstance(node, Call))


def _malformed(policy: Policy) -> Iterator[Problem]:
    """Find malformed constants, such as quantities, which an expression needs for some objects only."""
    for stated, call in _calls(policy):
        if call.function not in _MADE or len(call.arguments) != 1 or (text := _text(call.arguments[0])) is None:
            continue
        try:
            for overload in call.overloads or ():
                if overload.implementation:
                    overload.implementation(text)
        except CelError as error:
            meant = _MADE[call.function](text)
            hint = f'did you mean {call.function}("{meant}")?' if meant else ""
            message = f"{call.function}({quoted(text)}) is an error: {error}"
            yield warning("impossible-constant", stated.path, message, hint, stated.start + call.arguments[0].offset)


_AMOUNTS: Final = frozenset({"capacity", "hard", "limits", "requests"})
"""The fields that hold amounts by resource."""


def _ordered_texts(policy: Policy) -> Iterator[Problem]:
    """Find amounts and versions that are compared as texts, which are ordered by their letters."""
    orders = ((stated, call) for stated, call in _calls(policy) if call.function in ORDERS)
    for stated, side in ((stated, side) for stated, call in orders for side in call.arguments):
        written = _text(side) or ""
        if written[:1].isdigit() and not (quantity(written, 0) and semver(written, 0)):
            message = f'{quoted(written)} is text, and texts are ordered by their letters: "1000" is less than "550"'
            hint = "convert both sides by quantity(…), or versions by semver(…), and compare them by compareTo"
            yield warning("order-of-texts", stated.path, message, hint, stated.start + side.offset)


def _unwritten_amounts(policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Find amounts of Kubernetes' own kinds that are compared with what the API server never writes."""
    for stated, call in _calls(policy) if _is_own(policy, kinds) else ():
        for amount, constants in compared(call):
            around = (step := step_of(amount)) and step_of(step[0])
            if not around or around[1] not in _AMOUNTS or not _is_of_object(amount, stated):
                continue
            for each in constants:
                if not isinstance(each, Literal) or type(each.value) not in {str, int}:
                    continue
                with suppress(ValueError):
                    if (meant := str(decode_quantity(each.value))) != each.value:
                        message = f'this is never equal: the API server writes the amount as the text "{meant}"'
                        hint = f'did you mean "{meant}"?'
                        yield warning("impossible-value", stated.path, message, hint, stated.start + each.offset)


_WORDS: Final[Mapping[str, Sequence[str]]] = {
    "allocationMode": (ALL, EXACT_COUNT),
    "effect": (*EFFECTS[35], "PreferNoSchedule"),
}
"""The fields of claims, pods and nodes that hold one of few words."""


def _unknown_words(policy: Policy, kinds: Kinds) -> Iterator[Problem]:
    """Find fields of Kubernetes' own kinds that are compared with a word that the API server refuses in them.

    A field is one of an item of a list, or of ``exactly``: labels and parameters may have the same name.
    """
    variables = _variables(policy)
    for stated, call in _calls(policy) if _is_own(policy, kinds) else ():
        for side, constants in compared(call):
            of, name, _ = step_of(_unwrapped(variables.get(_field(side), side))) or (side, "", 0)
            is_there = step[1] == "exactly" if (step := step_of(of)) else "params" not in policy.uses
            words = _WORDS.get(name, ()) if is_there else ()
            for each in constants if words else ():
                if (word := _text(each)) and word not in words:
                    message = f"{name} is never {quoted(word)}: it is {either(words)}"
                    hint = did_you_mean(word, words, quotes='"')
                    yield warning("impossible-value", stated.path, message, hint, stated.start + each.offset)


def _is_own(policy: Policy, kinds: Kinds) -> bool:
    """Tell whether the rules of a policy match Kubernetes' own kinds alone."""
    return all(map(kinds.has_group, {group for rule in policy.match.rules for group in rule.groups}))


def _is_of_object(field: Expression, stated: StatedExpression) -> bool:
    """Tell whether a field is one of the object; what a loop reads is, if nothing else is there to loop over."""
    is_of_object = _field(field).startswith(("object.", "oldObject."))
    return is_of_object or {"params", "variables"}.isdisjoint(stated.uses)


_NAMED: Final = frozenset({"groups", "image", "name", "namespace", "nodeName", "serviceAccountName", "username"})
"""The fields that hold names, which have no patterns."""


def _patterns(policy: Policy) -> Iterator[Problem]:
    """Find names that are compared with patterns; what a loop reads may be a rule with * alone, or with pods/*."""
    for stated, call in _calls(policy):
        for side, literal in patterns_in(call):
            name = literal.value.strip("*^$")
            is_name = isinstance(side, Ident) and not re.search(r"[^\w:-]", name)
            if name and (is_name or ((step := step_of(side)) and step[1] in _NAMED)):
                message, place = AS_TEXT.format(quoted(literal.value)), stated.start + literal.offset
                yield warning("pattern-as-text", stated.path, message, FOR_PATTERNS, place)


def _messages(policy: Policy) -> list[Problem]:
    """Find messages that are written as expressions, as far as the budget of a policy allows."""
    text, found = "the message is shown as it is written, without the values of the object", list[Problem]()
    with limited(Budget(DOCUMENT, is_offline=True)), suppress(BudgetExceededError):
        for validation in policy.validations:
            message, (*at, _) = validation.message, validation.expression.path
            forms = message, f"'{message}'", f'"{message}"'  # or from the middle of a text to that of another
            if _PLACEHOLDER.search(message) or any(_reads(each, validation.expression.compiled) for each in forms):
                path = Path((*at, "message"))
                found.append(warning("literal-message", path, text, "messageExpression is evaluated"))
    return found


def _comments(policy: Policy) -> Iterator[Problem]:
    """Find expressions that end with a comment in which there is more of an expression."""
    for stated in policy.without_messages:
        text = stated.text.rstrip()
        for start in comments_in(text):
            if text.find("\n", start) < 0:
                message = "the end of the expression is a comment, and is not evaluated"
                yield warning("commented-out", stated.path, message, COMMENTED, start)


def _reads(text: str, compiled: Program | Refusal) -> bool:
    """Tell whether a text is an expression that reads something of a request, or, even if wrong, joins texts."""
    if not isinstance(compiled, Program):
        return False
    with suppress(CelError):
        root = compiled.scope.parse(text)
        sums = [each.arguments for each in within(root) if isinstance(each, Call) and each.function == "_+_"]
        if any(_text(each) is not None for sides in sums for each in sides):
            return True
        return bool(compiled.scope.compile(text).variables) and not isinstance(root, Ident)
    return False


_EXPRESSIONS: Final = (("expression",), ("messageExpression",), ("valueExpression",))
"""The last steps of the paths of expressions."""
_REFERENCE: Final = re.compile(r"\bvariables\s*\.\s*(?:\?\s*)?([A-Za-z_][A-Za-z0-9_]*)")


def _unused(policy: Policy) -> Iterator[Problem]:
    """Find variables that no expression uses."""
    stated = (*policy.variables, *policy.annotations, *policy.mutations, *policy.of_validations)
    used = {name for each in stated for name in _REFERENCE.findall(each.text)}
    for variable in policy.variables:
        if variable.name not in used:
            message = f"variables.{variable.name} is not used by any expression"
            yield warning("unused-variable", variable.path, message)
