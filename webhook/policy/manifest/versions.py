"""The API versions of policies, and the validation of one on create."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final

from webhook.api.versions import DEFAULT
from webhook.policy.manifest.kinds import Kind, Kinds
from webhook.policy.manifest.policies import (
    DefaultingParamRef,
    MutatingAdmissionPolicy,
    MutatingAdmissionPolicyBinding,
    ParamRef,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
)
from webhook.problem import Path, Problem, refused
from webhook.release import Release
from webhook.schema import CREATE, CompiledStruct, Struct, Target, compile_struct
from webhook.schema.decoding import UNKNOWN_FIELD, Misfit, apart, as_reported

GROUP: Final = "admissionregistration.k8s.io"
KINDS: Final[Mapping[str, type[Struct]]] = {
    each.__name__: each
    for each in (
        ValidatingAdmissionPolicy,
        ValidatingAdmissionPolicyBinding,
        MutatingAdmissionPolicy,
        MutatingAdmissionPolicyBinding,
    )
}


def is_policy(obj: object) -> bool:
    """Tell whether an object is a policy or a binding, of any version."""
    if not isinstance(obj, dict):
        return False
    api_version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        return False
    return api_version.partition("/")[0] == GROUP and kind in KINDS


@cache
def served(kind: str, release: Release) -> list[str]:
    """List the API versions in which a release serves a kind of policy or binding, the oldest first."""
    return [f"{GROUP}/{name}" for name in reversed(Kinds(release).versions(Kind(GROUP, "", kind)))]


def serving(obj: Mapping[str, Any], release: Release) -> Release:
    """Return the release nearest to the cluster's that serves a policy or binding in its version.

    The cluster that requests come from need not serve the policies that draguard evaluates.
    """
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    releases = Kinds(release).releases(Kind(group, version, str(obj["kind"])))
    return min(max(release, releases[0]), releases[1]) if releases else release


def validate_policy(obj: dict[str, Any], release: Release = DEFAULT, *, beyond_decoding: bool = False) -> list[Problem]:
    """Validate a policy or binding as the API server does on create.

    Args:
        beyond_decoding: Whether to validate the rest of an object that cannot be decoded, too.
    """
    kind = str(obj["kind"])
    versions = served(kind, release)
    if obj["apiVersion"] not in versions:
        message = f'no matches for kind "{kind}" in version "{obj["apiVersion"]}"'
        problem = refused("NotFound", Path(("apiVersion",)), message)
        hint = f"Kubernetes 1.{release} serves {kind} in {', '.join(versions) or 'no version'}"
        return [Problem(problem.level, "not-served", problem.reason, problem.path, message, hint)]
    struct = _struct(kind, obj["apiVersion"], release)
    misfits, problems = apart(struct.walk(obj))
    if not misfits:
        return list(problems)
    found = _undecodable(misfits, struct)
    if beyond_decoding:
        from webhook.api.beyond import beyond  # most policies can be decoded

        found += beyond(struct, obj, None, misfits, lambda _obj, _misfits, rest: rest)
    return found


def _undecodable(misfits: Iterable[Misfit], struct: CompiledStruct) -> list[Problem]:
    """List the values that the decoder refuses, with suggestions for the first unknown fields."""
    from webhook.api.judgement import SOUGHT  # most policies can be decoded
    from webhook.schema.suggest import suggestion

    problems = [misfit.problem() for misfit in as_reported(misfits)]
    unknown = [index for index, problem in enumerate(problems) if problem.rule == UNKNOWN_FIELD]
    for index in unknown[:SOUGHT]:
        problems[index] = problems[index]._replace(hint=suggestion(struct, problems[index].path).hint)
    return problems


@cache
def _struct(kind: str, api_version: str, release: Release) -> CompiledStruct:
    version = api_version.rpartition("/")[2]
    replaced = {ParamRef: DefaultingParamRef} if version == "v1alpha1" else {}
    return compile_struct(KINDS[kind], Target(version, release, CREATE, replaced=replaced))
