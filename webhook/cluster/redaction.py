"""Replaces what tells whose a cluster is: names, namespaces, labels, images, and the identity of devices.

The same value becomes the same word everywhere, also within messages and expressions. Words keep what else is to be
seen in names: which begin or end alike, which is a slip of which, and their order, by which the scheduler goes.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from webhook.explain.components import components
from webhook.objects import LAST_APPLIED, JSONObject, items, mapping, name_of, text, texts
from webhook.spelling import nearest

_DROPPED: Final = frozenset(
    (
        *("fieldsV1", "selfLink", "env", "envFrom", "command", "args", "lifecycle", "hostAliases", "dnsConfig"),
        *("livenessProbe", "readinessProbe", "startupProbe", "addresses", "daemonEndpoints", "machineID", "systemUUID"),
        *("bootID", "containerID", "imageID", "podIP", "podIPs", "hostIP", "hostIPs", "providerID", "podCIDR"),
        *("podCIDRs", "volumesAttached", "volumesInUse", "images", "manager", "workingDir", "projected"),
        *("subPath", "subPathExpr", "terminationMessagePath", "securityContext", "reportingInstance", "osImage"),
        *("kernelVersion", "resourceNames", "caBundle"),
    )
)
"""Fields on which no answer about devices depends."""
_SOURCES: Final = frozenset(
    (
        *("nfs", "iscsi", "csi", "rbd", "cephfs", "glusterfs", "azureFile", "azureDisk", "flexVolume", "fc", "quobyte"),
        *("cinder", "scaleIO", "storageos", "vsphereVolume", "photonPersistentDisk", "portworxVolume", "gitRepo"),
        *("awsElasticBlockStore", "gcePersistentDisk", "flocker"),
    )
)
"""Sources of volumes that name servers, disks and secrets; only their drivers are kept."""
_KEPT: Final = frozenset(
    (
        *("apiVersion", "kind", "apiGroup", "apiGroups", "type", "reason", "status", "phase", "effect", "operator"),
        *("resource", "uid", "driver", "matchAttribute", "distinctAttribute"),
        *("resourceVersion", "fieldPath", "subresource", "protocol", "scopeName"),
    )
)
"""Fields whose values are words of Kubernetes, or names of drivers and of what these define."""
_NAMING: Final = re.compile(r"(?:name|namespace|Name|host|hostname|subdomain|image|pool)\Z")
_LABELS: Final = frozenset({"labels", "matchLabels", "nodeSelector"})
_KEYS: Final = frozenset({"key", "topologyKey"})
_OWNED: Final = _KEYS | {"extendedResourceName", "finalizers"}
"""Fields whose values begin with a domain, which may tell the owner."""
_RESOURCES: Final = frozenset({"requests", "limits", "allocatable", "capacity", "hard", "used", "allocated"})
"""Fields whose keys are resources; those of quotas have a prefix."""
_EXPRESSION: Final = re.compile(r"xpression\Z")
_POLICY: Final = "AdmissionPolicy"
_APPLIED_AS: Final = re.compile(r'\{"apiVersion":"[a-z0-9./]+"')
"""In which version an object was applied."""
_IDENTITY: Final = re.compile(
    r"(?i)(?:uu|gu|bus|node|host|rack|domain|fabric)id|serial|addr|mac\Z|ipv[46]|bdf|root\Z|host"
)
"""Names of attributes that identify a device or its place; others describe it."""
_DRIVER: Final = re.compile(r"""driver\s*==\s*["']([^"']+)["']""")
_OF_CLUSTERS: Final = frozenset(
    (
        *("default", "kube-system", "kube-public", "kube-node-lease"),
        *("system-node-critical", "system-cluster-critical", "default-scheduler"),
    )
)
_PLAIN: Final = re.compile(r"true|false|\d+|linux|windows|amd64|arm64|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|")
"""Values of labels and taints that tell nothing, and UIDs."""
_PLUGINS: Final = "/var/lib/kubelet/plugins"
_OF_CLASS: Final = re.compile(r"(deviceclass\.resource\.kubernetes\.io/)?(.*?)(\.deviceclass\.resource\.k8s\.io/.*)?")
"""Resources of device classes, in requests and in quotas."""
_TOKEN: Final = re.compile(r"[^\s:;,.()]+(?:[:.]+[^\s:;,.()]+)*")
_PARTS: Final = re.compile(r"([^A-Za-z0-9]+)")
_WORD: Final = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9._:/@]*[A-Za-z0-9])?")
_JOINED: Final = re.compile(r"([/:@])")
_OF_KUBELET: Final = re.compile(r"([/:@_])")
"""Also joins name and namespace of a pod (``pkg/kubelet/util/format``, Pod)."""
_QUOTED: Final = re.compile(r"""(?<=["'])[^"']+(?=["'])""")
_ADDRESS: Final = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b")
_HOST: Final = re.compile(r"(?<=//)[^\s\"'/:]+|(?<=lookup )[\w.-]+\w")
"""Hosts in messages."""
_TOKENS: Final = re.compile(
    r"(?i)\beyj[\w-]+\.[\w.-]+|(?<=bearer )\S+|(?:(?<=token=)|(?<=password=)|(?<=key=)|(?<=secret=))[^\s&\"']+"
)
"""Credentials in messages."""
_DENIED: Final = re.compile(r"(?<=denied request: ).+|(?<=denied the request: ).+", re.DOTALL)
"""The words of the author of a policy or a webhook, in messages of the API server."""
_NUMBER: Final = re.compile(r"(?<![\w.:\"'-])\d{4,18}(?![\w.:\"'-])")
"""A number in an expression that may identify a device."""
_SHORT: Final = 1000
"""Smaller numbers, such as indices, identify nothing."""
_REQUESTS: Final = "requests."
_LETTERS: Final = 23
"""A prime number, for :func:`_code`."""
_MOST_SLIPS: Final = 200
"""How many words of objects that do not exist are compared with those of objects that do."""
_MOST_COMPARED: Final = 1_000_000
"""How many pairs of such words are compared."""


class Redaction:
    """Learns the words of all objects, and then replaces them."""

    def __init__(self) -> None:
        self._words, self._existing, self._classes = set[str](), set[str](), set[str]()
        """Words that are replaced; names of objects; names of classes."""
        self._identities, self._numbers = set[str](), set[int]()
        """The identifiers of devices."""
        self._public, self._drivers = set[str](), set[str]()
        """Words that tell no more than which drivers a cluster has, and these."""
        self._domains, self._schedulers = set[str](), set[str]()
        """Domains of labels, resources and finalizers; names of schedulers."""
        self._codes, self._replaced = dict[str, str](), dict[str, str]()
        self._ordered: list[int] = []
        self._events = count(1)
        sayings = (
            f"{pattern.pattern} {meaning} {cure}" for one in components() for pattern, meaning, cure in one.sayings
        )
        self._vocabulary = frozenset(re.findall(r"[a-z]+", " ".join(sayings)))

    def learn(self, obj: JSONObject) -> None:
        """Note what is to be replaced in an object."""
        if text(obj, "kind").endswith(_POLICY):
            obj = {"metadata": obj.get("metadata")}
        elif text(obj, "kind") == "Event":
            obj = {key: value for key, value in obj.items() if key != "metadata"}
        elif _is_plugin(obj):
            self._public.update(_strings_of_plugin(obj))
        else:
            self._existing.add(name_of(obj))
            if text(obj, "kind") == "DeviceClass":
                self._classes.add(name_of(obj))
        for device in items(obj, "spec", "devices"):
            for name, value in {**mapping(device, "attributes"), **mapping(device, "basic", "attributes")}.items():
                if _IDENTITY.search(name.rpartition("/")[2]) and isinstance(value, dict):
                    numbers, found = [value.get("int")], [value.get("string"), *texts(value, "strings")]
                    self._numbers.update(each for each in numbers if isinstance(each, int) and each >= _SHORT)
                    self._identities.update(each for each in found if isinstance(each, str) and each)
        self._learn(obj, "")

    def _learn(self, value: Any, key: str) -> None:
        if isinstance(value, list):
            for each in value:
                self._learn(each, key)
        elif isinstance(value, dict):
            if key in _LABELS or key in _RESOURCES:
                self._domains.update(_parts_of_key(each)[1] for each in value if "/" in each)
            is_taint = key in {"taints", "tolerations"} or not {"effect", "operator"}.isdisjoint(value)
            for inner, each in value.items():
                if (key in _LABELS and isinstance(each, str)) or (is_taint and inner in {"value", "values"}):
                    self._words.update(one for one in (each if isinstance(each, list) else [each]) if _is_word(one))
                elif isinstance(each, str):
                    self._learn_text(inner, each)
                elif inner not in _DROPPED:
                    self._learn(each, inner)

    def _learn_text(self, key: str, value: str) -> None:
        if key == "driver":
            self._drivers.add(value)
        elif _EXPRESSION.search(key):
            self._drivers.update(_DRIVER.findall(value))
        elif key in _OWNED and "/" in value:
            self._domains.add(value.partition("/")[0])
        elif key == "schedulerName":
            self._schedulers.add(value)
            self._words.add(value)
        elif key not in _KEPT and _NAMING.search(key) and _is_word(value, is_name=key != "image"):
            self._words.add(value)

    def hidden(self, obj: JSONObject) -> JSONObject:
        """Return an object with all that was learned replaced; nothing may be learned later."""
        if not self._replaced:
            self._settle()
        found: JSONObject = self._walk(obj, "", is_policy=text(obj, "kind").endswith(_POLICY))
        if text(obj, "kind") == "Event":
            found["metadata"] = {**mapping(found, "metadata"), "name": f"event-{next(self._events)}"}
        return found

    def redacted(self, value: str) -> str:
        """Return a text with all that was learned replaced."""
        if found := self._replaced.get(value):
            return found
        is_prose = " " in value

        def parts(word: str) -> Iterator[str]:
            for part in _JOINED.split(word):
                yield from (part,) if part in self._replaced or not is_prose else _OF_KUBELET.split(part)

        def replaced(match: re.Match[str]) -> str:
            word = match[0]
            beside = value[match.start() - 1 : match.start()] + value[match.end() : match.end() + 1]
            if is_prose and word in self._vocabulary and not set(beside) & set("\"'/"):
                return word
            if word in self._replaced:
                return self._replaced[word]
            return "".join(self._replaced.get(part, part) for part in parts(word))

        if not is_prose:
            return _WORD.sub(replaced, value)
        value = _TOKENS.sub("x", _HOST.sub("host", _DENIED.sub(lambda match: self._known(match[0]), value)))
        return _ADDRESS.sub("0.0.0.0", _WORD.sub(replaced, value))  # noqa: S104 - no address to bind to

    def _settle(self) -> None:
        self._ordered = sorted(self._numbers)
        domains = {_domain(each) for each in self._drivers}
        self._words.update(each for each in self._domains if self._tells_owner(each))
        self._public |= {*self._drivers, *(each for each in self._classes if _domain(each) in domains and "." in each)}
        missing = sorted(self._words - self._existing)[:_MOST_SLIPS]
        self._public |= {each for each in missing if nearest(each, self._public)}
        words = {each for each in self._words | self._existing if each and each not in _OF_CLUSTERS}
        words -= self._public | self._identities
        parts = {part for each in words for part in _PARTS.split(each)[::2]} | self._identities - self._public
        for rank, part in enumerate(sorted(parts)):
            self._codes[part] = _code(rank, len(parts))
        existing = {part for each in words & self._existing for part in _PARTS.split(each)[::2]}
        most = min(_MOST_SLIPS, _MOST_COMPARED // (len(existing) or 1))
        for part in sorted(parts - existing - self._identities)[:most]:
            if other := nearest(part, existing):
                self._codes[part] = f"{self._codes[other]}x"
        self._replaced = {each: self._codes[each] for each in self._identities}
        self._replaced |= {each: self._coded(each) for each in words} or {"": ""}

    def _coded(self, word: str) -> str:
        *parts, last = _PARTS.split(word)
        is_ordinal = last.isdecimal() and not any(map(str.isdecimal, parts))
        coded = [self._codes[part] if place % 2 == 0 and part else part for place, part in enumerate(parts)]
        return "".join([*coded, last if is_ordinal or not last else self._codes[last]])

    def _walk(self, value: Any, key: str, *, is_policy: bool) -> Any:
        if isinstance(value, list):
            return [self._walk(each, key, is_policy=is_policy) for each in value]
        if isinstance(value, dict):
            return {
                self._key(inner, key): self._inner(inner, each, value, is_policy=is_policy)
                for inner, each in value.items()
                if inner not in _DROPPED
            }
        if (
            not isinstance(value, str)
            or key in _KEPT
            or (key in {"component", "reportingComponent"} and value not in self._schedulers)
        ):
            return self._number(value) if key == "int" else value
        if key in _OWNED:
            return self._key(value, "labels")
        if _EXPRESSION.search(key):
            value = _NUMBER.sub(lambda match: str(self._number(int(match[0]))), value)
            return _QUOTED.sub(lambda match: self.redacted(match[0]), value)
        said = self._known(value) if key == "message" else value
        return said if is_policy else self.redacted(value)

    def _inner(self, name: str, value: Any, around: JSONObject, *, is_policy: bool) -> Any:
        if name == "parameters" and "driver" in around:
            stated = value if isinstance(value, dict) else {}
            return {key: stated[key] for key in ("apiVersion", "kind") if key in stated}
        if name == "annotations" and isinstance(value, dict):
            kept = {key: each for key, each in value.items() if key.startswith("resource.kubernetes.io/")}
            hidden = self._walk(kept, name, is_policy=False)
            version = _APPLIED_AS.match(text(value, LAST_APPLIED))
            return {**hidden, LAST_APPLIED: f"{version[0]}}}"} if version else hidden
        if name == "hostPath" and isinstance(value, dict) and not text(value, "path").startswith(_PLUGINS):
            return {}
        if name in _SOURCES and isinstance(value, dict) and "name" in around:
            return {"driver": value["driver"]} if "driver" in value else {}
        if name in {"data", "networkData"} and "device" in around:
            return {}
        if name == "message" and isinstance(value, str) and {"exitCode", "phase"}.intersection(around):
            value = self._known(value)
        return self._walk(value, name, is_policy=is_policy and name != "metadata")

    def _number(self, value: Any) -> Any:
        """Return what stands for a number that identifies a device; the number itself if it does not."""
        return bisect_left(self._ordered, value) + 1 if value in self._numbers else value

    def _known(self, said: str) -> str:
        """Return a text of anyone's without words that no component uses; a text of a component as it is."""
        if any(one.head.search(said) for one in components()):
            return said
        return _TOKEN.sub(lambda match: match[0] if match[0].lower() in self._vocabulary else "x", said)

    def _tells_owner(self, domain: str) -> bool:
        """Tell whether a domain may tell the owner: it is neither that of Kubernetes nor that of a driver."""
        return _domain(domain) not in {"k8s.io", "kubernetes.io", *map(_domain, self._drivers)}

    def _key(self, name: str, of: str) -> str:
        """Return the key of a label or taint, whose domain may tell the owner, or of a resource."""
        if (of_class := _OF_CLASS.fullmatch(name)) and (of_class[1] or of_class[3]):
            return f"{of_class[1] or ''}{self.redacted(of_class[2])}{of_class[3] or ''}"
        prefix, domain, rest = _parts_of_key(name)
        if not (of in _LABELS or of in _RESOURCES) or not rest or not self._tells_owner(domain):
            return name
        return f"{prefix}{self.redacted(domain)}/{rest}"


