"""Rules about the constraints of claims, which compare attributes of devices."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from webhook.drivers import Profile
from webhook.hints.names import listed, renamed
from webhook.inventory import CLAIMS, devices_path
from webhook.inventory.claims import Request
from webhook.objects import JSONObject, items, number, text, texts
from webhook.problem import NOTE, Advice, Problem, value_at
from webhook.records import NamedTuple
from webhook.references.rules import Context, Steps, drivers_of_request, finding, rule
from webhook.spelling import nearest

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
    requests: list[Request]

    @property
    def attribute(self) -> str:
        """The whole name of the attribute."""
        return f"{self.domain}/{self.name}"


def _constraints(claim: JSONObject, context: Context, *fields: str) -> Iterator[_Constraint]:
    """Yield the constraints of a claim or template.

    Args:
        claim: The claim or template.
        fields: The fields that name the attribute, the first of those set.
    """
    path = devices_path(claim)
    for index, constraint in enumerate(items(claim, *path, "constraints")):
        wanted = texts(constraint, "requests")
        field = next((each for each in fields if text(constraint, each)), "")
        domain, _, name = text(constraint, field).partition("/")
        if name:
            meant = [
                each
                for each in context.requests(claim)
                if not wanted or each.name in wanted or each.name.partition("/")[0] in wanted
            ]
            yield _Constraint((*path, "constraints", index, field), domain, name, meant)


@rule("distinct-of-many", *CLAIMS, level=NOTE, part="constraints")
def distinct_of_many(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A constraint wants three or more devices of one request to differ, and compares each only with the one before it.

    The scheduler's allocator keeps one value for each request (constraint.go of structured/internal), so the first and
    the third device may have the same value. Give each device its own request.
    """
    for each in _constraints(claim, context, *_FIELDS):
        for request in each.requests if each.path[-1] == "distinctAttribute" else ():
            count = number(request.content, "count") or 1
            if count > _COMPARED or request.is_for_all:
                message = f'devices of request "{request.name}" are compared with the one before only'
                yield finding(each.path, message, "give each device a request of its own", "Partial")
                break


@rule("distinct-ignored", *CLAIMS, part="constraints")
def distinct_ignored(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A constraint has `matchAttribute` and `distinctAttribute`; the scheduler ignores the latter.

    The API server accepts both fields in one constraint. Write two constraints, each with one of them.
    """
    for each in _constraints(claim, context, "distinctAttribute"):
        if text(value_at(claim, each.path[:-1]), "matchAttribute"):
            message = "distinctAttribute is ignored beside matchAttribute"
            yield finding(each.path, message, "write two constraints, each with one of them", "Ignored")


@rule("constraint-not-published", *CLAIMS, beside_devices=True, part="constraints")
def constraint_not_published(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A constraint names an attribute that no device of one of its requests has, so it never holds.

    Vendors use different names for one fact: where a constraint joins devices of several drivers, all of them must
    publish the attribute, under the same name and with the same type.
    """
    fleet = context.fleet
    if fleet is None:
        return
    for each in _constraints(claim, context, *_FIELDS):
        for request in each.requests:
            known = fleet.published(request.of_class, "attributes")
            has_devices = request.device_class and (known or fleet.of_class(request.of_class))
            if has_devices and (each.domain, each.name) not in known:
                message = f'no device of request "{request.name}" has the attribute "{each.attribute}"'
                yield finding(each.path, f"{message}, so this never holds", _meant(each, known))
                break


@rule("constraint-not-of-driver", *CLAIMS, part="constraints")
def constraint_not_of_driver(claim: JSONObject, context: Context) -> Iterator[Problem]:
    """A constraint names an attribute that the driver of one of its requests does not publish, so it never holds.

    `draguard driver show NAME` prints the known attributes of a driver, and their source. If your version of the driver
    publishes others, pass its profile with --driver-profile. Where ResourceSlices are known, these decide.
    """
    for each in _constraints(claim, context, *_FIELDS) if context.fleet is None else ():
        for request in each.requests:
            profile, known = _profiled(request, context)
            others = {"", profile.driver if profile else ""}
            is_of_another = each.domain not in others and context.profile(each.domain)
            if profile and (each.domain, each.name) not in known and (is_of_another or not profile.is_open):
                message = f'devices of driver "{profile.driver}" have no attribute "{each.attribute}"'
                yield finding(each.path, f"{message}, so this never holds", _meant(each, known))
                break


def _profiled(request: Request, context: Context) -> tuple[Profile | None, list[tuple[str, str]]]:
    """Return the profile of a request's driver, and the domains and names of the attributes that it lists."""
    drivers = drivers_of_request(request, context)
    profile = context.profile(min(drivers)) if len(drivers) == 1 else None
    if profile is None or profile.is_example:
        return None, []
    kind = "" if request.device_class else profile.classes.get(request.class_name, "")
    devices = [profile.devices[kind]] if kind in profile.devices else profile.devices.values()
    names = {name for each in devices for name in each.names("attributes")}
    places = (name.rpartition("/") for name in sorted(names))
    return profile, [(domain or profile.driver, name) for domain, _, name in places]


def _meant(constraint: _Constraint, known: Collection[tuple[str, str]]) -> Advice:
    """Suggest the intended attribute; sharing a domain alone does not make names similar."""
    meant = ""
    if near := nearest(constraint.name, [name for domain, name in known if domain == constraint.domain]):
        meant = f"{constraint.domain}/{near}"
    elif near := nearest(constraint.domain, domains := [domain for domain, name in known if name == constraint.name]):
        meant = f"{near}/{constraint.name}"
    elif len(domains) == 1:
        meant = f"{domains[0]}/{constraint.name}"
    if meant:
        return renamed(meant)
    full = sorted(f"{domain}/{name}" for domain, name in known)
    return Advice(f"attributes: {listed(full)}" if full else "the devices have no attributes")
