"""Parts that all kinds share: ObjectMeta, conditions of a status, label selectors.

Rules follow apimachinery ``pkg/api/validation/objectmeta.go`` and ``pkg/apis/meta/v1/validation/validation.go``
(ValidateConditions, ValidateLabelSelector).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from math import inf
from typing import Any, ClassVar, Final

from webhook import formats
from webhook.api.core.values import Time, V1Struct
from webhook.escapes import go_integer
from webhook.formats.timestamps import go_timestamp, shown_timestamp
from webhook.grouping import repeated
from webhook.problem import (
    AS_JSON_SINCE,
    IMMUTABLE_FIELD,
    NOTE,
    WARNING,
    Fix,
    Path,
    Problem,
    Verbatim,
    forbidden,
    invalid,
    malformed,
    of_own_type,
    quoted,
    refused,
    required,
    too_long,
)
from webhook.release import Release
from webhook.schema.declarations import IN_PLACE, Struct, check, name_of, transition
from webhook.schema.fields import Anything, Array, Bool, Int, Map, Nested, Text, View
from webhook.schema.target import CREATE, OLDEST, UPDATE, UPDATE_STATUS, Target

ANNOTATIONS_MAX_BYTES = 256 * 1024
_BYTES = 4
"""The most bytes of a character."""
KEPT_BY_STATUS: Final = frozenset({"labels", "annotations", "finalizers", "ownerReferences", "deletionTimestamp"})
"""The metadata that a status update cannot change (apimachinery ``ResetObjectMetaForStatus``)."""
STANDARD_FINALIZERS = frozenset({"orphan", "foregroundDeletion", "kubernetes"})


class OwnerReference(V1Struct):
    """An object that this one belongs to."""

    package = "v1"
    atomic = True

    apiVersion = Text("The owner's API version.", written=True)
    kind = Text("The owner's kind.", written=True)
    name = Text("The owner's name.", written=True)
    uid = Text("The owner's UID.", go="types.UID", written=True)
    controller = Bool("Whether the owner is the managing controller.", pointer=True)
    blockOwnerDeletion = Bool("Whether deletion of the owner in the foreground waits for the object.", pointer=True)


class ManagedFieldsEntry(V1Struct):
    """The fields of an object set by one manager; the API server maintains these entries itself."""

    manager = Text("The client that manages the fields.")
    operation = Text("The operation: Apply or Update.", go="ManagedFieldsOperationType")
    apiVersion = Text("The API version of the fields.")
    time = Time("When the manager last changed them.", pointer=True)
    fieldsType = Text("The format of fieldsV1: FieldsV1.")
    fieldsV1 = Anything("The names of the fields.", pointer=True)
    subresource = Text("The subresource that was updated.")


class ObjectMeta(V1Struct):
    """The metadata of every object: identity, labels, annotations, owners."""

    go_name = "ObjectMeta"

    name = Text("The object's name, unique in its namespace.")
    generateName = Text("A prefix from which the API server makes the name.")
    namespace = Text("The namespace that the name is unique in.")
    selfLink = Text("Deprecated, no longer set.")
    uid = Text("The object's unique identifier, set by the API server.", go="types.UID")
    resourceVersion = Text("The version of the stored object, for optimistic locking.")
    generation = Int("The generation of the desired state, set by the API server.")
    creationTimestamp = Time("When the object was created, set by the API server.")
    deletionTimestamp = Time("When the object will be deleted, set by the API server.", pointer=True)
    deletionGracePeriodSeconds = Int("Seconds until the object is removed, set with deletionTimestamp.", pointer=True)
    labels = Map(Text(), "The labels by which the object can be selected.")
    annotations = Map(Text(), "Data that tools keep with the object.")
    ownerReferences = Array(Nested(OwnerReference), "The objects that the object depends on.", list_map_keys=["uid"])
    finalizers = Array(Text(), "The tasks to complete before the object is removed.", list_type="set")
    # Not validated: the API server drops a list that has an invalid entry (managedfields, decodeLiveOrNew).
    managedFields = Array(Nested(ManagedFieldsEntry), "The fields that each client manages.")


class Metadata(ObjectMeta):
    """The metadata of an object itself."""

    tagged_name_since: ClassVar[float] = inf
    """The first release that checks the name by a declarative rule, with other messages, and not generateName."""
    counted_since: ClassVar[float] = inf
    """The first release whose API server counts generations itself, ignoring the submitted value."""
    plain_finalizers: ClassVar[bool] = False
    """Whether finalizers need no domain: the rule is one of core (``pkg/apis/core/validation``)."""


class CountedMetadata(Metadata):
    """The metadata of an object whose generation the API server counts."""

    counted_since = OLDEST


class PlainMetadata(CountedMetadata):
    """The metadata of an object of a group that does not use the rules of core."""

    plain_finalizers = True


class TemplateMetadata(ObjectMeta):
    """The metadata of a template: only labels and annotations."""


def wrong_labels(labels: Mapping[str, str | None], path: Path, release: Release) -> Iterator[Problem]:
    """Find labels with invalid keys or values (ValidateLabels)."""
    for key, value in labels.items():
        yield from malformed(path, key, formats.label_key(key, release))
        yield from malformed(path, value or "", formats.label_value(value or "", release))


@check(Metadata, on=[CREATE])
def object_name(meta: View) -> Iterator[Problem]:
    """An object has a name that is a DNS subdomain, or a prefix for a generated name."""
    name, prefix = created_name(meta), meta.generateName
    if not name:
        yield required(meta / "name", "name or generateName is required")
    declarative = meta.release >= meta.type.tagged_name_since
    if prefix and not declarative:
        yield from malformed(meta / "generateName", prefix, formats.name_prefix(prefix, meta.release))
    if name:
        for detail in (formats.long_name if declarative else formats.dns_subdomain)(name, meta.release):
            yield invalid(meta / "name", name, detail)


def created_name(meta: View) -> str:
    """Return the name of a new object: its own, or one generated from its prefix."""
    return meta.name or (generated_name(meta.generateName) if meta.generateName else "")


def generated_name(prefix: str) -> str:
    """Return a name that the API server could generate from a prefix (apiserver ``pkg/storage/names/generate.go``)."""
    return prefix.encode("utf-8", "surrogatepass")[:_BASE].decode("utf-8", "replace") + _RANDOM


_BASE, _RANDOM = 58, "xxxxx"
"""The parts of a generated name: the most characters of the prefix, and five random characters, here a placeholder."""


@check(Metadata, on=[CREATE], given=["resourceVersion"])
def resource_version_of_new(meta: View) -> Iterator[Problem]:
    """A new object has no resourceVersion; one that also has a uid is already in a cluster, and is not judged as new.

    The storage refuses it last of all (apiserver ``pkg/storage/etcd3/store.go``, Create), and only if it is a number
    but 0. kubectl removes it; other clients and exported objects do not. Server-side apply accepts it, so a webhook,
    whose objects all have a uid, does not report it.
    """
    if not meta.uid and _is_revision(meta.resourceVersion):
        message = "resourceVersion should not be set on objects to be created"
        yield refused("InternalError", meta / "resourceVersion", message)._replace(hint="leave it out")


def _is_revision(version: str) -> bool:
    try:
        return go_integer(version, 0, 2**64 - 1) > 0
    except ValueError:
        return False


@check(Metadata, on=[CREATE], given=["generation"])
def negative_generation(meta: View) -> Iterator[Problem]:
    """Generations count up from 0."""
    if meta.generation < 0 and meta.release < meta.type.counted_since:
        yield invalid(meta / "generation", meta.generation, "must be greater than or equal to 0")


@check(ObjectMeta, given=["labels"])
def label_syntax(meta: View) -> Iterator[Problem]:
    """Keys of labels are qualified names, values are short names."""
    yield from wrong_labels(meta.labels, meta / "labels", meta.release)


@check(ObjectMeta, given=["annotations"])
def annotation_keys(meta: View) -> Iterator[Problem]:
    """Keys of annotations are qualified names, and all annotations together have at most 256 KiB."""
    annotations, release, characters = meta.annotations, meta.release, 0
    for key, value in annotations.items():
        characters += len(key) + len(value or "")
        for detail in formats.annotation_key(key, release):
            yield invalid(meta / "annotations", key, detail)
    texts = chain.from_iterable(annotations.items()) if characters * _BYTES > ANNOTATIONS_MAX_BYTES else ()
    if sum(len((text or "").encode("utf-8", "surrogatepass")) for text in texts) > ANNOTATIONS_MAX_BYTES:
        yield too_long(meta / "annotations", ANNOTATIONS_MAX_BYTES, release, in_bytes=True)


@check(Metadata, given=["ownerReferences"])
def owner_references(meta: View) -> Iterator[Problem]:
    """Owner references are complete, name no Event, and have at most one controller."""
    path, controller = meta / "ownerReferences", ""
    # The API server drops repeated references before it validates.
    dropped = _repeated(meta.ownerReferences)
    owners = [owner for index, owner in enumerate(meta.ownerReferences) if index not in dropped]
    submitted = [owner.submitted for owner in owners]
    for owner in owners:
        group, _, version = owner.apiVersion.rpartition("/")
        if "/" in group:  # apimachinery's ParseGroupVersion fails
            group = version = ""
        for field, value in {"apiVersion": version, "kind": owner.kind, "name": owner.name, "uid": owner.uid}.items():
            if not value:
                yield invalid(path / field, getattr(owner, field), _must_not_be_empty(field, meta.release))
        if (group, version, owner.kind) == ("", "v1", "Event"):
            detail = "/v1, Kind=Event is disallowed from being an owner"
            yield invalid(path, owner.submitted, detail)
        if not owner.controller:
            continue
        name = f"{owner.kind}/{owner.name}"
        if controller:
            detail = (
                "Only one reference can have Controller set to true. "
                f'Found "true" in references for {controller} and {name}'
            )
            yield invalid(path, submitted, detail)
        controller = controller or name


@check(Metadata, given=["ownerReferences"])
def repeated_owner(meta: View) -> Iterator[Problem]:
    """An owner reference that repeats another one is dropped."""
    if dropped := _repeated(meta.ownerReferences):
        message = (
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and "
            "may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: "
            f"{', '.join(owner.uid for owner in dropped.values())}"
        )
        yield Problem(WARNING, "", "Dropped", meta / "ownerReferences", message)


def _repeated(owners: Sequence[View]) -> dict[int, View]:
    """Return the owner references that repeat others, by their index."""
    if len(owners) <= 1:
        return {}
    import json  # few objects have several owners

    return dict(repeated(owners, lambda owner: json.dumps(owner.canonical or {}, sort_keys=True)))


def _must_not_be_empty(field: str, release: Release) -> str:
    if field == "apiVersion":
        return "version must not be empty"
    return "must not be empty" if release >= _SHORT_OWNER_TEXTS else f"{field} must not be empty"


_SHORT_OWNER_TEXTS = 34


@check(Metadata, given=["finalizers"])
def finalizer_names(meta: View) -> Iterator[Problem]:
    """Finalizers are qualified names with a domain, or Kubernetes' own."""
    path = meta / "finalizers"
    for index, finalizer in enumerate(meta.finalizers):
        yield from malformed(path, finalizer or "", formats.label_key(finalizer or "", meta.release))
        is_plain = "/" not in (finalizer or "") and finalizer not in STANDARD_FINALIZERS
        if is_plain and not meta.type.plain_finalizers:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield invalid(path / index, finalizer or "", detail)
    if {"orphan", "foregroundDeletion"} <= set(meta.finalizers):
        detail = "finalizer orphan and foregroundDeletion cannot be both set"
        yield invalid(path, meta.finalizers, detail)


