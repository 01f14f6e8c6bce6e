"""The type MutatingAdmissionPolicy.

Rules follow ``pkg/apis/admissionregistration/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.escapes import GO_SPACE
from webhook.policy.manifest.expressions import Compiler, complaints
from webhook.policy.manifest.matchresources import MutatingMatchConstraints
from webhook.policy.manifest.policies import AdmissionPolicy, PolicySpec, match_conditions, variables
from webhook.problem import Problem, invalid, not_supported, required
from webhook.schema import Array, Nested, Struct, Text, View, check

REINVOCATIONS: Final = ("IfNeeded", "Never")
_PATCH_FIELDS: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
"""The field of each type of patch."""


class ApplyConfiguration(Struct):
    """A change, as an object that is merged into the one that is admitted."""

    expression = Text("A CEL expression for an Object{…}.")


class JSONPatch(Struct):
    """A change, as the operations of a JSON Patch."""

    expression = Text("A CEL expression for a list of JSONPatch{…}.")


class Mutation(Struct):
    """One change to the object."""

    patchType = Text("ApplyConfiguration or JSONPatch.", go="PatchType")
    applyConfiguration = Nested(ApplyConfiguration, "The change, as an object to merge.", pointer=True)
    jsonPatch = Nested(JSONPatch, "The change, as a JSON Patch.", pointer=True)


class MutatingAdmissionPolicySpec(PolicySpec):
    """What a mutating policy changes."""

    matchConstraints = Nested(MutatingMatchConstraints, "The requests it is about.", pointer=True, required=True)
    mutations = Array(Nested(Mutation), "The changes, made one after the other.")
    reinvocationPolicy = Text(
        "Whether it is evaluated again after a later change: Never, or IfNeeded.", go="v1.ReinvocationPolicyType"
    )


class MutatingAdmissionPolicy(AdmissionPolicy):
    """Changes objects by CEL expressions."""

    spec = Nested(MutatingAdmissionPolicySpec, "What it changes.")


@check(MutatingAdmissionPolicy)
def mutating_expressions(policy: View) -> Iterator[Problem]:
    """Conditions, variables and mutations are well formed, and their expressions compile."""
    spec = policy.spec
    compiler = Compiler(spec.release, params=bool(spec.paramKind), composed=True, patches=True)
    yield from match_conditions(spec, compiler)
    yield from variables(spec, compiler)
    if not spec.mutations:
        yield required(spec / "mutations", "mutations must contain at least one item")
    for mutation in spec.mutations:
        yield from _mutation(mutation, compiler)
    path, value = spec / "reinvocationPolicy", spec.reinvocationPolicy
    if not value:
        yield required(path)
    elif value not in REINVOCATIONS:
        yield not_supported(path, value, REINVOCATIONS, spec.release)


def _mutation(mutation: View, compiler: Compiler) -> Iterator[Problem]:
    kind = mutation.patchType
    if not kind:
        yield required(mutation / "patchType")
        return
    if kind not in _PATCH_FIELDS:
        yield not_supported(mutation / "patchType", kind, tuple(_PATCH_FIELDS), mutation.release)
        return
    field = _PATCH_FIELDS[kind]
    patch: View = getattr(mutation, field)
    if not patch:
        yield required(mutation / field, f"must be specified when patchType is {kind}")
    elif not patch.expression.strip(GO_SPACE):
        yield required(patch / "expression")
    else:
        text = patch.expression.strip(GO_SPACE)
        yield from complaints(compiler.mutation(kind, text), patch / "expression", text, patch.expression)
    for other in _PATCH_FIELDS.values():
        if other != field and other in mutation:
            yield invalid(mutation / other, f"{{{other}}}", f"must not be specified when patchType is {kind}")
