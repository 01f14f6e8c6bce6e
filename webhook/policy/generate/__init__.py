"""Writes rules as policies that a cluster evaluates by itself, without a webhook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from webhook.api.versions import GROUP, VERSIONS
from webhook.objects import JSONObject
from webhook.policy.generate.checks import CHECKS, LIMITS, VARIABLES, Check, CheckedObjects, numbers
from webhook.policy.manifest.kinds import built_in
from webhook.release import Release

OLDEST: Final = Release(32)
"""The oldest release whose claims have requests, and whose API servers evaluate ValidatingAdmissionPolicies of v1."""
_MUTATING: Final = {
    version: since
    for each in built_in()
    if each.kind == "MutatingAdmissionPolicy"
    for version, (since, _) in each.versions.items()
    if "alpha" not in version
}
MUTATING_SINCE: Final = min(_MUTATING.values())
"""The first release that serves MutatingAdmissionPolicies by default."""

_DOMAIN: Final = "rules.draguard.github.io"
_GROUP: Final = "admissionregistration.k8s.io"
_VARIABLE: Final = re.compile(r"\bvariables\.([a-z]+)")

_CLAIMS: Final = {
    "apiGroups": [GROUP],
    "apiVersions": [name.rpartition("/")[2] for name in VERSIONS if name.startswith(GROUP) and "alpha" not in name],
    "operations": ["CREATE"],  # specs of claims and templates do not change
    "resources": ["resourceclaims", "resourceclaimtemplates"],
}
_NEW_PODS: Final = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
_WRITES: Final = ["CREATE", "UPDATE"]
_APPS: Final = ["daemonsets", "deployments", "statefulsets"]
_RULES: Final[Mapping[CheckedObjects, Sequence[JSONObject]]] = {
    CheckedObjects.CLAIMS: [_CLAIMS],
    CheckedObjects.PODS: [
        _NEW_PODS,
        {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": _WRITES, "resources": _APPS},
        {"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": _WRITES, "resources": ["cronjobs", "jobs"]},
    ],
    CheckedObjects.NEW_PODS: [_NEW_PODS],
}

_HOSTNAME: Final = "kubernetes.io/hostname"
_CAN_BE_REWRITTEN: Final = {
    "has-claims": "has(object.spec.resourceClaims) && size(object.spec.resourceClaims) > 0",
    "names-its-node": "has(object.spec.nodeName) && object.spec.nodeName != ''",
    "can-be-selected": "size(object.spec.nodeName) <= 63",
    "has-no-other-hostname": (
        f"!has(object.spec.nodeSelector) || !('{_HOSTNAME}' in object.spec.nodeSelector)\n"
        f"|| object.spec.nodeSelector['{_HOSTNAME}'] == object.spec.nodeName"
    ),
}
_REWRITTEN: Final = (
    "(has(object.spec.nodeSelector) ? [] : [JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {}}])\n"
    "+ [\n"
    "  JSONPatch{\n"
    "    op: 'add',\n"
    f"    path: '/spec/nodeSelector/' + jsonpatch.escapeKey('{_HOSTNAME}'),\n"
    "    value: object.spec.nodeName\n"
    "  },\n"
    "  JSONPatch{op: 'remove', path: '/spec/nodeName'}\n"
    "]"
)


def generate(
    rules: Iterable[str], limits: Mapping[str, int], *, actions: Sequence[str], release: Release
) -> Iterator[JSONObject]:
    """Write policies and their bindings.

    Args:
        rules: Names in :data:`CHECKS`.
        limits: Numbers by name in :data:`LIMITS`.
        actions: The bindings' ``validationActions``.
        release: The cluster's release, at least :data:`OLDEST`.
    """
    for name in rules:
        if name == "prescheduled":
            yield from _mutating("prescheduled-rewritten", release)
        yield from _validating(name, CHECKS[name], actions)
    for name, limit in limits.items():
        known = LIMITS[name]
        values = numbers(name, limit)
        validations = {key.format_map(values): text.format_map(values) for key, text in known.validations.items()}
        check = Check(known.objects, known.doc.format_map(values), validations)
        yield from _validating(f"limit-{name}", check, actions)


def _validating(name: str, check: Check, actions: Sequence[str]) -> Iterator[JSONObject]:
    spec: JSONObject = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": list(_RULES[check.objects])}}
    if check.objects is CheckedObjects.PODS:  # finalizers must be removable, whatever is wrong with the object
        condition = {"name": "is-not-being-deleted", "expression": "!has(object.metadata.deletionTimestamp)"}
        spec["matchConditions"] = [condition]
    if variables := _variables(check):
        spec["variables"] = variables
    spec["validations"] = [{"expression": each, "message": message} for message, each in check.validations.items()]
    full = f"{name}.{_DOMAIN}"
    yield _object("ValidatingAdmissionPolicy", full, spec, doc=check.doc)
    binding = {"policyName": full, "validationActions": list(actions)}
    yield _object("ValidatingAdmissionPolicyBinding", full, binding)


def _variables(check: Check) -> list[JSONObject]:
    """Return the variables that a check's expressions need, each after those that it uses itself."""
    known = VARIABLES[check.objects]
    needed: set[str] = set()
    pending = [*check.validations.values()]
    while pending:
        for name in _VARIABLE.findall(pending.pop()):
            if name not in needed:
                needed.add(name)
                pending.append(known[name])
    return [{"name": name, "expression": known[name]} for name in known if name in needed]


def _mutating(name: str, release: Release) -> Iterator[JSONObject]:
    version = next((version for version, since in _MUTATING.items() if since <= release), None)
    if version is None:
        return
    spec = {
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "matchConstraints": {"resourceRules": [_NEW_PODS]},
        "matchConditions": [{"name": each, "expression": text} for each, text in _CAN_BE_REWRITTEN.items()],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": _REWRITTEN}}],
    }
    full = f"{name}.{_DOMAIN}"
    doc = "nodeName of a pod with claims becomes a node selector, so that the scheduler allocates its devices."
    yield _object("MutatingAdmissionPolicy", full, spec, version, doc=doc)
    yield _object("MutatingAdmissionPolicyBinding", full, {"policyName": full}, version)


def _object(kind: str, name: str, spec: JSONObject, version: str = "v1", *, doc: str = "") -> JSONObject:
    metadata: JSONObject = {"name": name}
    if doc:
        metadata["annotations"] = {"kubernetes.io/description": doc}
    return {"apiVersion": f"{_GROUP}/{version}", "kind": kind, "metadata": metadata, "spec": spec}
