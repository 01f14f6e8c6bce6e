"""Declares reference rules, and the context that they read."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from webhook.api.dra.names import NAMED_BY
from webhook.api.templates import pod_template, source
from webhook.budget import Budget
from webhook.drivers import Profile, driver_of_class, profile_of
from webhook.grouping import by_key
from webhook.inventory import (
    CLAIMS,
    KINDS,
    Inventory,
    MalformedError,
    devices_path,
    is_claim,
    is_noted,
    newest,
    replicas_of,
)
from webhook.inventory.claims import ClaimRequest, containers_of, requests_of
from webhook.later import cached_property
from webhook.objects import JSONObject, at, free_of_nulls, group_of, items, mapping, name_of, namespace_of, placed, text
from webhook.problem import WARNING, Advice, Meant, Path, Problem, Steps, value_at
from webhook.release import Release

if TYPE_CHECKING:
    from webhook.allocation.devices import Catalog, Content
    from webhook.deviceselectors.fleet import Fleet, Sorted
    from webhook.inventory.quotas import Quotas
    from webhook.inventory.resources import ExtendedResources
    from webhook.simulation.cluster import Cluster


SELECTING: Final = (*CLAIMS, "DeviceClass")
"""The kinds that select devices."""
WEBHOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
"""The kinds that state which webhooks the API server calls."""
ACCOUNT: Final = "ServiceAccount"
_BESIDE: Final = {
    **{kind: KINDS[kind] for kind in ("Role", "ClusterRole", "ResourceQuota")},
    **dict.fromkeys(("RoleBinding", "ClusterRoleBinding"), KINDS["Role"]),
    **dict.fromkeys(WEBHOOKS, "admissionregistration.k8s.io"),
}
"""The kinds that have rules, and neither claims nor pods, with their API groups."""
MAPPED, COVERED = "deviceClassMappings", "coveredResources"
"""What stands for kinds: the device classes that Kueue counts, and what it has quota for, in place of namespaces."""
_BYTES: Final = 16 << 20
"""How many bytes are cached of claims, and of pods."""
_PROBLEM: Final = 1_000
"""How many bytes a problem counts for."""
_PLAIN: Final = 2
"""The format of marshal in which equal values have equal bytes: later ones contain back references."""
_MOST_NAMES: Final = 200_000
"""How many names are read to find what misspelt ones mean: comparing so many takes seconds."""
_NAMES_A_CLAIM: Final = b"resourceClaimName"
"""A field of pods: whose claim it is, and who uses it, depends on their names."""

T = TypeVar("T")
Lookup = tuple[str, Path]
"""The kind of an object that is not looked up, and the field that names it."""


class ReferenceFindings(NamedTuple):
    """The findings of rules about an object.

    Args:
        skipped: The lookups skipped: the kind of the object, and the field that names it.
    """

    problems: Sequence[Problem]
    skipped: Sequence[Lookup] = ()


class Alike:
    """Caches findings of claims and templates, of whose metadata rules read only whether there is a name, and of pods.

    Args:
        most: How many bytes are cached of claims, and of pods.
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._found: dict[bytes, ReferenceFindings] = {}
        self._left = {True: most, False: most}

    def find(self, obj: JSONObject, look: Callable[[], ReferenceFindings]) -> ReferenceFindings:
        """Return the findings of an object.

        Args:
            obj: The object, in any version.
            look: The function that checks it, if no equal one is cached.
        """
        of_claim = is_claim(obj)
        if not of_claim and pod_template(obj) is None:
            return look()
        read = bool(name_of(obj)) if of_claim else {**mapping(obj, "metadata"), "name": None}
        try:
            key = marshal.dumps({**obj, "metadata": read}, _PLAIN)
        except ValueError:  # it is nested too deeply
            return look()
        found = self._found.get(key)
        if found is None:
            found = look()
            length = len(key) + _PROBLEM * (1 + len(found.problems))
            if length <= self._left[of_claim] and (of_claim or _NAMES_A_CLAIM not in key):
                self._left[of_claim] -= length
                self._found[key] = found
        return found


