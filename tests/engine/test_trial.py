"""``policy check`` evaluates policies for small objects that the API server accepts."""

from typing import Any

import pytest

from tests.policy.examples import MUTATING, MUTATING_BINDING, binding, mutating, policy, spec
from webhook.api.versions import NEWEST
from webhook.engine.offline import evaluate
from webhook.engine.trial import try_policies
from webhook.policy.evaluation.request import Request
from webhook.policy.evaluation.verdict import Verdict
from webhook.policy.load import load

CLAIMS = {
    "apiGroups": ["resource.k8s.io"],
    "apiVersions": ["v1"],
    "operations": ["CREATE"],
    "resources": ["resourceclaims"],
}
PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}


def tried(*given: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = try_policies(load(given), NEWEST).findings
    return [(each.problem.field, each.problem.message, each.problem.hint) for each in found]


@pytest.mark.parametrize(
    ("operation", "value", "refusals"),
    [
        ("CREATE", "Never", []),
        (
            "CREATE",
            "No",
            ['spec.restartPolicy: Unsupported value: "No": supported values: "Always", "OnFailure", "Never"'],
        ),
        ("UPDATE", "Never", []),
    ],
)
def test_a_change_that_the_api_server_refuses_is_found(operation: str, value: str, refusals: list[str]) -> None:
    expression = f"[JSONPatch{{op: 'add', path: '/spec/restartPolicy', value: '{value}'}}]"
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]
    rules = {"matchConstraints": {"resourceRules": [PODS | {"operations": [operation]}]}}
    mutating = MUTATING | {"spec": MUTATING["spec"] | rules | {"mutations": mutations}}
    start = "makes a plain Pod one that the API server refuses without further changes: "
    found = [message for _, message, _ in tried(mutating, MUTATING_BINDING)]
    assert found == [start + each for each in refusals]


def jsonpatch(name: str, path: str, value: str, **fields: Any) -> dict[str, Any]:
    expression = f"[JSONPatch{{op: 'add', path: '{path}', value: {value}}}]"
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]
    stated = {"matchConstraints": {"resourceRules": [PODS]}, "mutations": mutations} | fields
    return MUTATING | {"metadata": {"name": name}, "spec": MUTATING["spec"] | stated}


def test_a_change_that_does_not_fit_a_default_is_found() -> None:
    path = "/spec/devices/requests/0/firstAvailable/0/allocationMode"
    only = {"name": "only", "expression": "object.spec.?devices.requests[0].firstAvailable.hasValue()"}
    rules = {"matchConstraints": {"resourceRules": [CLAIMS]}, "matchConditions": [only]}
    found = [message for _, message, _ in tried(jsonpatch("m", path, "'All'", **rules), MUTATING_BINDING)]
    field = "spec.devices.requests[0].firstAvailable[0].count"
    refusal = f"{field}: Invalid value: 1: must not be specified when allocationMode is 'All'"
    start = "makes a ResourceClaim with firstAvailable one that the API server refuses without further changes: "
    assert start + refusal in found


@pytest.mark.parametrize(
    ("group", "resource", "expression", "found"),
    [
        (
            "discovery.k8s.io",
            "endpointslices",
            "object.metadata.labels.a == 'b'",
            "an EndpointSlice without labels is created",
        ),
        ("discovery.k8s.io", "endpointslices", "object.endpoints.all(e, size(e.addresses) > 0)", ""),
        ("storage.k8s.io", "volumeattachments", "object.spec.nodeName != ''", ""),
        ("storage.k8s.io", "volumeattachments", "object.spec.source.persistentVolumeName != ''", ""),
        ("networking.k8s.io", "servicecidrs", "int(object.metadata.name) > 0", "a plain ServiceCIDR is created"),
        ("resource.k8s.io", "devicetaintrules", "object.spec.taint.value == ''", "a DeviceTaintRule without value"),
    ],
)
def test_policies_are_tried_on_every_kind(group: str, resource: str, expression: str, found: str) -> None:
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": [resource]}
    problems = tried(policy(validations=[{"expression": expression}], rules=[rule]))
    assert [message.startswith(f"fails when {found}") for _, message, _ in problems] == [True] * bool(found)


