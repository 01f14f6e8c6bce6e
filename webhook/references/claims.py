"""Rules about claims, templates and device classes: their drivers and names; constraints, which compare attributes."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import permutations
from typing import Final, NamedTuple

from webhook import formats
from webhook.api.dra.claimstatus import RESULTS_MAX_ITEMS
from webhook.api.dra.names import STANDARD_ATTRIBUTES, STANDARD_DOMAIN, class_in
from webhook.drivers import Profile, built_in
from webhook.grouping import by_key
from webhook.hints.names import in_expression, in_place, listed, renamed
from webhook.inventory import CLAIMS, devices_path
from webhook.inventory.claims import DISTINCT_FROM_ALL_SINCE, ClaimRequest, is_about
from webhook.objects import JSONObject, at, items, mapping, name_of, namespace_of, number, placed, text
from webhook.problem import NOTE, Advice, Path, Problem, Steps
from webhook.references.rules import SELECTING, Context, drivers_of, drivers_of_request, finding, rule
from webhook.spelling import certain, mistyped, nearest


@rule(*CLAIMS, "ResourceQuota", needs=("DeviceClass", "ResourceSlice"), of_field=True)
def class_not_found(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request or a quota names a DeviceClass that does not exist, or that is not among the manifests.

    A quota then limits nothing. The scheduler rejects such a pod before it tries any node. One missing class in
    firstAvailable is enough: the other alternatives are not tried. Without --cluster, a class counts as missing
    where the same file has other classes, unless it comes with a known driver. With --cluster, such a class counts
    as missing, too, if DeviceClasses or ResourceSlices of the cluster are given.
    """
    hard, limits = mapping(claim, "spec", "hard"), "this limits nothing"
    named: list[tuple[Steps, str, str]] = [(("spec", "hard", key), class_in(key), limits) for key in hard]
    for each in context.requests(claim):
        more = ", whatever the other alternatives are" if "/" in each.name else ""
        named.append(((*each.path, "deviceClassName"), each.class_name, f"pods with this claim stay pending{more}"))
    for path, name, consequence in named:
        if name and context.inventory.find("DeviceClass", name) is None and not context.is_installed(name):
            message = context.missing(f'DeviceClass "{name}"', consequence=consequence)
            known = [each for _, each in context.inventory.names("DeviceClass")]
            if driver := context.driver_of_class(name):
                how = "install the driver, with the part of its chart for these devices"
                advice = Advice(f"driver {driver} brings this class: {how}")
            else:
                advice = context.or_in_cluster(in_place(name, known, "device classes", "deviceClassName"))
            yield finding(path, message, advice if claim["kind"] in CLAIMS else advice.hint)


