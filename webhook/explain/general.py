"""Rules that apply to any field, object or file.

The overview shows the first paragraph of each; the rest explains why, and how to fix it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.api.dra.opaque import RawObject

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(texts)


EVERY_FIELD: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "required": (
        _paragraphs(
            "A field that must be given is missing or empty.",
            "An empty text, list or struct counts as missing. Where the finding is about a list item, the path is"
            " the item's: give the field in it.",
        ),
        lambda field: field.required,
    ),
    "immutable": (
        _paragraphs(
            "An update changes a field that may not change.",
            "Old and new are compared with their defaults set, so adding a default is not a change. To change the "
            "field, delete the object and create it again; its users will notice.",
        ),
        lambda field: field.immutable,
    ),
    "enum": (
        _paragraphs(
            "A field has a value that is not one of its enumeration.",
            "The message lists the values there are, which may be others in another release. Upper and lower case"
            " matter.",
        ),
        lambda field: bool(getattr(field, "one_of", ())),
    ),
    "max-length": (
        _paragraphs(
            "A text is longer than it may be; its length is that of its UTF-8 bytes.",
            "So a letter with an accent counts as two, also where the API server's message says characters. For a"
            " driver's own parameters it is the length of their JSON text, in which <, > and & count as six each.",
        ),
        lambda field: bool(getattr(field, "max_length", None) or getattr(field, "max_bytes", None)),
    ),
    "max-items": (
        _paragraphs(
            "A list or map has more items than it may have.",
            "From Kubernetes 1.35 this is all that is said of such a list; earlier releases check its items as well.",
        ),
        lambda field: bool(getattr(field, "max_items", None)),
    ),
    "minimum": (
        "A number is less than it may be.",
        lambda field: getattr(field, "minimum", None) is not None,
    ),
    "maximum": (
        "A number is greater than it may be.",
        lambda field: getattr(field, "maximum", None) is not None,
    ),
    "empty": (
        "A field is given, but empty: leave it out.",
        lambda field: bool(field.empty),
    ),
    "json-object": (
        "A driver's own configuration is JSON, but not a JSON object.",
        lambda field: isinstance(field, RawObject),
    ),
    "duplicate": (
        _paragraphs(
            "An item of a list repeats an earlier one.",
            "The finding is at the second and each later item. Some lists are unique by a field such as the name,"
            " others as a whole.",
        ),
        lambda field: getattr(field, "unique", None) is not None,
    ),
}
"""Rules about single fields: their texts, and predicates for the fields that state them."""

EVERY_OBJECT: Mapping[str, str] = {
    "unknown-field": _paragraphs(
        "The object has a field that its type does not have in this release: strict decoding refuses it.",
        "It may be misspelt, belong to another level, or to another release or API version: the hint says "
        "which of these seems likely. kubectl asks for strict decoding; a client that does not only gets a "
        "warning, and the field is dropped.",
    ),
    "wrong-type": _paragraphs(
        "A value is not of its field's type, such as a text where a number belongs: it cannot be decoded.",
        "YAML takes 1, yes and null for a number, a boolean and nothing: put them in quotes where a text is "
        "meant. What cannot be decoded is not validated, so there may be more findings afterwards.",
    ),
    "not-served": _paragraphs(
        "The release does not serve the object's kind in the object's apiVersion.",
        "The hint lists the API versions that the release serves the kind in, and what sits in another place "
        "there. `draguard explain` shows which releases serve what.",
    ),
    "not-an-object": "What was submitted is not a JSON object.",
    "too-deep": "The object is nested deeper than draguard can look into.",
    "old-object": "The old state of an update is not a stored object of this kind.",
    "claims-lost": "The controller of another project's workload drops or refuses the resource claims in it.",
    "old-version": "The old state of an object is in another apiVersion, so the two are not compared.",
    "name": "An update names another object than the one it is sent to.",
    "namespace": _paragraphs(
        "An object is created in a namespace that cannot exist, or updated in another one than its own.",
        "A namespace's name is a DNS label: lower-case letters, digits and -, 63 at most. To move an object "
        "to another namespace, create it there.",
    ),
    "uid": "An update is meant for an earlier object of the same name.",
    "resource-version": _paragraphs(
        "An update is based on an earlier state than the stored one.",
        "The object has changed since it was read: read it again, and make the change anew. Without "
        "a resourceVersion an update is taken whatever the state is, but for kinds that insist on one.",
    ),
    "deprecated": _paragraphs(
        "The API version is deprecated: the API server warns, and names the release that removes it.",
        "The object is taken as before. `draguard explain KIND` lists the other versions, and where its "
        "fields are in them.",
    ),
    "gate-off": _paragraphs(
        "A kind or a field depends on a feature gate that is off; a field is then dropped.",
        "The API server says nothing of it: the object is stored without the field, and what is left may mean"
        " something else. If the gate is on in your cluster, say so with --feature-gates. A field that the "
        "stored object has already is kept.",
    ),
    "status-dropped": _paragraphs(
        "A new object has a status: the API server drops it silently.",
        "Drivers, the scheduler and controllers set it later, by an update of the status subresource. "
        "Leave it out. Objects with a UID, as in a snapshot, are copies of stored ones: they may have it.",
    ),
    "prescheduled-contradiction": "A pod names a node that its own nodeSelector or affinity rules out.",
    "prescheduled-too-many-terms": "A pod names a node, and has too many terms of node affinity to add it to.",
    "spec-ignored": "An update of the status changes the spec: the API server keeps the spec as it was.",
    "status-ignored": "An update of the object changes the status: the API server keeps the status as it was.",
    "prescheduled": "A pod names its node and so bypasses the scheduler; `draguard mutate` changes that.",
    "policy": "A policy refuses or warns: the finding names its expression.",
    "policy-error": "An expression of a policy could not be evaluated for an object, or its parameters are missing.",
    "assumed": "A policy needs what only a cluster knows; the finding says what was assumed.",
    "duplicate-policy": "Two policies or bindings of a kind have one name: only the first is used.",
    "policy-without-binding": "No binding names the policy, so it applies to nothing.",
    "binding-without-policy": "A binding names a policy that does not exist.",
    "param-without-kind": "A binding has parameters, its policy no paramKind: they are not used.",
    "binding-without-params": "A policy has a paramKind, its binding no paramRef: params is null.",
    "unknown-resource": "A rule of a policy names a resource that its API group does not have.",
    "unserved-version": "A rule of a policy names a version in which the release does not serve the resource.",
    "never-applies": "A match condition is false for every object, so the policy never applies.",
    "no-condition": "A match condition is true for every object.",
    "never-refuses": "A validation is true for every object.",
    "unused-variable": "No expression of the policy uses the variable.",
    "type-check": "An expression does not fit a kind that the policy is about, such as a misspelt field or path.",
    "over-cost": "An expression costs more than the API server allows, whatever the object is.",
    "suite": "A suite of `draguard policy test` is malformed.",
    "expression": "An expression of a policy makes the API server's compiler fail.",
    "case": "A case of a suite does not have the expected result, or is malformed.",
    "not-covered": "No case of the suites has seen a validation true, or none false, or a mutation changing anything.",
    "not-tested": "The policy has no test suite for `draguard policy test`.",
    "unused-suppression": _paragraphs(
        "A comment, an annotation or the configuration file suppresses findings of a rule, and there are none.",
        "Remove it: it would hide the next mistake. It is not reported of rules that a run cannot tell of, such as "
        "those of policies without --policies, and of updates without --old.",
    ),
    "malformed-suppression": (
        "A comment or an annotation that is meant for draguard names no rule, or one that does not exist."
    ),
    "unexplained-suppression": (
        "A comment or an annotation suppresses findings and does not say why: write the reason after the rules."
    ),
    "older-version": _paragraphs(
        "An object is of an older version of its API than the releases serve, or a pod names claims in the old way.",
        "`draguard convert --check` says so, and `draguard convert --write` converts it. docs/migrate.md shows what "
        "changed from version to version.",
    ),
    "no-counterpart": _paragraphs(
        "`draguard convert` finds something that newer versions of the API cannot express.",
        "It stays in the file as it is: the help says what to write instead. Most of it comes from Kubernetes 1.30 "
        "and earlier, where a driver's controller allocated claims; docs/migrate.md has a table.",
    ),
    "unreadable": "A file, or one of its documents, cannot be read as Kubernetes reads it.",
}
"""Rules about whole objects and files, which no type declares."""
