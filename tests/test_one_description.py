"""Each type, table and list of kinds is written in one place; everything else follows from it."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations

import pytest

from tests.command import ROOT
from tests.rows import each_row
from webhook.api.core import catalogue
from webhook.api.core.pod import Pod
from webhook.api.core.workloads import PodTemplateSpec
from webhook.api.templates import makes_pods
from webhook.api.versions import VERSIONS
from webhook.policy.manifest import policies as manifests
from webhook.policy.manifest.kinds import built_in, guess_resource
from webhook.schema.declarations import Field, Struct
from webhook.schema.fields import Array, Map, Nested

pytestmark = pytest.mark.no_cover

Replaced = Mapping[type[Struct], type[Struct]]


def held(field: Field) -> type[Struct] | None:
    """Return the struct that a field holds, be it one or many, judged or not."""
    while isinstance(field, Array | Map):
        field = field.item
    return field.type if isinstance(field, Nested) else None


def parts(type_: type[Struct], replaced: Replaced, seen: set[type[Struct]]) -> Iterator[type[Struct]]:
    """Walk through a type and all its parts."""
    wanted = replaced.get(type_, type_)
    if wanted in seen:
        return
    seen.add(wanted)
    yield wanted
    for field in {**wanted.opaque, **wanted.fields}.values():
        if inner := held(field):
            yield from parts(inner, replaced, seen)


def types(api_version: str) -> list[type[Struct]]:
    """List all types of a version."""
    seen: set[type[Struct]] = set()
    version = VERSIONS[api_version]
    others = (catalogue.kind(api_version, each.kind) for each in built_in())
    roots = [*(served.type for served in version.kinds.values()), *filter(None, others)]
    return [part for root in roots for part in parts(root, version.replaced, seen)]


def name_of(type_: type[Struct]) -> str:
    return type_.go_name or type_.__name__


def test_no_type_is_described_twice() -> None:
    by_name: defaultdict[tuple[str, str], list[type[Struct]]] = defaultdict(list)
    for api_version in VERSIONS:
        for each in types(api_version):
            by_name[each.package or api_version, name_of(each)].append(each)
    twice = {
        name: (one.__qualname__, other.__qualname__)
        for name, found in by_name.items()
        for one, other in combinations(found, 2)
        if not issubclass(one, other) and not issubclass(other, one) and not shared(one, other)
    }
    assert twice == {}


def test_a_field_that_is_judged_is_not_a_row_of_the_others_too() -> None:
    every = {each for api_version in VERSIONS for each in types(api_version)}
    assert [(name_of(each), both) for each in every if (both := each.opaque.keys() & each.fields.keys())] == []


def shared(one: type[Struct], other: type[Struct]) -> bool:
    """Tell whether two types have all their fields of a common one."""
    common = [base for base in one.__mro__ if base in other.__mro__ and getattr(base, "fields", None)]
    return bool(common) and set(vars(common[0])["fields"]) == set(one.fields) == set(other.fields)


def test_no_field_is_declared_again_without_a_difference() -> None:
    again = []
    for api_version in VERSIONS:
        for type_ in types(api_version):
            for name, field in vars(type_).items():
                inherited = [vars(base)[name] for base in type_.__mro__[1:] if isinstance(vars(base).get(name), Field)]
                if inherited and vars(inherited[0]) == vars(field):
                    again.append(f"{type_.__qualname__}.{name}")
    assert again == []


def test_the_two_kinds_of_request_share_their_fields() -> None:
    (claim,) = [each for each in types("resource.k8s.io/v1") if each.__name__ == "ExactDeviceRequest"]
    (alternative,) = [each for each in types("resource.k8s.io/v1") if each.__name__ == "DeviceSubRequest"]
    for name in claim.fields.keys() & alternative.fields.keys():
        ours, theirs = vars(claim.fields[name]), vars(alternative.fields[name])
        assert {key for key in ours if ours[key] != theirs[key]} <= {"declared"}


def test_exactly_the_kinds_whose_types_have_a_pod_template_make_pods() -> None:
    for api_version, version in VERSIONS.items():
        for kind, served in version.kinds.items():
            found = parts(served.type, version.replaced, set())
            made = any(issubclass(each, Pod | PodTemplateSpec) for each in found)
            assert made == makes_pods(api_version, kind)


def test_no_kind_is_listed_twice() -> None:
    listed = [(each.group, each.kind) for each in built_in()]
    judged = {(name.rpartition("/")[0], kind) for name, version in VERSIONS.items() for kind in version.kinds}
    assert len(set(listed)) == len(listed)
    assert not judged & set(listed)
    assert {(manifests.GROUP, kind) for kind in manifests.KINDS} <= set(listed)


OF_OLDER_CLAIMS = "webhook/migration/classic.py"
"""The successors of each kind of v1alpha2; a kind may have several."""
CHOICES = "webhook/configuration/options.py"
"""The choices of an option, which are there before any type is; tests/migration/ holds them to the types."""


QUOTED = re.compile(r'"([\w./]+)"')


def listings() -> Iterator[tuple[str, frozenset[str]]]:
    """Find the literals outside the types that list kinds, resources or versions; each with its module."""
    kinds = {kind for version in VERSIONS.values() for kind in version.kinds} | {each.kind for each in built_in()}
    versions = set(VERSIONS) | {name.rpartition("/")[2] for name in VERSIONS}
    sorts = kinds, {guess_resource(kind) for kind in kinds}, versions
    for file in sorted((ROOT / "webhook").rglob("*.py")):
        module = file.relative_to(ROOT).as_posix()
        if module.startswith(("webhook/api/", "webhook/cel/")) or module in {OF_OLDER_CLAIMS, CHOICES}:
            continue
        source = file.read_text(encoding="utf-8")
        quoted = set(QUOTED.findall(source))
        if all(len(quoted & known) < 2 for known in sorts):  # parsing takes long
            continue
        for node in ast.walk(ast.parse(source)):
            items = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", ())
            texts = {each.value for each in items if isinstance(each, ast.Constant) and isinstance(each.value, str)}
            for known in sorts:
                if len(listed := texts & known) > 1:
                    yield module, frozenset(listed)


def test_no_kinds_resources_or_versions_are_listed_twice() -> None:
    places: defaultdict[frozenset[str], list[str]] = defaultdict(list)
    for module, listed in listings():
        places[listed].append(module)
    assert {listed: modules for listed, modules in places.items() if len(modules) > 1} == {}
    assert not any(listed <= VERSIONS.keys() for listed in places)


def test_the_fields_of_all_kinds_are_known() -> None:
    versions = [(f"{each.group}/{name}".strip("/"), each.kind) for each in built_in() for name in each.versions]
    unknown = [place for place in versions if catalogue.kind(*place) is None]
    assert unknown == []


TEXTS = {"message", "hint"}
PARTS = {"startswith", "endswith", "removeprefix", "removesuffix", "split", "rsplit", "partition", "rpartition"}
SEARCHES = {"match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
ALLOWED = {
    "webhook/engine/suites.py": ["verdict.message"]  # whether the API server's message quotes a name
}


def _texts(*nodes: ast.expr) -> list[str]:
    return [ast.unparse(each) for each in nodes if isinstance(each, ast.Attribute) and each.attr in TEXTS]


def _read_again(node: ast.AST) -> list[str]:
    """List the messages and hints whose text a node looks at."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        looked_at = _texts(node.func.value) if node.func.attr in PARTS else []
        return looked_at + (_texts(*node.args) if node.func.attr in SEARCHES else [])
    if isinstance(node, ast.Compare) and any(isinstance(each, ast.In | ast.NotIn) for each in node.ops):
        return _texts(node.left, *node.comparators)
    return []


@each_row(
    "source",
    "each.message.startswith('a')",
    "'a' in problem.hint",
    "problem.hint in {'a'}",
    "pattern.search(problem.message)",
    "re.sub('a', 'b', problem.message)",
    "problem.message.partition(': ')[2]",
)
def test_a_text_that_is_read_again_is_found(source: str) -> None:
    assert [each for node in ast.walk(ast.parse(source)) for each in _read_again(node)]


def test_no_message_or_hint_is_read_again() -> None:
    found: dict[str, list[str]] = {}
    for path in (ROOT / "webhook").rglob("*.py"):
        if not any(f".{name}".encode() in path.read_bytes() for name in TEXTS):
            continue
        if texts := [each for node in ast.walk(ast.parse(path.read_bytes())) for each in _read_again(node)]:
            found[path.relative_to(ROOT).as_posix()] = texts
    assert found == ALLOWED