@transition(Metadata, on=[UPDATE, UPDATE_STATUS])
def finalizers_of_the_deleted(meta: View, old: View) -> Iterator[Problem]:
    """An object that is being deleted takes no new finalizers."""
    kept = set(old.finalizers)
    added = [finalizer for finalizer in meta.finalizers if finalizer not in kept]
    if old.deletionTimestamp and added:
        names = ", ".join(quoted(finalizer) for finalizer in sorted(added))
        detail = (
            f"no new finalizers can be added if the object is being deleted, found new finalizers []string{{{names}}}"
        )
        yield forbidden(meta / "finalizers", detail)


@transition(Metadata, on=[UPDATE, UPDATE_STATUS])
def deletion_is_requested(meta: View, old: View) -> Iterator[Problem]:
    """An update does not delete: what tells of the deletion is set by the API server, and then stays."""
    if "deletionTimestamp" in meta and "deletionTimestamp" not in old:
        time, is_json = meta.deletionTimestamp, meta.release >= AS_JSON_SINCE
        shown = shown_timestamp(time) if is_json else Verbatim(go_timestamp(time))
        yield invalid(meta / "deletionTimestamp", shown, IMMUTABLE_FIELD)
    if "deletionGracePeriodSeconds" in meta and meta.deletionGracePeriodSeconds != old.deletionGracePeriodSeconds:
        yield invalid(meta / "deletionGracePeriodSeconds", meta.deletionGracePeriodSeconds, IMMUTABLE_FIELD)


