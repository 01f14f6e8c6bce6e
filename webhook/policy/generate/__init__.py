"""Writes rules as policies that a cluster evaluates by itself, without a webhook; they are made of ``checks.yaml``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final

from webhook.api.versions import GROUP, VERSIONS
from webhook.documents import Document, parse
from webhook.objects import JSONObject
from webhook.policy.manifest.kinds import built_in
from webhook.release import Release

OLDEST: Final = Release(32)
"""The oldest release that serves claims in a version of those that policies are about, which are not alpha."""
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
_VARIABLE: Final = re.compile(r"\bvariables\.([a-z]+)")


@cache
def _parts() -> dict[str, JSONObject]:
    """Return the parts of policies."""
    file = resources.files("webhook.policy.generate") / "checks.yaml"
    parts: dict[str, JSONObject] = next(
        each.data for each in parse(file.read_text("utf-8")) if isinstance(each, Document)
    )
    claims = [name.rpartition("/")[2] for name in VERSIONS if name.startswith(GROUP) and "alpha" not in name]
    for objects in parts["objects"].values():
        for rule in objects["spec"]["matchConstraints"]["resourceRules"]:
            rule["apiVersions"] = rule["apiVersions"] or claims
    return parts


def checks() -> Mapping[str, JSONObject]:
    """Return what each rule becomes: the objects that it is about, the rule in a sentence, and the validations."""
    return _parts()["checks"]


def limits() -> Mapping[str, JSONObject]:
    """Return the checks for user-defined limits, by name, with placeholders in their texts."""
    return _parts()["limits"]


def numbers(name: str, limit: int | str) -> dict[str, object]:
    """Return the values of the placeholders in the texts of a limit."""
    return {"limit": limit, name: f"{limit} {name.removesuffix('s') if limit == 1 else name}"}


def generate(
    rules: Iterable[str], limited: Mapping[str, int], *, actions: Sequence[str], release: Release
) -> Iterator[JSONObject]:
    """Write policies and their bindings.

    Args:
        rules: Names of :func:`checks`.
        limited: Numbers by name of :func:`limits`.
        actions: The bindings' ``validationActions``.
        release: The cluster's release, at least :data:`OLDEST`.
    """
    for name in rules:
        if name == "prescheduled":
            yield from _mutating("prescheduled-rewritten", release)
        yield from _validating(name, checks()[name], {}, actions)
    for name, limit in limited.items():
        yield from _validating(f"limit-{name}", limits()[name], numbers(name, limit), actions)


def _validating(
    name: str, check: JSONObject, values: Mapping[str, object], actions: Sequence[str]
) -> Iterator[JSONObject]:
    """Write the policy of a check, and its binding; `values` are those of placeholders."""
    objects, doc, validations = _parts()["objects"][check["objects"]], check["doc"], check["validations"]
    if values:
        doc = doc.format_map(values)
        validations = [{key: text.format_map(values) for key, text in each.items()} for each in validations]
    variables = _needed(objects["variables"], [each["expression"] for each in validations])
    spec = objects["spec"] | ({"variables": variables} if variables else {}) | {"validations": validations}
    full = f"{name}.{_DOMAIN}"
    yield _object("ValidatingAdmissionPolicy", full, spec, doc=doc)
    binding = {"policyName": full, "validationActions": list(actions)}
    yield _object("ValidatingAdmissionPolicyBinding", full, binding)


def _needed(variables: Mapping[str, str], expressions: list[str]) -> list[JSONObject]:
    """Return the variables that expressions need, each after those that it uses itself."""
    needed: set[str] = set()
    while expressions:
        new = {*_VARIABLE.findall(expressions.pop())} - needed
        needed |= new
        expressions += map(variables.__getitem__, new)
    return [{"name": name, "expression": text} for name, text in variables.items() if name in needed]


def _mutating(name: str, release: Release) -> Iterator[JSONObject]:
    version = next((version for version, since in _MUTATING.items() if since <= release), None)
    if version is None:
        return
    full, rewritten = f"{name}.{_DOMAIN}", _parts()["rewritten"]
    yield _object("MutatingAdmissionPolicy", full, rewritten["spec"], version, doc=rewritten["doc"])
    yield _object("MutatingAdmissionPolicyBinding", full, {"policyName": full}, version)


def _object(kind: str, name: str, spec: JSONObject, version: str = "v1", *, doc: str = "") -> JSONObject:
    metadata: JSONObject = {"name": name}
    if doc:
        metadata["annotations"] = {"kubernetes.io/description": doc}
    return {"apiVersion": f"admissionregistration.k8s.io/{version}", "kind": kind, "metadata": metadata, "spec": spec}
