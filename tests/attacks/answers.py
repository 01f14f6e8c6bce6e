"""Objects with many findings, or findings that quote much of the request: answers stay small and quick."""

from collections.abc import Callable
from typing import Any

from tests.attacks import MIB, Attack
from tests.attacks.target import DRA, JSON, TIMEOUT, Target, claim, pod, review

CONNECTIONS = 4
SIZE = 60_000


def _sent(make: Callable[[], bytes], path: str = "/validate") -> Callable[[Target], list[str]]:
    """Send a review again and again, and see how long its answer is."""

    def run(target: Target) -> list[str]:
        body = make()
        connection = target.connection()
        connection.request("POST", f"{path}?{TIMEOUT}", body, JSON)
        length = len(connection.getresponse().read())
        connection.close()
        target.flood(iter(lambda: body, None), connections=CONNECTIONS, path=path)
        return [f"the answer to {len(body)} bytes has {length}"] if length > MIB else []

    return run


def syntax() -> bytes:
    """Make a claim whose selectors are all wrong."""
    return claim(["+" * 200] * (SIZE // 250))


def owners() -> bytes:
    """Make a claim with many controllers, of which each is reported with all of them."""
    reference = {"apiVersion": "v1", "kind": "Pod", "uid": "u", "controller": True}
    return claim(["true"], {"ownerReferences": [reference | {"name": f"n{number}"} for number in range(SIZE // 80)]})


def segments() -> bytes:
    """Make a slice whose pool has a name of many empty parts, of which each is reported with the whole."""
    return published("/" * SIZE, [])


def attributes() -> bytes:
    """Make a slice whose devices have names and attributes that are all wrong."""
    wrong = {f"/{'é' * 30}{at}": {"int": 1, "bool": True} for at in range(8)}
    return published("p", [{"name": f"{'X' * 100}{number}", "attributes": wrong} for number in range(60)])


def published(name: str, devices: list[Any]) -> bytes:
    """Make the review of a slice."""
    pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "nodeName": "node", "pool": pool, "devices": devices}
    made = {"apiVersion": DRA, "kind": "ResourceSlice", "metadata": {"name": "node"}, "spec": spec}
    return review("ResourceSlice", "resourceslices", made, namespace="")


def metadata() -> bytes:
    """Make a claim whose labels, finalizers and managers are all wrong."""
    numbers = range(SIZE // 200)
    wrong = {
        "labels": {f"-{'y' * 40}{number}": "%" * 64 for number in numbers},
        "finalizers": [f"{'z' * 20} {number}" for number in numbers],
        "managedFields": [{"operation": f"No{number}", "fieldsType": "x"} for number in numbers],
    }
    return claim(["true"], wrong)


def tolerations() -> bytes:
    """Make a claim with tolerations and constraints that name nothing."""
    count = SIZE // 150
    wrong = {"name": "g", "exactly": {"deviceClassName": "x", "tolerations": [{"operator": "No" * 9}] * count}}
    constraints = [{"requests": ["nobody"] * 30, "matchAttribute": "%"}] * 30
    return claim((), devices={"requests": [wrong], "constraints": constraints})


def pods() -> bytes:
    """Make a pod with claims that are all the same."""
    claims = [{"name": "a", "resourceClaimName": "%", "resourceClaimTemplateName": "%"}] * (SIZE // 90)
    containers = [{"name": "c", "resources": {"claims": [{"name": "nothing"}] * 200}}]
    return pod({"nodeName": "n" * 300, "resourceClaims": claims, "containers": containers})


def terms(count: int = SIZE // 30) -> bytes:
    """Make a pod that names its node, and has many terms of node affinity, each of which would get the node's name."""
    required = {"nodeSelectorTerms": [{"matchExpressions": [0]}] * count}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    claims = [{"name": "a", "resourceClaimName": "b"}]
    return pod({"nodeName": ".".join(["n" * 60] * 4), "resourceClaims": claims, "affinity": affinity})


def strange_json() -> bytes:
    """Make a review whose JSON is strange: nested deeply, with long numbers, and keys given twice."""
    deep = "[" * 900 + "]" * 900
    number = "9" * 4000
    twice = ",".join(f'"a": {at}' for at in range(2000))
    strange = f'"deep": {deep}, "long": {number}, "twice": {{{twice}}}, "spec": {{'
    return claim(["true"]).replace(b'"spec": {', strange.encode(), 1)


MADE = (syntax, owners, segments, attributes, metadata, tolerations, pods, terms, strange_json)
ATTACK = {
    **{each.__name__: Attack((each.__doc__ or "").strip(), _sent(each), seconds=5) for each in MADE},
    "pods-mutated": Attack("the same pod, to the mutating endpoint", _sent(pods, "/mutate"), seconds=5),
    "terms-mutated": Attack("pods with many terms, to the mutating endpoint", _sent(terms, "/mutate"), seconds=5),
}