@check(Metadata, given=["generateName"])
def prefix_in_path(meta: View) -> Iterator[Problem]:
    """A prefix for generated names can be a part of a URL's path.

    Where a declarative rule checks the name of a new object, the prefix is checked once all else is valid.
    """
    if meta.operation == CREATE and meta.release < meta.type.tagged_name_since:
        return
    yield from malformed(meta / "generateName", meta.generateName, formats.path_segment_prefix(meta.generateName))


PREFIX_IN_PATH = name_of(prefix_in_path)
CHECKED_LAST = frozenset({PREFIX_IN_PATH, name_of(resource_version_of_new)})
"""The rules that the API server applies to a new object once all else is valid (apiserver ``rest/create.go``)."""


@check(TemplateMetadata, given=ObjectMeta.fields.keys() - {"labels", "annotations"})
def only_labels_and_annotations(meta: View) -> Iterator[Problem]:
    """A template names no object: of its metadata only labels and annotations are taken over."""
    for field, declared in ObjectMeta.fields.items():
        # An empty list is set, too, and so is what a pointer points at.
        is_set = field in meta if declared.pointer or isinstance(declared, Array) else getattr(meta, field)
        if field not in {"labels", "annotations"} and is_set:
            # The API server derives the name from Go's: UID becomes uID.
            spelled = Path(("uID",)) if field == "uid" else None
            yield forbidden(meta / field, "cannot be set")._replace(spelled=spelled)


