"""The kinds that make pods: what their pod templates claim. Nothing else of them is judged.

Rules follow ``pkg/apis/core/validation/validation.go`` (ValidatePodTemplateSpec) and, for what may not change,
``pkg/apis/batch/validation/validation.go`` (ValidateJobSpecUpdate).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.api.meta import Object, ObjectMeta
from webhook.api.podspec import CONTAINER_LISTS, PodSpec
from webhook.problem import forbidden, invalid
from webhook.schema import UPDATE, Bool, Nested, Struct, check, transition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.problem import Problem
    from webhook.schema import View


class _EveryField(frozenset[str]):
    """The fields of a struct of which only those declared are judged."""

    __slots__ = ()

    def __contains__(self, _: object) -> bool:
        return True


EVERY_FIELD: frozenset[str] = _EveryField()


class PodTemplateSpec(Struct):
    """What the pods look like."""

    package = "v1"

    # Upstream leaves metadata out of the path of what is wrong with it.
    metadata = Nested(ObjectMeta, "Labels and annotations for the pods.", spelled="")
    spec = Nested(PodSpec, "What the pods run, and what that needs.")


@check(PodTemplateSpec)
def ephemeral_containers_in_template(template: View) -> Iterator[Problem]:
    """Ephemeral containers are added to a pod that runs already."""
    if template.spec.contents("ephemeralContainers"):
        yield forbidden(template / "spec" / "ephemeralContainers", "ephemeral containers not allowed in pod template")


class Templated(Struct):
    """What a controller is asked for, among it the template of its pods."""

    package = "v1"
    opaque = EVERY_FIELD

    template = Nested(PodTemplateSpec, "What the pods look like.")


class PodTemplate(Object):
    """A template for pods, for other programs to use."""

    opaque = EVERY_FIELD

    template = Nested(PodTemplateSpec, "What the pods look like.")


class ReplicationControllerSpec(Templated):
    """Pods, and how many."""

    template = Nested(PodTemplateSpec, "What the pods look like.", pointer=True, required=True)


class ReplicationController(Object):
    """Keeps a number of pods running."""

    opaque = EVERY_FIELD

    spec = Nested(ReplicationControllerSpec, "Pods, and how many.")


class ReplicaSetSpec(Templated):
    """Pods, and how many."""


class ReplicaSet(Object):
    """Keeps a number of pods running."""

    opaque = EVERY_FIELD

    spec = Nested(ReplicaSetSpec, "Pods, and how many.")


class DeploymentSpec(Templated):
    """Pods, how many, and how to replace them."""


class Deployment(Object):
    """Keeps a number of pods running, and replaces them step by step."""

    opaque = EVERY_FIELD

    spec = Nested(DeploymentSpec, "Pods, how many, and how to replace them.")


class StatefulSetSpec(Templated):
    """Pods, how many, and their volumes."""


class StatefulSet(Object):
    """Keeps a number of pods running, each with a name and volumes of its own."""

    opaque = EVERY_FIELD

    spec = Nested(StatefulSetSpec, "Pods, how many, and their volumes.")


class DaemonSetSpec(Templated):
    """Pods, one for each node."""


class DaemonSet(Object):
    """Keeps a pod running on each node."""

    opaque = EVERY_FIELD

    spec = Nested(DaemonSetSpec, "Pods, one for each node.")


class JobSpec(Templated):
    """Pods that run to their end."""

    suspend = Bool("Whether no pods are to run for now.", pointer=True)


class Job(Object):
    """Runs pods to their end."""

    opaque = EVERY_FIELD

    spec = Nested(JobSpec, "Pods that run to their end.")


class JobTemplateSpec(Struct):
    """What the jobs look like."""

    package = "v1"
    opaque = EVERY_FIELD

    spec = Nested(JobSpec, "Pods that run to their end.")


class CronJobSpec(Struct):
    """Jobs, and when to start them."""

    package = "v1"
    opaque = EVERY_FIELD

    jobTemplate = Nested(JobTemplateSpec, "What the jobs look like.")


class CronJob(Object):
    """Starts jobs on a schedule."""

    opaque = EVERY_FIELD

    spec = Nested(CronJobSpec, "Jobs, and when to start them.")


@transition(Job, on=[UPDATE])
def claims_of_job(job: View, old: View) -> Iterator[Problem]:
    """The claims of a job's pods cannot be changed; what containers need can, while the job is suspended."""
    new, before = job.spec.template, old.spec.template
    changed = new.spec.resourceClaims != before.spec.resourceClaims
    if not (old.spec.suspend and job.release >= _RESOURCES_OF_SUSPENDED_JOBS):
        changed = changed or _used(new.spec) != _used(before.spec)
    if changed:
        yield invalid(new.path, new.submitted or {}, "field is immutable")


_RESOURCES_OF_SUSPENDED_JOBS = 35


def _used(spec: View) -> list[View]:
    """Return what the containers use of the claims."""
    return [container.resources.claims for kind in CONTAINER_LISTS for container in getattr(spec, kind)]