def test_policies_are_tried_on_custom_resources() -> None:
    spec = {
        "type": "object",
        "required": ["mode", "size", "names"],
        "properties": {
            "mode": {"type": "string", "enum": ["fast", "slow"]},
            "size": {"type": "integer", "minimum": 3},
            "names": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 2}},
            "note": {"type": "string"},
            "level": {"type": "integer", "default": 1},
        },
    }
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}
    sound = "object.spec.mode == 'fast' && object.spec.size > 2 && object.spec.names.all(n, size(n) > 1)"
    validations = [{"expression": each} for each in (sound, "object.spec.level == 1", "object.spec.note != ''")]
    merge = mutating("m", "Object{spec: Object.spec{note: 'a'}}", matchConstraints={"resourceRules": [rule]})
    ((field, message, _),) = tried(definition, policy(validations=validations, rules=[rule]), *merge)
    assert field == "spec.validations[2].expression"
    assert message.startswith("fails when a Widget without note is created")


def test_what_another_policy_adds_is_not_missing() -> None:
    use = jsonpatch("use", "/spec/containers/0/resources", "{'claims': [{'name': 'gpu'}]}")
    claim = jsonpatch("claim", "/spec/resourceClaims", "[{'name': 'gpu', 'resourceClaimName': 'gpu'}]")
    (found,) = tried(use)
    assert 'Not found: "gpu"' in found[1]
    assert tried(use, claim) == []


@pytest.mark.parametrize(
    ("rules", "is_found"),
    [
        ({"resourceRules": [PODS]}, False),
        ({"resourceRules": [PODS], "objectSelector": {"matchLabels": {"team": "a"}}}, False),
        ({"resourceRules": [CLAIMS]}, True),
    ],
)
def test_what_a_policy_with_parameters_may_add_is_not_missing(rules: dict[str, Any], is_found: bool) -> None:
    use = jsonpatch("use", "/spec/containers/0/resources", "{'claims': [{'name': 'gpu'}]}")
    config = {"apiVersion": "v1", "kind": "ConfigMap"}
    claim = jsonpatch("claim", "/spec/resourceClaims", "params.data", paramKind=config, matchConstraints=rules)
    assert bool(tried(use, claim)) is is_found


def levels(*given: dict[str, Any]) -> list[tuple[str, str, str]]:
    found = try_policies(load(given), NEWEST).findings
    return [
        (each.problem.level, each.problem.field, each.problem.message.partition("shown instead: ")[2]) for each in found
    ]


@pytest.mark.parametrize(
    ("operation", "message", "reason"),
    [
        ("DELETE", "'not ' + object.metadata.name", "no such key: metadata"),
        ("CREATE", "'not ' + oldObject.metadata.name", "no such key: metadata"),
        ("CREATE", "'team ' + object.metadata.labels['team']", "no such key: labels"),
        ("CREATE", "object.metadata.name + '\\n'+ 'x'", "the message has a line break"),
        ("CREATE", "object.metadata.?labels[?'a'].orValue(' ')", "the message is empty"),
        ("CREATE", f"object.metadata.name + '{'x' * 5120}'", "the message has more than 5120 bytes"),
        ("CREATE", "'no ' + object.metadata.name", ""),
        ("CREATE", "' ' + object.metadata.name + '\\n'", ""),
    ],
)
@pytest.mark.parametrize("beside", ["", "no"])
def test_a_message_that_is_not_used_is_found(operation: str, message: str, reason: str, beside: str) -> None:
    validation = {"expression": "request.userInfo.username == 'a'", "messageExpression": message}
    given = policy(
        rules=[PODS | {"operations": [operation]}], validations=[validation | ({"message": beside} if beside else {})]
    )
    level = "note" if beside else "warning"
    expected = [(level, "spec.validations[0].messageExpression", reason)] if reason else []
    assert levels(given, binding()) == expected


def test_a_message_that_is_only_made_for_what_is_refused_is_not_tried_on_others() -> None:
    validation = {
        "expression": "!has(object.metadata.labels) || object.metadata.labels.team == 'a'",
        "messageExpression": "'not ' + object.metadata.labels.team",
    }
    assert levels(policy(rules=[PODS], validations=[validation]), binding()) == []


