"""Declares the rules about clusters, and applies them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from webhook.api.dra.names import NAMED_BY
from webhook.api.templates import source
from webhook.findings import GRAVE, INTERNAL, Finding, own_failure
from webhook.inventory import CLAIMS
from webhook.inventory.claims import CLAIM_NAME, allocation_of
from webhook.limits import MOST_FINDINGS
from webhook.objects import JSONObject, full_name_of, items, mapping, name_of, namespace_of, text
from webhook.problem import ERROR, WARNING, Path, Problem
from webhook.references.lookup import apply_rules
from webhook.scan.stored import STORED

if TYPE_CHECKING:
    from webhook.scan.stored import Stored

_OF_CLAIMS: Final[tuple[str, ...]] = (
    *("class-not-found", "not-published", "selector-fails", "capacity-not-published"),
    "contradicting-constraints",
)
_OF_REFERENCES: Final[dict[str, tuple[str, ...]]] = {
    "ResourceSlice": (
        *("pool-contradiction", "node-not-found", "node-selector-terms", "attribute-published-twice"),
        "standard-attribute",
    ),
    "DeviceTaintRule": ("taint-rule-selects-all", "taint-rule-selects-nothing"),
    "ResourceQuota": ("class-not-found",),
    "ResourceClaimTemplate": _OF_CLAIMS,
    "ResourceClaim": _OF_CLAIMS,
    "DeviceClass": ("extended-resource-ambiguous",),
}
"""The rules about references that stored objects must meet, whether anything uses these or not."""
_OF_REQUESTS: Final = ("selects-nothing", "not-enough-devices")
"""Rules about single requests, or alternatives of them."""
_OF_AWAITED: Final = (*_OF_REQUESTS, "never-allocated")
"""Further ones for claims and templates that a pod waits for: others may be ahead of their hardware."""


class Found(NamedTuple):
    """A fault.

    Args:
        level: The level, if it is not the rule's.
    """

    obj: JSONObject
    message: str
    hint: str = ""
    path: Sequence[str | int] = ()
    level: str = ""


Check = Callable[["Stored"], Iterator[Found]]


class ScanRule(NamedTuple):
    """A rule about a cluster."""

    name: str
    level: str
    check: Check


RULES: Final[dict[str, ScanRule]] = {}


C = TypeVar("C", bound=Check)


def rule(level: str = WARNING) -> Callable[[C], C]:
    """Declare a rule; its name is that of the function, with hyphens, and ``draguard explain`` shows its docstring."""

    def declare(check: C) -> C:
        name = check.__name__.replace("_", "-")
        RULES[name] = ScanRule(name, level, check)
        return check

    return declare


@cache
def every_rule() -> dict[str, ScanRule]:
    """Return all rules, in the order of the report."""
    for module in ("drivers", "claims", "classes"):  # in the order of the report
        import_module(f"webhook.scan.{module}")
    return RULES


def findings(cluster: Stored) -> Iterator[Finding]:
    """Apply all rules; one that fails unexpectedly becomes a finding, so that the others are still applied."""
    checks: dict[str, Callable[[], Iterator[tuple[Problem, JSONObject]]]] = {
        f"about {kind}s": partial(_of_references, kind, cluster) for kind in _OF_REFERENCES
    }
    checks |= {name: partial(_of_rule, each, cluster) for name, each in every_rule().items()}
    for name, check in checks.items():
        try:
            for problem, obj in islice(check(), MOST_FINDINGS):
                yield cluster.located(problem, obj)
        except GRAVE:
            raise
        except Exception as error:  # noqa: BLE001 - the other rules still tell what they find
            problem = Problem(ERROR, INTERNAL, "InternalError", Path(), f"rule {name}: {own_failure(error)}")
            yield cluster.located(problem, {})


def _of_rule(stated: ScanRule, cluster: Stored) -> Iterator[tuple[Problem, JSONObject]]:
    for obj, message, hint, path, level in stated.check(cluster):
        yield Problem(level or stated.level, stated.name, STORED, Path(path), message, hint), obj


def _of_references(kind: str, cluster: Stored) -> Iterator[tuple[Problem, JSONObject]]:
    pods = cluster.inventory.pending() if kind in CLAIMS else ()
    entries = ((namespace_of(pod), entry) for pod in pods for entry in items(pod, "spec", "resourceClaims"))
    awaited = {(namespace, source(entry, NAMED_BY[kind])) for namespace, entry in entries}
    for obj in cluster.all(kind):
        if kind == "ResourceClaim" and (allocation_of(obj) or CLAIM_NAME in mapping(obj, "metadata", "annotations")):
            continue  # it has its devices; or its template is reported
        names, fleet = _OF_REFERENCES[kind], cluster.context.fleet
        if (namespace_of(obj), name_of(obj)) in awaited and fleet is not None:
            has_devices = all(fleet.of_class(each.of_class) for each in cluster.context.requests(obj))
            names += _OF_AWAITED if has_devices else ()  # else `class-matches-nothing` tells
        for problem in apply_rules(obj, kind, cluster.context, names=names):
            # Of an alternative alone they tell nothing: another one may do.
            if "firstAvailable" not in problem.path or problem.rule not in _OF_REQUESTS:
                yield problem, obj


def named(obj: JSONObject) -> str:
    """Name an object: kind, namespace and name."""
    return f"{text(obj, 'kind')} {full_name_of(obj) if 'namespace' in obj['metadata'] else name_of(obj)}"


def command(cluster: Stored, verb: str, obj: JSONObject, rest: str = "") -> str:
    """Write a command of kubectl about an object."""
    from shlex import quote  # only names that no API server accepts need quotes

    namespace = text(obj, "metadata", "namespace")
    where = f" -n {quote(namespace)}" if namespace else ""
    kind = "" if verb == "logs" else f"{text(obj, 'kind').lower()} "
    return cluster.inventory.kubectl(f"{verb} {kind}{quote(name_of(obj))}{where}{rest and ' '}{rest}")
