"""Claims that a pod waits for: not created, missing, or being deleted; and claims that are asked about themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.api.dra.resourceclaim import admin_label
from webhook.api.templates import source
from webhook.engine.manifests import review
from webhook.inventory import controller_of, has_ended
from webhook.inventory.claims import (
    CLAIM_NAME,
    MADE,
    Blocked,
    Use,
    allocation_of,
    claims_of,
    devices_of,
    requests_of,
    reserved_for,
    sources_of,
)
from webhook.inventory.podgroups import group_of
from webhook.objects import JSONObject, at, condition_of, items, mapping, name_of, namespace_of, text, texts
from webhook.problem import ERROR
from webhook.scan.claims import fault_of
from webhook.spelling import some_of
from webhook.why import drivers
from webhook.why.containers import brief
from webhook.why.scene import Cause, Ref, Scene, ref_of

_CLAIM: Final = "ResourceClaim"
_TEMPLATE: Final = "ResourceClaimTemplate"
NOT_CREATED: Final = "claim-not-created"
_USERS_MAX: Final = 3


def uses(scene: Scene, pod: JSONObject) -> list[Use] | Blocked:
    """Return the claims of a pod as the scheduler finds them."""
    return claims_of(pod, scene.inventory, scene.settings.gates)


def blocking(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say which claims keep the scheduler from looking at a pod, each with its reason."""
    found, causes = uses(scene, pod), list(_not_there(scene, pod))
    yield from causes
    if isinstance(found, Blocked):
        if not causes:
            more = f" ({found.note})" if found.note else ""
            yield Cause(f"{found.reason}{more}", [*scene.claim_sources(pod).values()])
        return
    for use in found:
        if name_of(use.claim).endswith(MADE):
            yield (_unnamed(scene, pod, use) or _uncreated(scene, pod, use))._replace(stage=NOT_CREATED)


