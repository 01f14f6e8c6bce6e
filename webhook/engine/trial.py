"""Tries policies on small objects that the API server accepts, to find the expressions that fail on one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, Final, NamedTuple

from webhook.api.conversion import ConversionError, convert
from webhook.api.core import catalogue
from webhook.budget import DOCUMENT, Budget
from webhook.engine.offline import evaluate, made_invalid
from webhook.later import cached_property
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, full_name_of, mapping, metadata_of, text, texts
from webhook.patterns import Pattern
from webhook.policy.change.mutate import INTERNAL
from webhook.policy.evaluation.policyset import Hook, PolicyFinding, PolicySet, match
from webhook.policy.evaluation.request import Request, request_of
from webhook.policy.evaluation.verdict import EvaluationFault, PolicyDecision
from webhook.policy.manifest.kinds import Kinds, built_in, kind_in
from webhook.policy.manifest.model import AUDIT, DENY, EVERYTHING, MUTATING, VALIDATING, WARN, Binding, Policy
from webhook.policy.tools.check import labels_asked, metadata_asked
from webhook.problem import NOTE, WARNING, Path, Problem
from webhook.release import Release
from webhook.schema.declarations import Field, Struct
from webhook.schema.fields import Array, Bool, Int, Nested, Text
from webhook.structural.schema import Structural

_REQUEST: Final = {"name": "device", "deviceClassName": "gpu.example.com"}
_NO_REQUESTS: Final = "without requests"
_REQUESTS: Final[Mapping[str, list[Any]]] = {
    "": [{"name": "device", "exactly": {"deviceClassName": "gpu.example.com", "count": 1}}],
    "with firstAvailable": [{"name": "device", "firstAvailable": [_REQUEST]}],
    "of all devices": [{"name": "device", "exactly": {"deviceClassName": "gpu.example.com", "allocationMode": "All"}}],
    _NO_REQUESTS: [],
}
"""The claims to try, by what distinguishes them from a plain one."""
_CONTAINER: Final = {"name": "app", "image": "example.com/app"}
_WITH_LIMITS: Final = "with limits"
_OF_LIMITS: Final = "amounts are texts: compare them as in quantity(limits.cpu).isLessThan(quantity('2'))"
_LIMITS: Final = {"cpu": "500m", "memory": "1Gi", "nvidia.com/gpu": "1"}
_PODS: Final[Mapping[str, dict[str, Any]]] = {
    "": {"containers": [_CONTAINER]},
    "with a claim": {
        "containers": [{**_CONTAINER, "resources": {"claims": [{"name": "gpu"}]}}],
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}],
    },
    _WITH_LIMITS: {"containers": [{**_CONTAINER, "resources": {"limits": _LIMITS}}]},
}
"""The pods to try, likewise."""
_DEVICES: Final[Mapping[str, list[Any]]] = {"": [{"name": "gpu-0"}], "without devices": []}
"""The devices of ResourceSlices to try, likewise."""
_LABELS: Final = {"app": "a"}
_SELECTED: Final = {"selector": {"matchLabels": _LABELS}}
_WORKLOADS: Final[Mapping[tuple[str, str], Callable[[JSONObject], JSONObject]]] = {
    ("apps/v1", "Deployment"): lambda template: _SELECTED | {"template": template},
    ("apps/v1", "StatefulSet"): lambda template: _SELECTED | {"template": template, "serviceName": "a"},
    ("apps/v1", "DaemonSet"): lambda template: _SELECTED | {"template": template},
    ("apps/v1", "ReplicaSet"): lambda template: _SELECTED | {"template": template},
    ("v1", "ReplicationController"): lambda template: {"selector": _LABELS, "template": template},
    ("batch/v1", "Job"): lambda template: {"template": _ending(template)},
    ("batch/v1", "CronJob"): lambda template: (
        {"schedule": "@daily", "jobTemplate": {"spec": {"template": _ending(template)}}}
    ),
}
"""The workloads to try, by their pod template."""
_RULE: Final = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
_ROLE: Final = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
_BACKEND: Final = {"service": {"name": "a", "port": {"number": 80}}}
_TARGET: Final = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
_STORAGE: Final = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_DISK: Final = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/data"}}
_OTHERS: Final[Mapping[tuple[str, str], JSONObject]] = {
    **{("v1", each): {} for each in ("ConfigMap", "Namespace", "Node", "Secret", "ServiceAccount")},
    ("v1", "Service"): {"spec": {"ports": [{"port": 80}]}},
    ("v1", "LimitRange"): {"spec": {"limits": [{"type": "Container"}]}},
    ("v1", "ResourceQuota"): {"spec": {}},
    ("v1", "PersistentVolumeClaim"): {"spec": _STORAGE},
    ("v1", "PersistentVolume"): {"spec": _DISK},
    ("networking.k8s.io/v1", "Ingress"): {"spec": {"defaultBackend": _BACKEND}},
    ("networking.k8s.io/v1", "IngressClass"): {"spec": {"controller": "example.com/ingress"}},
    ("networking.k8s.io/v1", "NetworkPolicy"): {"spec": {"podSelector": {}}},
    ("policy/v1", "PodDisruptionBudget"): {"spec": {"maxUnavailable": 1, **_SELECTED}},
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {"spec": {"maxReplicas": 2, "scaleTargetRef": _TARGET}},
    ("rbac.authorization.k8s.io/v1", "Role"): {"rules": [_RULE]},
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): {"rules": [_RULE]},
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): {"roleRef": _ROLE},
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): {"roleRef": _ROLE},
    ("storage.k8s.io/v1", "StorageClass"): {"provisioner": "example.com/disk"},
    ("scheduling.k8s.io/v1", "PriorityClass"): {"value": 1},
    ("node.k8s.io/v1", "RuntimeClass"): {"handler": "runc"},
    ("coordination.k8s.io/v1", "Lease"): {"spec": {}},
    ("resource.k8s.io/v1", "DeviceTaintRule"): {"spec": {"taint": {"key": "example.com/a", "effect": "NoSchedule"}}},
    ("resource.k8s.io/v1alpha3", "ResourcePoolStatusRequest"): {"spec": {"driver": "gpu.example.com"}},
    ("scheduling.k8s.io/v1beta1", "PodGroup"): {"spec": {"schedulingPolicy": {"basic": {}}}},
}
"""The least that the API server accepts of other kinds."""
_OPERATIONS: Final = {"created": (True, False), "updated": (True, True), "deleted": (False, True)}
"""Whether a request has the object, and the old one."""
_EFFECTS: Final = {DENY: "refuses it", WARN: "only warns", AUDIT: "only notes it in the audit log"}
"""The effect of a failed validation by the action of its binding, the strongest first."""
_NO_NAMESPACE: Final = "namespaceObject is null in match conditions: use namespaceSelector, or read it in validations"
_SPLIT_KEY: Final = Pattern(
    r"/(?:labels|annotations|nodeSelector|matchLabels|limits|requests)/([^/~.]+\.[^/~]+/[^/~]+)$"
)
"""A key with a slash, in the path of a JSON Patch, that is not escaped."""
_CLUSTER_SCOPED: Final = "namespaceObject is null for objects without a namespace: write namespaceObject == null || …"
_CREATE_ALONE: Final = "leave UPDATE out of the operations"
_WORK: Final = DOCUMENT // 4
"""After how much work a policy is not tried on further objects."""
_LOOK: Final = 4
"""The work of a binding's look at an object that may be its parameters."""
_WORK_OF_ALL: Final = DOCUMENT
"""After how much work no further policies are tried."""
_LONGEST: Final = 256
"""The longest text that is made for a field of a custom resource."""
_OF_METADATA: Final = ("labels", "annotations")
_ANSWERED: Final = frozenset({"authentication.k8s.io", "authorization.k8s.io"})
"""The groups whose objects are questions, of which none is stored."""
_NOT_STORED: Final = frozenset({"Binding", "ComponentStatus", "StorageVersion"})


