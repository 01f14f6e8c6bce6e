"""Workload kinds: the templates of their pods, and the restart policies that these need.

Rules follow ``pkg/apis/core/validation/validation.go`` (ValidatePodTemplateSpec) and ``validation.go`` in
``pkg/apis/apps/validation`` and ``pkg/apis/batch/validation``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Final

from webhook.api.core.meta import CountedObject, ObjectMeta
from webhook.api.core.podspec import CONTAINER_LISTS, TEMPLATES_INSTEAD, PodSpec
from webhook.api.core.values import Others, V1Struct
from webhook.objects import mapping
from webhook.problem import (
    ERROR,
    IMMUTABLE_FIELD,
    Problem,
    forbidden,
    invalid,
    not_supported,
    of_own_type,
    quoted,
    required,
)
from webhook.release import Release
from webhook.schema.declarations import check, transition
from webhook.schema.fields import Anything, Bool, Nested, View
from webhook.schema.target import MAIN, OLDEST, UPDATE


class PodTemplateSpec(V1Struct):
    """The metadata and the spec of the pods."""

    # Upstream leaves metadata out of the paths of its errors.
    metadata = Nested(ObjectMeta, "Labels and annotations for the pods.", spelled="")
    spec = Nested(PodSpec, "The specification of the pods.")


@check(PodTemplateSpec)
def ephemeral_containers_in_template(template: View) -> Iterator[Problem]:
    """Ephemeral containers can be added only to a running pod."""
    if template.spec.contents("ephemeralContainers"):
        yield forbidden(template / "spec" / "ephemeralContainers", "ephemeral containers not allowed in pod template")


class Workload(CountedObject):
    """The base of kinds that make pods."""

    opaque: ClassVar = {"status": Anything(default={OLDEST: {}})}  # which Go holds by value


class Templated(V1Struct):
    """The desired state of a controller, with the template of its pods."""

    instead: ClassVar = TEMPLATES_INSTEAD

    template = Nested(PodTemplateSpec, "The template of the pods.")


class Controlled(Templated):
    """The desired state of a controller that replaces its pods, whatever their end."""

    pods_of: ClassVar[str]
    """The API server's name of the controller."""


def _labelled(value: dict[str, Any]) -> dict[str, Any]:
    """Return a workload with the labels of its pods, if it has none."""
    labels, metadata = mapping(value, "spec", "template", "metadata", "labels"), mapping(value, "metadata")
    return value if not labels or metadata.get("labels") else {**value, "metadata": {**metadata, "labels": labels}}


class PodTemplate(CountedObject):
    """A template for pods, for other programs to use."""

    template = Nested(PodTemplateSpec, "The template of the pods.")


class ReplicationControllerSpec(Controlled):
    """A template of pods, and their number."""

    pods_of = "ReplicationController"

    opaque: ClassVar = Others("ReplicationControllerSpec")

    template = Nested(PodTemplateSpec, "The template of the pods.", pointer=True, required=True)


class ReplicationController(Workload):
    """Keeps a number of pods running."""

    spec = Nested(ReplicationControllerSpec, subresource=MAIN)

    @staticmethod
    def complete(value: dict[str, Any]) -> dict[str, Any]:
        """Select the pods by their labels (``SetDefaults_ReplicationController``)."""
        labels, value = mapping(value, "spec", "template", "metadata", "labels"), _labelled(value)
        if not labels or mapping(value, "spec", "selector"):
            return value
        return {**value, "spec": {**value["spec"], "selector": labels}}


class ReplicaSetSpec(Controlled):
    """A template of pods, and their number."""

    pods_of = "ReplicaSet"

    opaque: ClassVar = Others("apps/v1.ReplicaSetSpec")


class ReplicaSet(Workload):
    """Keeps a number of pods running."""

    spec = Nested(ReplicaSetSpec, subresource=MAIN)


class DeploymentSpec(Controlled):
    """A template of pods, their number, and how to replace them."""

    pods_of = "ReplicaSet"

    opaque: ClassVar = Others("apps/v1.DeploymentSpec")


class Deployment(Workload):
    """Keeps a number of pods running, and replaces them step by step."""

    spec = Nested(DeploymentSpec, subresource=MAIN)


class StatefulPodSpec(PodSpec):
    """The containers of a pod, and their requirements; its host name is that of the pod in the set."""

    go_name = "PodSpec"

    hostname = PodSpec.hostname.but(formats=())
    subdomain = PodSpec.subdomain.but(formats=())


class StatefulPodTemplateSpec(PodTemplateSpec):
    """The metadata and the spec of the pods."""

    go_name = "PodTemplateSpec"

    spec = Nested(StatefulPodSpec, "The specification of the pods.")


class StatefulSetSpec(Controlled):
    """A template of pods, their number, and their volumes."""

    pods_of = "StatefulSet"

    opaque: ClassVar = Others("apps/v1.StatefulSetSpec")

    template = Nested(StatefulPodTemplateSpec, "The template of the pods.")


