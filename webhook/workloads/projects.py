"""Workloads without a pod template: their claims become one, or cannot work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Final

from webhook.api.gates import DRA, GATES
from webhook.api.templates import pod_template
from webhook.api.versions import GROUP, KINDS
from webhook.hints.names import renamed
from webhook.objects import JSONObject, group_of, items, mapping, namespace_of, number, placed, text
from webhook.problem import WARNING, Advice, Meant, Path, Problem, Steps, value_at
from webhook.spelling import certain, nearest
from webhook.workloads.locations import ManifestIn, every_object, is_held, manifest, released
from webhook.workloads.nested import HOLDERS, with_texts
from webhook.workloads.runtimes import merge

Container = tuple[Steps, JSONObject]
"""A container, and its path."""

_ARGO: Final = "argoproj.io"
_NIM: Final = "apps.nvidia.com"
_CONTAINERS: Final = ("template", "spec", "containers")
_CLAIMS: Final = ("template", "spec", "resourceClaims")


def _items(value: Any, *path: str | int) -> list[Any]:
    """Return the items of the list at a path, of any type."""
    found = value_at(value, path)
    return found if isinstance(found, list) else []


def _spec_of_workflow(obj: JSONObject) -> tuple[str, ...]:
    return ("spec", "workflowSpec") if obj.get("kind") == "CronWorkflow" else ("spec",)


def _workflow(obj: JSONObject) -> Iterator[ManifestIn]:
    """Make a pod of each template of a workflow (argo-workflows, workflowpod.go).

    Claims are in the text ``podSpecPatch``, or since Argo Workflows 4.1 in ``resourceClaims``.
    """
    at = _spec_of_workflow(obj)
    yield from _applied(obj)
    spec = mapping(obj, *at)
    of_all = mapping(spec, "templateDefaults")
    shared = {id(each): _claims_of_patch(each) for each in (spec, of_all)}
    for here, template in placed(obj, *at, "templates"):
        containers = list(_containers(template, here))
        if not containers:
            continue
        stated = ((template, here), (of_all, (*at, "templateDefaults")), (spec, at))
        named = [
            {"name": text(each, "name") or "main", "image": "unknown", **({"resources": found} if found else {})}
            for _, each in containers
            for found in [mapping(each, "resources")]  # without the fields that Argo adds
        ]
        pod: JSONObject = {"containers": named, "resourceClaims": []}
        places: dict[Steps, Steps] = {(*_CONTAINERS, place): steps for place, (steps, _) in enumerate(containers)}
        origins: list[Steps] = []
        for holder, steps in stated:
            if not pod["resourceClaims"] and (claims := _items(holder, "resourceClaims")):
                pod["resourceClaims"] = claims
                origins = [(*steps, "resourceClaims", place) for place in range(len(claims))]
            if "resources" not in pod and (claims := _items(holder, "podResources", "claims")):
                pod["resources"] = {"claims": claims}
                places["template", "spec", "resources"] = (*steps, "podResources")
        patched = (stated[2], stated[0] if "podSpecPatch" in template else stated[1])
        for holder, steps in patched:
            if changes := shared[id(holder)] if id(holder) in shared else _claims_of_patch(holder):
                pod, patch = merge(pod, changes), (*steps, "podSpecPatch")
                stated_at = {text(each, "name"): (*patch, *there) for there, each in placed(changes, "resourceClaims")}
                added = pod["resourceClaims"][len(origins) :]
                origins += [stated_at.get(text(each, "name"), patch) for each in added]
        pod["containers"] = pod["containers"][: len(containers)]  # the others are Argo's own
        # Else its claims are not known: they come from parameters, or a patch that is not read.
        is_read = not any("laims" in text(holder, "podSpecPatch") for holder, _ in patched)
        if is_read and not _has_variables([pod["resourceClaims"], pod["containers"]]):
            places |= {(*_CLAIMS, place): steps for place, steps in enumerate(origins)} | {(): here}
            yield ManifestIn(manifest(obj, {"spec": pod}), places, unsure=_STEPS)


def _applied(obj: JSONObject) -> Iterator[ManifestIn]:
    """Find the pods of the manifests that a workflow applies, whose texts are read."""
    for steps, template in placed(obj, *_spec_of_workflow(obj), "templates"):
        at = ("resource", "manifest")
        for here, each in every_object(value_at(template, at), (*steps, *at)):
            if is_held(each) and (path := pod_template(each)) is not None:
                fields = mapping(each, *path).items()
                made = manifest(each, {name: field for name, field in fields if name not in {"apiVersion", "kind"}})
                yield ManifestIn(made, {("template",): (*here, *path), (): here}, unsure=_STEPS)


_STEPS: Final = "its steps tell how often a template runs"


def _claims_of_patch(holder: JSONObject) -> JSONObject:
    """Return what a strategic merge patch, whose text is read, says about claims."""
    patch = mapping(holder, "podSpecPatch")
    # Argo refuses a patch with a container that has no name.
    named = [each for each in items(patch, "containers") if text(each, "name")]
    containers = [each for each in named if _items(each, "resources", "claims")]
    found = {"containers": containers, "resourceClaims": _items(patch, "resourceClaims")}
    return {name: each for name, each in found.items() if each}


def _has_variables(value: Any) -> bool:
    """Tell whether Argo or Kyverno fills in a part of a value."""
    texts = (each for _, part in every_object(value) for each in part.values() if isinstance(each, str))
    return any("{{" in each for each in texts)


def _containers(template: Any, at: Steps) -> Iterator[Container]:
    for name in ("container", "script"):
        if found := mapping(template, name):
            yield (*at, name), found
    for steps in (("containerSet", "containers"), ("initContainers",), ("sidecars",)):
        yield from (((*at, *here), each) for here, each in placed(template, *steps))


def _nim(obj: JSONObject) -> Iterator[ManifestIn]:
    """Make a pod of ``draResources`` of each service (k8s-nim-operator, dra_types.go, nimpipeline_types.go)."""
    services = placed(obj, "spec", "services") if obj.get("kind") == "NIMPipeline" else (((), obj),)
    for at, service in services:
        spec, claims, uses = mapping(service, "spec"), list[JSONObject](), list[JSONObject]()
        places: dict[Steps, Steps] = {(): (*at, "spec", "draResources")}
        for steps, each in placed(spec, "draResources"):
            if "claimCreationSpec" in each:
                continue  # the operator makes the claim
            there, name = (*at, "spec", *steps), f"claim-{steps[-1]}"
            for place, request in enumerate(_items(each, "requests") or [None]):
                places[*_CONTAINERS, 0, "resources", "claims", len(uses), "request"] = (*there, "requests", place)
                uses.append({"name": name} if request is None else {"name": name, "request": request})
            places[*_CLAIMS, len(claims)] = there
            claims.append({"name": name, **{field: each[field] for field in each if field.startswith("resourceClaim")}})
        if claims:
            container = {"name": "nim", "image": "unknown", "resources": {"claims": uses}}
            pod = manifest(obj, {"spec": {"containers": [container], "resourceClaims": claims}})
            scaled = mapping(spec, "scale").get("enabled") is True
            unsure = "spec.scale lets an autoscaler change their number" if scaled else ""
            yield ManifestIn(pod, places, number=_whole(spec, "replicas"), unsure=unsure)


def _created(obj: JSONObject) -> Iterator[ManifestIn]:
    """Make a template of each request that the operator makes (k8s-nim-operator, GetDRADeviceCELExpressions)."""
    for at, each in every_object(obj):
        if at[-3:-1] == ("claimCreationSpec", "devices"):
            request, expressions = ("spec", "spec", "devices", "requests", 0), _items(each, "celExpressions")
            selectors = (*request, "exactly", "selectors")
            places: dict[Steps, Steps] = {
                (*selectors, place, "cel", "expression"): (*at, "celExpressions", place)
                for place in range(len(expressions))
            }
            exactly: JSONObject = {"deviceClassName": "gpu.nvidia.com"}  # by default
            exactly |= {name: each[name] for name in ("deviceClassName", "count") if name in each}
            exactly["selectors"] = [{"cel": {"expression": expression}} for expression in expressions]
            spec = {"devices": {"requests": [{"name": each.get("name"), "exactly": exactly}]}}
            places |= {(*request, "exactly"): at, request: at, (): at}
            yield ManifestIn(_template(obj, "created", {"spec": spec}), places)


def _whole(value: Any, *path: str) -> int:
    stated = number(value, *path)
    return 1 if stated is None else stated


def _dynamo(obj: JSONObject) -> Iterator[ManifestIn]:
    """Make a pod of each service's ``extraPodSpec`` (dynamo, v1alpha1: ExtraPodSpec and Resources in common.go)."""
    if obj.get("kind") == "DynamoComponentDeployment":
        yield from _service(obj, mapping(obj, "spec"), ("spec",))
    for name, each in mapping(obj, "spec", "services").items():
        yield from _service(obj, each, ("spec", "services", name))


