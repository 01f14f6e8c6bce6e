"""Runtimes and templates of other projects: they make no pods, but state those of the objects that use them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, Final

from webhook.objects import JSONObject, at, group_of, items, mapping, name_of, namespace_of, number, text
from webhook.problem import WARNING, Path, Problem
from webhook.workloads.locations import CLUSTER_SCOPED, TEMPLATES, every_object

Key = tuple[str, str, str, str]
"""Group, kind, namespace and name of a runtime or template; the namespace is empty for those without."""

_NODE: Final = "node"
_ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"


class Templates:
    """The runtimes and templates among some objects, and the namespaces of the objects that use them."""

    def __init__(self, objects: Iterable[Any] = ()) -> None:
        self.known: dict[Key, JSONObject] = {}
        """The runtimes and templates."""
        self._users: dict[Key, dict[str, None]] = {}
        for each in objects:
            if isinstance(each, dict):
                self.note(each)

    def note(self, obj: JSONObject) -> None:
        """Record an object."""
        if is_template(obj):
            self.known[_key(obj)] = obj
        for used in used_by(obj):
            self._users.setdefault(used, {})[namespace_of(obj)] = None

    def namespaces(self, template: JSONObject) -> Sequence[str]:
        """Return the namespaces of the objects that use a template."""
        return tuple(self._users.get(_key(template), ()))

    def applied(self, obj: JSONObject) -> JSONObject:
        """Return an object that states what its runtime or templates add to it; the object itself if none is known."""
        used = [self.known[each] for each in used_by(obj) if each in self.known]
        merge = _MERGED.get((group_of(obj), text(obj, "kind")))
        return merge(obj, used) if used and merge else obj

    def missing(self, obj: JSONObject) -> str:
        """Name the runtime or template that an object uses and that is not known; empty if one is."""
        used = list(used_by(obj))
        if not used or any(each in self.known for each in used):
            return ""
        _, kind, namespace, name = used[-1]
        return f"{kind} {namespace and f'{namespace}/'}{name}"

    def lost(self, obj: JSONObject) -> Iterator[Problem]:
        """Warn of claims of a runtime that an object replaces."""
        if (group_of(obj), text(obj, "kind")) != ("trainer.kubeflow.org", "TrainJob"):
            return
        path = ("spec", "trainer", "resourcesPerNode")
        for used in used_by(obj):
            claims = [
                text(claim, "name")
                for job in _trained(self.known.get(used, {}))
                for container in _nodes(job)
                for claim in items(container, "resources", "claims")
            ]
            if claims and at(obj, *path) is not None:
                message = (
                    f"it replaces the resources of the runtime's container, and so its claims ({', '.join(claims)})"
                )
                hint = f"leave it out: state these resources beside the claims in {used[1]} {used[3]}"
                yield Problem(WARNING, "claims-lost", "ClaimsLost", Path(path), message, hint)


def is_template(obj: JSONObject) -> bool:
    """Tell whether an object makes no pods itself, but states those of others."""
    return (group_of(obj), text(obj, "kind")) in TEMPLATES


def is_cluster_scoped(obj: JSONObject) -> bool:
    """Tell whether an object is a runtime or template without a namespace."""
    return (group_of(obj), text(obj, "kind")) in CLUSTER_SCOPED


def _key(obj: JSONObject) -> Key:
    return group_of(obj), text(obj, "kind"), "" if is_cluster_scoped(obj) else namespace_of(obj), name_of(obj)


def used_by(obj: JSONObject) -> Iterator[Key]:
    """Return the runtimes and templates that an object of another project names."""
    group, kind, namespace = group_of(obj), text(obj, "kind"), namespace_of(obj)
    if (group, kind) == ("trainer.kubeflow.org", "TrainJob"):
        ref = mapping(obj, "spec", "runtimeRef")
        used = text(ref, "kind") or "ClusterTrainingRuntime"
        yield group, used, "" if (group, used) in CLUSTER_SCOPED else namespace, text(ref, "name")
    elif (group, kind) == ("serving.kserve.io", "InferenceService"):
        if name := text(obj, "spec", "predictor", "model", "runtime"):
            yield group, "ServingRuntime", namespace, name
            yield group, "ClusterServingRuntime", "", name
    elif (group, kind) == ("serving.kserve.io", "LLMInferenceService"):
        for each in items(obj, "spec", "baseRefs"):
            yield group, "LLMInferenceServiceConfig", namespace, text(each, "name")
    elif group == "argoproj.io" and not is_cluster_scoped(obj):
        for _, each in every_object(mapping(obj, "spec")):
            for field in ("workflowTemplateRef", "templateRef"):
                if name := text(each, field, "name"):
                    is_of_cluster = at(each, field, "clusterScope") is True
                    used = "ClusterWorkflowTemplate" if is_of_cluster else "WorkflowTemplate"
                    yield group, used, "" if is_of_cluster else namespace, name


def merge(base: Any, over: Any) -> Any:
    """Merge as a strategic merge patch does, with lists of named items."""
    if isinstance(base, dict) and isinstance(over, dict):
        return {**base, **{name: merge(base[name], each) if name in base else each for name, each in over.items()}}
    if isinstance(base, list) and isinstance(over, list) and all(text(each, "name") for each in [*base, *over]):
        named = {text(each, "name"): each for each in base}
        for each in over:
            name = text(each, "name")
            named[name] = merge(named[name], each) if name in named else each
        return list(named.values())
    return over


def _workflow(obj: JSONObject, used: Sequence[JSONObject]) -> JSONObject:
    """A workflow has the fields of its template that it does not state (argo-workflows, merge.go)."""
    spec = mapping(obj, "spec")
    if text(obj, "kind") == "CronWorkflow":
        return {**obj, "spec": {**spec, "workflowSpec": {**mapping(used[0], "spec"), **mapping(spec, "workflowSpec")}}}
    return {**obj, "spec": {**mapping(used[0], "spec"), **spec}}


def _service(obj: JSONObject, used: Sequence[JSONObject]) -> JSONObject:
    """An InferenceService changes the pod spec of its runtime (kserve, MergeServingRuntimeAndInferenceServiceSpecs)."""
    runtime, spec = mapping(used[0], "spec"), mapping(obj, "spec")
    predictor = mapping(spec, "predictor")
    changes = {**predictor, "containers": [{**mapping(predictor, "model"), "name": "kserve-container"}]}
    if "workerSpec" not in predictor:
        runtime = {name: each for name, each in runtime.items() if name != "workerSpec"}
    return {**obj, "spec": {**spec, "predictor": merge(runtime, changes)}}


def _llm_service(obj: JSONObject, used: Sequence[JSONObject]) -> JSONObject:
    spec: JSONObject = {}
    for each in (*used, obj):
        spec = merge(spec, mapping(each, "spec"))
    return {**obj, "spec": spec}


def _train_job(obj: JSONObject, used: Sequence[JSONObject]) -> JSONObject:
    """A TrainJob has the pods of its runtime (trainer, pkg/runtime/core/trainingruntime.go and plugins/jobset)."""
    runtime = deepcopy(used[0])
    policy, trainer = mapping(runtime, "spec", "mlPolicy"), mapping(obj, "spec", "trainer")
    stated = number(trainer, "numNodes")
    nodes = number(policy, "numNodes") if stated is None else stated
    for job in _trained(runtime):
        is_sized = "mpi" not in policy or text(job, "name") == _NODE
        if is_sized and nodes is not None:
            others = 1 if at(policy, "mpi", "runLauncherAsNode") is True else 0
            count = max(nodes - others, 1)
            job["replicas"] = 1
            if isinstance(spec := at(job, "template", "spec"), dict):
                spec.update(parallelism=count, completions=count)
        for container in _nodes(job):
            if (replaced := at(trainer, "resourcesPerNode")) is not None:
                kept = mapping(container, "resources")
                container["resources"] = {
                    name: {**mapping(kept, name), **mapping(replaced, name)}
                    for name in ("limits", "requests")
                    if name in kept or name in mapping(replaced)
                }
    return {**runtime, "kind": "TrainingRuntime", "metadata": obj["metadata"]}


def _trained(runtime: JSONObject) -> list[JSONObject]:
    """Return the jobs of a runtime that a TrainJob's trainer is for."""
    jobs = items(runtime, "spec", "template", "spec", "replicatedJobs")
    labelled = [each for each in jobs if text(each, "template", "metadata", "labels", _ANCESTOR) == "trainer"]
    if labelled and not mapping(runtime, "spec", "mlPolicy", "mpi"):
        return labelled
    return [each for each in jobs if each in labelled or text(each, "name") == _NODE]


def _nodes(job: JSONObject) -> list[JSONObject]:
    containers = items(job, "template", "spec", "template", "spec", "containers")
    return [each for each in containers if text(each, "name") == _NODE]


_MERGED: Final[dict[tuple[str, str], Callable[[JSONObject, Sequence[JSONObject]], JSONObject]]] = {
    ("argoproj.io", "CronWorkflow"): _workflow,
    ("argoproj.io", "Workflow"): _workflow,
    ("serving.kserve.io", "InferenceService"): _service,
    ("serving.kserve.io", "LLMInferenceService"): _llm_service,
    ("trainer.kubeflow.org", "TrainJob"): _train_job,
}
"""The functions that add to objects what their templates state."""