class Object(Struct):
    """The base of every kind."""

    namespaced: ClassVar[bool] = True
    tagged_since: ClassVar[int | None] = None
    """The first release whose API server runs declarative validation for the kind, beside handwritten rules."""
    checks_prefix: ClassVar[Mapping[int, bool]] = {OLDEST: False}
    """Whether an update checks generateName as a create does."""
    kept_by_status: ClassVar[Mapping[int, frozenset[str]]] = {OLDEST: frozenset(), 30: KEPT_BY_STATUS}
    """The metadata that an update of the status cannot change."""
    unconditional_update: ClassVar[bool] = True
    """Whether an update may leave out the resourceVersion that it is based on."""
    immutable_before: ClassVar[str] = IN_PLACE
    """The field of the spec before whose errors the API server finds changes of immutable fields."""

    apiVersion = Text("The API version of the object, with its group if it has one.")
    kind = Text("The kind.")
    metadata = Nested(Metadata, "The object's name, labels and annotations.")

    @classmethod
    def tolerates(cls, problem: Problem, release: Release) -> bool:  # noqa: ARG003 - most kinds tolerate nothing
        """Tell whether an update may have an error in its spec if the stored spec has any error."""
        return False

    @classmethod
    def prepare(cls, obj: dict[str, Any], old: dict[str, Any], target: Target) -> dict[str, Any]:
        """Change an update as PrepareForUpdate does, besides keeping unchanged parts."""
        del old, target
        return obj


class ClusterObject(Object):
    """The base of cluster-scoped kinds."""

    namespaced = False


@check(ClusterObject, given=["metadata"])
def namespace_dropped(obj: View) -> Iterator[Problem]:
    """A cluster-scoped object belongs to no namespace: the API server drops the one that it states.

    Two that state different namespaces, but one name, are the same object. kustomize adds its namespace to all objects.
    """
    if obj.metadata.namespace:
        message = "dropped: the object is cluster-scoped, and belongs to no namespace"
        yield Problem(NOTE, "", "Dropped", obj.metadata / "namespace", message, fix=Fix("remove"))


class CountedObject(Object):
    """The base of kinds whose generation the API server counts."""

    metadata = Nested(CountedMetadata, "The object's name, labels and annotations.")


