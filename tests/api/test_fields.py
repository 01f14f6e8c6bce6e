"""Exactly the fields of every kind, version and release are declared.

``dra-fields.tsv`` lists the JSON fields of Kubernetes' own types: release, version, kind, path and Go type.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.rows import each_row
from webhook.api.versions import DEFAULT, VERSIONS, find, schema_of, target
from webhook.release import Release
from webhook.schema.declarations import Field
from webhook.schema.derive.shape import ListOf, MapOf, Scalar, Shape, Structure
from webhook.schema.fields import Array, CompiledStruct, Map, compile_struct
from webhook.schema.target import CREATE

LISTED_WHOLE = {"ObjectMeta", "NodeSelector", "Condition"}
"""Types of other packages, whose fields are not in the list."""
BY_VALUE = {("1.31", "adminAccess"), ("1.32", "status.devices[].data")}
"""Types that a release held by value and later ones by pointer."""

Fields = dict[str, str]


def listed() -> dict[tuple[str, str, str], Fields]:
    """Read the list: the Go type of each path, by release, version and kind."""
    found: defaultdict[tuple[str, str, str], Fields] = defaultdict(dict)
    for line in (Path(__file__).parents[1] / "dra-fields.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        kubernetes, version, kind, path, go_type = line.split("\t")
        found[kubernetes, version, kind][re.sub(r"\{[^}]*\}", "{}", path)] = plain(go_type, version)
    return dict(found)


def plain(go_type: str, version: str) -> str:
    """Remove the package names from Go types."""
    return re.sub(rf"\b(metav1|v1|{version})\.", "", go_type)


def declared(struct: CompiledStruct, version: str, prefix: str = "") -> Iterator[tuple[str, str, Field]]:
    """Walk through a compiled type: path, Go type and field."""
    for name, compiled in struct.fields.items():
        field = struct.type.fields[name]
        path, part = f"{prefix}{name}", field
        while isinstance(part, Array | Map):
            path, part = path + ("[]" if isinstance(part, Array) else "{}"), part.item
        yield path, plain(("*" if field.pointer else "") + field.type_name(version), version), field
        inner = compiled.struct
        if inner and (inner.type.go_name or inner.type.__name__) not in LISTED_WHOLE:
            yield from declared(inner, version, f"{path}.")


LISTED = listed()


@each_row(("kubernetes", "version", "kind"), *LISTED)
def test_a_kind_has_the_fields_of_its_go_type(kubernetes: str, version: str, kind: str) -> None:
    api_version, release = f"resource.k8s.io/{version}", int(kubernetes.removeprefix("1."))
    served = find(api_version, kind)
    assert served is not None
    struct = compile_struct(served.type, target(api_version, Release(release), CREATE))
    ours = {path: go_type for path, go_type, _ in declared(struct, version) if path not in {"apiVersion", "kind"}}
    theirs = LISTED[kubernetes, version, kind]
    assert set(ours) == set(theirs)
    different = {path: (ours[path], theirs[path]) for path in theirs if ours[path] != theirs[path]}
    assert {
        path: types
        for path, types in different.items()
        if not any(kubernetes == release and path.endswith(end) for release, end in BY_VALUE)
    } == {}


@each_row(("kubernetes", "version", "kind"), *LISTED)
def test_merging_and_policies_know_every_field(kubernetes: str, version: str, kind: str) -> None:
    for path, go_type in LISTED[kubernetes, version, kind].items():
        shape: Shape | None = schema_of(f"resource.k8s.io/{version}", kind)
        for step in re.findall(r"[^.\[{]+|\[\]|\{\}", path):
            if isinstance(shape, ListOf | MapOf):
                assert step in {"[]", "{}"}, path
                shape = shape.item
            else:
                assert isinstance(shape, Structure), path
                shape = shape.field(step)
            assert shape is not None, path
        if go_type.removeprefix("*") in {"string", "bool", "int64", "int32"}:
            assert isinstance(shape, Scalar), path


def test_a_kind_is_served_by_the_releases_that_have_its_type() -> None:
    ours = {
        (f"1.{release}", api_version.removeprefix("resource.k8s.io/"), kind)
        for api_version, version in VERSIONS.items()
        if api_version.startswith("resource.k8s.io/")
        for kind, served in version.kinds.items()
        for release in range(served.since, min(served.until, DEFAULT) + 1)
    }
    assert ours == set(LISTED)


def test_every_field_says_what_it_means() -> None:
    silent = {
        f"{kind}.{path}"
        for api_version, version in VERSIONS.items()
        for kind, served in version.kinds.items()
        for release in range(served.since, served.until + 1)
        for path, _, field in declared(
            compile_struct(served.type, target(api_version, Release(release), CREATE)), api_version.rpartition("/")[2]
        )
        if not field.doc
    }
    assert silent == set()