class _Subject(NamedTuple):
    """An object to try.

    Args:
        distinction: What distinguishes it from a plain one, such as ``with a claim``; empty for a plain one.
        is_derived: Whether it is made of its type alone, so that it may lack what the API server's rules ask for.
    """

    object: JSONObject
    distinction: str = ""
    is_derived: bool = False

    def __str__(self) -> str:
        kind = text(self.object, "kind")
        return f"{_with_article(kind)} {self.distinction}" if self.distinction else f"a plain {kind}"

    def beside(self, asked: Mapping[str, JSONObject]) -> _Subject:
        """Return the object with labels and annotations for which a policy asks."""
        metadata = metadata_of(self.object)
        metadata = {**metadata, **{name: mapping(metadata, name) | asked[name] for name in asked}}
        added = " and ".join(f"with {name[:-1]} {key}" for name, values in asked.items() for key in values)
        distinction = " and ".join(filter(None, (self.distinction, added)))
        return self._replace(object={**self.object, "metadata": metadata}, distinction=distinction)

    def lacking(self, fault: EvaluationFault | None) -> str:
        """Describe it by the field that an expression misses in it."""
        key = _missing(fault)
        if self.distinction or not key or key in self.object:  # then oldObject, or object itself, is null
            return str(self)
        return f"{_with_article(text(self.object, 'kind'))} without {key}"