@pytest.mark.parametrize(
    ("operations", "condition", "when"),
    [
        (["CREATE", "DELETE"], "object.metadata.name != 'a'", "a plain Pod is deleted"),
        (["CREATE", "UPDATE"], "oldObject.metadata.name != 'a'", "a plain Pod is created"),
        (["CREATE"], "namespaceObject.metadata.name != 'a'", "a plain Pod is created"),
        (["CREATE"], "object.metadata.labels.team == 'a'", "a Pod without labels is created"),
        (["CREATE"], "object == null || object.metadata.name != 'a'", ""),
    ],
)
@pytest.mark.parametrize("effect", ["refuses it", "does not apply"])
@pytest.mark.parametrize("is_mutating", [False, True])
def test_a_condition_that_fails_is_found(
    operations: list[str], condition: str, when: str, effect: str, *, is_mutating: bool
) -> None:
    made: dict[str, Any] = {
        "matchConditions": [{"name": "c", "expression": condition}],
        "failurePolicy": "Fail" if effect == "refuses it" else "Ignore",
    }
    rules = [PODS | {"operations": operations}]
    if is_mutating:
        made["matchConstraints"] = {"resourceRules": rules}
        mutating = jsonpatch("m.example.com", "/metadata/labels", "{'a': 'b'}", **made)
        given = [mutating, MUTATING_BINDING]
    else:
        given = [policy(rules=rules, validations=[{"expression": "true"}], **made), binding()]
    expected = [("spec.matchConditions[0].expression", f"fails when {when}, and the policy {effect} then")]
    is_found = when and not (is_mutating and "deleted" in when)  # the API server asks no mutating policy then
    assert [(path, text.partition(": ")[0]) for path, text, _ in tried(*given)] == (expected if is_found else [])


DEPLOYMENTS = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["deployments"]}


ATOMIC = "may not mutate atomic arrays, maps or structs: "


@pytest.mark.parametrize(
    ("rule", "patch", "reason"),
    [
        (PODS, "Object{spec: Object.spec{nodeSelector: {'pool': 'gpu'}}}", f"{ATOMIC}.spec.nodeSelector"),
        (
            PODS,
            "Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'a'}]}}",
            f"{ATOMIC}.spec.tolerations",
        ),
        (
            DEPLOYMENTS,
            "Object{spec: Object.spec{template: ITS{spec: ITS.spec{tolerations: []}}}}".replace(
                "ITS", "Object.spec.template"
            ),
            f"{ATOMIC}.spec.template.spec.tolerations",
        ),
        (
            DEPLOYMENTS,
            "Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'a': 'b'}}}}",
            f"{ATOMIC}.spec.selector",
        ),
        (
            CLAIMS,
            "Object{spec: Object.spec{devices: Object.spec.devices{requests: [Object.spec.devices.requests{}]}}}",
            f"{ATOMIC}.spec.devices.requests",
        ),
        (
            PODS,
            "Object{spec: Object.spec{containers: ['a', 'a'].map(n, Object.spec.containers{name: n})}}",
            '.spec.containers: duplicate entries for key [name="a"]',
        ),
        (PODS, "Object{metadata: Object.metadata{annotations: {'n': 1}}}", ".metadata.annotations.n: expected string"),
        (
            PODS,
            "[JSONPatch{op: 'add', path: '/spec/hostNetwork', value: 'yes'}]",
            "cannot unmarshal string into Go struct field PodSpec.spec.hostNetwork of type bool",
        ),
        (PODS, "[JSONPatch{op: 'add', path: '/spec/nope', value: 'x'}]", 'unknown field "spec.nope"'),
        (PODS, "Object{metadata: Object.metadata{labels: {'a': 'b'}}}", ""),
        (PODS, "[JSONPatch{op: 'add', path: '/spec/tolerations', value: [{'key': 'a', 'operator': 'Exists'}]}]", ""),
    ],
)
def test_a_change_that_fails_after_its_evaluation_is_found(rule: dict[str, Any], patch: str, reason: str) -> None:
    patch_type, field = ("JSONPatch", "jsonPatch") if patch[0] == "[" else ("ApplyConfiguration", "applyConfiguration")
    mutation = {"patchType": patch_type, field: {"expression": patch}}
    given = MUTATING | {
        "spec": MUTATING["spec"] | {"matchConstraints": {"resourceRules": [rule]}, "mutations": [mutation]}
    }
    found = tried(given, MUTATING_BINDING)
    if not reason:
        assert found == []
        return
    ((path, message, _),) = found
    assert path == f"spec.mutations[0].{field}.expression"
    assert reason in message


