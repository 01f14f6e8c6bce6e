"""The causes that keep the containers of a pod from starting, or from running on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from webhook.explain.components import cures
from webhook.objects import JSONObject, at, items, mapping, namespace_of, number, text
from webhook.why.scene import Cause, Ref, Scene, written

_IMAGE: Final = frozenset(
    (
        *("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"),
        *("RegistryUnavailable", "SignatureValidationFailed"),
    )
)
"""The reasons of kubelet's ``images/types.go`` for an image that is not there."""
_STARTING: Final = frozenset({"", "ContainerCreating", "PodInitializing"})
"""The reasons of a waiting container that has not failed."""
CRASHED: Final = "CrashLoopBackOff"
_NOT_STARTED: Final = "StartError"
"""containerd's reason for a container that it could not start."""
_MISSING: Final = re.compile(
    r"(?i)\b(configmap|secret|persistentvolumeclaim|serviceaccount|csidriver|storageclass|node)s?(?:\.[\w.]+)? "
    r'"(?:[\w.-]+/)?([\w.-]+)" not found'
)
_VOLUME: Final = re.compile(r'\bvolume "([\w.-]+)"')
PREPARE: Final = "FailedPrepareDynamicResources"
_FAILED: Final = (
    *("FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "FailedCreatePodContainer"),
    *("FailedPodSandBoxStatus", "NetworkNotReady", "FailedSync", "FailedToRetrieveImagePullSecret", "Failed"),
    "InspectFailed",
)
"""The events of kubelet about a pod that it does not start, those that tell most first."""
_LONGEST: Final = 220
"""The most characters of a component's words in a cause."""
_KILLED: Final = {137: "killed", 143: "terminated", 139: "a segmentation fault", 134: "aborted"}


def waiting(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say why containers of a pod do not start: images, configuration, an init container, or the runtime."""
    inits = [each for each in items(pod, "spec", "initContainers") if text(each, "restartPolicy") != "Always"]
    for spec, status in _containers(pod):
        reason, words = (text(status, "state", "waiting", field) for field in ("reason", "message"))
        name = text(status, "name")
        if reason in _IMAGE:
            image = text(spec or status, "image")
            failures = [each.words for each in scene.events(pod, "Failed") if f'"{image}"' in each.words]
            # While kubelet backs off, only an event may have the reason.
            said = next(filter(None, (_after(image, each) for each in (words, *failures))), "")
            lacking = " ".join(each.words for each in scene.events(pod, "FailedToRetrieveImagePullSecret"))
            secrets = (text(each, "name") for each in items(pod, "spec", "imagePullSecrets"))
            refs = [Ref("Secret", each, namespace_of(pod)) for each in secrets if each and each in lacking]
            lacks = f"; image pull secret {refs[0].name} is missing" if refs else ""
            said = f"image {image} cannot be pulled: {brief(said) or reason}{lacks}"
            help_ = "correct the image's name and tag, or give the pod imagePullSecrets"
            yield Cause(said, [Ref("Image", image), refs], (help_,))
        elif reason == CRASHED:
            yield crashed(scene, pod, status)
        elif reason not in _STARTING:
            said, refs = _missing(words, namespace_of(pod))
            said = f"container {name} does not start: {said or f'{reason}: {brief(words)}'}"
            yield Cause(said, [refs, Ref("Container", name)], words=f"{reason}: {words}")
        elif spec in inits and at(status, "state", "running") is not None:
            said = f"init container {name} runs, and the other containers start once it has ended"
            yield Cause(said, [Ref("Container", name)], (f"see its log: {scene.logs(pod, container=name)}",))


def crashed(scene: Scene, pod: JSONObject, status: JSONObject, *, is_component: bool = False) -> Cause:
    """Say how a container has ended, and how often.

    Args:
        is_component: Whether it is one of a driver or of the control plane, for whose own words there are cures.
    """
    name, restarts = text(status, "name"), number(status, "restartCount") or 0
    ended = mapping(status, "state", "terminated") or mapping(status, "lastState", "terminated")
    backs_off = text(status, "state", "waiting", "reason") == CRASHED
    again = " again and again" if restarts > 1 else ""
    times = f", {restarts} restarts" if restarts else ""
    state = f"is in {CRASHED}, as it ends{again}" if backs_off else f"has ended{again}"
    words, logs = last_words(ended), scene.logs(pod, previous=True, container=name)
    said = f"container {name} {state} ({outcome(ended)}{times}){words and f': {words}'}"
    helps = cures(words if is_component else words_of_runtime(ended))
    return Cause(said, [Ref("Container", name)], (*helps, f"see its last words: {logs}"))


def outcome(ended: JSONObject) -> str:
    """Write how a container ended, such as ``exit code 137: OOMKilled``."""
    reason, code = text(ended, "reason"), number(ended, "exitCode")
    if code is None:
        return "it is not known how"
    why = reason if reason not in {"", "Error", "Completed"} else _KILLED.get(code, "")
    more = ", as it took more memory than its limit" if reason == "OOMKilled" else ""
    return f"exit code {code}{why and f': {why}'}{more}"


def words_of_runtime(ended: JSONObject) -> str:
    """Return the runtime's message about a container that it could not start; empty if the container wrote it."""
    return text(ended, "message") if text(ended, "reason") == _NOT_STARTED else ""


def last_words(ended: JSONObject) -> str:
    """Return the last line of a container's termination message."""
    lines = text(ended, "message").strip().splitlines()
    return brief(lines[-1]) if lines else ""


def _after(image: str, words: str) -> str:
    """Return the reason in the runtime's message about an image: what follows the name of the image."""
    for mark in (f"{image}: ", f'"{image}": '):
        if mark in words:
            return words.rpartition(mark)[2].strip()
    return "" if words.endswith(f'"{image}"') else words


def _containers(pod: JSONObject) -> Iterator[tuple[JSONObject, JSONObject]]:
    """Yield the spec and the status of each container, in the order in which they start."""
    for kind, field in (("initContainers", "initContainerStatuses"), ("containers", "containerStatuses")):
        specs = {text(each, "name"): each for each in items(pod, "spec", kind)}
        for status in items(pod, "status", field):
            yield specs.get(text(status, "name"), {}), status


def failed(pod: JSONObject) -> Iterator[JSONObject]:
    """Yield the status of each container that has ended with an error, or is held back after one."""
    for _, status in _containers(pod):
        is_held_back = text(status, "state", "waiting", "reason") == CRASHED
        if is_held_back or number(status, "state", "terminated", "exitCode"):
            yield status


def restarted(pod: JSONObject) -> Iterator[JSONObject]:
    """Yield the status of each container that runs, after it has ended with an error."""
    for _, status in _containers(pod):
        if number(status, "restartCount") and number(status, "lastState", "terminated", "exitCode"):
            yield status


def unready(pod: JSONObject) -> Iterator[JSONObject]:
    """Yield the status of each container that runs and is not ready, or not started yet."""
    for status in items(pod, "status", "containerStatuses"):
        if at(status, "state", "running") is not None and status.get("ready") is False:
            yield status


def said_by_kubelet(scene: Scene, pod: JSONObject) -> Iterator[Cause]:
    """Say why kubelet does not start a pod, by the last event of each reason."""
    namespace = namespace_of(pod)
    last = {each.reason: each for each in reversed(scene.events(pod, *_FAILED))}
    for event in filter(None, map(last.get, _FAILED)):
        if event.warns:
            said, refs = _missing(event.words, namespace)
            about = [refs, scene.mentioned(event.words, namespace)]
            yield Cause(said or brief(event.words), about, words=event.words)


def _missing(words: str, namespace: str) -> tuple[str, list[Ref]]:
    """Say which objects do not exist, in the words of a component, and name them; empty if there are none."""
    refs = [written(kind, name, namespace) for kind, name in _MISSING.findall(words)]
    volume = _VOLUME.search(words)
    used = f", which its volume {volume[1]} is made of," if volume else ""
    return f"{' and '.join(map(str, refs))}{used} does not exist" if refs else "", refs


def brief(words: str, most: int = _LONGEST) -> str:
    """Put the message of a component on one line; shorten a long one in the middle, as its end has the reason."""
    words = " ".join(words.split())
    if len(words) <= most:
        return words
    half = most // 3
    return f"{words[:half]} … {words[half + 3 - most :]}"