def _with_article(kind: str) -> str:
    return f"{'an' if kind[0] in 'AEIO' else 'a'} {kind}"


def _missing(fault: EvaluationFault | None) -> str:
    """Return the field that an expression does not find; empty for other errors."""
    return fault.missing if fault and fault.missing.isidentifier() else ""


class Trial(NamedTuple):
    """The result of trying policies; some are untried if those before them have taken too much work."""

    findings: Sequence[PolicyFinding]
    untried: Sequence[Policy] = ()


def try_policies(policies: PolicySet, explained: AbstractSet[tuple[int, Path]] = frozenset()) -> Trial:
    """Evaluate policies for small objects, and warn of expressions that end with an error.

    Policies whose parameters were not given are left out.

    Args:
        explained: The expressions whose errors have another finding, which tells the cause: the ``id`` of what was
            given, and the path.
    """
    trials, findings = _Trials(policies), list[PolicyFinding]()
    for index, policy in enumerate(trials.tried):
        if trials.spent + trials.looks(policy) > _WORK_OF_ALL:
            return Trial(findings, trials.tried[index:])
        for problem, fault in trials.failing(policy):
            failing = (each.path for each in policy.variables if fault and each.name in fault.variables)
            if explained.isdisjoint((id(policy.given), path) for path in (problem.path, *failing)):
                findings.append(PolicyFinding(policy.given, problem))
    return Trial(findings)


class _Case(NamedTuple):
    """An object, what is done with it, and what follows.

    Args:
        unlabelled: The expressions that miss a label or an annotation of its namespace.
        action: The strongest action of the policy's bindings.
    """

    subject: _Subject
    doing: str
    unlabelled: AbstractSet[Path]
    action: str

    def when(self, path: Path, fault: EvaluationFault | None, params: JSONObject | None) -> str:
        """Describe when an expression fails."""
        if params:
            named = f"{text(params, 'kind')} {full_name_of(params)}"
            return f"{self.subject} is {self.doing} with the {named} as parameters"
        if fault and path in self.unlabelled:
            return f"{self.subject} is {self.doing} in a Namespace without {fault.missing}"
        return f"{self.subject.lacking(fault)} is {self.doing}"

    def guard(self, path: Path, fault: EvaluationFault) -> str:
        """Suggest how to guard an expression."""
        if path not in self.unlabelled:
            return _guard(fault, self.subject, self.doing)
        if (key := fault.missing) in _OF_METADATA:
            return f"read namespaceObject.metadata.?{key}[?'KEY'].orValue('')"
        return f"guard it, or read [?'{key}'].orValue('')"


