"""The places where workloads of other projects keep their pods, and a table of them with what tells their number.

A path names fields; ``[]`` goes into each item of a list, ``*`` into each value of a map or list. It ends at a pod
template, at a pod spec, or at a part with places of its own, whose paths begin there, as those of their numbers do. The
sources are the projects' API types and controllers, as of mid-2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import dropwhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.objects import JSONObject, group_of, mapping, text
from webhook.patterns import Pattern
from webhook.problem import ERROR, WARNING, Path, Problem, Steps

if TYPE_CHECKING:
    import re


class Times(NamedTuple):
    """A number that multiplies the pods of a template.

    Args:
        path: The field that states it.
        default: The number without the field.
        otherwise: The field that states it where the first does not.
        least: The field with a lower limit.
        most: The field with an upper limit.
        over: The field that divides it.
        beside: A field with the template of one of these pods, if it is there.
        group: The list whose items state it for some parts only.
        members: The field of such an item with the names of its parts.
    """

    path: str
    default: int = 1
    otherwise: str = ""
    least: str = ""
    most: str = ""
    over: str = ""
    beside: str = ""
    group: str = ""
    members: str = ""


class Place(NamedTuple):
    """A place of pods.

    Args:
        path: The path of the pod template or the pod spec.
        times: The numbers whose product is the number of pods.
        scaled: A field beside it; if it is there and not false, an autoscaler changes the number.
        parts: The places in what is at the path, if that is neither.
    """

    path: str
    times: tuple[Times, ...] = ()
    scaled: str = ""
    parts: tuple[Place, ...] = ()


def _in(path: str, parts: tuple[Place, ...], *times: Times, scaled: str = "") -> Place:
    return Place(path, times, scaled, parts)


OF_JOBS: Final = "template.spec.template"
"""The path of pods that Jobs make; their controller states a restart policy if there is none."""

_REPLICATED: Final = (Place("template", (Times("replicas"),)),)
_PARALLEL: Final = Times("template.spec.parallelism", most="template.spec.completions")
_JOB_SET: Final = (_in("replicatedJobs[]", (Place(OF_JOBS, (Times("replicas"), _PARALLEL)),)),)  # jobset_types.go
_WORKERS: Final = Times("replicas", 0, least="minReplicas", most="maxReplicas")
"""As in kuberay, GetWorkerGroupDesiredReplicas in util.go."""
_WORKER: Final = Place("template", (_WORKERS, Times("numOfHosts")))
_RAY: Final = (
    Place("headGroupSpec.template"),
    _in("workerGroupSpecs[]", (_WORKER,), scaled="enableInTreeAutoscaling"),
)
_RAY_JOB: Final = (_in("rayClusterSpec", _RAY), Place("submitterPodTemplate"))
_LEADER: Final = "leaderWorkerTemplate.leaderTemplate"
_LEADER_WORKER: Final = (
    Place(_LEADER, (Times("replicas"),)),
    Place(
        "leaderWorkerTemplate.workerTemplate", (Times("replicas"), Times("leaderWorkerTemplate.size", beside=_LEADER))
    ),
)  # leaderworkerset_types.go
_TASKS: Final = (_in("tasks[]", (Place("template", (Times("replicas", 0),)),)),)  # volcano-sh/apis, job.go: no default
_SERVING: Final = tuple(
    place
    for name in ("predictor", "transformer", "explainer")
    for place in (
        Place(name, (Times(f"{name}.minReplicas"),), f"{name}.maxReplicas"),
        Place(
            f"{name}.workerSpec",
            (Times(f"{name}.minReplicas"), Times(f"{name}.workerSpec.pipelineParallelSize", beside=name)),
        ),
    )
)  # kserve, component.go and predictor.go
_LLM_REPLICAS: Final = Times("replicas", otherwise="scaling.minReplicas")
_LLM_SIZE: Final = Times(
    "parallelism.data", otherwise="parallelism.pipeline", over="parallelism.dataLocal", beside="template"
)  # kserve, GetSize in llm_inference_service_types_func.go
_LLM_WORKLOAD: Final = (
    Place("template", (_LLM_REPLICAS,), "scaling"),
    Place("worker", (_LLM_REPLICAS, _LLM_SIZE), "scaling"),
)
_SCHEDULER: Final = Place("router.scheduler.template", (Times("router.scheduler.replicas"),))
_LLM: Final = (*_LLM_WORKLOAD, _in("prefill", _LLM_WORKLOAD), _SCHEDULER)
_SPARK: Final = (
    Place("driver.template"),
    Place(
        "executor.template",
        (Times("executor.instances", otherwise="dynamicAllocation.initialExecutors"),),
        "dynamicAllocation.enabled",
    ),
)  # spark-operator, defaults.go
_COMPONENT: Final = Place("podTemplate", (Times("replicas"), Times("multinode.nodeCount")))  # dynamo, v1beta1
_TRAINING: Final = {
    "JAXJob": "jaxReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}
_MPI: Final = tuple(
    Place(f"mpiReplicaSpecs.{role}.template", (Times(f"mpiReplicaSpecs.{role}.replicas", default),))
    for role, default in (("Launcher", 1), ("Worker", 0))
)  # mpi-operator, v2beta1/default.go
_CLIQUES: Final = _in(
    "template.cliques[]",
    (Place("spec.podSpec", (Times("spec.replicas"),)),),
    Times("replicas", 0),
    Times("replicas", group="template.podCliqueScalingGroups", members="cliqueNames"),
)  # grove, podcliqueset.go


_WITHOUT_TEMPLATES: Final = {
    "apps.nvidia.com": ("NIMPipeline", "NIMService"),
    "argoproj.io": ("ClusterWorkflowTemplate", "CronWorkflow", "Workflow", "WorkflowTemplate"),
    "kubevirt.io": ("VirtualMachine", "VirtualMachineInstance", "VirtualMachineInstanceReplicaSet"),
    "kyverno.io": ("ClusterPolicy", "Policy"),  # which have patterns, not pods
    "pool.kubevirt.io": ("VirtualMachinePool",),
    "serving.knative.dev": ("Configuration", "Revision", "Service"),
    "trainer.kubeflow.org": ("TrainJob",),
}
"""The kinds without a pod template; `projects.py` finds the pods of most of them."""


LOCATIONS: Final[Mapping[tuple[str, str], tuple[Place, ...]]] = {
    **{(group, kind): () for group, kinds in _WITHOUT_TEMPLATES.items() for kind in kinds},
    ("argoproj.io", "Experiment"): (_in("spec.templates[]", _REPLICATED),),
    ("argoproj.io", "Rollout"): (_in("spec", _REPLICATED),),
    ("batch.volcano.sh", "CronJob"): (_in("spec.jobTemplate.spec", _TASKS),),
    ("batch.volcano.sh", "Job"): (_in("spec", _TASKS),),
    ("disaggregatedset.x-k8s.io", "DisaggregatedSet"): (
        _in("spec.roles[].spec", _LEADER_WORKER, Times("spec.slices")),
        _in("spec.roles[].template.spec", _LEADER_WORKER),  # before it was inlined
    ),
    ("flow.volcano.sh", "JobTemplate"): (_in("spec", _TASKS),),
    ("grove.io", "PodClique"): (Place("spec.podSpec", (Times("spec.replicas"),)),),
    ("grove.io", "PodCliqueSet"): (_in("spec", (_CLIQUES,)),),
    ("jobset.x-k8s.io", "JobSet"): (_in("spec", _JOB_SET),),
    **{
        ("kubeflow.org", kind): (_in("spec", (_in(f"{field}.*", _REPLICATED, scaled="elasticPolicy"),)),)
        for kind, field in _TRAINING.items()
    },
    ("kubeflow.org", "MPIJob"): (_in("spec", _MPI),),
    ("kueue.x-k8s.io", "Workload"): (_in("spec.podSets[]", (Place("template", (Times("count"),)),)),),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): (_in("spec", _LEADER_WORKER),),
    ("nvidia.com", "DynamoComponentDeployment"): (_in("spec", (_COMPONENT,)),),
    ("nvidia.com", "DynamoGraphDeployment"): (_in("spec.components[]", (_COMPONENT,)),),
    ("ray.io", "RayCluster"): (_in("spec", _RAY),),
    ("ray.io", "RayCronJob"): (_in("spec.jobTemplate", _RAY_JOB),),
    ("ray.io", "RayJob"): (_in("spec", _RAY_JOB),),
    ("ray.io", "RayService"): (_in("spec.rayClusterConfig", _RAY),),
    ("serving.kserve.io", "ClusterServingRuntime"): (Place("spec"), Place("spec.workerSpec")),
    ("serving.kserve.io", "InferenceService"): (_in("spec", _SERVING),),
    ("serving.kserve.io", "LLMInferenceService"): (_in("spec", _LLM),),
    ("serving.kserve.io", "LLMInferenceServiceConfig"): (_in("spec", _LLM),),
    ("serving.kserve.io", "ServingRuntime"): (Place("spec"), Place("spec.workerSpec")),
    ("sparkoperator.k8s.io", "ScheduledSparkApplication"): (_in("spec.template", _SPARK),),
    ("sparkoperator.k8s.io", "SparkApplication"): (_in("spec", _SPARK),),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): (_in("spec.template.spec", _JOB_SET),),
    ("trainer.kubeflow.org", "TrainingRuntime"): (_in("spec.template.spec", _JOB_SET),),
}
"""The places of pods by API group and kind, whatever the version."""

PARTIAL: Final = frozenset({"nvidia.com", "serving.kserve.io", "sparkoperator.k8s.io"})
"""Groups whose pod specs are mixed with other fields, or lack some that their controllers add."""

CLUSTER_SCOPED: Final = frozenset(
    {
        ("argoproj.io", "ClusterWorkflowTemplate"),
        ("serving.kserve.io", "ClusterServingRuntime"),
        ("trainer.kubeflow.org", "ClusterTrainingRuntime"),
    }
)
"""Kinds without a namespace: their pods run in the namespaces of the objects that use them."""

TEMPLATES: Final = CLUSTER_SCOPED | {
    ("", "PodTemplate"),
    ("argoproj.io", "WorkflowTemplate"),
    ("flow.volcano.sh", "JobTemplate"),
    ("kro.run", "ResourceGraphDefinition"),
    ("scheduling.k8s.io", "Workload"),  # of PodGroups
    ("serving.kserve.io", "LLMInferenceServiceConfig"),
    ("serving.kserve.io", "ServingRuntime"),
    ("template.openshift.io", "Template"),
    ("trainer.kubeflow.org", "TrainingRuntime"),
}
"""Kinds that make no pods themselves: other objects use what they state."""


RELEASED_IN: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "ConfigMap"): ("metadata", "namespace"),
    ("argoproj.io", "Application"): ("spec", "destination", "namespace"),
    ("argoproj.io", "ApplicationSet"): ("spec", "template", "spec", "destination", "namespace"),
    ("helm.toolkit.fluxcd.io", "HelmRelease"): ("spec", "targetNamespace"),
}
"""The fields with the namespace for which an object holds the values of a chart, or manifests without a namespace."""


class ManifestIn(NamedTuple):
    """A pod template in an object, or an object of DRA.

    Args:
        manifest: It as an object of its own: a PodTemplate, or the object of DRA.
        places: Where parts of that manifest are in the object, by their paths in it; the last stands for all others.
        texts: Those of these places that are texts: what is in one has no path of its own.
        is_known: Whether the object's kind is known to keep pods there, or only seems to.
        is_of_job: Whether Jobs make the pods.
        number: How many such pods the object makes; 1 if that is not known.
        unsure: Why the number may be another one; empty if it is certain.
    """

    manifest: JSONObject
    places: Mapping[Steps, Steps]
    is_known: bool = True
    is_of_job: bool = False
    number: int = 1
    unsure: str = ""
    texts: frozenset[Steps] = frozenset()

    def place(self, path: Iterable[str | int]) -> Path:
        """Return the path in the object of a path in the manifest."""
        text, steps = self._split(path)
        return Path(text or steps)

    def _split(self, path: Iterable[str | int]) -> tuple[Steps, Steps]:
        """Return the path of the text that a place is in, empty if there is none, and the rest of the place's path."""
        steps = tuple(path)
        known = next((steps[:end] for end in range(len(steps), -1, -1) if steps[:end] in self.places), None)
        whole = [*self.places.values()][-1] if known is None else (*self.places[known], *steps[len(known) :])
        end = next((end for end in range(len(whole) + 1) if whole[:end] in self.texts), 0) if self.texts else 0
        return whole[:end], whole[end:]

    def _written(self, path: Iterable[str | int]) -> Path:
        """Return a path as the manifest has it that is written there: the object, or the one in a text."""
        text, steps = self._split(path)
        return Path(dropwhile(lambda step: text and type(step) is int, steps))  # one of several in a text

    def seen(self, problem: Problem) -> Problem:
        """Return a problem of the manifest as one of the object."""
        level = WARNING if problem.level == ERROR and not self.is_known else problem.level
        spelled = None if problem.spelled is None else self.place(problem.spelled)
        text, steps = self._split(problem.path)
        if text:  # in which fixes are not made
            from webhook.hints.fields import hinted  # few manifests are in texts

            problem = (hinted(problem, self.manifest) if problem.lacks_advice else problem)._replace(fix=None)
            spelled = Path((*text, *steps))
        message = problem.message.replace(f'"{problem.path}"', f'"{self._written(problem.path)}"')
        hint = self._advice(problem.hint)
        return problem._replace(level=level, path=Path(text or steps), spelled=spelled, message=message, hint=hint)

    def _advice(self, hint: str) -> str:
        """Return a hint, such as ``did you mean "template.spec.nodeSelector"?``, with the paths of the object."""

        def placed(match: re.Match[str]) -> str:
            steps = (int(index) if index else name for index, name in _STEPS.findall(match[1]))
            return f'"{self._written(steps)}"'

        found = _QUOTED.sub(placed, hint)
        return hint if found == hint else found  # which may be more than a text