def pool_of(each: JSONObject) -> tuple[str, str]:
    """Return the driver and the name of a slice's pool."""
    return text(each, "spec", "driver"), text(each, "spec", "pool", "name")


class Context:
    """The context of a rule.

    Args:
        inventory: The known objects, including the checked one.
        release: The Kubernetes release, as the minor of 1.x.
        gates: The feature gates that are on.
        profiles: The user's profiles of drivers, besides draguard's own.
        catalog: The known slices, without the taints of rules; by default, they are read where a rule needs them.
    """

    def __init__(
        self,
        inventory: Inventory,
        release: Release,
        gates: frozenset[str],
        profiles: Mapping[str, Profile] | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        self.inventory, self.release, self.gates = inventory, release, gates
        self._profiles, self._catalog = profiles or {}, catalog
        self.passes_over_devices = False
        self.checking: Budget | None = None
        """The budget for checking parameters; None if it counts towards the budget of the review."""
        self.uses_allocator = False
        """Whether to run the scheduler's allocator, which takes too long for a review."""
        self.runtime_config: Mapping[str, bool] | None = None
        """Which API versions the cluster serves, as kube-apiserver takes it; None for the defaults."""
        self.is_cluster = True
        """Whether the known objects are all objects of a cluster: others do not exist."""
        self.stored: Collection[tuple[str, str, str]] = ()
        """The claims, templates and pods that the cluster has beside the manifests: kinds, namespaces and names."""
        self.lists_classes = inventory.knows("DeviceClass")
        """Whether device classes of the cluster are known, and not just those of manifests."""
        self.alike = Alike()
        """The cache of findings for similar objects."""
        self.users_of: Callable[[str, str], Sequence[JSONObject]] = lambda _namespace, _claim: ()
        """Returns the pods that use a claim, as :func:`pod_view` shows them."""
        self.looked_at: tuple[Any, Any] = (None, None)
        """The checked object, and the parts read from it."""
        self._requests: tuple[Any, Sequence[ClaimRequest]] = (None, ())
        """A claim, template or class, and its requests."""
        self._names_left = _MOST_NAMES
        """How many of these names may still be read."""
        self._read: dict[Callable[[Context], Any], Any] = {}
        """What functions have read from all known objects."""

    def requests(self, claim: JSONObject) -> Sequence[ClaimRequest]:
        """Return the requests of a claim or template, or what a class selects; most rules read them."""
        if self._requests[0] is not claim:
            self._requests = claim, requests_of(claim, self.inventory)
        return self._requests[1]

    def once(self, read: Callable[[Context], T]) -> T:
        """Return what a function reads from all known objects, which it does once."""
        if read not in self._read:
            self._read[read] = read(self)
        known: T = self._read[read]
        return known

    def namesakes(self, kind: str, name: str, namespace: str) -> tuple[list[str], list[str]]:
        """Look for namesakes in the inventory, which reads all names of a kind; return none after many."""
        self._names_left -= len(self.inventory.names(kind))
        return self.inventory.namesakes(kind, name, namespace) if self._names_left >= 0 else ([], [])

    def missing(self, what: str, place: str = "", consequence: str = "") -> str:
        """Report that an object is not known; without a cluster, it may exist.

        Args:
            what: The object, such as ``DeviceClass "gpu"``.
            place: Where it is looked for, such as `` in namespace default``; empty for the whole cluster.
            consequence: The consequence of its absence.
        """
        if self.is_cluster:
            return f"{what} does not exist{place}{consequence and ', so '}{consequence}"
        unless = ": unless the cluster has it, " if consequence else ""
        return f"{what} is not among these manifests{place}{unless}{consequence}"

    def or_in_cluster(self, known: Advice) -> Advice:
        """Add to a list of known names that the cluster may have others."""
        if self.is_cluster or isinstance(known.hint, Meant):
            return known
        return known._replace(hint=f"{known.hint}; if the cluster has it, give its objects with --cluster")

    def is_installed(self, name: str) -> bool:
        """Tell whether a class comes with a driver rather than with the manifests; a known cluster has all its classes.

        Without any class, nothing is concluded anyway, and reading the profiles would take longer than judging a file.
        """
        knows = self.inventory.knows
        has_all = self.is_cluster and (self.lists_classes or knows("ResourceSlice"))
        return knows("DeviceClass") and not has_all and bool(self.driver_of_class(name))

    @property
    def fleet(self) -> Fleet | None:
        """The published devices; None if unknown or skipped."""
        return None if self.passes_over_devices else self._fleet

    @cached_property
    def _fleet(self) -> Fleet | None:
        if not self.inventory.knows("ResourceSlice") or not self.knows_all_slices:
            return None
        from webhook.allocation.devices import Catalog  # only with slices at hand
        from webhook.deviceselectors.fleet import Fleet

        try:
            catalog = self._catalog or Catalog(map(free_of_nulls, self.inventory.all("ResourceSlice")))
            return Fleet(catalog, self.release, self.gates)
        except ValueError:  # no allocator of that release has these features
            return None

    @cached_property
    def knows_all_slices(self) -> bool:
        """Whether no slice is known by its name alone, because it has errors: its devices may be those that lack."""
        return not any(map(is_noted, self.inventory.all("ResourceSlice")))

    @cached_property
    def own_drivers(self) -> Collection[str]:
        """The drivers with a profile of the user's own, and those of slices with errors, whose devices are unknown."""
        noted = filter(is_noted, self.inventory.all("ResourceSlice"))
        return {*self._profiles, *(text(each, "spec", "driver") for each in noted)} - {""}

    @cached_property
    def pools(self) -> Mapping[tuple[str, str], Sequence[JSONObject]]:
        """The slices of each pool, by its driver and name."""
        return by_key((pool_of(each), each) for each in self.inventory.all("ResourceSlice"))

    @cached_property
    def extended(self) -> ExtendedResources:
        """The extended resources that device classes provide."""
        from webhook.inventory.resources import ExtendedResources  # few pods request any

        return ExtendedResources(self.inventory.all("DeviceClass"))

    @cached_property
    def quotas(self) -> Quotas:
        """The quotas of claims and pods."""
        from webhook.inventory.quotas import Quotas  # few inventories have any

        return Quotas(self.inventory, self.release, self.gates)

    @cached_property
    def of_nodes(self) -> Collection[str]:
        """The resources that nodes state."""
        from webhook.inventory.resources import amounts

        nodes = self.inventory.all("Node")
        return dict.fromkeys(name for each in nodes for name in amounts(mapping(each, "status", "allocatable")))

    @cached_property
    def configured(self) -> frozenset[str]:
        """The drivers that parameters of claims are for."""
        claims = (each for kind in CLAIMS for each in self.inventory.all(kind))
        configs = (config for each in claims for config in items(each, *devices_path(each), "config"))
        return frozenset(text(each, "opaque", "driver") for each in configs)

    @cached_property
    def free(self) -> Cluster | None:
        """The cluster with all its devices free; None if no allocator is known for the release and its gates.

        It is that of the first patch release whose scheduler does not crash for some claims. Where no nodes are known,
        those that slices name count, unless labels decide.
        """
        if not self.uses_allocator:
            return None
        from webhook.allocation.features import CRASHES_UNTIL  # most manifests need no allocator
        from webhook.simulation.cluster import Cluster, Settings

        found, slices = Inventory(), [each for each in self.inventory.all("ResourceSlice") if at(each, "spec", "pool")]
        others = (each for kind in ("DeviceClass", "DeviceTaintRule") for each in self.inventory.all(kind))
        for each in (*slices, *others):
            found.put(free_of_nulls(each))
        for each in self.inventory.all("Node"):
            with suppress(MalformedError):  # manifests of nodes are not judged
                found.take(each)
        by_label = (at(each, "spec", field) for each in slices for field in ("nodeSelector", "perDeviceNodeSelection"))
        if not found.knows("Node") and not any(by_label):
            for name in dict.fromkeys(text(each, "spec", "nodeName") for each in slices):
                found.put({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
        try:
            return Cluster(found, Settings(self.release, self.gates, CRASHES_UNTIL.get(self.release, 0)))
        except (LookupError, ValueError):
            return None

    def knows_driver(self, name: str) -> bool:
        """Tell whether a driver has a profile or a slice, even one with errors."""
        published = self.inventory.all("ResourceSlice")
        return self.profile(name) is not None or any(text(each, "spec", "driver") == name for each in published)

    def profile(self, driver: str) -> Profile | None:
        """Return the profile of a driver; None if there is none."""
        return self._profiles.get(driver) or profile_of(driver)

    def profile_of_one(self, drivers: Collection[str]) -> Profile | None:
        """Return the profile of the driver, if there is only one; None if it has none, or one for examples."""
        profile = self.profile(min(drivers)) if len(drivers) == 1 else None
        return None if profile is None or profile.is_example else profile

    def driver_of_class(self, name: str) -> str:
        """Return the driver that installs a device class; empty if unknown."""
        own = next((driver for driver, each in self._profiles.items() if name in each.classes), "")
        return own or driver_of_class(name)

    def is_shared(self, name: str) -> bool:
        """Tell whether the devices of a class are meant to be used by several pods."""
        profile = self.profile(self.driver_of_class(name))
        devices = profile and profile.devices.get(profile.classes.get(name, ""))
        return bool(devices and devices.is_shared)


class ReferenceRule(NamedTuple):
    """A rule about references.

    Args:
        kinds: The kinds that it checks; ``Pod`` includes every kind with a pod template.
        check: The function that checks an object.
        needs: The kinds; the rule applies if one of them is known. If empty, it always applies.
        level: The level of its findings.
        beside_devices: Whether it applies only where devices are known.
        without_devices: Whether it applies only where no devices are known, as known devices tell more.
        of_reads: Whether each finding is about one read of an expression, so that those about other reads stand, too.
        of_field: Whether its findings are about one field, and hold whatever the object's other fields are.
        part: The field of a claim's devices, or of a class's spec, without which it finds nothing; empty for none.
    """

    name: str
    kinds: tuple[str, ...]
    check: Callable[[JSONObject, Context], Iterator[Problem]]
    needs: tuple[str, ...] = ()
    level: str = WARNING
    beside_devices: bool = False
    without_devices: bool = False
    of_reads: bool = False
    of_field: bool = False
    part: str = ""


RULES: Final[dict[str, ReferenceRule]] = {}


def rule(*kinds: str, **facts: Any) -> Callable[[Check], Check]:
    """Declare a rule with some facts, as :class:`ReferenceRule` has them.

    Its name is that of the function, with hyphens; ``draguard explain`` shows its docstring.
    """

    def declare(check: Check) -> Check:
        name = check.__name__.replace("_", "-")
        RULES[name] = ReferenceRule(name, kinds, check, **facts)
        return check

    return declare


if TYPE_CHECKING:
    Check = Callable[[JSONObject, Context], Iterator[Problem]]


def finding(
    path: Iterable[str | int],
    message: str,
    hint: str | Advice = "",
    reason: str = "NotFound",
    character: int | None = None,
) -> Problem:
    """Make a finding; its rule and level are filled in by :func:`webhook.references.lookup.apply_rules`.

    Args:
        path: The path of the field.
        hint: How to fix it.
        reason: Its cause, in one word.
        character: Where in the expression at the path it is; None if the whole expression is meant.
    """
    advice = Advice(hint) if isinstance(hint, str) else hint
    return Problem(WARNING, "", reason, Path(path), message, advice.hint, fix=advice.fix, character=character)


def claim_or_template(pod: JSONObject, entry: JSONObject, context: Context) -> JSONObject | None:
    """Return the claim or template that a pod's claim names; None if it is unknown."""
    kind = "ResourceClaim" if source(entry, "resourceClaimName") else "ResourceClaimTemplate"
    return context.inventory.find(kind, source(entry, NAMED_BY[kind]), namespace_of(pod))


def drivers_of_request(request: ClaimRequest, context: Context) -> set[str]:
    """Return the drivers that the selectors of a request and its class require, else the one that installs it."""
    found = drivers_of([*request.of_class, *request.own], context)
    installed = "" if found else context.driver_of_class(request.class_name)
    return {installed} if installed else found


def sorted_out(request: ClaimRequest, context: Context) -> Sorted | None:
    """Sort the devices by the selectors of a request and its class; None if the class or the devices are unknown."""
    if context.fleet is None or request.device_class is None:
        return None
    return context.fleet.sorted_out(request.of_class, request.own)


def contents_of_class(request: ClaimRequest, context: Context) -> Sequence[Content]:
    """Return the devices of the class of a request; none if the class or the devices are unknown."""
    fleet = None if request.device_class is None else context.fleet
    return () if fleet is None else fleet.of_class(request.of_class)


def field_of(constraint: JSONObject) -> str:
    """Return the field of a constraint that names its attribute."""
    return "matchAttribute" if "matchAttribute" in constraint else "distinctAttribute"


def drivers_of(selectors: Sequence[JSONObject], context: Context) -> set[str]:
    """Return the drivers that selectors insist on; more than one if they contradict each other."""
    if not any(".driver" in text(each, "cel", "expression") for each in selectors):
        return set()
    from webhook.deviceselectors import parts  # most objects have no such selectors

    return parts.drivers_of(selectors, context.release, context.gates)


def uses_of(pod: JSONObject) -> Iterator[tuple[Steps, JSONObject, JSONObject]]:
    """Yield what containers use of a pod's claims, each with its path and the container."""
    for path, container in containers_of(pod, "initContainers", "containers", "ephemeralContainers"):
        for steps, use in placed(container, "resources", "claims"):
            yield (*path, *steps), container, use


def is_beside(obj: JSONObject) -> bool:
    """Tell whether an object has neither claims nor pods, and rules nevertheless, such as a Role."""
    return _BESIDE.get(text(obj, "kind")) == group_of(obj)


def view_of(obj: JSONObject, kind: str, namespace: str = "") -> tuple[JSONObject, str, Steps] | None:
    """Return an object of Kubernetes in the newest version, or its pod; the kind that rules check, and the pod's path.

    Returns:
        None if it has no pod where one should be.
    """
    if (steps := pod_template(obj)) is None:
        return newest(obj), kind, ()
    pod = value_at(obj, steps)
    return (pod_view(obj, pod, namespace), "Pod", steps) if isinstance(pod, dict) else None


def pod_view(owner: JSONObject, template: JSONObject, namespace: str = "", pods: int | None = None) -> JSONObject:
    """Return a pod of a workload.

    Args:
        owner: The workload, or the pod itself.
        template: Its pod template, or the pod itself.
        namespace: Its namespace; empty for its stated one.
        pods: How many such pods the workload makes; None for what its fields say.

    Returns:
        The pod, with an ``owner`` that has the workload's kind and labels, and ``pods``: their number at a time, or,
        with one for each node, their place.
    """
    metadata = {"name": text(owner, "metadata", "name"), **mapping(template, "metadata")}
    metadata["namespace"] = namespace or text(owner, "metadata", "namespace") or "default"
    about = {"kind": text(owner, "kind"), "labels": mapping(owner, "metadata", "labels"), "pods": pods}
    if pods is None:
        about["pods"] = "of all nodes" if owner.get("kind") == "DaemonSet" else replicas_of(owner)
    return {**template, "kind": "Pod", "metadata": metadata, "owner": about}
