"""The policies to evaluate are planned once for each place; their verdicts stay the same."""

from __future__ import annotations

import tracemalloc
from itertools import product
from typing import Any

from tests.policy.examples import POD, PODS, binding, policy
from webhook.policy.evaluation.policyset import Candidate, Invocation, PolicySet
from webhook.policy.evaluation.request import Request
from webhook.policy.evaluation.validate import validate
from webhook.policy.load import load
from webhook.policy.manifest.kinds import Kind, Resource

CLAIMS: dict[str, Any] = PODS | {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims", "resourceclaims/*"]}
MATCHES: dict[str, dict[str, Any]] = {
    "all": {"resourceRules": [PODS | {"apiGroups": ["*"], "resources": ["*/*"]}]},
    "created": {"resourceRules": [CLAIMS | {"operations": ["CREATE"]}]},
    "exact": {"resourceRules": [CLAIMS], "matchPolicy": "Exact"},
    "cluster": {"resourceRules": [CLAIMS | {"scope": "Cluster"}]},
    "named": {"resourceRules": [CLAIMS | {"resourceNames": ["a"]}]},
    "not-named": {"resourceRules": [CLAIMS], "excludeResourceRules": [CLAIMS | {"resourceNames": ["a"]}]},
    "status": {"resourceRules": [CLAIMS | {"resources": ["resourceclaims/status"]}]},
    "labelled": {"resourceRules": [CLAIMS], "objectSelector": {"matchLabels": {"app": "a"}}},
    "placed": {
        "resourceRules": [CLAIMS],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
    },
    "pods": {"resourceRules": [PODS]},
}
REQUESTS = [
    Request(
        operation=operation,
        kind=Kind("resource.k8s.io", version, "ResourceClaim"),
        resource=Resource("resource.k8s.io", version, "resourceclaims"),
        subresource=subresource,
        name=name,
        namespace=namespace,
        object={
            "apiVersion": f"resource.k8s.io/{version}",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": name}},
        },
    )
    for operation, version, subresource, name, namespace in product(
        ("CREATE", "DELETE"), ("v1", "v1beta1"), ("", "status"), ("a", "b"), ("", "default", "other")
    )
]


def all_matches() -> PolicySet:
    return load(
        each
        for name, match in MATCHES.items()
        for each in (policy(name, validations=[{"expression": "false"}], matchConstraints=match), binding(name))
    )


def asked(request: Request, policies: PolicySet) -> list[str]:
    return [decision.policy.name for decision in validate(request, policies).decisions]


def test_a_set_that_has_seen_other_requests_answers_as_a_new_one_does() -> None:
    used = all_matches()
    expected = [asked(request, all_matches()) for request in REQUESTS]
    assert [asked(request, used) for request in REQUESTS] == expected
    assert [asked(request, used) for request in reversed(REQUESTS)] == expected[::-1]
    assert {name for answer in expected for name in answer} == MATCHES.keys() - {"pods"}


def test_places_that_somebody_makes_up_do_not_fill_the_memory() -> None:
    policies = load([policy(validations=[{"expression": "true"}]), binding()])
    places = policies.plans["ValidatingAdmissionPolicy"]
    request = Request("CREATE", Kind("", "v1", "Pod"), Resource("", "v1", "pods"), name="p", object=POD)
    found = places.find(request)
    assert places.find(request) is found
    for number in range(1000):
        assert places.find(request._replace(subresource=str(number))) == ()
    assert places.find(request) is not found
    assert places.find(request) == found


def test_long_places_are_not_kept() -> None:
    policies = load([policy(validations=[{"expression": "true"}]), binding()])
    places = policies.plans["ValidatingAdmissionPolicy"]
    request = Request("CREATE", Kind("", "v1", "Pod"), Resource("", "v1", "pods"), name="p", object=POD)
    size = 2**18
    tracemalloc.start()
    for number in range(20):
        long = f"{number}".rjust(size)
        places.find(request._replace(subresource=long))
        places.find(request._replace(kind=Kind("", "v1", long)))
        places.find(request._replace(resource=Resource(long, "v1", "pods")))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2 * size


def test_a_plan_of_a_place_has_invocations() -> None:
    settings = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "kube-system"}}
    ref = {"name": "settings", "parameterNotFoundAction": "Deny"}
    params: dict[str, Any] = {"paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}
    validations = [{"expression": "params.metadata.name == 'settings' && object.metadata.name == 'p'"}]
    policies = load(
        [
            *(policy(name, validations=validations, **params) for name in ("fixed", "beside")),
            binding("fixed", paramRef=ref | {"namespace": "kube-system"}),
            binding("beside", paramRef=ref),
            settings,
        ]
    )
    request = Request("CREATE", Kind("", "v1", "Pod"), Resource("", "v1", "pods"), name="p", namespace="a", object=POD)
    fixed, beside = policies.plans["ValidatingAdmissionPolicy"].find(request)
    assert isinstance(fixed, Invocation)
    assert (fixed.params, [each.denied for each in fixed.passed]) == (settings, [False])
    assert isinstance(beside, Candidate)
    found = validate(request, policies).decisions
    assert [(each.policy.name, each.denied, each.params) for each in found] == [
        ("fixed", False, settings),
        ("beside", True, None),
    ]
    there = request._replace(namespace="kube-system")
    assert [each.params for each in validate(there, policies).decisions] == [settings, settings]


def test_conditions_see_no_namespace_whether_other_expressions_look_at_it_or_not() -> None:
    conditions = [{"name": "a", "expression": "namespaceObject == null"}]
    validations = [{"expression": "false"}], [{"expression": "namespaceObject == null"}]
    for each in validations:
        policies = load([policy(matchConditions=conditions, validations=each), binding()])
        request = Request("CREATE", Kind("", "v1", "Pod"), Resource("", "v1", "pods"), namespace="a", object=POD)
        assert [found.is_error for found in validate(request, policies).decisions] == [False]
        assert not validate(request, policies).allowed