def _not_there(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say which claims and templates of a pod are missing, cannot be decoded, or are being deleted."""
    namespace = namespace_of(pod)
    group = scene.inventory.find("PodGroup", group_of(pod)[1], namespace)
    of_group = {text(each, "name") for each in items(group, "spec", "resourceClaims")}
    made = {text(each, "name") for each in items(pod, "status", "resourceClaimStatuses")}
    rules = {_TEMPLATE: "template-not-found", _CLAIM: "claim-not-found"}
    missing = {(kind, text(of, "name")): said for kind, rule in rules.items() for of, said in scene.places(rule, pod)}
    for entry, claim_name in sources_of(pod):
        name, template = text(entry, "name"), source(entry, "resourceClaimTemplateName")
        ref = Ref(_CLAIM, claim_name, namespace) if claim_name else Ref(_TEMPLATE, template, namespace)
        said, there = missing.get((ref.kind, name), f"{ref} cannot be decoded"), scene.inventory.find(*ref)
        if there is not None:
            if claim_name and at(there, "metadata", "deletionTimestamp"):
                yield being_deleted(scene, there)
        elif not claim_name:
            if template and name not in made | of_group:
                yield Cause(f"claim {name} not created: {said}", scene.and_meant(ref), stage=NOT_CREATED)
        elif not template or scene.inventory.exists(*ref):
            stale = " (the scheduler's last words are older than that)" if condition_of(pod, "PodScheduled") else ""
            yield Cause(f"{said}{stale}", scene.and_meant(ref))
        else:
            why = "it was deleted while the pod waited"
            why += "" if scene.inventory.knows(_CLAIM) else ", or ResourceClaims were not collected: --cluster has none"
            said = f"{ref}, which was made from {_TEMPLATE} {template}, does not exist any more: {why}"
            help_ = "create the pod again: its claim is not made a second time"
            yield Cause(said, [ref, Ref(_TEMPLATE, template, namespace)], (help_,))


def outdated(scene: Scene, pod: JSONObject) -> Iterator[str]:
    """Say what helps a pod whose claim was made before its template was replaced, which does not change the claim."""
    for name, ref in scene.claim_sources(pod).items():
        claim, template = scene.inventory.find(_CLAIM, name, ref.namespace), scene.inventory.find(*ref)
        if claim and template and _asked(claim) != _asked(template):
            yield f"create the pod again: {ref_of(claim)} was made before {ref} was replaced"


def _asked(claim: JSONObject) -> list[tuple[object, ...]]:
    """Return what a claim or template asks for, without what has a default."""
    every = requests_of(claim)
    return [(each.name, each.class_name, each.wanted, each.is_for_all, each.own, each.capacity) for each in every]


def being_deleted(scene: Scene, claim: JSONObject) -> Cause:
    """Say that a claim is being deleted, and what that waits for."""
    users = reserved_for(claim)
    if users and (fault := _fault(scene, claim)):
        return fault
    finalizers, waits = texts(claim, "metadata", "finalizers"), ""
    own = [each for each in finalizers if each != "resource.kubernetes.io/delete-protection"]
    if users:
        names = ", ".join(some_of([*map(str, users)], _USERS_MAX, "others"))
        use, have = ("uses", "has") if len(users) == 1 else ("use", "have")
        waits = f", and stays until {names}, which {use} it, {have} ended"
    elif finalizers:
        waits = f", and stays until finalizer {' and '.join(own or finalizers)} is removed"
    is_opaque = any(mapping(each, "opaque") for each in items(claim, "spec", "devices", "config"))
    why = "opaque parameters are compared by their bytes, and those with spaces differ after a JSON patch"
    helps = (f"field is immutable: {why}",) if finalizers and not users and is_opaque else ()
    pods = [Ref("Pod", each.name, namespace_of(claim)) for each in users[:_USERS_MAX]]
    return Cause(f"{ref_of(claim)} is being deleted{waits}", [claim, pods], helps)


def _unnamed(scene: Scene, pod: JSONObject, use: Use) -> Cause | None:
    """Say that a claim has been made from its template, and the pod's status does not name it; None if it has not."""
    uid = text(pod, "metadata", "uid")
    own = (each for each in scene.inventory.all(_CLAIM) if uid and text(controller_of(each), "uid") == uid)
    made = (each for each in own if text(each, "metadata", "annotations", CLAIM_NAME) == use.name)
    claim = next((each for each in made if not name_of(each).endswith(MADE)), None)
    if claim is None:
        return None
    said = f"{ref_of(claim)} was made for claim {use.name}, and the pod's status does not name it yet"
    return Cause(said, [claim, pod], ("wait a moment; if it stays so, see the log of kube-controller-manager",))


def _uncreated(scene: Scene, pod: JSONObject, use: Use) -> Cause:
    """Say why a claim has not been made from its template."""
    namespace = namespace_of(pod)
    entry = next((each for each in items(pod, "spec", "resourceClaims") if text(each, "name") == use.name), {})
    template = Ref(_TEMPLATE, source(entry, "resourceClaimTemplateName"), namespace)
    what = f"claim {use.name} not created"
    if why := scene.cluster.refusal(use.claim):
        if quotas := [each for each in scene.mentioned(why, namespace) if each.kind == "ResourceQuota"]:
            how = "delete claims that are not needed: they count whether they are used or not"
            helps = (f"raise spec.hard of {quotas[0]}, or {how}",)
            return Cause(f"{what}: {quotas[0]} does not allow it: {why}", [quotas, template], helps)
        label = f"{admin_label(scene.settings.release)}=true"
        said = f"{what}: admin access, which {template} asks for, needs the label {label} on namespace {namespace}"
        help_ = scene.inventory.kubectl(f"label namespace {namespace} {label}")
        return Cause(said, [Ref("Namespace", namespace), template], (help_,))
    submitted = {**use.claim, "metadata": {"name": "claim", "namespace": namespace}}
    for problem in review(submitted, kubernetes=str(scene.settings)).problems:
        if problem.level == ERROR and problem.path[:1] == ("spec",):
            said = f"{what}: the API server refuses what {template} asks for: {problem}"
            return Cause(said, [template], words=str(problem))
    made = text(scene.inventory.find(*template[:2], namespace) or {}, "metadata", "creationTimestamp")
    for event in scene.events(pod, "FailedResourceClaimCreation"):
        if event.time >= made:
            words = event.words.removeprefix("(combined from similar events): ")
            said = f"{what}: kube-controller-manager cannot make it from {template}: {brief(words)}"
            return Cause(said, [scene.mentioned(words, namespace), template], words=words)
    if trouble := drivers.of_component(scene, "kube-controller-manager"):
        said = f"{what} yet: kube-controller-manager does not run: {trouble.text}"
        return trouble._replace(text=said, about=[trouble.about, template])
    said = f"{what} yet: kube-controller-manager has not made it from {template}, which exists by now"
    help_ = "wait a moment: it tries again by itself; if not, see whether kube-controller-manager runs"
    return Cause(said, [template], (help_,))


# -- a claim that is asked about


def users_of(scene: Scene, claim: JSONObject) -> list[JSONObject]:
    """Return the pods that name a claim, or that it was made for, and that have not ended."""
    owner = scene.owner(claim)
    own = [owner] if owner and text(owner, "kind") == "Pod" and not has_ended(owner) else []
    return list({id(pod): pod for pod in (*scene.users(claim), *scene.running(claim), *own)}.values())


def unused(scene: Scene, claim: JSONObject) -> Cause:
    """Say what becomes of a claim that no pod uses."""
    ref = ref_of(claim)
    owner = controller_of(claim)
    gone = f"; {text(owner, 'kind')} {text(owner, 'name')}, which it was made for, is gone" if owner else ""
    if fault := _fault(scene, claim):
        return fault._replace(text=f"{fault.text}{gone}")
    if allocation_of(claim):
        said = f"{ref} is allocated ({', '.join(devices_of(claim))}) and no pod uses it"
        then = f"it keeps its devices until it is deleted or another pod needs them{gone}"
        delete = scene.inventory.kubectl(f"delete resourceclaim --namespace {ref.namespace} {ref.name}")
        return Cause(f"{said}: {then}", [ref], (delete,))
    when = "a claim gets its devices when the first pod that uses it is scheduled"
    return Cause(f"{ref} is not allocated because no pod uses it: {when}{gone}", [ref], is_well=not gone)


def kept(scene: Scene, node: str) -> Iterator[Cause]:
    """Say which claims keep devices of a node that no pod uses."""
    slices = (each for several in drivers.published_on(scene, node).values() for each in several)
    held = (claim for each in slices for one in each.devices for claim in scene.holders.get((each.id, one.name), ()))
    for claim in {id(each): each for each in held}.values():
        if fault := _fault(scene, claim):
            yield fault


def _fault(scene: Scene, claim: JSONObject) -> Cause | None:
    """Say why a claim keeps its devices from others though no pod uses them; None if it does not."""
    fault = fault_of(claim, scene)
    return Cause(f"{ref_of(claim)} is {fault.message}", [claim], (fault.hint,)) if fault else None