_QUOTED: Final = Pattern(r'"((?:spec|template)[.\[][^"]*)"')
_STEPS: Final = Pattern(r"\[([0-9]{1,9})\]|([^.\[\]]+)")


def manifest(obj: JSONObject, template: Any) -> JSONObject:
    """Return a PodTemplate with a template and the name of an object."""
    metadata = obj.get("metadata")
    stated = metadata if isinstance(metadata, dict) else {}
    names = {field: stated[field] for field in ("name", "namespace") if isinstance(stated.get(field), str)}
    return {"apiVersion": "v1", "kind": "PodTemplate", "metadata": names or {"name": "unnamed"}, "template": template}


def is_held(value: Any) -> bool:
    """Tell whether a value in an object is a manifest itself, which a tool applies, perhaps with a name of its own."""
    return (
        isinstance(value, dict) and {"apiVersion", "kind"} < value.keys() and bool({"metadata", "spec"} & value.keys())
    )


def released(obj: JSONObject, held: JSONObject) -> JSONObject:
    """Return a manifest that an object holds, in the namespace that the object states for it."""
    namespace = text(obj, *RELEASED_IN.get((group_of(obj), text(obj, "kind")), ("",)))
    if not namespace or text(held, "metadata", "namespace"):
        return held
    return {**held, "metadata": {**mapping(held, "metadata"), "namespace": namespace}}


def every_object(value: Any, at: Steps = ()) -> Iterator[tuple[Steps, JSONObject]]:
    """Yield every object in a value, with its path: an object before its parts, the last part first."""
    if isinstance(value, dict):
        yield at, value
    # Only the path to the present object is kept: those of all values would take gigabytes.
    steps, around = [*at], [_parts(value)]
    while around:
        for step, each in around[-1]:
            steps.append(step)
            around.append(_parts(each))
            if isinstance(each, dict):
                yield tuple(steps), each
            break
        else:
            around.pop()
            del steps[-1:]


def _parts(value: Any) -> Iterator[tuple[str | int, Any]]:
    """Return the maps and lists in a value, the last one first."""
    parts: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict):
        parts = reversed(value.items())
    elif isinstance(value, list):
        parts = zip(reversed(range(len(value))), reversed(value), strict=True)
    return ((step, each) for step, each in parts if isinstance(each, dict | list))
