"""A table of the places where workloads of other projects keep their pods.

A path names fields; ``[]`` goes into each item of a list, ``*`` into each value of a map. It ends at a pod template
or at a pod spec. The sources are the projects' API types, as of mid-2026.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

_JOB_SET: Final = "replicatedJobs[].template.spec.template"
_RAY: Final = ("headGroupSpec.template", "workerGroupSpecs[].template")
_RAY_JOB: Final = (*(f"rayClusterSpec.{path}" for path in _RAY), "submitterPodTemplate")
_LEADER_WORKER: Final = ("leaderWorkerTemplate.leaderTemplate", "leaderWorkerTemplate.workerTemplate")
_SERVING: Final = ("predictor", "predictor.workerSpec", "transformer", "explainer")
_LLM: Final = ("template", "worker", "prefill.template", "prefill.worker", "router.scheduler.template")
_TRAINING: Final = {
    "JAXJob": "jaxReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
}


def _in_spec(*paths: str) -> tuple[str, ...]:
    return tuple(f"spec.{path}" for path in paths)


LOCATIONS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("apps.nvidia.com", "NIMService"): (),  # see projects.py
    ("argoproj.io", "ClusterWorkflowTemplate"): (),
    ("argoproj.io", "CronWorkflow"): (),
    ("argoproj.io", "Experiment"): _in_spec("templates[].template"),
    ("argoproj.io", "Rollout"): _in_spec("template"),
    ("argoproj.io", "Workflow"): (),
    ("argoproj.io", "WorkflowTemplate"): (),
    ("batch.volcano.sh", "CronJob"): _in_spec("jobTemplate.spec.tasks[].template"),
    ("batch.volcano.sh", "Job"): _in_spec("tasks[].template"),
    ("disaggregatedset.x-k8s.io", "DisaggregatedSet"): _in_spec(
        *(f"roles[].template.spec.{path}" for path in _LEADER_WORKER)
    ),
    ("flow.volcano.sh", "JobTemplate"): _in_spec("tasks[].template"),
    ("grove.io", "PodClique"): _in_spec("podSpec"),
    ("grove.io", "PodCliqueSet"): _in_spec("template.cliques[].spec.podSpec"),
    ("jobset.x-k8s.io", "JobSet"): _in_spec(_JOB_SET),
    **{("kubeflow.org", kind): _in_spec(f"{field}.*.template") for kind, field in _TRAINING.items()},
    ("kueue.x-k8s.io", "Workload"): _in_spec("podSets[].template"),
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _in_spec(*_LEADER_WORKER),
    ("ray.io", "RayCluster"): _in_spec(*_RAY),
    ("ray.io", "RayCronJob"): _in_spec(*(f"jobTemplate.{path}" for path in _RAY_JOB)),
    ("ray.io", "RayJob"): _in_spec(*_RAY_JOB),
    ("ray.io", "RayService"): _in_spec(*(f"rayClusterConfig.{path}" for path in _RAY)),
    ("serving.kserve.io", "ClusterServingRuntime"): ("spec", "spec.workerSpec"),
    ("serving.kserve.io", "InferenceService"): _in_spec(*_SERVING),
    ("serving.kserve.io", "LLMInferenceService"): _in_spec(*_LLM),
    ("serving.kserve.io", "LLMInferenceServiceConfig"): _in_spec(*_LLM),
    ("serving.kserve.io", "ServingRuntime"): ("spec", "spec.workerSpec"),
    ("serving.knative.dev", "Configuration"): (),
    ("serving.knative.dev", "Revision"): (),
    ("serving.knative.dev", "Service"): (),
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): _in_spec(f"template.spec.{_JOB_SET}"),
    ("trainer.kubeflow.org", "TrainJob"): (),
    ("trainer.kubeflow.org", "TrainingRuntime"): _in_spec(f"template.spec.{_JOB_SET}"),
}
"""The paths of pods by API group and kind, whatever the version; none where projects.py finds them."""

OF_JOBS: Final = _JOB_SET
"""How paths of pods end that Jobs make; their controller states a restart policy if there is none."""

MIXED: Final = frozenset({"serving.kserve.io"})
"""Groups whose pod specs are mixed with other fields."""