class _Trials:
    """Evaluates policies for small objects.

    Attributes:
        tried: The policies that can be tried.
        spent: The work so far.
    """

    def __init__(self, policies: PolicySet) -> None:
        self._policies = policies
        self.tried = [
            each for each in policies.policies if each.param_kind is None or each.param_kind in policies.objects
        ]
        self.spent = 0

    def failing(self, policy: Policy) -> Iterator[tuple[Problem, EvaluationFault | None]]:
        """Evaluate a policy for the objects, and yield the expressions that fail, and why."""
        begun, action = self.spent, self._action(policy)
        reported, looks, asked = set(), self.looks(policy), metadata_asked(policy)
        labels = labels_asked(policy.match.namespaces)
        metadata = {"name": DEFAULT_NAMESPACE, "labels": labels}
        around = [{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}] if labels else []
        alone = self._bound([policy]).beside(around)
        for subject in (*self._objects, *(each.beside(asked) for each in self._objects if asked)):
            obj = subject.object
            for doing, (has_new, has_old) in _OPERATIONS.items():
                new, old = obj if has_new else None, obj if has_old else None
                if not self._may_apply(policy, new, old):
                    continue
                budget = Budget(DOCUMENT, is_offline=True)
                request = request_of(new, old, kinds=alone.kinds)
                verdict = evaluate(request, alone, budget=budget)
                unlabelled = _unlabelled(request, alone, verdict.decisions, budget)
                case = _Case(subject, doing, unlabelled, action)
                for problem, fault in _failures(policy, verdict.decisions, case):
                    is_met = problem.path in reported
                    # Of an object that is made of its type alone, an expression may miss a field that valid ones have.
                    missing = subject.is_derived and problem.path not in unlabelled and _missing(fault)
                    if not is_met and (not missing or missing in _OF_METADATA):
                        reported.add(problem.path)
                        yield problem, fault
                path = next((each.path for each in reversed(verdict.decisions) if each.changed), None)
                if path and path not in reported:
                    for refusal in self._refusals(verdict.judged, request, around, budget)[:1]:
                        reported.add(path)
                        effect, hint = "one that the API server refuses without further changes", ""
                        if has_old:
                            effect, hint = "invalid at each update, if it was stored without the change", _CREATE_ALONE
                        message = f"makes {subject} {effect}: {refusal}"
                        yield Problem(WARNING, "makes-invalid", "", path, message, hint, value=refusal.value), None
                self.spent += DOCUMENT - budget.left + looks
                if self.spent - begun > _WORK:
                    return  # other objects would take as long

    def looks(self, policy: Policy) -> int:
        """Return the work, for each request, of finding the parameters of a policy's bindings among those given."""
        hooks = (each for each in (*self._policies.validating, *self._policies.mutating) if each.policy is policy)
        known = self._policies.objects.get(policy.param_kind, ()) if policy.param_kind else ()
        return sum(len(hook.bindings) for hook in hooks) * len(known) * _LOOK

    def _action(self, policy: Policy) -> str:
        """Return the strongest action of a policy's bindings; Deny if it has none."""
        hooks = (each for each in self._policies.validating if each.policy is policy)
        actions = {action for hook in hooks for binding in hook.bindings for action in binding.actions}
        return next((each for each in _EFFECTS if each in actions), DENY)

    def _refusals(
        self, changed: Request | None, request: Request, around: Sequence[JSONObject], budget: Budget
    ) -> list[Problem]:
        """List the refusals of a changed object that no other policy prevents."""
        alone = list(made_invalid(changed, request, self._policies.kinds))
        mutating = (each for each in self._policies.policies if each.kind == MUTATING and each not in self.tried)
        if not alone or any(self._may_apply(each, request.object) for each in mutating):
            return []  # what a policy changes is unknown without its parameters
        final = evaluate(request, self._together.beside(around), budget=budget).judged
        return [each for each in made_invalid(final, request, self._policies.kinds) if each in alone]

    def _may_apply(self, policy: Policy, obj: JSONObject | None, old: JSONObject | None = None) -> bool:
        """Tell whether a policy applies to an object, if it and its namespace have the right labels.

        A mutating policy fails for a version that its rules do not name, of which there is another warning.
        """
        kinds, rules = self._policies.kinds, policy.match._replace(namespaces=EVERYTHING, objects=EVERYTHING)
        request = request_of(obj, old, kinds=kinds)
        matched = match(rules, request, kinds, self._policies.namespace_labels)
        return matched is not None and (policy.kind != MUTATING or matched.kind == request.kind)

    @cached_property
    def _objects(self) -> Sequence[_Subject]:
        """The objects to try."""
        return list(_objects(self._policies))

    @cached_property
    def _together(self) -> PolicySet:
        """All policies that can be tried."""
        return self._bound(self.tried)

    def _bound(self, some: Sequence[Policy]) -> PolicySet:
        """Return some of the policies, bound to all objects, with the parameters that were given.

        Errors are decisions whatever their failure policy.
        """

        def hooks(kind: str) -> Iterator[Hook]:
            for each in (policy for policy in some if policy.kind == kind):
                bound = [Binding(kind, each.name, each.name, each.given, actions=(DENY,))]
                if each.param_kind:
                    stated = chain(*(hook.bindings for hook in every if hook.policy is each))
                    distinct = {one.param_ref: one for one in stated if one.param_ref}
                    bound = [replace(one, match=None, actions=(DENY,)) for one in distinct.values()]
                yield Hook(replace(each, fails_open=False), tuple(bound))

        policies, params = self._policies, {each.param_kind for each in some}
        every = (*policies.validating, *policies.mutating)
        read = {kind: found for kind, found in policies.objects.items() if kind in params}
        return replace(policies, objects=read, validating=tuple(hooks(VALIDATING)), mutating=tuple(hooks(MUTATING)))