class StatefulSet(Workload):
    """Keeps a number of pods running, each with its own name and volumes."""

    spec = Nested(StatefulSetSpec, subresource=MAIN)

    @classmethod
    def tolerates(cls, problem: Problem, release: Release) -> bool:
        """Tell whether an error is one of those that SkipValidatePodTemplateSpec leaves out."""
        is_of_pods = problem.level == ERROR and problem.path[:3] == ("spec", "template", "spec")
        return is_of_pods and release >= _TOLERATES_SINCE and problem.rule != "pods-without-end"


_TOLERATES_SINCE: Final = 34


class DaemonSetSpec(Controlled):
    """A template of pods, one for each node."""

    pods_of = "DaemonSet"

    opaque: ClassVar = Others("apps/v1.DaemonSetSpec")


class DaemonSet(Workload):
    """Keeps a pod running on each node."""

    spec = Nested(DaemonSetSpec, subresource=MAIN)


class JobSpec(Templated):
    """A template of pods that run to completion."""

    opaque: ClassVar = Others("batch/v1.JobSpec")

    suspend = Bool("Whether the job is suspended.", pointer=True)
    scheduling = Anything("How its pods are scheduled together.", since=37, gate="WorkloadWithJob")


class Job(Workload):
    """Runs pods to completion."""

    spec = Nested(JobSpec, subresource=MAIN)

    @staticmethod
    def complete(value: dict[str, Any]) -> dict[str, Any]:
        """Follow SetDefaults_Job (``pkg/apis/batch/v1/defaults.go``), which is not for the jobs of a CronJob."""
        spec = value.get("spec")
        if not isinstance(spec, dict):
            return value
        defaults = {
            "parallelism": 1,
            "backoffLimit": _MOST_RETRIES if "backoffLimitPerIndex" in spec else _RETRIES,
            "manualSelector": False,
            "completionMode": "NonIndexed",
            "suspend": False,
            "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        }
        alone = {} if "parallelism" in spec else {"completions": 1}
        return {**_labelled(value), "spec": {**alone, **defaults, **spec}}


_RETRIES: Final = 6
_MOST_RETRIES: Final = 2**31 - 1


class JobTemplateSpec(V1Struct):
    """The metadata and the spec of the jobs."""

    opaque: ClassVar = Others("batch/v1.JobTemplateSpec")

    spec = Nested(JobSpec)


class CronJobSpec(V1Struct):
    """Jobs, and when to start them."""

    opaque: ClassVar = Others("batch/v1.CronJobSpec")

    jobTemplate = Nested(JobTemplateSpec, "The template of the jobs.")


class CronJob(Workload):
    """Starts jobs on a schedule."""

    spec = Nested(CronJobSpec, subresource=MAIN)


@check(Controlled)
def pods_without_end(controlled: View) -> Iterator[Problem]:
    """Pods of controllers run until they are deleted: their containers are always restarted, and have no deadline."""
    template = controlled.template
    if not template:
        return
    path, spec = template / "spec", template.spec
    if spec.restartPolicy != "Always":
        yield not_supported(path / "restartPolicy", spec.restartPolicy, ["Always"], controlled.release)
    if spec.activeDeadlineSeconds is not None:
        detail = f"activeDeadlineSeconds in {controlled.type.pods_of} is not Supported"
        yield forbidden(path / "activeDeadlineSeconds", detail)


_ENDING: Final = ("OnFailure", "Never")


@check(JobSpec)
def pods_that_end(job: View) -> Iterator[Problem]:
    """Pods of jobs run to their end: state the restart policy, OnFailure or Never, as the default is Always.

    With a podFailurePolicy only Never is supported.
    """
    policy, path = job.template.spec.restartPolicy, job / "template" / "spec" / "restartPolicy"
    if policy == "Always":
        yield required(path, "valid values: " + ", ".join(map(quoted, _ENDING)))
    elif policy not in _ENDING:
        yield not_supported(path, policy, _ENDING, job.release)
    elif policy != "Never" and job.submitted.get("podFailurePolicy") is not None:
        shown = of_own_type(policy, job.release)
        yield invalid(path, shown, 'only "Never" is supported when podFailurePolicy is specified')


@transition(Job, on=[UPDATE])
def claims_of_job(job: View, old: View) -> Iterator[Problem]:
    """The claims of a job's pods cannot be changed; the resources of containers can, while the job is suspended."""
    new, before = job.spec.template, old.spec.template
    changed = new.spec.resourceClaims != before.spec.resourceClaims
    if not (old.spec.suspend and job.release >= _RESOURCES_OF_SUSPENDED_JOBS):
        changed = changed or _used(new.spec) != _used(before.spec)
    if changed:
        yield invalid(new.path, new.submitted or {}, IMMUTABLE_FIELD)


_RESOURCES_OF_SUSPENDED_JOBS = 35


def _used(spec: View) -> list[View]:
    """Return what the containers use of the claims."""
    return [container.resources.claims for kind in CONTAINER_LISTS for container in getattr(spec, kind)]
