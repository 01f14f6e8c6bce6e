"""The types that conversion compares, in each version."""

from collections import defaultdict
from itertools import chain, permutations
from typing import Any, NamedTuple

from tests.conformance import recorded
from webhook.api.versions import GROUP

SET_BY_THE_SERVER = {"uid", "resourceVersion", "creationTimestamp", "generation", "timeAdded"}
CLAIM: dict[str, Any] = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "c"},
    "spec": {"devices": {"requests": [{"name": "a", "exactly": {"deviceClassName": "gpu", "count": 2}}]}},
}


class Base(NamedTuple):
    """An object as it was submitted, and as a server stored it."""

    release: int
    version: str
    name: str
    submitted: dict[str, Any]
    stored: list[dict[str, Any]]


def bases() -> list[Base]:
    """Read the objects that the recorded cases start from."""
    found = []
    for each in chain.from_iterable(map(recorded.bases, recorded.FILES)):
        version, name = each["base"].split("/", 1)
        release = int(each["kubernetes"].removeprefix("1."))
        if each["object"]["apiVersion"].startswith(GROUP):
            found.append(Base(release, version, name, each["object"], each["stored"]))
    return found


BASES = bases()


def pairs() -> list[tuple[Base, Base]]:
    """Pair the stored forms of one object in two versions of a release."""
    alike: defaultdict[tuple[int, str], list[Base]] = defaultdict(list)
    for base in BASES:
        alike[base.release, base.name].append(base)
    return [pair for group in alike.values() for pair in permutations(group, 2)]


def plain(value: Any) -> Any:
    """Remove the fields that a server sets differently each time."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items() if key not in SET_BY_THE_SERVER and each is not None}
    return [plain(each) for each in value] if isinstance(value, list) else value
