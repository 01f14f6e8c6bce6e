"""Rules of profiles in CEL, about parameters, requests, claims and their users."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.api.versions import NEWEST
from webhook.inventory.claims import is_about
from webhook.later import cached_property
from webhook.objects import JSONObject, text
from webhook.patterns import Pattern
from webhook.problem import Path, Steps
from webhook.structural.keywords import QUANTITY, Fault
from webhook.structural.schema import Structural

if TYPE_CHECKING:
    from webhook.cel.environment import Environment
    from webhook.structural.rules import ValidationRule


VARIABLES: Final = ("claim", "class", "config", "configs", "parameters", "request", "requests", "users")
"""The variables of rules."""
_OF_CLASS: Final = frozenset({"config", "parameters", "class"})
"""The variables that rules about a DeviceClass alone read."""
_TEXT: Final = Pattern(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_READS_CONFIG: Final = Pattern(r"(?<![.?\w])(?:config|parameters|requests)\b(?!\s*,)")
_PARAMETERS: Final = Pattern(r"(?<![.?\w])parameters\.\??(\w+)")
_READS_USERS: Final = Pattern(r"(?<![.?\w])users\b")


class ParameterSchema(Structural):
    """A schema of a profile, as one of a CustomResourceDefinition: for rules in CEL."""

    def __init__(self, stated: object) -> None:
        super().__init__(stated)
        if self.type == QUANTITY:
            self.type, self.is_int_or_string = "", True
        elif isinstance(self.stated.get("properties"), dict):
            self.type = "object"


class ProfileRule:
    """A rule of a profile: a condition that the driver's claims, classes or pods meet.

    It is evaluated for each request if it reads ``request`` or ``configs``, for each configuration if it reads
    ``config``, ``parameters`` or ``requests``, for each pair of them that belongs together if it reads both, and for
    each pod with the claim if it reads ``users``.

    Args:
        stated: The rule, as the profile states it.
    """

    def __init__(self, stated: JSONObject) -> None:
        self.stated = stated

    @property
    def is_about_users(self) -> bool:
        """Whether it reads ``users``; to tell takes no compiler."""
        return _READS_USERS.search(self._plain) is not None

    @property
    def needs_config(self) -> bool:
        """Whether it certainly finds nothing without configuration; to tell takes no compiler."""
        return _READS_CONFIG.search(self._plain) is not None

    @cached_property
    def _plain(self) -> str:
        """The rule without its texts."""
        plain: str = _TEXT.sub("''", text(self.stated, "rule"))
        return plain

    @cached_property
    def compiled(self) -> ValidationRule:
        """The compiled rule; its path begins with a variable, the one that it is most about."""
        from webhook.structural.rules import compile_rule, field_steps

        return compile_rule(self.stated, _environment(), Path(field_steps(text(self.stated, "fieldPath"))))

    @cached_property
    def reads(self) -> frozenset[str]:
        """The variables that it reads."""
        programs = (self.compiled.program, self.compiled.message)
        return frozenset(name for each in programs if each is not None for name in each.variables)

    @cached_property
    def parameters(self) -> frozenset[Steps]:
        """The paths of the parameters that it reads."""
        names = _PARAMETERS.findall(text(self.stated, "rule"))
        return frozenset([(), *((name,) for name in names)]) if "parameters" in self.reads else frozenset()

    @cached_property
    def place(self) -> tuple[str, Steps]:
        """The variable that it points to, and the path below it."""
        variable, *path = self.compiled.path or [""]
        if not variable:
            variable = next((each for each in ("parameters", "config", "request") if each in self.reads), "claim")
        return str(variable), tuple(path)


class Part(NamedTuple):
    """A part of an object.

    Args:
        value: Its value, as rules see it.
        misfits: The paths in its parameters that do not fit the driver's schema: rules that read such a field are left
            out, and errors of others are not reported.
    """

    value: JSONObject
    path: Steps
    misfits: Collection[Steps] = ()

    @property
    def name(self) -> str:
        """Its name, if it is a request."""
        return text(self.value, "name")


class Subject(NamedTuple):
    """The subject of rules: a claim, also together with the pods that use it, or a class.

    Args:
        claim: The ``spec`` of the claim; for a class, an empty object.
        requests: The requests for devices of the driver.
        configs: The configuration for the driver that the claim, or the class, has.
        of_classes: The configuration of the requests' classes.
        classes: The classes by name; for a class, itself.
        users: The pods that use the claim; None to evaluate the rules that do not read them.
    """

    claim: Part
    requests: Sequence[Part] = ()
    configs: Sequence[Part] = ()
    of_classes: Sequence[JSONObject] = ()
    classes: Mapping[str, JSONObject] = {}
    users: Sequence[JSONObject] | None = None


def broken(rules: Sequence[ProfileRule], subject: Subject) -> Iterator[Fault]:
    """List the rules that do not hold, and those that cannot be evaluated.

    The cost of all rules together is limited as that of the rules of a CustomResourceDefinition for an object.

    Raises:
        BudgetExceededError: They take more work than may be done.
    """
    own = (each for each in rules if each.is_about_users == (subject.users is not None))
    wanted = [each for each in own if subject.configs or not each.needs_config]
    if not wanted:
        return
    from webhook.structural.rules import Evaluation, Stopped

    evaluation, found = Evaluation(), list[Fault]()
    with suppress(Stopped):
        for rule in wanted:
            for bindings, places, is_certain in _cases(rule, subject):
                variable, below = rule.place
                path = places.get(variable, subject.claim.path)
                if message := evaluation.judge(rule.compiled, bindings, Path(path), variable):
                    found.append(Fault((*path, *below), message))
                found += [Fault(path, each.message) for each in evaluation.found if is_certain]
                evaluation.found.clear()
    yield from found
    yield from (Fault(subject.claim.path, each.message) for each in evaluation.found)


def _cases(rule: ProfileRule, subject: Subject) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Steps], bool]]:
    """Yield the variables for which a rule is evaluated.

    Returns:
        Them, the paths of those that are parts of the object, and whether errors of evaluation are the rule's own.
    """
    is_class = not subject.claim.value
    if is_class and not rule.reads <= _OF_CLASS:
        return
    of_config = not rule.reads.isdisjoint({"config", "parameters", "requests"})
    of_request = not is_class and not rule.reads.isdisjoint({"request", "configs", "class"})
    plain = {"claim": subject.claim.value, "users": subject.users or []}
    if is_class:
        plain["class"] = next(iter(subject.classes.values()))
    if not is_class and not subject.requests and not of_config:
        return
    for config in subject.configs if of_config else (None,):
        if config and not rule.parameters.isdisjoint(each[:1] for each in config.misfits if len(each) <= 1):
            continue
        of_it = [each for each in subject.requests if not config or is_about(config.value, each.name)]
        for request in of_it if of_request else (None,):
            bindings: dict[str, Any] = {**plain}
            places: dict[str, Steps] = {}
            if config:
                opaque = config.value["opaque"]
                bindings |= {"config": config.value, "parameters": opaque.get("parameters") or {}}
                bindings["requests"] = [each.value for each in of_it]
                places |= {"config": (*config.path, "opaque"), "parameters": (*config.path, "opaque", "parameters")}
            if request:
                name = text(request.value, "deviceClassName")
                all_ = [*subject.of_classes, *(each.value for each in subject.configs)]
                bindings["request"], places["request"] = request.value, request.path
                bindings["class"] = subject.classes.get(name) or {"metadata": {"name": name}}
                bindings["configs"] = [each for each in all_ if is_about(each, request.name)]
            yield bindings, places, not (config and config.misfits)


@cache
def _environment() -> Environment:
    """Declare the variables of rules, and their types."""
    from webhook.api.dra.claimstatus import DeviceAllocationConfiguration
    from webhook.api.dra.deviceclass import DeviceClass
    from webhook.api.dra.devicerequest import ExactDeviceRequest, Named
    from webhook.api.dra.resourceclaim import ResourceClaimSpec
    from webhook.cel.checker.declarations import Library, StructType
    from webhook.cel.kubernetes.environments import environment
    from webhook.cel.types import base as types
    from webhook.policy.tools.typecheck import Declaration
    from webhook.schema.derive.shape import Structure

    class Request(ExactDeviceRequest, Named):
        """A request, or an alternative, with its name."""

    declaration = Declaration(NEWEST)
    spec, class_, config, request = (
        declaration.of(Structure(each, {}), "v1") or types.DYN
        for each in (ResourceClaimSpec, DeviceClass, DeviceAllocationConfiguration, Request)
    )
    # Claims that differ in their metadata only are judged once.
    claim = StructType(types.struct("Claim"), {"spec": spec})
    container = StructType(types.struct("Container"), {"name": types.STRING, "request": types.STRING})
    containers = types.list_of(container.type)
    texts = dict.fromkeys(("kind", "name", "namespace"), types.STRING)
    user = StructType(
        types.struct("User"), {**texts, "pods": types.INT, "hostNetwork": types.BOOL, "containers": containers}
    )
    variables = {
        "claim": claim.type,
        "class": class_,
        "config": config,
        "configs": types.list_of(config),
        "parameters": types.DYN,
        "request": request,
        "requests": types.list_of(request),
        "users": types.list_of(user.type),
    }
    library = Library(structs=(*declaration.structs.values(), claim, container, user))
    return environment(NEWEST, stored=True).extend(library, variables=variables)
