"""The types ValidatingAdmissionPolicyBinding and MutatingAdmissionPolicyBinding.

Rules follow ``pkg/apis/admissionregistration/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterator

from webhook import formats
from webhook.api.core.labelselector import LabelSelector
from webhook.api.core.meta import PlainObject
from webhook.policy.manifest.formats import path_segment
from webhook.policy.manifest.matchresources import MatchResources, MutatingMatchResources
from webhook.problem import Path, Problem, duplicate, forbidden, invalid, not_supported, required
from webhook.schema import IN_PLACE, Array, Nested, Struct, Text, View, check

ACTIONS = ("Audit", "Deny", "Warn")
NOT_FOUND_ACTIONS = ("Deny", "Allow")


class ParamRef(Struct):
    """The objects that parametrise a policy: one by name, or those that a selector picks."""

    name = Text("The object's name.")
    namespace = Text("Its namespace; that of the judged object if empty.")
    selector = Nested(LabelSelector, "The objects, by their labels.", pointer=True, since=28)
    parameterNotFoundAction = Text(
        "What happens if the parameters do not exist: Allow, or Deny.",
        pointer=True,
        since=28,
        go="ParameterNotFoundActionType",
    )


class DefaultingParamRef(ParamRef):
    """The same in v1alpha1, where ``parameterNotFoundAction`` may be left out and is then Deny."""

    go_name = "ParamRef"

    parameterNotFoundAction = ParamRef.parameterNotFoundAction.but(default="Deny")


class BindingSpec(Struct):
    """What both kinds of binding have."""

    policyName = Text("The policy.", required=True, format=formats.dns_subdomain)
    paramRef = Nested(ParamRef, "The policy's parameters.", pointer=True)


class ValidatingAdmissionPolicyBindingSpec(BindingSpec):
    """Where a validating policy applies, and what a failure does."""

    matchResources = Nested(MatchResources, "The requests it is applied to.", pointer=True)
    validationActions = Array(Text(go="ValidationAction"), "What a failure does: Deny, Warn, Audit.")


class ValidatingAdmissionPolicyBinding(PlainObject):
    """Puts a validating policy to work."""

    namespaced = False

    spec = Nested(ValidatingAdmissionPolicyBindingSpec, "Where it applies.")


class MutatingAdmissionPolicyBindingSpec(BindingSpec):
    """Where a mutating policy applies."""

    matchResources = Nested(MutatingMatchResources, "The requests it is applied to.", pointer=True)


class MutatingAdmissionPolicyBinding(PlainObject):
    """Puts a mutating policy to work."""

    namespaced = False

    spec = Nested(MutatingAdmissionPolicyBindingSpec, "Where it applies.")


@check(ParamRef, before=IN_PLACE)
def name_or_selector(ref: View) -> Iterator[Problem]:
    """Parameters are picked by name or by a selector, not by both, with an action if there are none."""
    selector = bool(ref.selector)
    exclusive = "name and selector are mutually exclusive"
    if ref.name:
        for detail in path_segment(ref.name):
            yield invalid(ref / "name", ref.name, detail)
        if selector:
            yield forbidden(ref / "name", exclusive)
            yield forbidden(ref / "selector", exclusive)
    elif not selector:
        yield required(ref.path, "one of name or selector must be specified")


@check(ParamRef, since=28)
def parameter_not_found_action(ref: View) -> Iterator[Problem]:
    """A binding states what happens if its parameters are missing."""
    path, action = ref / "parameterNotFoundAction", ref.parameterNotFoundAction
    if not action:
        yield required(path)
    elif action not in NOT_FOUND_ACTIONS:
        yield not_supported(path, action, NOT_FOUND_ACTIONS, ref.release)


@check(ValidatingAdmissionPolicyBindingSpec)
def validation_actions(spec: View) -> Iterator[Problem]:
    """Actions are given, each once, and not both Deny and Warn."""
    path, actions = spec / "validationActions", spec.validationActions
    seen: set[str] = set()
    for index, action in enumerate(actions):
        where: Path = path / index
        if action not in ACTIONS:
            yield not_supported(where, action or "", ACTIONS, spec.release)
        if action in seen:
            yield duplicate(where, action or "")
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        yield invalid(path, actions, detail)
    if not seen:
        yield required(path, "at least one validation action is required")