def _service(obj: JSONObject, service: Any, at: Steps) -> Iterator[ManifestIn]:
    from webhook.api.core.podspec import PodSpec  # few kinds need it

    extra = mapping(service, "extraPodSpec")
    if not extra.get("resourceClaims") and not extra.get("mainContainer"):
        return
    there = (*at, "extraPodSpec")
    main = {"name": "main", "image": "unknown", **mapping(extra, "mainContainer")}
    places: dict[Steps, Steps] = {(*_CONTAINERS, 0): (*there, "mainContainer")}
    if claims := _items(service, "resources", "claims"):
        own = mapping(main, "resources")
        main["resources"] = {**own, "claims": [*_items(own, "claims"), *claims]}
        start = len(_items(own, "claims"))
        used = (*_CONTAINERS, 0, "resources", "claims")
        places |= {(*used, start + index): (*at, "resources", "claims", index) for index in range(len(claims))}
    others = _items(extra, "containers")
    places |= {(*_CONTAINERS, index + 1): (*there, "containers", index) for index in range(len(others))}
    spec = {name: field for name, field in extra.items() if name in PodSpec.fields}
    pod = manifest(obj, {"spec": {**spec, "containers": [main, *others]}})
    count = _whole(service, "replicas") * _whole(service, "multinode", "nodeCount")
    yield ManifestIn(pod, {**places, _CONTAINERS[:2]: there}, number=count)


