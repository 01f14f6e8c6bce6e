"""Predicts how a Kubernetes API server answers requests for Dynamic Resource Allocation objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from webhook.limits import set_limits

if TYPE_CHECKING:
    from webhook.deviceselectors.fleet import Match
    from webhook.findings import Finding
    from webhook.problem import Path, Problem

    Paths = str | PathLike[str] | Iterable[str | PathLike[str]]

__all__ = ["Finding", "Path", "Problem", "allocate", "check_files", "convert", "matches", "simulate", "validate"]

__version__ = "0.1.0"
"""The version of the distribution."""

set_limits()


if not TYPE_CHECKING:  # so that mypy finds imports of names that do not exist

    def __getattr__(name: str) -> Any:
        """Import the classes of findings on first use: `draguard --version` needs none."""
        if name == "Finding":
            from webhook.findings import Finding

            return Finding
        if name in {"Path", "Problem"}:
            from webhook import problem

            return getattr(problem, name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def validate(
    obj: Any,
    old: Any = None,
    *,
    kubernetes: str | None = None,
    subresource: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    namespace_labels: Mapping[str, str] | None = None,
    runtime_config: Mapping[str, bool] | None = None,
) -> list[Problem]:
    """Validate an object as the API server of a Kubernetes release would; an empty list means that it is accepted.

    Kinds that have nothing to do with Dynamic Resource Allocation are not judged: the list is empty for them.
    Each item of a List is validated.

    Args:
        obj: The object as a client would submit it, as plain dicts: unknown fields and wrong types are findings.
        old: The object as the server stored it, for an update; None for a create.
        kubernetes: The release, such as ``"1.30"``; None for the newest that serves the object's version.
        subresource: ``"status"`` for an update of the status, which needs ``old``; nothing for the object itself.
        feature_gates: Gates that differ from the release's defaults, by name; ``AllAlpha`` and ``AllBeta`` too.
            DRA's own gate counts as on.
        namespace_labels: The labels of the object's namespace.
        runtime_config: API versions that the cluster serves or not, by name, such as ``resource.k8s.io/v1beta1`` or
            ``api/beta``; None for the release's defaults.

    Raises:
        ValueError: ``kubernetes`` is not a known version, ``subresource`` is not a judged subresource, a feature gate
            is unknown or locked, a status is judged without ``old``, or a List with it.
        TypeError: A value in ``obj`` or ``old`` is not a JSON value, such as a datetime or NaN; the message names it.
    """
    from webhook import arguments  # `import webhook` stays cheap
    from webhook.api.unserved import no_object
    from webhook.documents.document import expanded
    from webhook.engine.manifests import review
    from webhook.optional import install

    install("documents")

    _check_settings(kubernetes, feature_gates)
    arguments.check_string("subresource", subresource)
    arguments.check_mapping("namespace_labels", namespace_labels, str)
    arguments.check_mapping("runtime_config", runtime_config, bool)
    if subresource not in {"", "status"}:
        raise ValueError(f'subresource {subresource!r} is not judged: give "status", or "" for the object itself')
    if subresource and old is None:
        raise ValueError(f"a {subresource} is judged as an update: give the stored object as old")
    obj, old = arguments.as_json("obj", obj), arguments.as_json("old", old)
    found = []
    for each, within in expanded(obj):
        if within and old is not None:
            raise ValueError("a List is not updated: give each of its items with its old object")
        problems = no_object(each)
        if not problems:
            outcome = review(
                each,
                old,
                kubernetes=kubernetes,
                subresource=subresource,
                feature_gates=feature_gates,
                namespace_labels=namespace_labels,
                runtime_config=runtime_config,
            )
            problems = _hinted(outcome.problems, each, old, kubernetes)
        found += [problem.below(within, within) for problem in problems] if within else problems
    return found


def _hinted(problems: list[Problem], obj: Any, old: Any, kubernetes: str | None) -> list[Problem]:
    if not any(each.lacks_advice for each in problems):
        return problems
    from webhook.hints.fields import hinted

    found = [hinted(each, obj) if each.lacks_advice else each for each in problems]
    if old is None or not any(each.is_of_change for each in found):
        return found
    from webhook.engine.changes import changed

    texts = (changed(each, old, obj, kubernetes) if each.is_of_change else "" for each in found)
    return [
        each._replace(hint="; ".join(filter(None, (text, each.hint)))) for each, text in zip(found, texts, strict=True)
    ]


def check_files(
    paths: Paths,
    *,
    kubernetes: str | Sequence[str] | None = None,
    feature_gates: Mapping[str, bool] | None = None,
    runtime_config: Mapping[str, bool] | None = None,
    namespace_labels: Mapping[str, Mapping[str, str]] | None = None,
    policies: Paths = (),
    old: Paths = (),
    cluster: Paths = (),
    user: str = "",
    groups: Sequence[str] = (),
    all_pods: bool = False,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    config: str | PathLike[str] | None = None,
) -> list[Finding]:
    """Validate the manifests in files, as ``draguard validate`` does; an empty list means no findings.

    Findings that comments and annotations in the files suppress are left out. No configuration file is read unless
    ``config`` names it.

    Args:
        paths: One or more files, directories, globs, and directories of Helm charts or kustomizations.
        kubernetes: The release, such as ``"1.34"``, or several; None for the newest that serves each object's version.
        feature_gates: Gates that differ from the release's defaults, by name.
        runtime_config: API versions that the cluster serves or not, by name, such as ``resource.k8s.io/v1beta1`` or
            ``api/beta``.
        namespace_labels: The labels of namespaces, by name.
        policies: Files or directories of policies and bindings, and of the objects that they read.
        old: Files or directories with an earlier state of the same objects.
        cluster: Files or directories with the cluster's objects, as ``kubectl get -o yaml`` prints them.
        user: The user who sends the objects, for policies.
        groups: The groups of that user.
        all_pods: Whether to judge pods and workloads without claims, too.
        select: The only rules to report, by name or pattern; none for all.
        ignore: The rules not to report.
        config: A configuration file, such as ``.draguard.yaml``; other arguments take precedence over it.

    Returns:
        The findings, in the order of the files. Each has ``problem`` (with ``level``, ``rule``, ``field``, ``message``
        and ``hint``), ``file``, ``line``, ``column``, ``identity`` (of the object), ``kubernetes`` (the release) and
        ``origin`` (the policy, if the finding is a policy's). ``str()`` gives one line. A file that is missing or
        unreadable is a finding, too.

    Raises:
        ValueError: No path is given; a release, a feature gate or a rule is not known; a label is malformed; the
            configuration file cannot be used; or the program that renders a chart or kustomization is missing.
    """
    from webhook.check.library import findings  # `import webhook` stays cheap

    given: dict[str, Any] = {
        "kubernetes": kubernetes,
        "feature_gates": feature_gates,
        "runtime_config": runtime_config,
        "namespace_labels": namespace_labels,
    }
    given |= {"policies": policies, "old": old, "cluster": cluster, "user": user, "groups": groups}
    given |= {"all_pods": all_pods, "select": select, "ignore": ignore}
    return findings(paths, config, given)


def matches(
    selector: str | Mapping[str, Any] | Sequence[str | Mapping[str, Any]],
    device: Mapping[str, Any],
    *,
    driver: str = "",
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> Match:
    """Tell whether a device matches a selector, as the scheduler evaluates it.

    Args:
        selector: A CEL expression, a selector as a request or a class has it (``{"cel": {"expression": ...}}``), or
            several, which must all match.
        device: The device, as a ResourceSlice lists it, with ``attributes`` and ``capacity``.
        driver: The device's driver; by default the field ``driver`` of ``device``.
        kubernetes: The release, such as ``"1.36"``; None for the default one, 1.37.
        feature_gates: Gates that differ from the release's defaults, by name.

    Returns:
        An object that is true if the device matches; if it does not, its ``reason`` explains why, where that is known.

    Raises:
        ValueError: The selector cannot be compiled, or fails on this device, which would end the scheduling of a pod;
            the device is malformed or its driver unknown; the release or a feature gate is unknown.
        TypeError: A value in ``device`` or ``selector`` is not a JSON value; the message says where.
    """
    from webhook import arguments  # `import webhook` stays cheap
    from webhook.deviceselectors.fleet import match

    _check_settings(kubernetes, feature_gates)
    arguments.check_string("driver", driver)
    selector, device = arguments.as_json("selector", selector), arguments.as_json("device", device)
    arguments.check_object("device", device)
    selectors = arguments.several("selector", selector, "a CEL expression or a selector", str, dict)
    return match(selectors, dict(device), driver, kubernetes, feature_gates)


def convert(obj: dict[str, Any], api_version: str) -> dict[str, Any]:
    """Convert an object of ``resource.k8s.io`` to another version, as the API server would.

    Unknown fields stay in their struct; defaults are not set.

    Args:
        obj: The object in any version, as plain dicts; left unchanged.
        api_version: Group and version, such as ``"resource.k8s.io/v1"``.

    Raises:
        ValueError: The kind has no counterpart in that version, as the classic kinds of v1alpha2 have none.
    """
    from webhook import arguments  # `import webhook` stays cheap
    from webhook.api import conversion

    arguments.check_string("api_version", api_version)
    if not isinstance(obj, dict):
        raise ValueError(f"an object is a dict, not {type(obj).__name__}")
    return conversion.convert(obj, api_version)


def allocate(scenario: Mapping[str, Any]) -> dict[str, Any]:
    """Allocate devices to claims on each of some nodes as the scheduler's allocator would, or explain why it cannot.

    Each node is tried separately, with the same devices available.

    Args:
        scenario: A cluster and the claims to allocate, as plain dicts of ``resource.k8s.io/v1`` and ``v1``:
            ``classes``, ``slices``, ``nodes``, ``claims`` (to be allocated together, in this order), ``allocated``
            (claims with an allocation, which use devices) and ``taintRules``; ``features``, the allocator's features
            that are on, such as ``{"PrioritizedList": True}``; ``release``, the minor of Kubernetes 1.x (36), and
            ``patch``, its patch release (2); ``enable``, the implementations to choose from (all).

    Returns:
        ``implementation`` (``stable``, ``incubating`` or ``experimental``) and ``nodes``: for each its name, ``node``;
        ``result``, an AllocationResult for each claim, or None; ``error`` and ``errorScope``, if there is one: ``node``
        if only this node is ruled out, ``abort`` if the scheduler gives up on the pod; ``dependsOnOrder`` where another
        order of slices or claims could give another result; ``timedOut`` where the scheduler would search for more than
        ten seconds and give up on the pod (``node …: timed out trying to allocate devices``). Share IDs are random
        upstream; here they are ``share-0`` and so on.

    Raises:
        ValueError: The scenario is malformed, or no implementation supports the features.
    """
    from webhook.allocation.allocator import outcome  # `import webhook` stays cheap

    return outcome(scenario)


def simulate(
    objects: Iterable[dict[str, Any]],
    pods: Iterable[dict[str, Any]],
    *,
    kubernetes: str | None = None,
    feature_gates: Mapping[str, bool] | None = None,
) -> list[dict[str, Any]]:
    """Schedule pods into a cluster as kube-scheduler would, one after another, and explain the result.

    Pods are tried by priority, then by age, then in the order given; each uses up devices, cpu and memory. Affinity to
    other pods, topology spread, volumes, preemption, and scores other than those of devices are not simulated.

    Args:
        objects: The cluster's objects, as plain dicts with ``kind``: DeviceClasses, ResourceSlices, ResourceClaims,
            ResourceClaimTemplates, DeviceTaintRules, Nodes, Pods, PodGroups, PriorityClasses; in any version that a
            release serves, or lists of them as kubectl prints. Other kinds are ignored.
        pods: The pods to schedule, or workloads that make them, such as Deployments; other objects among them, such as
            ResourceClaimTemplates, are added to the cluster's. If empty, the pending pods among ``objects``.
        kubernetes: The release of the scheduler, such as ``"1.36"``; None for the default one, 1.37.
        feature_gates: Gates that differ from the release's defaults, by name.

    Returns:
        For each pod, in the order given: ``namespace``; ``name``; ``node``, None if there is none; ``condition``: its
        condition PodScheduled with ``status``, ``reason`` and ``message`` as the scheduler writes them, None if the
        scheduler would not try the pod or still waits; ``claims``: the allocation of each of its claims that has one,
        by the claim's name; ``candidates``: the equally good nodes, 32 of them at most, from which the scheduler picks
        one at random; ``candidateCount``: their number; ``why``: ``reason`` (a sentence), ``nodes`` (groups of nodes
        that reject the pod for the same reason, each with a ``count`` and 32 names at most), ``help`` (changes that
        help, and how many nodes each opens), ``tried`` (how many changes were tried), ``allTried``
        (whether there was time for all) and ``notes``: which name was probably meant, what was not simulated, and what
        the API server refuses of the pod, of its workload, or of the claims and templates that it names. It is
        simulated nevertheless; objects without ``apiVersion`` or with a status are not judged.

    Raises:
        ValueError: An object cannot be decoded, ``pods`` has other objects only, or ``kubernetes`` or a feature gate is
            not known.
    """
    from webhook import arguments  # `import webhook` stays cheap
    from webhook.references import answers

    _check_settings(kubernetes, feature_gates)
    arguments.check_iterable("objects", objects)
    arguments.check_iterable("pods", pods)
    return answers.simulate(objects, pods, kubernetes=kubernetes, feature_gates=feature_gates)


def _check_settings(kubernetes: Any, feature_gates: Any) -> None:
    """Check the arguments about the cluster that several functions take."""
    from webhook import arguments  # `import webhook` stays cheap

    arguments.check_string("kubernetes", kubernetes)
    arguments.check_mapping("feature_gates", feature_gates, bool)