def _is_word(value: Any, *, is_name: bool = False) -> bool:
    """Tell whether a value is to be replaced as a whole; names with slashes and colons are made of others."""
    return isinstance(value, str) and not _PLAIN.fullmatch(value) and not (is_name and _JOINED.search(value))


def _parts_of_key(key: str) -> tuple[str, str, str]:
    """Split a key into the prefix that quotas have, its domain, and the rest; empty without a domain."""
    before, slash, rest = key.partition("/")
    prefix = before[: len(_REQUESTS)] if before.startswith(_REQUESTS) else ""
    return (prefix, before.removeprefix(prefix), rest) if slash else ("", key, "")


def _domain(name: str) -> str:
    return ".".join(name.split(".")[-2:])


def _code(rank: int, most: int) -> str:
    """Return a word for a number: words are in the order of numbers, and differ in too many letters to be slips."""
    base = _LETTERS**2
    digits = list[int]()
    while most > 1 or not digits:
        rank, digit = divmod(rank, base)
        digits.insert(0, digit)
        most = -(-most // base)
    pairs = (divmod(each, _LETTERS) for each in digits)
    return "".join(chr(ord("a") + each % _LETTERS) for p, q in pairs for each in (p, q, p + q, p + 2 * q))


def _is_plugin(obj: JSONObject) -> bool:
    spec = obj.get("spec")
    template = mapping(obj, "spec", "template", "spec") or spec
    return any(text(each, "hostPath", "path").startswith(_PLUGINS) for each in items(template, "volumes"))


def _strings_of_plugin(obj: JSONObject) -> set[str]:
    """Return what tells whose plugin this is."""
    found = {name_of(obj), text(obj, "metadata", "namespace"), text(obj, "metadata", "generateName")}
    for labels in (mapping(obj, "metadata", "labels"), mapping(obj, "spec", "template", "metadata", "labels")):
        found.update(each for each in labels.values() if isinstance(each, str))
    named = items(obj, "metadata", "ownerReferences")
    for spec in (obj.get("spec"), mapping(obj, "spec", "template", "spec")):
        containers = [*items(spec, "containers"), *items(spec, "initContainers")]
        named += [*containers, *items(spec, "volumes")]
        found.update(text(each, "image") for each in containers)
    return found.union(text(each, "name") for each in named)