_MACHINES: Final[dict[str, tuple[str, ...]]] = {
    "VirtualMachine": ("spec", "template", "spec"),
    "VirtualMachineInstance": ("spec",),
    "VirtualMachineInstanceReplicaSet": ("spec", "template", "spec"),
    "VirtualMachinePool": ("spec", "virtualMachineTemplate", "spec", "template", "spec"),
}
_OF_MACHINES: Final = {"name": "claimName", "request": "requestName"}
"""The fields of a container's use of a claim, and those in which a machine states them."""


def _claimants(obj: JSONObject, at: Sequence[str]) -> Iterator[tuple[Steps, JSONObject]]:
    """Yield the devices of a virtual machine, and the claims of its networks, with their paths."""
    for name in ("gpus", "hostDevices"):
        yield from placed(obj, *at, "domain", "devices", name)
    for steps, each in placed(obj, *at, "networks"):
        yield (*steps, "resourceClaim"), mapping(each, "resourceClaim")


def _machine(obj: JSONObject) -> Iterator[ManifestIn]:
    """Make the pod of a virtual machine; its devices and networks use claims (kubevirt, schema.go: ClaimRequest)."""
    at = _MACHINES.get(str(obj.get("kind")), ())
    uses: list[JSONObject] = []
    places: dict[Steps, Steps] = {}
    for steps, each in _claimants(obj, at):
        if "claimName" not in each:
            continue
        here = (*_CONTAINERS, 0, "resources", "claims", len(uses))
        places |= {(*here, "request"): (*steps, "requestName"), here: (*steps, "claimName")}
        uses.append({name: each[field] for name, field in _OF_MACHINES.items() if field in each})
    claims = _items(obj, *at, "resourceClaims")
    if uses or claims:
        container = {"name": "compute", "image": "unknown", "resources": {"claims": uses}}
        pod = manifest(obj, {"spec": {"containers": [container], "resourceClaims": claims}})
        places |= {_CLAIMS: (*at, "resourceClaims"), (): at}
        yield ManifestIn(pod, places, number=_whole(obj, "spec", "replicas"))


