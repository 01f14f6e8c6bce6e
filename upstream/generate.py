"""Writes webhook/api/core/kinds.txt: the fields of all kinds of Kubernetes, in all known releases.

    python upstream/generate.py DIRECTORY

DIRECTORY has clones, with tags, of kubernetes/api, apimachinery, apiextensions-apiserver and kube-aggregator.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from defaults import DEFAULTS

from webhook.api.core import podspec, workloads
from webhook.api.core.catalogue import WRITTEN
from webhook.api.core.container import Container
from webhook.api.core.placement import Affinity
from webhook.api.core.pod import ContainerStatus, PodStatus
from webhook.api.versions import NEWEST
from webhook.policy.manifest.kinds import built_in
from webhook.schema.target import OLDEST

if TYPE_CHECKING:
    from collections.abc import Iterator

OUTPUT = Path(__file__).parents[1] / "webhook/api/core/kinds.txt"
RELEASES = range(OLDEST, NEWEST + 1)
META = "meta/v1"
ROOTS = ("ConfigMapEnvSource", "SecretEnvSource")
"""The parts of pods that only types in Python name."""
PARTLY = {
    **{f"v1.{each.__name__}": each for each in (Affinity, Container, ContainerStatus, PodStatus)},
    "v1.PodSpec": podspec.PodSpec,
    "v1.ReplicationControllerSpec": workloads.ReplicationControllerSpec,
    "apps/v1.DaemonSetSpec": workloads.DaemonSetSpec,
    "apps/v1.DeploymentSpec": workloads.DeploymentSpec,
    "apps/v1.ReplicaSetSpec": workloads.ReplicaSetSpec,
    "apps/v1.StatefulSetSpec": workloads.StatefulSetSpec,
    "batch/v1.CronJobSpec": workloads.CronJobSpec,
    "batch/v1.JobSpec": workloads.JobSpec,
    "batch/v1.JobTemplateSpec": workloads.JobTemplateSpec,
}
"""The types whose judged fields are declared in Python."""
SENT = (("authentication.k8s.io/v1", "TokenRequest"), ("autoscaling/v1", "Scale"), ("policy/v1", "Eviction"))
"""The kinds that are sent to subresources."""
SCALARS = {
    **{name: name for name in ("bool", "int32", "int64", "string")},
    "int": "int32",
    "uint64": "int64",
    "[]byte": "bytes",
    "float64": "any",
    "float32": "any",
    "metav1.Time": "Time",
    "metav1.MicroTime": "MicroTime",
    "metav1.Duration": "string",
    "Time": "Time",
    "MicroTime": "MicroTime",
    "Duration": "string",
    "resource.Quantity": "Quantity",
    "ResourceList": "ResourceList",
    "intstr.IntOrString": "IntOrString",
    "types.UID": "~types.UID",
    "types.NodeName": "~types.NodeName",
    "runtime.RawExtension": "any",
    "FieldsV1": "any",
    "JSON": "any",
    "JSONSchemaProps": "any",
    "fields.Fields": "any",
}
GO_FILES = re.compile(r"/(types|types_jsonschema|lifecycle|objectreference|micro_time|duration|group_version)\.go$")
ALIAS = re.compile(r"^type (\w+) =? ?((?:map\[\w+\]|\[\])?[\w.]+)$", re.MULTILINE)
COPY = re.compile(r"^type (\w+) v1\.(\w+)$", re.MULTILINE)
"""A struct that has the fields of another, and a name of its own."""
IMPORT = re.compile(r'^\s*(?:import )?(\w+)? ?"k8s\.io/(?:api|apimachinery/pkg/apis)/(\w+)/(\w+)"$', re.MULTILINE)
GROUPS = {"core": "v1", "meta": META}
FIELD = re.compile(r'^\s*(?:\w+\s+)?([*\w.\[\]]+)\s+`.*?json:"([^"]*)"')


class Field(NamedTuple):
    """A field as Go declares it."""

    name: str
    type: str
    options: str
    markers: tuple[str, ...]


class Declared(NamedTuple):
    """A struct as Go declares it."""

    markers: tuple[str, ...]
    fields: tuple[Field, ...]


class Package(NamedTuple):
    """A Go package: its structs, and the types that its other names stand for."""

    structs: dict[str, Declared]
    aliases: dict[str, str]
    imports: dict[str, str]
    copies: dict[str, str]


def git(folder: Path, *command: str) -> str:
    """Run git; what a release lacks is empty."""
    return subprocess.run(  # noqa: S603 - the command is our own
        ["git", "-C", str(folder), *command],  # noqa: S607 - git is where it is
        capture_output=True,
        text=True,
        check=False,
    ).stdout


def marked(comment: str) -> tuple[str, ...]:
    """List the markers of a comment."""
    return tuple(line.strip().removeprefix("//").strip() for line in comment.splitlines() if "+" in line)


def package(folder: Path, release: int, path: str) -> Package:
    """Read a Go package, as of a release."""
    tag = f"v0.{release}.0"
    tag = tag if git(folder, "tag", "--list", tag) else "HEAD"
    files = [
        each for each in git(folder, "ls-tree", "-r", "--name-only", tag, f"{path}/").split() if GO_FILES.search(each)
    ]
    text = "".join(git(folder, "show", f"{tag}:{each}") for each in files)
    imports = {
        alias or name: GROUPS.get(group, f"{group}.k8s.io/{name}") for alias, group, name in IMPORT.findall(text)
    }
    return Package(dict(structs(text)), dict(ALIAS.findall(text)), imports, dict(COPY.findall(text)))


def structs(text: str) -> Iterator[tuple[str, Declared]]:
    """Yield the structs of a text, with their names."""
    comment, name, outer, found = "", "", "", list[Field]()
    for line in text.splitlines():
        if line.strip().startswith("//"):
            comment += line + "\n"
            continue
        if match := re.fullmatch(r"type (\w+) struct ?\{(\})?", line):
            name, outer, found = match[1], comment, []
        if name and line in {"}", f"type {name} struct{{}}", f"type {name} struct {{}}"}:
            yield name, Declared(marked(outer), tuple(found))
            name = ""
        elif name and (match := FIELD.match(line)):
            type_, tag = match.groups()
            field, _, options = tag.partition(",")
            if field != "-" and type_ not in {"metav1.TypeMeta", "TypeMeta"}:
                found.append(Field(field, type_, options, marked(comment)))
        comment = ""


class Source:
    """All Go packages of a release.

    Args:
        clones: The directory with the clones.
        release: The release.
    """

    def __init__(self, clones: Path, release: int) -> None:
        self.clones, self.release = clones, release
        self._packages: dict[str, Package] = {}

    def package(self, version: str) -> Package:
        """Return the package of an API version."""
        if version not in self._packages:
            found = self._packages[version] = package(*self._place(version))
            for name, other in found.copies.items():
                found.structs[name] = self.package(found.imports["v1"]).structs[other]
                del found.aliases[name]
        return self._packages[version]

    def _place(self, version: str) -> tuple[Path, int, str]:
        group, _, name = version.rpartition("/")
        if version == META:
            return self._clone("apimachinery"), self.release, "pkg/apis/meta/v1"
        if group == "apiextensions.k8s.io":
            return self._clone("apiextensions-apiserver"), self.release, f"pkg/apis/apiextensions/{name}"
        if group == "apiregistration.k8s.io":
            return self._clone("kube-aggregator"), self.release, f"pkg/apis/apiregistration/{name}"
        folder = {"internal.apiserver.k8s.io": "apiserverinternal", "flowcontrol.apiserver.k8s.io": "flowcontrol"}
        path = folder.get(group, group.partition(".")[0] or "core")
        return self._clone("api"), self.release, f"{path}/{name}"

    def _clone(self, name: str) -> Path:
        return next(each for each in (self.clones / name, self.clones / f"kubernetes+{name}/repo") if each.exists())


def typed(go: str, version: str, source: Source, markers: tuple[str, ...] = ()) -> str:  # noqa: PLR0911 - a return for each form
    """Return a Go type in our words."""
    own = source.package(version)
    go = go.removeprefix("*")
    if go == "[]byte" or go in SCALARS:
        return SCALARS[go]
    if go.startswith("[]"):
        keys = [each.partition("=")[2] for each in markers if each.startswith("+listMapKey=")]
        merging = "set" if "+listType=set" in markers else ",".join(keys)
        return f"[{merging}]{typed(go[2:], version, source)}"
    if go.startswith("map["):
        atomic = "!" if "+mapType=atomic" in markers else ""
        return f"{{{atomic}}}{typed(go.partition(']')[2], version, source)}"
    if "." in go:
        prefix, _, name = go.partition(".")
        there = own.imports[prefix]
        return elsewhere(typed(name, there, source), version, there)
    if go in own.aliases:
        stands_for = own.aliases[go]
        found = typed(stands_for, version, source, markers)
        return f"~{go}" if found == "string" else found
    if go not in own.structs:
        print(f"{version}: unknown type {go}")
        return "any"
    return go


def elsewhere(type_: str, here: str, there: str) -> str:
    """Return the type of another package, as seen from here."""
    if here == there or type_ in {*SCALARS.values()} or "." in type_.lstrip("~"):
        return type_
    if type_.startswith("~"):
        return f"~{there.rpartition('/')[2]}.{type_[1:]}"
    head = re.match(r"[\[{].*?[\]}]", type_)
    if head:
        return head[0] + elsewhere(type_[head.end() :], here, there)
    return f"{there}.{type_}"


def token(field: Field, version: str, source: Source) -> str:
    """Describe a field."""
    if not field.name:
        return f"+{typed(field.type, version, source)}"
    flag = "?" if field.type.startswith("*") else "" if "omit" in field.options else "!"
    type_ = typed(field.type, version, source, field.markers)
    return f"{field.name}{flag}" + ("" if type_ == "string" else f":{type_}")


def struct_names(text: str) -> Iterator[str]:
    """Yield the structs that a description of a field names."""
    name = re.sub(r"[\[{].*?[\]}]", "", text.partition(":")[2] or (text[1:] if text.startswith("+") else ""))
    if name and not name.startswith("~") and name not in SCALARS.values():
        yield name


def main() -> None:
    """Write the file."""
    sources = {release: Source(Path(sys.argv[1]), release) for release in RELEASES}
    wanted: dict[tuple[str, str], bool] = {}
    for known in built_in():
        for version in known.versions:
            wanted[f"{known.group}/{version}" if known.group else version, known.kind] = True
    for version, name in SENT:
        wanted[version, name] = True
    for place in (*PARTLY, *(f"v1.{name}" for name in ROOTS)):
        version, _, name = place.rpartition(".")
        wanted[version, name] = False
    lines: dict[str, dict[str, str]] = {}
    left = list(wanted)
    while left:
        version, name = left.pop()
        line, parts = described(version, name, sources, is_kind=wanted.get((version, name), False))
        if not line:
            print("not found:", version, name)
            continue
        lines.setdefault(version, {})[name] = line
        for part in parts:
            there, _, struct = part.rpartition(".")
            key = there or version, struct
            if key not in wanted and f"{key[0]}.{key[1]}" not in WRITTEN:
                wanted[key] = False
                left.append(key)
    text = "".join(
        f"# {version}\n" + "".join(f"{line}\n" for _, line in sorted(structs.items()))
        for version, structs in sorted(lines.items())
    )
    OUTPUT.write_text(text, encoding="utf-8")


def described(version: str, name: str, sources: dict[int, Source], *, is_kind: bool) -> tuple[str, set[str]]:
    """Describe a struct in all releases, and name the structs in it."""
    found: dict[str, list[int]] = {}
    tokens: dict[str, str] = {}
    markers: tuple[str, ...] = ()
    releases = []
    judged = PARTLY[f"{version}.{name}"].fields if f"{version}.{name}" in PARTLY else {}
    for release, source in sources.items():
        declared = source.package(version).structs.get(name)
        if declared is None:
            continue
        releases.append(release)
        markers = declared.markers or markers
        for field in declared.fields:
            if field.name in judged:
                continue
            text = token(field, version, source)
            if name in struct_names(text):
                text = text.replace(f"]{name}", "]any").replace(f":{name}", ":any")  # a type without end
            key = field.name or text
            found.setdefault(key, []).append(release)
            tokens[key] = text
    if not releases:
        return "", set()
    parts = {each for text in tokens.values() for each in struct_names(text)}
    head = ("*" if is_kind else "") + name + ("!" if "+structType=atomic" in markers else "")
    defaults = DEFAULTS.get(f"{version}.{name}", {})
    words = [head]
    for key, text in tokens.items():
        if is_kind and key == "metadata":
            continue
        first, last = found[key][0], found[key][-1]
        since = f"{first}" if first > releases[0] else ""
        until = f"-{last}" if last < releases[-1] else ""
        span = f"@{since}{until}" if since or until else ""
        default = f"={json.dumps(defaults[key], separators=(',', ':'))}" if key in defaults else ""
        words.append(text + span + default)
    return " ".join(words), parts


if __name__ == "__main__":
    main()
