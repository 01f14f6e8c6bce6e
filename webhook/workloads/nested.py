"""What the texts of an object hold in YAML: manifests of a ConfigMap or a workflow, values of a chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from functools import partial
from typing import Any, Final

from webhook.api.versions import GROUP, VERSIONS, schema_of
from webhook.documents import Document, parse
from webhook.objects import JSONObject, items, mapping, text, texts
from webhook.patch import steps_of
from webhook.problem import Steps
from webhook.schema.derive.shape import ListOf, Shape, part_of
from webhook.workloads.locations import ManifestIn, every_object, is_held

HOLDERS: Final = ("ConfigMap", "Secret")
"""The kinds of Kubernetes' own that hold texts for others."""
_NOT_READ: Final = frozenset({"annotations", "env", "status"})
_DEEPEST: Final = 64
"""How deep values of a JSON Patch stand at most; fields of Kubernetes are higher up."""
_PATCH: Final = "patch"
"""The field with a part of a manifest, in kustomizations and those of Flux."""
_MARKS: Final = ("claims", "Claims", "deviceClass", f"{GROUP}/")


def with_texts(obj: JSONObject, find: Callable[[JSONObject], Iterator[ManifestIn]]) -> Iterator[ManifestIn]:
    """Find what an object holds, in its texts, too."""
    whole, texts = _with_texts_read(obj)
    found = find(whole)
    return (each._replace(texts=each.texts | texts) for each in found) if texts else found


def patches_in(obj: JSONObject) -> Iterator[Sequence[ManifestIn]]:
    """Find the patches of an object, of which only what cannot be decoded is wrong.

    Yields:
        A strategic merge patch, or a value of a JSON Patch, in each version that its target may have.
    """
    for steps, part in every_object(obj):
        at, value, target = (*steps, _PATCH), part.get(_PATCH), mapping(part, "target")
        read: Any = _read(value) if isinstance(value, str) and (_is_whole if target else _may_be_read)(value) else None
        for versions in [(read,)] if is_held(read) else map(partial(_patched, target), items(read)):
            if found := [ManifestIn(each, {(): at}, is_known=False, texts=frozenset({at})) for each in versions]:
                yield found


def _patched(target: JSONObject, operation: JSONObject) -> Iterator[JSONObject]:
    """Yield the part of a manifest that an operation is about, in each version that its target may have."""
    kind, steps = text(target, "kind"), steps_of(text(operation, "path"))[:_DEEPEST]
    for name, version in VERSIONS.items():
        group, _, stated = name.rpartition("/")
        is_meant = text(target, "group") in {"", group} and text(target, "version") in {"", stated}
        if is_meant and kind in version.kinds:
            value = _around(operation.get("value"), steps, schema_of(name, kind))
            if isinstance(value, dict):
                yield {**value, "apiVersion": name, "kind": kind}


def _around(value: Any, steps: Sequence[str], shape: Shape | None) -> Any:
    """Return a value with what is around it: lists and maps, by the type to whose parts the steps lead."""
    if not steps:
        return value
    step, *below = steps
    inner = _around(value, below, part_of(shape, step))
    is_index = step == "-" or step.lstrip("+-").isdecimal()
    return [inner] if isinstance(shape, ListOf) and is_index else {step: inner}


def counted(obj: JSONObject) -> Iterator[tuple[str, str, str]]:
    """Yield what Kueue counts: the field that states it, a device class if it is a mapping, and the resource.

    A Configuration maps classes to resources (kueue, configuration_types.go), which ClusterQueues have to cover.
    """
    for _, part in every_object(_with_texts_read(obj)[0]):
        for each in items(part, "deviceClassMappings"):
            yield from (("deviceClassMappings", name, text(each, "name")) for name in texts(each, "deviceClassNames"))
    for each in items(obj, "spec", "resourceGroups") if obj.get("kind") == "ClusterQueue" else ():
        yield from (("coveredResources", "", resource) for resource in texts(each, "coveredResources"))


def _with_texts_read(obj: JSONObject) -> tuple[JSONObject, frozenset[Steps]]:
    """Return an object with the content of its texts in their place, and the paths of these texts.

    Only texts that may be about claims are read, and that nothing fills in later.
    """
    found = {
        (*steps, name): content
        for steps, part in every_object(obj)
        for name, value in part.items()
        if isinstance(value, str) and name != _PATCH and _may_be_read(value)
        if _NOT_READ.isdisjoint(steps) and (content := _read(value)) is not None
    }
    copies: dict[Steps, Any] = {(): copy(obj) if found else obj}
    for steps, content in found.items():
        for end in range(1, len(steps)):
            around, here = copies[steps[: end - 1]], steps[:end]
            if here not in copies:
                copies[here] = around[here[-1]] = copy(around[here[-1]])
        copies[steps[:-1]][steps[-1]] = content
    return copies[()], frozenset(found)


def _may_be_read(value: str) -> bool:
    """Tell whether a text may be about claims, and is whole."""
    return any(each in value for each in _MARKS) and _is_whole(value)


def _is_whole(value: str) -> bool:
    """Tell whether a text may be YAML, and nothing fills it in; values of aliases may be huge."""
    return ":" in value and "{{" not in value and not ("&" in value and "*" in value)


def _read(value: str) -> Any:
    """Return the object or list in a text, or the list of several; None if it is something else."""
    pieces = list(parse(value))
    found = [each.data for each in pieces if isinstance(each, Document) and isinstance(each.data, dict | list)]
    return None if not found or len(found) < len(pieces) else found[0] if len(found) == 1 else found