def _shared(obj: JSONObject) -> Iterator[ManifestIn]:
    """Make a pod of each claim that Grove adds to the pods of a PodCliqueSet (grove, podcliqueset.go)."""
    own = {text(each, "name") for _, each in placed(obj, *_TEMPLATE, "resourceClaimTemplates")} - {""}
    parts = (part for name in ("cliques", "podCliqueScalingGroups") for part in placed(obj, *_TEMPLATE, name))
    for steps, holder in ((_TEMPLATE, mapping(obj, *_TEMPLATE)), *parts):
        for there, each in placed(holder, "resourceSharing"):
            here = (*steps, *there)
            container: JSONObject = {"name": "main", "image": "unknown"}
            spec: JSONObject = {"containers": [container]}
            if text(each, "name") not in own and not each.get("namespace"):
                container["resources"] = {"claims": [{"name": "shared"}]}
                spec["resourceClaims"] = [{"name": "shared", "resourceClaimTemplateName": each.get("name")}]
            places: dict[Steps, Steps] = {(*_CLAIMS, 0, "resourceClaimTemplateName"): (*here, "name"), (): here}
            places[*_CLAIMS, 0] = here
            pod = manifest(obj, {"spec": spec})
            yield ManifestIn(pod, places, number=0, unsure="without the claims of resourceSharing")


_TEMPLATE: Final = ("spec", "template")


TRIED: Final = frozenset({"", "admission.k8s.io"})
"""The groups of documents whose objects nothing applies: suites of policies, which have none, and AdmissionReviews."""


def claims_in(obj: JSONObject) -> Iterator[ManifestIn]:
    """Find the objects of DRA in an object of another project: whole manifests, and templates in Grove's objects."""
    is_tried = group_of(obj) in TRIED and obj.get("kind") not in HOLDERS
    return iter(()) if is_tried else with_texts(obj, _claims_in)


def parts_of_dra(obj: JSONObject) -> Iterator[tuple[Steps, JSONObject]]:
    """Yield the parts of an object that state the API group of DRA, and their paths."""
    every = every_object({name: each for name, each in obj.items() if name != "status"})
    return ((steps, each) for steps, each in every if steps and group_of(each) == GROUP)


def _claims_in(obj: JSONObject) -> Iterator[ManifestIn]:
    for steps, each in parts_of_dra(obj):
        if is_held(each):
            yield ManifestIn(released(obj, each), {(): steps}, is_known=False)
        elif "kind" in each and (data := mapping(each, "data")) and not _has_variables(data):  # what Kyverno generates
            made = {**data, "apiVersion": each["apiVersion"], "kind": each["kind"]}
            yield ManifestIn(made, {(): (*steps, "data")}, is_known=False)
    yield from _created(obj) if group_of(obj) == _NIM else ()
    for steps, each in placed(obj, *_TEMPLATE, "resourceClaimTemplates") if group_of(obj) == "grove.io" else ():
        template = _template(obj, each.get("name"), each.get("templateSpec"))
        yield ManifestIn(template, {("spec",): (*steps, "templateSpec"), ("metadata",): steps, (): steps})


def _template(obj: JSONObject, name: Any, spec: Any) -> JSONObject:
    about = {"name": name, "namespace": namespace_of(obj)}
    return {"apiVersion": f"{GROUP}/v1", "kind": "ResourceClaimTemplate", "metadata": about, "spec": spec}


PODS: Final[dict[str, Callable[[JSONObject], Iterator[ManifestIn]]]] = {
    _NIM: _nim,
    _ARGO: _workflow,
    "grove.io": _shared,
    "kubevirt.io": _machine,
    "nvidia.com": _dynamo,
    "pool.kubevirt.io": _machine,
}
"""The functions that find pods, for groups whose kinds are not in the table."""


def lost(obj: JSONObject) -> Iterator[Problem]:
    """Warn of claims that a workload's controller drops or refuses."""
    version = obj.get("apiVersion")
    check = _LOST.get(version.rpartition("/")[0]) if isinstance(version, str) else None
    for path, message, hint in check(obj) if check else ():
        yield Problem(WARNING, "claims-lost", "ClaimsLost", Path(path), message, hint)