def test_of_policies_that_take_very_much_work_the_rest_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.engine.trial._WORK_OF_ALL", 1_000)
    slow = f"{list(range(40))}.all(x, {list(range(40))}.all(y, x + y >= 0))"
    fails = {"expression": "object.metadata.labels.a == 'b'"}
    given = [
        policy(rules=[CLAIMS], validations=[{"expression": slow}, fails]) | {"metadata": {"name": name}}
        for name in ("a", "b", "c")
    ]
    trial = try_policies(load(given), NEWEST)
    assert [each.given.object for each in trial.findings] == given[:1]
    assert [each.name for each in trial.untried] == ["b", "c"]


@pytest.mark.parametrize(
    ("rule", "expression", "when", "reason", "hint"),
    [
        (
            CLAIMS,
            "object.metadata.labels['team'] != ''",
            "a ResourceClaim without labels is created",
            "no such key: labels",
            "read object.metadata.?labels[?'KEY'].orValue('')",
        ),
        (
            CLAIMS,
            "optional.ofNonZeroValue(object.spec.devices.requests).orValue([]).all(r, r.exactly.count < 3)",
            "a ResourceClaim with firstAvailable is created",
            "no such key: exactly",
            "guard it by has(….exactly), or read .?exactly",
        ),
        (
            CLAIMS,
            "object.spec.devices.config.size() == 0",
            "a ResourceClaim without config is created",
            "no such key: config",
            "guard it by has(….config), or read .?config",
        ),
        (
            {**CLAIMS, "resources": ["resourceslices"]},
            "object.spec.devices.all(each, 'model' in each.attributes)",
            "a ResourceSlice without attributes is created",
            "no such key: attributes",
            "guard it by has(….attributes), or read .?attributes",
        ),
        (
            CLAIMS,
            "size(object.spec.devices.requests) < 5",
            "a ResourceClaim without requests is created",
            "no such overload: size",
            "requests is null then: read optional.ofNonZeroValue(object.spec.devices.requests).orValue([])",
        ),
        (
            {**CLAIMS, "operations": ["DELETE"]},
            "object.spec != null",
            "a plain ResourceClaim is deleted",
            "no such key: spec",
            "object is null then: leave DELETE out of the operations, or read oldObject",
        ),
        (
            {**CLAIMS, "operations": ["*"]},
            "request.operation == 'DELETE' || object.spec == oldObject.spec",
            "a plain ResourceClaim is created",
            "no such key: spec",
            "oldObject is null then: write oldObject == null || …",
        ),
        (
            PODS,
            "object.spec.containers.all(each, int(each.image) > 1)",
            "a plain Pod is created",
            "type conversion error from 'string' to 'int'",
            "guard it: what it reads may be missing or different",
        ),
    ],
)
def test_expressions_that_fail_for_a_small_object_are_found(
    rule: dict[str, Any], expression: str, when: str, reason: str, hint: str
) -> None:
    given = policy(rules=[rule], validations=[{"expression": expression}])
    message = f"fails when {when}, and the policy refuses it then: {reason}"
    assert tried(given, binding()) == [("spec.validations[0].expression", message, hint)]


def test_the_effect_is_that_of_the_failure_policy() -> None:
    made = policy(rules=[PODS], validations=[{"expression": "object.metadata.labels.a == 'b'"}], failurePolicy="Ignore")
    ((_, message, _),) = tried(made)
    assert "and the policy does not apply then" in message


@pytest.mark.parametrize(
    "fields",
    [
        {"validations": [{"expression": "object.metadata.?labels[?'team'].orValue('') != ''"}]},
        {
            "validations": [{"expression": "params.metadata.name == 'a'"}],
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        },
        {
            "matchConditions": [{"name": "team", "expression": "'team' in object.metadata.?labels.orValue({})"}],
            "validations": [{"expression": "object.metadata.labels.team != ''"}],
        },
    ],
    ids=["guarded", "with parameters", "with a condition"],
)
def test_others_are_not(fields: dict[str, Any]) -> None:
    assert tried(policy(rules=[CLAIMS], **fields), binding()) == []