def _unlabelled(
    request: Request, policies: PolicySet, decisions: Sequence[PolicyDecision], budget: Budget
) -> AbstractSet[Path]:
    """List the expressions that fail otherwise, or not at all, once the object's namespace has what they miss."""
    missing = dict.fromkeys((each.fault.missing for each in decisions if each.fault and each.fault.missing), "")
    if not missing or not request.namespace:
        return frozenset()
    metadata = {"name": request.namespace, "labels": missing, "annotations": missing}
    labelled = policies.beside([{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])
    again = {_place(each): each.fault for each in evaluate(request, labelled, budget=budget).decisions}
    if any(fault and fault.is_work for fault in again.values()):
        return frozenset()  # no work is left to find out
    return {path for each in decisions if each.fault and (path := _place(each)) and again.get(path) != each.fault}


def _place(decision: PolicyDecision) -> Path:
    """Return the path of the expression that is at fault; it may be the message's."""
    path = decision.path or Path()
    return Path((*path[:-1], "messageExpression")) if path and decision.unused_message else path


def _failures(
    policy: Policy, decisions: Iterable[PolicyDecision], case: _Case
) -> Iterator[tuple[Problem, EvaluationFault | None]]:
    """Yield the expressions that fail, and messages that are not used."""
    for decision in decisions:
        fault, path = decision.fault, _place(decision)
        if not path or not (decision.is_error or decision.unused_message):
            continue
        level, when = WARNING, case.when(path, fault, decision.params)
        if decision.is_error:
            is_refused = not policy.fails_open or decision.reason == INTERNAL
            effect = _EFFECTS[DENY if decision.refuses else case.action] if is_refused else "does not apply"
            said = f"fails when {when}, and the policy {effect} then"
            hint = _of_namespace(policy, path, fault, case) or _hint(fault, path, case)
        else:
            validation = next(each for each in policy.validations if each.expression.path == decision.path)
            level, instead = (NOTE, "its message") if validation.message else (WARNING, "the expression")
            about = f"{when} and {'refused' if case.action == DENY else 'the validation fails'}"
            said = f"is not used when {about}, and {instead} is shown instead"
            hint = case.guard(path, fault) if fault else ""
        reason = fault.text if fault else decision.unused_message or decision.message
        value = decision.value or _culprit(fault)
        yield Problem(level, "fails-on-valid", "", path, f"{said}: {reason}", hint, value=value), fault


def _culprit(fault: EvaluationFault | None) -> str:
    """Return the part of an expression that fails: the path of a patch, or a variable; empty if it is not known."""
    if fault and fault.patch:
        return fault.patch[1]
    return f"variables.{fault.variables[0]}" if fault and fault.variables else ""


def _of_namespace(policy: Policy, path: Path, fault: EvaluationFault | None, case: _Case) -> str:
    """Tell where namespaceObject is null, if the expression reads it."""
    every = (*policy.without_messages, *policy.of_validations)
    reads = {name for each in every if each.path == path for name in each.uses}
    if "namespaceObject" in reads and any(each.path == path for each in policy.conditions):
        return _NO_NAMESPACE
    is_null = fault is not None and fault.missing == "metadata" and case.doing == "created"
    return _CLUSTER_SCOPED if is_null and "namespaceObject" in reads and "oldObject" not in reads else ""


def _hint(fault: EvaluationFault | None, path: Path, case: _Case) -> str:
    if fault is None:
        return ""
    if fault.is_work:
        return "shorten it: what it builds or compares grows with each step"
    if fault.atomic:
        return f"use patchType: JSONPatch for {' and '.join(fault.atomic)}: it can change what is replaced as a whole"
    return _of_patch(*fault.patch) if fault.patch else case.guard(path, fault)


def _of_patch(operation: str, pointer: str) -> str:
    """Suggest how to apply an operation to a path that the object does not have."""
    if split := _SPLIT_KEY.search(pointer):
        return f"a slash in a key is written ~1, as jsonpatch.escapeKey('{split[1]}') writes it"
    if operation == "add":
        return f"add {pointer.rpartition('/')[0]} first where it is missing, or use patchType: ApplyConfiguration"
    return f"{operation} only where the object has {pointer}"


def _guard(fault: EvaluationFault, subject: _Subject, doing: str) -> str:
    """Suggest how to guard an expression."""
    if subject.distinction == _NO_REQUESTS:
        spec = "object.spec.spec" if text(subject.object, "kind").endswith("Template") else "object.spec"
        return f"requests is null then: read optional.ofNonZeroValue({spec}.devices.requests).orValue([])"
    if not (key := _missing(fault)):
        has_limits = subject.distinction == _WITH_LIMITS
        return _OF_LIMITS if has_limits else "guard it: what it reads may be missing or different"
    if key in _OF_METADATA:
        return f"read object.metadata.?{key}[?'KEY'].orValue('')"
    if doing == "deleted":
        return "object is null then: leave DELETE out of the operations, or read oldObject"
    if doing == "created" and key in {"metadata", "spec", "status"}:
        return "oldObject is null then: write oldObject == null || …"
    return f"guard it by has(….{key}), or read .?{key}"


def _objects(policies: PolicySet) -> Iterator[_Subject]:
    """Yield the objects in each version that the release serves."""
    yield from (_Subject(obj) for obj in _custom(policies.kinds))
    derived = (_Subject(obj, is_derived=True) for obj in _derived(policies.kinds))
    for subject in chain(_plain(), derived):
        kind = kind_in(subject.object)
        for version in policies.kinds.versions(kind):
            with suppress(ConversionError):
                obj = convert(subject.object, kind._replace(version=version).api_version)
                yield subject._replace(object=obj)


def _plain() -> Iterator[_Subject]:
    """Yield objects in their newest version, the plainest first."""
    spec: dict[str, Any]
    for distinction, requests in _REQUESTS.items():
        spec = {"devices": {"requests": requests}} if requests else {}
        yield _Subject(_object("ResourceClaim", spec=spec), distinction)
        yield _Subject(_object("ResourceClaimTemplate", spec={"spec": spec}), distinction)
    yield _Subject(_object("DeviceClass", spec={}))
    for distinction, devices in _DEVICES.items():
        pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.example.com", "nodeName": "node-1", "pool": pool, "devices": devices}
        yield _Subject(_object("ResourceSlice", spec=spec), distinction)
    for distinction, pod in _PODS.items():
        yield _Subject(_object("Pod", "v1", spec=pod), distinction)
        for (version, kind), around in _WORKLOADS.items():
            spec = around({"metadata": {"labels": _LABELS}, "spec": pod})
            yield _Subject(_object(kind, version, spec=spec), distinction)
    for (version, kind), fields in _OTHERS.items():
        yield _Subject(_object(kind, version, **fields))


def _derived(kinds: Kinds) -> Iterator[JSONObject]:
    """Yield the least of each other kind: the fields of its types that Go writes even if they are empty."""
    known = {(kind.group, kind.kind) for kind in (kind_in(each.object) for each in _plain())}
    for each in built_in():
        versions = kinds.versions(each)
        if not versions or each.group in _ANSWERED or each.kind in _NOT_STORED or (each.group, each.kind) in known:
            continue
        version = each.at(versions[0]).api_version
        if type_ := catalogue.kind(version, each.kind):
            fields = _least_of(type_, kinds.release)
            if isinstance(spec := type_.fields.get("spec"), Nested):
                fields["spec"] = _least_of(spec.type, kinds.release)
            yield _object(each.kind, version, **fields)


def _custom(kinds: Kinds) -> Iterator[JSONObject]:
    """Yield the least that the schema of each custom kind accepts: the fields that it requires."""
    every = (each for group in filter(kinds.defines, kinds.groups) for each in kinds.of_group(group))
    for kind in (each.at(version) for each in every for version in kinds.versions(each)):
        if custom := kinds.custom(kind):
            fields = _least_by(custom.schema)
            if "spec" in custom.schema.properties:
                fields["spec"] = _least_by(custom.schema.properties["spec"])
            obj = _object(kind.kind, kind.api_version, **fields)
            if not custom.refusals(custom.completed(obj, kinds.release), None, kinds.release):
                yield obj


def _least_by(schema: Structural) -> Any:
    if schema.default is not None:
        return schema.default
    if values := schema.stated.get("enum"):
        return values[0]
    if schema.type == "array":
        return [_least_by(schema.items)] if schema.items and schema.number("minItems") else []  # more would multiply
    if schema.type == "string":
        return "a" * min(schema.number("minLength") or 1, _LONGEST)
    if schema.type in {"integer", "number"}:
        return schema.number("minimum") or 1
    names = texts(schema.stated, "required")
    fields = {name: _least_by(schema.properties[name]) for name in names if name in schema.properties}
    return {"boolean": False}.get(schema.type, fields)


def _least_of(type_: type[Struct], release: Release) -> dict[str, Any]:
    fields = ((name, each) for name, each in type_.fields.items() if each.written)
    return {name: _least(each, release) for name, each in fields if each.since <= release <= (each.until or release)}


def _least(field: Field, release: Release) -> Any:
    if isinstance(field, Nested):
        return _least_of(field.type, release)
    if isinstance(field, Array):
        return [_least(field.item, release)]
    if isinstance(field, Text):
        return "a"
    return 1 if isinstance(field, Int) else False if isinstance(field, Bool) else {}


def _ending(template: JSONObject) -> JSONObject:
    return template | {"spec": template["spec"] | {"restartPolicy": "Never"}}


def _object(kind: str, version: str = "resource.k8s.io/v1", **fields: Any) -> JSONObject:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "example"}, **fields}