def misnamed(obj: JSONObject) -> Iterator[Problem]:
    """Warn of kinds, API groups and feature gates that DRA does not have, as in the target of a patch."""
    is_kyverno, left = group_of(obj) == "kyverno.io", _MOST_GATES
    for steps, part in every_object(obj):
        gates = [*islice(_gates(part), left)]
        left -= len(gates)
        for path, gate in gates:
            if gate not in GATES and (near := nearest(gate, _OF_DRA)):
                message = f'Kubernetes has no feature gate "{gate}": a component that sets it does not start'
                yield _unknown("gate", (*steps, *path), message, Advice(Meant(f'did you mean "{near}"?')))
        if "metadata" in part or "spec" in part:
            continue  # a manifest
        groups, kinds = list(_named(part, "group", "apiGroups")), list(_named(part, "kind", "kinds"))
        names = {group.partition("/")[0] for _, group in (*groups, ((), text(part, "apiVersion")))}
        for path, written in kinds:
            parts = written.split("/")  # GROUP/VERSION/KIND/SUBRESOURCE in Kyverno, or a part (ParseKindSelector)
            place = 2 if parts[2:] else -1
            kind, is_of_dra = parts[place], GROUP in {*names, parts[0]}
            near = nearest(kind, KINDS) if is_of_dra else certain(kind, KINDS) if is_kyverno else ""
            if kind.isalpha() and near not in {"", kind}:
                parts[place] = near
                message = f'{GROUP} has no kind "{kind}"'
                yield _unknown("kind", (*steps, *path), message, renamed("/".join(parts)))
        for path, group in groups if any(kind in KINDS for _, kind in kinds) else ():
            if group != GROUP and nearest(group.partition("/")[0], [GROUP]):
                yield _unknown("kind", (*steps, *path), f'Kubernetes has no API group "{group}"', renamed(GROUP))


_OF_DRA: Final = [gate for gate in GATES if gate.startswith("DRA") or gate == DRA]
_MOST_GATES: Final = 2_000
"""How many feature gates are read: components have hundreds."""
_FLAG: Final = "feature-gates"


def _unknown(what: str, steps: Steps, message: str, meant: Advice) -> Problem:
    return Problem(WARNING, f"unknown-{what}", "NotFound", Path(steps), message, meant.hint, fix=meant.fix)


def _gates(part: JSONObject) -> Iterator[tuple[Steps, str]]:
    """Yield the feature gates of a component's configuration, which are a map, or the text of a flag."""
    yield from ((("featureGates", gate), gate) for gate in mapping(part, "featureGates"))
    field = "value" if part.get("name") == _FLAG else _FLAG  # as kubeadm's extraArgs are written since v1beta4
    yield from (((field,), pair.partition("=")[0].strip()) for pair in text(part, field).split(","))


def _named(part: JSONObject, one: str, several: str) -> Iterator[tuple[Steps, str]]:
    """Yield the texts of a field, and of one that is a list."""
    every = ((one,), part.get(one)), *(((several, place), each) for place, each in enumerate(_items(part, several)))
    return ((path, each) for path, each in every if isinstance(each, str))


def _stated(obj: JSONObject, at: Steps, *names: str) -> Iterator[Steps]:
    """Yield the paths of lists of claims in a part of an object."""
    for steps, value in every_object(value_at(obj, at), at):
        yield from ((*steps, name) for name in names if _items(value, name))


def _knative(obj: JSONObject) -> Iterator[tuple[Steps, str, str]]:
    """Knative Serving allows only a part of a pod spec (pkg/apis/serving/fieldmask.go)."""
    hint = "run the model with a Deployment, or with KServe in its standard deployment mode"
    for path in _stated(obj, ("spec",), "resourceClaims", "claims"):
        yield path, "Knative Serving refuses resource claims", hint