@pytest.mark.parametrize(
    ("operation", "hint"),
    [
        ("'remove'", "remove only where the object has /metadata/labels/team"),
        ("'replace', value: 'a'", "replace only where the object has /metadata/labels/team"),
        ("'add', value: 'a'", "add /metadata/labels first where it is missing, or use patchType: ApplyConfiguration"),
    ],
)
def test_patches_that_do_not_apply_are_found(operation: str, hint: str) -> None:
    patch = {"expression": f"[JSONPatch{{op: {operation}, path: '/metadata/labels/team'}}]"}
    matched = {"resourceRules": [PODS], "matchPolicy": "Exact"}
    given = spec(MUTATING, matchConstraints=matched, mutations=[{"patchType": "JSONPatch", "jsonPatch": patch}])
    ((field, message, found),) = tried(given, MUTATING_BINDING)
    assert (field, found) == ("spec.mutations[0].jsonPatch.expression", hint)
    doing = operation.strip("'").partition("'")[0]
    assert message.startswith(f"fails when a plain Pod is created, and the policy refuses it then: JSON Patch: {doing}")


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Return a list of the requests for which policies will be evaluated."""
    seen = []

    def counted(request: Request, *given: Any, **options: Any) -> Verdict:
        seen.append(request)
        return evaluate(request, *given, **options)

    monkeypatch.setattr("webhook.engine.trial.evaluate", counted)
    return seen


def test_only_objects_to_which_a_policy_may_apply_are_tried(evaluated: list[Request]) -> None:
    tried(policy(rules=[PODS], validations=[{"expression": "object.spec != null"}]), binding())
    assert {(each.kind.kind, each.operation) for each in evaluated} == {("Pod", "CREATE")}


def test_an_expression_that_takes_too_much_work_is_tried_once(
    monkeypatch: pytest.MonkeyPatch, evaluated: list[Request]
) -> None:
    monkeypatch.setattr("webhook.engine.trial.DOCUMENT", 50_000)
    monkeypatch.setattr("webhook.engine.trial._WORK", 10_000)
    numbers = list(range(40))
    checks = [{"expression": f"{numbers}.all(x, {numbers}.all(y, {numbers}.all(z, x + y + z >= 0)))"}]
    (found,) = tried(policy(rules=[CLAIMS], validations=checks), binding())
    assert found[0] == "spec.validations[0].expression"
    assert "take more work than draguard allows" in found[1]
    assert found[2] == "shorten it: what it builds or compares grows with each step"
    assert len(evaluated) == 1


def test_mutations_of_an_object_that_grows_take_bounded_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.engine.trial.DOCUMENT", 20_000)
    patch = "lists.range(20).map(x, JSONPatch{op: 'add', path: '/metadata/labels/%d-' + string(x), value: 'b'})"
    begun = {"expression": "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': 'b'}}]"}
    mutations = [begun, *({"expression": patch % number} for number in range(100))]
    matched = {"resourceRules": [PODS], "matchPolicy": "Exact"}
    patches = [{"patchType": "JSONPatch", "jsonPatch": each} for each in mutations]
    found = tried(spec(MUTATING, matchConstraints=matched, mutations=patches), MUTATING_BINDING)
    assert "take more work than draguard allows" in found[0][1]
    assert 10 < len(mutations) - len(found) < 60


@pytest.mark.parametrize(
    ("resource", "expression", "about"),
    [
        ("configmaps", "object.data.size() < 3", "a ConfigMap without data"),
        ("services", "object.spec.selector.size() > 0", "a Service without selector"),
        ("cronjobs", "object.spec.jobTemplate.metadata.labels.size() > 0", "a CronJob without "),
        ("statefulsets", "object.spec.volumeClaimTemplates.size() < 3", "a StatefulSet without volumeClaimTemplates"),
        ("services", "object.spec.type == 'ClusterIP' && object.spec.ports.all(p, p.protocol == 'TCP')", None),
        ("storageclasses", "object.reclaimPolicy == 'Delete'", None),
        ("networkpolicies", "'Ingress' in object.spec.policyTypes", None),
    ],
)
def test_other_kinds_are_tried_with_their_defaults(resource: str, expression: str, about: str | None) -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]}
    given = policy(rules=[rule], validations=[{"expression": expression}])
    messages = [message for _, message, _ in tried(given)]
    assert [message.startswith(f"fails when {about}") for message in messages] == [True] * bool(about)