@rule(*CLAIMS, part="config")
def claim_config_for_other_driver(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A claim's configuration is for a driver whose devices its requests cannot select, so it is never read.

    A driver gets only the parameters that name it. Here the classes or selectors of the requests that the
    configuration is for insist on another driver, or the classes come with one.
    """
    by_name = {each.name: drivers_of_request(each, context) for each in context.requests(claim)}
    for path, each in placed(claim, *devices_path(claim), "config"):
        sets = [selected for name, selected in by_name.items() if is_about(each, name)]
        if sets and all(sets):
            yield from _wrong_driver(each, set().union(*sets), path, "the requests select")


def _wrong_driver(config: JSONObject, known: set[str], path: Steps, who: str) -> Iterator[Problem]:
    """Find configuration for a driver other than the selected ones.

    Args:
        known: The drivers whose devices can be selected; empty if unknown.
        path: Where the configuration is.
        who: The subject of the message, such as ``the class selects``.
    """
    driver = text(config, "opaque", "driver")
    if driver and known and driver not in known:
        message = f'parameters for driver "{driver}" are never read: {who} devices of {listed(sorted(known))}'
        advice = in_place(driver, known, "")
        if advice.fix is None:
            advice = Advice("name the driver of the class, or the class of the driver")
        yield finding((*path, "opaque", "driver"), message, advice, "NeverRead")


@rule(*CLAIMS)
def asks_for_nothing(claim: JSONObject, _: Context) -> Iterator[Problem]:
    """A claim has no requests: it is allocated at once, with no devices.

    The API server accepts it. Pods that use it start without devices.
    """
    path = devices_path(claim)
    if name_of(claim) and not items(claim, *path, "requests"):
        present = path if at(claim, *path) is not None else path[:-1]
        yield finding(present, "the claim has no requests, so its pods get no devices", reason="Empty")


@rule(*CLAIMS)
def too_many_devices(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A claim, or an alternative of a request, is for more devices than one allocation can have: it never gets them.

    An allocation has 32 devices at most (AllocationResultsMaxSize in types.go). Split the claim into several.
    """
    requests = context.requests(claim)
    least = {whole: min(wanted) for whole, wanted in by_key((each.whole, each.wanted) for each in requests).items()}
    total = sum(least.values())
    limit = f"devices are requested, and an allocation has at most {RESULTS_MAX_ITEMS}"
    if total > RESULTS_MAX_ITEMS:
        yield finding((*devices_path(claim), "requests"), f"{total} {limit}", "split the claim into several", "TooMany")
    for each in requests if total <= RESULTS_MAX_ITEMS else ():
        if (devices := total - least[each.whole] + each.wanted) > RESULTS_MAX_ITEMS:
            message = f'alternative "{each.name}" is never chosen: with it, {devices} {limit}'
            yield finding((*each.path, "count"), message, reason="TooMany")


@rule(*CLAIMS)
def contradicting_drivers(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """The selectors of a class and of a request insist on different drivers, so no device can meet both.

    A device belongs to one driver. Selectors must all hold: those of the class and those of the request.
    """
    for request in context.requests(claim):
        for index, selector in enumerate(request.own):
            wanted_here = drivers_of([selector], context)
            of_class = wanted_here and _selected_by(request, context)
            others = wanted_here - of_class
            if of_class and others:
                wanted, known = min(others), min(of_class)
                message = f'no device belongs to two drivers: the class selects "{known}", the request "{wanted}"'
                advice = in_expression(text(selector, "cel", "expression"), wanted, [known], "")
                if advice.fix is None:
                    advice = Advice("leave the condition out, or name a class of that driver")
                path = (*request.path, "selectors", index, "cel", "expression")
                yield finding(path, message, advice, "NeverHolds")._replace(value=wanted)


def _selected_by(request: ClaimRequest, context: Context) -> set[str]:
    """Return the drivers that the class of a request insists on; the one that installs it if the class is unknown."""
    if request.device_class is not None:
        return drivers_of(request.of_class, context)
    profile = context.profile_of_one({context.driver_of_class(request.class_name)})
    return {profile.driver} if profile else set()


@rule(*CLAIMS, of_field=True)
def count_of_zero(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A request states the count 0, which counts as 1: its pods get a device.

    The API server treats 0 as an absent count, and sets its default, 1. Leave out a request for no devices.
    """
    for request in context.requests(claim):
        if number(request.content, "count") == 0 and text(request.content, "allocationMode") in {"", "ExactCount"}:
            message = f'the count 0 means unset, so request "{request.name}" is for one device'
            hint = "leave the request out, or state how many devices it is for"
            yield finding((*request.path, "count"), message, hint, "Defaulted")


@rule(*CLAIMS, "Pod", needs=("ResourceQuota",))
def quota_exceeded(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """A ResourceQuota of the namespace leaves too little for a claim or pod: the API server refuses to create it.

    Pods whose claims are made from a template stay pending with "ResourceClaim not created yet"; only an event of the
    pod has the reason. A request for all devices counts 32, and of alternatives the most of each class. What is used
    follows the status of the quota, as --cluster has it. Pods of workloads are compared with the whole quota, of which
    they may already use a part.
    """
    if not context.inventory.knows("ResourceQuota"):
        return
    kind, namespace = obj["kind"], namespace_of(obj)
    is_stored = (kind, namespace, name_of(obj)) in context.stored
    if kind in CLAIMS:
        is_template = kind == CLAIMS[1]
        if (is_template or not is_stored) and (why := context.quotas.refusal(obj)):
            refused = _CLAIMS_REFUSED if is_template else "the API server refuses the claim: "
            yield finding(devices_path(obj), refused + why, reason="Forbidden")
        return
    is_new = obj["owner"]["kind"] == "Pod" and not is_stored
    if not text(obj, "metadata", "uid") and (why := context.quotas.refusal(obj, is_alone=not is_new)):
        yield finding(("spec",), f"the API server refuses the pod: {why}", reason="Forbidden")
    for path, entry in placed(obj, "spec", "resourceClaims"):
        name = text(entry, "resourceClaimTemplateName")
        template = context.inventory.find(CLAIMS[1], name, namespace)
        why = context.quotas.refusal(template) if template and (CLAIMS[1], namespace, name) in context.stored else ""
        if why:
            yield finding((*path, "resourceClaimTemplateName"), _CLAIMS_REFUSED + why, reason="Forbidden")


_CLAIMS_REFUSED: Final = "the API server refuses the claims made from it, so pods stay pending: "


@rule("DeviceClass")
def extended_resource_ambiguous(device_class: JSONObject, context: Context) -> Iterator[Problem]:
    """Two device classes state the same extendedResourceName: the newest gets all pods.

    Of classes with the same age, the first by name wins. The devices of the others are never used for that resource,
    and quota is charged to the winner.
    """
    name = text(device_class, "spec", "extendedResourceName")
    same = (each for each in context.inventory.all("DeviceClass") if text(each, "spec", "extendedResourceName") == name)
    others = {*map(name_of, same)} - {name_of(device_class)} if name else ()
    if others:
        message = f'extended resource "{name}" is that of device class {listed(sorted(others))}, too'
        hint = "only the newest class provides it: give each class its own name"
        yield finding(("spec", "extendedResourceName"), message, hint, "Ambiguous")


@rule("DeviceClass")
def config_for_other_driver(device_class: JSONObject, context: Context) -> Iterator[Problem]:
    """Configuration is for a driver whose devices cannot be selected, so it is never read.

    A driver gets only the parameters that name it. Here the selectors of the class insist on another driver.
    """
    known = drivers_of(items(device_class, "spec", "selectors"), context)
    for path, each in placed(device_class, "spec", "config"):
        yield from _wrong_driver(each, known, path, "the class selects")


_EXAMPLES: Final = "example.com"
"""The domain that anyone may use in examples (RFC 2606)."""

_SHORTEST: Final = 2
"""The fewest letters of a mistyped word in the name of one's own driver: among few names, a short one is clear, too."""


@rule(*SELECTING, of_field=True)
def mistyped_driver(obj: JSONObject, context: Context) -> Iterator[Problem]:
    """The name of a class, or the driver of parameters or of a selector, is nearly that of a known driver.

    The manifests have no class of that name. A letter is missing or doubled, or two are swapped, in a word of five
    letters or more, or of two for a driver with a profile of your own; or the selector names only the domain of
    drivers, nvidia.com in place of gpu.nvidia.com, or what cannot be the name of one, such as nvidia.com/gpu. If such a
    driver exists, add its DeviceClass or ResourceSlice to the manifests, or its profile with --driver-profile.
    """
    configs = placed(obj, *devices_path(obj), "config")
    named = [((*path, "opaque", "driver"), text(each, "opaque", "driver")) for path, each in configs]
    if not context.inventory.knows("DeviceClass"):  # else a separate rule reports missing ones
        named += [((*each.path, "deviceClassName"), each.class_name) for each in context.requests(obj)]
    for path, name in named:
        if name and (meant := _intended(name, context)) and not _is_known(name, context):
            yield finding(path, _unknown(name, meant), renamed(meant), "Misspelt")
    for request in context.requests(obj):
        for steps, selector in placed(request.content, "selectors"):
            path = (*request.path, *steps, "cel", "expression")
            for name in sorted(drivers_of([selector], context)):
                if not (name == name_of(obj) or name in context.configured or context.knows_driver(name)):
                    yield from _in_selector(name, path, text(selector, "cel", "expression"), context)


def _unknown(name: str, meant: str) -> str:
    return f'no driver "{name}" is known, but "{meant}" is'


def _in_selector(name: str, path: Steps, expression: str, context: Context) -> Iterator[Problem]:
    """Tell whether a driver on which a selector insists is mistyped, or a domain of drivers; examples may be so."""
    is_domain, place = "." in name and name != _EXAMPLES, max(0, expression.find(name))
    as_resource = ".".join(reversed(name.split("/")))  # as extended resources are named
    near = as_resource if as_resource in built_in() else _intended(name, context)
    if meant := [near] if near else [each for each in built_in() if is_domain and each.partition(".")[2] == name]:
        of_domain = f'"{name}" is a domain of drivers, and no driver of that name is known'
        message = _unknown(name, near) if near else of_domain
        advice = in_expression(expression, name, meant, "drivers of this domain")
        yield finding(path, message, advice, "Misspelt", place)
    elif faults := formats.dns_subdomain_caseless(name, context.release):
        yield finding(path, f'no driver can have the name "{name}": {faults[0]}', "", "Impossible", place)


def _intended(name: str, context: Context) -> str:
    """Return the name of a driver, or a name in the domain of one, that a mistyped name stands for."""
    known, own = built_in(), context.own_drivers
    if name in known or name in own:
        return ""
    if meant := mistyped(name, own, _SHORTEST) or mistyped(name, known):
        return meant
    first, _, domain = name.partition(".")
    domains = [rest for each in known if "." in (rest := each.partition(".")[2])]
    meant = "" if domain in domains else mistyped(domain, domains)
    return f"{first}.{meant}" if meant else ""


def _is_known(name: str, context: Context) -> bool:
    """Tell whether a class or driver of a name exists, so that it is a custom driver."""
    inventory = context.inventory
    return (
        context.knows_driver(name)
        or inventory.find("DeviceClass", name) is not None
        or any(name in drivers_of(items(each, "spec", "selectors"), context) for each in inventory.all("DeviceClass"))
    )


_FIELDS: Final = ("matchAttribute", "distinctAttribute")
"""The fields that name an attribute; the scheduler reads the first of those set."""
_COMPARED: Final = 2
"""How many devices of a request a constraint compares reliably."""


class _Constraint(NamedTuple):
    """A constraint of a claim.

    Args:
        path: The path of its attribute.
        domain: The domain of its attribute.
        name: The name of its attribute in the domain.
        requests: The requests whose devices it compares.
    """

    path: Steps
    domain: str
    name: str
    requests: list[ClaimRequest]

    @property
    def attribute(self) -> str:
        """The whole name of the attribute."""
        return f"{self.domain}/{self.name}"


def _constraints(claim: JSONObject, context: Context) -> Iterator[_Constraint]:
    """Yield the constraints of a claim or template."""
    for path, constraint in placed(claim, *devices_path(claim), "constraints"):
        field = next((each for each in _FIELDS if text(constraint, each)), "")
        domain, _, name = text(constraint, field).partition("/")
        if name:
            meant = [each for each in context.requests(claim) if is_about(constraint, each.name)]
            yield _Constraint((*path, field), domain, name, meant)


@rule(*CLAIMS, level=NOTE, part="constraints")
def distinct_of_many(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A constraint wants three or more devices of one request to differ, and compares each only with the one before it.

    Until 1.36 the scheduler's allocator keeps one value for each request (constraint.go of structured/internal), so the
    first and the third device may have the same value. Give each device its own request.
    """
    for each in _constraints(claim, context) if context.release < DISTINCT_FROM_ALL_SINCE else ():
        many = (one for one in each.requests if one.wanted > _COMPARED or one.is_for_all)
        if each.path[-1] == "distinctAttribute" and (request := next(many, None)):
            message = f'devices of request "{request.name}" are compared with the one before only'
            yield finding(each.path, message, "give each device a request of its own", "Partial")


@rule(*CLAIMS, part="constraints")
def distinct_ignored(claim: JSONObject, _: Context) -> Iterator[Problem]:
    """A constraint has `matchAttribute` and `distinctAttribute`; the scheduler ignores the latter.

    The API server accepts both fields in one constraint. Write two constraints, each with one of them.
    """
    for path, each in placed(claim, *devices_path(claim), "constraints"):
        if all(text(each, field) for field in _FIELDS):
            message = "distinctAttribute is ignored beside matchAttribute"
            hint = "write two constraints, each with one of them"
            yield finding((*path, "distinctAttribute"), message, hint, "Ignored")


@rule(*CLAIMS, part="constraints")
def contradicting_constraints(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """Two constraints want the same and distinct values of an attribute for the same devices, so they never hold.

    A single device meets both: only requests for two or more devices, and alternatives that all are, count.
    """
    for same, distinct in permutations(_constraints(claim, context), 2):
        if (same.path[-1], distinct.path[-1]) == _FIELDS and same.attribute == distinct.attribute:
            both = [each for each in same.requests if each in distinct.requests]
            counts = by_key((each.whole, each.wanted if each in both else 0) for each in context.requests(claim))
            if sum(map(min, counts.values())) > 1:
                constraint = Path(same.path[-3:-1])
                message = f"{constraint} requires the same {same.attribute} of these devices, so this never holds"
                yield finding(distinct.path, message, "leave one of the two out", "NeverHolds")


@rule(*CLAIMS, beside_devices=True, part="constraints")
def constraint_not_published(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A constraint names an attribute that no device of one of its requests has, so it never holds.

    Vendors use different names for one fact: where a constraint joins devices of several drivers, all of them must
    publish the attribute, under the same name and with the same type.
    """
    fleet = context.fleet
    if fleet is None:
        return
    for each in _constraints(claim, context):
        for request in each.requests:
            known = fleet.published(request.of_class, "attributes")
            has_devices = request.device_class and (known or fleet.of_class(request.of_class))
            if has_devices and (each.domain, each.name) not in known:
                message = f'no device of request "{request.name}" has the attribute "{each.attribute}"'
                yield finding(each.path, f"{message}, so this never holds", _meant(each, known))
                break


@rule(*CLAIMS, without_devices=True, part="constraints")
def constraint_not_of_driver(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A constraint names an attribute that the driver of one of its requests does not publish, so it never holds.

    `draguard driver show NAME` prints the known attributes of a driver, and their source. If your version of the driver
    publishes others, pass its profile with --driver-profile. Where ResourceSlices are known, these decide. Misspelt
    names of Kubernetes' own attributes, such as resource.kubernetes.io/pcieroot, are found whatever the driver is.
    """
    for each in _constraints(claim, context):
        for request in each.requests:
            profile, known = _profiled(request, context)
            others = {"", profile.driver if profile else ""}
            is_of_another = each.domain not in others and context.profile(each.domain)
            if profile and (each.domain, each.name) not in known and (is_of_another or not profile.is_open):
                message = f'devices of driver "{profile.driver}" have no attribute "{each.attribute}"'
                yield finding(each.path, f"{message}, so this never holds", _meant(each, known))
                break
        else:
            meant = certain(each.name, STANDARD_ATTRIBUTES) if each.domain == STANDARD_DOMAIN else ""
            if meant not in {"", each.name}:
                message = f'Kubernetes defines no attribute "{each.attribute}"'
                yield finding(each.path, message, renamed(f"{STANDARD_DOMAIN}/{meant}"), "Misspelt")


def _profiled(request: ClaimRequest, context: Context) -> tuple[Profile | None, Collection[tuple[str, str]]]:
    """Return the profile of a request's driver, and the domains and names of the attributes that it lists."""
    profile = context.profile_of_one(drivers_of_request(request, context))
    if profile is None:
        return None, ()
    return profile, profile.names(profile.devices_of("" if request.device_class else request.class_name), "attributes")


def _meant(constraint: _Constraint, known: Collection[tuple[str, str]]) -> Advice:
    """Suggest the intended attribute; sharing a domain alone does not make names similar."""
    if near := nearest(constraint.name, [name for domain, name in known if domain == constraint.domain]):
        return renamed(f"{constraint.domain}/{near}")
    if near := nearest(constraint.domain, domains := [domain for domain, name in known if name == constraint.name]):
        return renamed(f"{near}/{constraint.name}")
    if len(domains) == 1:
        return renamed(f"{domains[0]}/{constraint.name}")
    full = sorted(f"{domain}/{name}" for domain, name in known)
    return Advice(f"attributes: {listed(full)}" if full else "the devices have no attributes")