class PlainObject(Object):
    """The base of kinds whose finalizers need no domain, and whose generation the API server counts."""

    metadata = Nested(PlainMetadata, "The object's name, labels and annotations.")


@check(Object, on=[UPDATE], given=["metadata"])
def name_prefix(obj: View) -> Iterator[Problem]:
    """An update of some kinds checks the prefix for a generated name, too."""
    meta, prefix = obj.metadata, obj.metadata.generateName
    if prefix and obj.target.pick(obj.type.checks_prefix):
        yield from malformed(meta / "generateName", prefix, formats.name_prefix(prefix, obj.release))


_DETAIL = {OLDEST: "must be set", 34: ""}
_NO_TIME = {"", "0001-01-01T00:00:00Z"}


class Condition(V1Struct):
    """One aspect of an object's state."""

    type = Text("The type of the condition, a label key.", format=formats.label_key, always=True, written=True)
    status = Text(
        "The status of the condition: True, False or Unknown.",
        go="ConditionStatus",
        one_of=("False", "True", "Unknown"),
        always=True,
        written=True,
    )
    observedGeneration = Int(
        "The generation of the object that the condition is about.",
        minimum=(0, "must be greater than or equal to zero"),
    )
    lastTransitionTime = Time("When the status changed.")
    reason = Text("The reason, for programs.", format=formats.condition_reason, max_length=1024, written=True)
    message = Text("The reason, for people.", max_length=32 * 1024, written=True)


@check(Condition, before=IN_PLACE)
def reason_and_time(condition: View) -> Iterator[Problem]:
    """A condition says why it holds, and since when."""
    detail = condition.target.pick(_DETAIL)
    if condition.lastTransitionTime in _NO_TIME:
        yield required(condition / "lastTransitionTime", detail)
    if not condition.reason:
        yield required(condition / "reason", detail)


def conditions(of: str, max_items: int) -> Array:
    """Declare conditions; the size of the list does not keep the API server from checking them."""
    return Array(
        Nested(Condition),
        f"The conditions of the {of}.",
        max_items=max_items,
        unique="type",
        list_map_keys=["type"],
        at_item=False,
        size_ends_list=False,
    )


class LabelSelectorRequirement(V1Struct):
    """A condition on one label."""

    key = Text("The label's key.", written=True)
    operator = Text("In, NotIn, Exists or DoesNotExist.", go="LabelSelectorOperator", written=True)
    values = Array(Text(), "The values that In and NotIn compare the label with.")


class LabelSelector(V1Struct):
    """Conditions on labels that must all hold; an empty selector matches everything."""

    atomic = True

    matchLabels = Map(Text(), "The required labels, with their values.")
    matchExpressions = Array(Nested(LabelSelectorRequirement), "Requirements for labels.")


@check(LabelSelector)
def match_labels(selector: View) -> Iterator[Problem]:
    """Keys of labels are qualified names, values are short names."""
    yield from wrong_labels(selector.matchLabels, selector / "matchLabels", selector.release)


@check(LabelSelector)
def requirement(selector: View) -> Iterator[Problem]:
    """In and NotIn need values, Exists and DoesNotExist take none, and keys and values must be valid for labels."""
    # A rule of the selector, as the API server reports matchLabels first.
    for each in selector.matchExpressions:
        yield from wrong_values(each)
        if each.operator not in OPERATORS:
            shown = of_own_type(each.operator, each.release)
            yield invalid(each / "operator", shown, "not a valid selector operator")
        yield from malformed(each / "key", each.key, formats.label_key(each.key, each.release))
        for index, value in enumerate(each.values):
            yield from malformed(each / "values" / index, value or "", formats.label_value(value or "", each.release))


OPERATORS: Final = ("In", "NotIn", "Exists", "DoesNotExist")
"""The operators of all selectors."""


def wrong_values(requirement: View) -> Iterator[Problem]:
    """Find values that are missing or surplus beside one of these operators."""
    if requirement.operator in OPERATORS[:2] and not requirement.values:
        yield required(requirement / "values", "must be specified when `operator` is 'In' or 'NotIn'")
    elif requirement.operator in OPERATORS[2:] and requirement.values:
        yield forbidden(requirement / "values", "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