def _train_job(obj: JSONObject) -> Iterator[tuple[Steps, str, str]]:
    """A TrainJob patches the pods of its runtime, but not their claims (trainer, trainjob_types.go).

    Of ``resourcesPerNode`` only limits and requests are used (trainer, pkg/runtime/core/trainingruntime.go).
    """
    paths = [*_stated(obj, ("spec", "trainer", "resourcesPerNode"), "claims")]
    for field in ("runtimePatches", "podTemplateOverrides"):  # the latter in earlier versions
        paths += _stated(obj, ("spec", field), "resourceClaims")
    for path in paths:
        yield path, "a TrainJob cannot add resource claims", "state them in the pod templates of its TrainingRuntime"


def _nim_resources(obj: JSONObject) -> Iterator[tuple[Steps, str, str]]:
    """The operator ignores claims in resources (k8s-nim-operator, nimservice_types.go)."""
    for path in _stated(obj, ("spec", "resources"), "claims"):
        yield path, "the NIM operator ignores these claims", "state them in spec.draResources"


def _podless(obj: JSONObject) -> Iterator[tuple[Steps, str, str]]:
    """Argo Workflows refuses claims of a template that makes no pod."""
    for steps, template in placed(obj, *_spec_of_workflow(obj), "templates"):
        sort = next((each for each in ("dag", "steps", "suspend", "http", "plugin") if each in template), "")
        if sort and template.get("resourceClaims"):
            message = f"Argo Workflows refuses claims of a template with {sort}, which makes no pod"
            hint = "state them in the templates with containers, or for all in resourceClaims of the workflow's spec"
            yield (*steps, "resourceClaims"), message, hint


def _refused_machine(obj: JSONObject) -> Iterator[tuple[Steps, str, str]]:
    """KubeVirt wants both claim and request of a device or network (pkg/dra/admitter, pkg/network/admitter/dra.go)."""
    at = _MACHINES.get(str(obj.get("kind")), ())
    for steps, each in _claimants(obj, at):
        given = [name for name in _OF_MACHINES.values() if each.get(name)]
        if given and each.get("deviceName"):
            yield steps, "KubeVirt refuses a device with both deviceName and a claim", "leave out one of the two"
        elif len(given) == 1:
            (missing,) = {*_OF_MACHINES.values()}.difference(given)
            yield steps, f"KubeVirt refuses {given[0]} without {missing}", f"add {missing}"
    gpus, networks = items(obj, *at, "domain", "devices", "gpus"), items(obj, *at, "networks")
    named = {text(each, "name") for each in networks if each.get("resourceClaim")}
    are_claimed = {not each.get("deviceName") and any(map(each.get, _OF_MACHINES.values())) for each in gpus}
    hint = "use claims for all of them, or for none"
    if len(are_claimed) > 1:
        yield (*at, "domain", "devices", "gpus"), "KubeVirt refuses GPUs with and without claims together", hint
    if named and any("multus" in each for each in networks):
        yield (*at, "networks"), "KubeVirt refuses networks with claims and Multus networks together", hint
    for steps, each in placed(obj, *at, "domain", "devices", "interfaces"):
        if text(each, "name") in named and not each.keys() & {"sriov", "binding"}:  # which earlier versions take, too
            yield steps, "KubeVirt requires sriov for an interface whose network uses a claim", "write sriov: {}"


def _tekton(obj: JSONObject) -> Iterator[tuple[Steps, str, str]]:
    """Pod templates of Tekton have no field for claims (pipeline, pkg/apis/pipeline/pod/template.go)."""
    hint = "request an extended resource of the class, spec.extendedResourceName, in computeResources of a step"
    for path in _stated(obj, ("spec",), "resourceClaims"):
        yield path, "Tekton refuses resource claims", hint


_LOST: Final = {
    _NIM: _nim_resources,
    _ARGO: _podless,
    "kubevirt.io": _refused_machine,
    "pool.kubevirt.io": _refused_machine,
    "serving.knative.dev": _knative,
    "tekton.dev": _tekton,
    "trainer.kubeflow.org": _train_job,
}


def made_templates(obj: JSONObject) -> Iterator[str]:
    """Return the names of ResourceClaimTemplates that a controller may make for an object, in its namespace.

    Operators take the name from a field ``resourceClaimTemplate: {name: …}``, as that of ComputeDomain is.
    """
    for _, each in every_object(obj.get("spec")):
        if isinstance(name := mapping(each, "resourceClaimTemplate").get("name"), str):
            yield name
