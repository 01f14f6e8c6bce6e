"""Rules that apply to any field, object or file.

The overview shows the first paragraph of each; the rest explains why, and how to fix it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import getdoc
from typing import Any

from webhook.api.dra.opaque import RawObject
from webhook.limits import MOST_FINDINGS, MOST_IN_ALL
from webhook.references.manifests import generation_lowered, misread_key, repeated_object


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(texts)


EVERY_FIELD: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "required": (
        _paragraphs(
            "A required field is missing or empty.",
            "An empty string, list or struct counts as missing. If the finding is about a list item, its path is that"
            " of the item: set the field in it.",
        ),
        lambda field: field.required,
    ),
    "immutable": (
        _paragraphs(
            "An update changes an immutable field.",
            "Old and new objects are compared with defaults set, so stating a default is not a change. To change the "
            "field, delete the object and create it again, which affects its users.",
        ),
        lambda field: field.immutable,
    ),
    "enum": (
        _paragraphs(
            "A field has a value outside its enumeration.",
            "The message lists the supported values, which can differ between releases. Values are case-sensitive.",
        ),
        lambda field: bool(getattr(field, "one_of", ())),
    ),
    "max-length": (
        _paragraphs(
            "A string is too long; its length is counted in UTF-8 bytes.",
            "A letter with an accent counts as two, even where the API server's message says characters. The length of"
            " a driver's opaque parameters is that of their JSON, in which <, > and & count as six each.",
        ),
        lambda field: bool(getattr(field, "max_length", None) or getattr(field, "max_bytes", None)),
    ),
    "max-items": (
        _paragraphs(
            "A list or map has too many items.",
            "From Kubernetes 1.35, this is the only error of such a list; earlier releases check its items as well.",
        ),
        lambda field: bool(getattr(field, "max_items", None)),
    ),
    "minimum": (
        "A number is below its minimum.",
        lambda field: getattr(field, "minimum", None) is not None,
    ),
    "maximum": (
        "A number is above its maximum.",
        lambda field: getattr(field, "maximum", None) is not None,
    ),
    "empty": (
        "A field is set, but empty: omit it.",
        lambda field: bool(field.empty),
    ),
    "json-object": (
        "A driver's opaque configuration is JSON, but not a JSON object.",
        lambda field: isinstance(field, RawObject),
    ),
    "duplicate": (
        _paragraphs(
            "A list item repeats an earlier one.",
            "The finding is at the second and each later item. Items of some lists are compared by a field such as the"
            " name, items of others as a whole.",
        ),
        lambda field: getattr(field, "unique", None) is not None,
    ),
}
"""Rules about single fields: their texts, and predicates for the fields that state them."""

OF_UPDATES: Mapping[str, str] = {
    "old-object": "The old state of an update is not a stored object of this kind.",
    "old-version": "The old state of an object is in another apiVersion and cannot be converted, so the two are not"
    " compared.",
    "not-compared": _paragraphs(
        "The old state of an object is not known, so the two are not compared.",
        "`--against` renders charts and kustomizations as they are at the revision. If that fails, their objects are"
        " judged as new. An object from standard input is not compared if several files of the revision have one of its"
        " name: name the directory of the chart or kustomization instead, or the file with `--stdin-filename`.",
    ),
    "generation-lowered": getdoc(generation_lowered) or "",
    "name": "An update names a different object than the stored one.",
    "uid": "An update is meant for an earlier object of the same name.",
    "resource-version": _paragraphs(
        "An update is based on an earlier state than the stored one.",
        "The object has changed since it was read: read it again, and repeat the change. An update without a "
        "resourceVersion applies to any state, except for kinds that require one.",
    ),
    "spec-ignored": "An update of the status changes the spec: the API server keeps the spec as it was.",
    "status-ignored": _paragraphs(
        "An update of the object changes the status: the API server keeps the status as it was.",
        "With `--against`, a status that both manifests have has no finding.",
    ),
}
"""Rules about updates, which compare an object with its earlier state."""
OF_EVALUATION: Mapping[str, str] = {
    "policy": "A policy refuses or warns: the finding names its expression.",
    "policy-error": "An expression of a policy could not be evaluated for an object, or its parameters are missing.",
    "admission-plugin": _paragraphs(
        "An admission plugin of the API server refuses the object before policies are asked.",
        "The plugins are LimitRanger, Priority and RuntimeClass. They read the objects that are among the manifests or"
        " the files of `--policies`.",
    ),
    "assumed": "A policy depends on facts that only a cluster has; the finding states the assumption.",
}
"""Rules about the evaluation of policies."""
OF_POLICIES: Mapping[str, str] = {
    "duplicate-policy": "Two policies or bindings of a kind have the same name: only the first is used.",
    "policy-without-binding": "No binding names the policy, so it applies to nothing.",
    "binding-without-policy": "A binding names a policy that does not exist.",
    "param-without-kind": "A binding has a paramRef, but its policy has no paramKind: the parameters are not used.",
    "binding-without-params": "A policy has a paramKind, but its binding has no paramRef: params is null.",
    "unknown-resource": "A policy matches an API group, a resource or a subresource that Kubernetes does not have.",
    "unchangeable-version": "A mutating policy matches a resource in versions in which it cannot change objects.",
    "unserved-version": "A rule of a policy names a version in which the release does not serve the resource.",
    "never-applies": "A match condition is false for every object, so the policy never applies.",
    "no-condition": "A match condition is true for every object.",
    "impossible-value": _paragraphs(
        "An expression compares a field of the request with a value that the policy's rules never match.",
        "The value may be misspelt, such as the kind ResourceClaims or the operation Create, or the rules lack it.",
    ),
    "never-refuses": "A validation is true for every object.",
    "never-removes": "An ApplyConfiguration leaves out items of a list that is merged by a key, so that they stay.",
    "unused-variable": "No expression of the policy uses the variable.",
    "type-check": "A validation does not type-check against a matched kind, as `status.typeChecking` will say.",
    "mistyped": _paragraphs(
        "An expression or a constant does not fit the matched kinds, such as a misspelt field or path in a mutation.",
        "The API server does not look for it: it checks the types of validations only, not for subresources, and not "
        "where rules take any version.",
    ),
    "makes-invalid": _paragraphs(
        "A mutation makes a small valid object one that the API server refuses without further changes.",
        "Other mutating policies are tried together with it. It is not reported where one with parameters may apply.",
    ),
    "fails-on-valid": "An expression, a change or a message fails for a small object that the API server accepts.",
    "over-cost": "An expression costs more than the API server allows, whatever the object is.",
}
"""Rules of ``draguard policy check`` about policies and bindings."""
OF_SUITES: Mapping[str, str] = {
    "suite": "A suite of `draguard policy test` is malformed.",
    "case": "A case of a suite does not have the expected result, or is malformed.",
    "not-matched": "No policy matches the request of a case that expects it to be allowed.",
    "not-covered": "No case sees the validation both true and false, or none sees the mutation change anything.",
    "not-tested": "The policy has no test suite for `draguard policy test`.",
}
"""Rules of ``draguard policy test`` about suites."""
EVERY_OBJECT: Mapping[str, str] = {
    **OF_UPDATES,
    **OF_EVALUATION,
    **OF_POLICIES,
    **OF_SUITES,
    "unknown-field": _paragraphs(
        "The object has a field that its type does not have in this release; strict decoding refuses it.",
        "It may be misspelt, at the wrong level, or of another release or API version: the hint names the likely "
        "cause. kubectl requests strict decoding; other clients only get a warning, and the field is dropped.",
    ),
    "wrong-type": _paragraphs(
        "A value does not have its field's type, such as a string in place of a number, so it cannot be decoded.",
        "YAML reads 1, yes and null as a number, a boolean and null: quote them where you mean a string. An object "
        "that cannot be decoded is not validated, so fixing this can bring up more findings.",
    ),
    "not-served": _paragraphs(
        "The release does not serve the object's kind in the object's apiVersion.",
        "The hint lists the API versions that the release serves, and the fields that moved. `draguard explain` "
        "shows which releases serve a kind.",
    ),
    "schema": _paragraphs(
        "The schema in the CustomResourceDefinition of the object's kind, or one of its validation rules, refuses the "
        "object.",
        "It is judged where the CustomResourceDefinition is among the files, and policies are.",
    ),
    "not-an-object": "The submitted value is not a JSON object.",
    "too-deep": "The object is nested too deeply for draguard.",
    "claims-lost": "The controller of another project's workload drops or refuses its resource claims.",
    "namespace": _paragraphs(
        "An object is created in a namespace that cannot exist, or updated in a namespace other than its own.",
        "A namespace's name is a DNS label: at most 63 lower-case letters, digits and hyphens. To move an object "
        "to another namespace, create it there.",
    ),
    "deprecated": _paragraphs(
        "The API version is deprecated: the API server warns, and names the release that removes it.",
        "The object is still accepted. `draguard explain KIND` lists the other versions, and where its fields are "
        "in them.",
    ),
    "version-off": _paragraphs(
        "The release has the API version, but a cluster does not serve it by default.",
        "Alpha versions, and beta versions that are newer than Kubernetes 1.24, are off unless kube-apiserver has "
        "--runtime-config; DRA is on by default from Kubernetes 1.34, in v1. If your cluster serves the version, state "
        "--runtime-config here, too.",
    ),
    "gate-off": _paragraphs(
        "A kind or field needs a feature gate that is off; such a field is dropped.",
        "The API server does not report it: the object is stored without the field, and may then mean something "
        "else. If the gate is on in your cluster, state it with --feature-gates. A field that the stored object "
        "already has is kept.",
    ),
    "misread-key": getdoc(misread_key) or "",
    "repeated-object": getdoc(repeated_object) or "",
    "template": _paragraphs(
        "A manifest has placeholders, such as `{{ .Name }}`, `${NAME}`, `$NAME`, `{name}`, `%NAME%`, `@NAME@`, "
        "`__NAME__` or `<your-name>`, in fields that cannot hold them: it is applied once they are filled in.",
        "The rest is validated where it does not depend on them. With `--policies` it is a warning: policies are not "
        "evaluated. An object that the API server may accept as it stands is evaluated as it stands. Text that is not "
        "YAML until it is filled in is not validated. `--fix` ignores lines with placeholders.",
    ),
    "status-dropped": _paragraphs(
        "A new object has a status: the API server drops it silently.",
        "Omit it: drivers, the scheduler and controllers set it later, by updating the status subresource. Objects "
        "with a UID, as in a snapshot, are copies of stored objects and may have a status.",
    ),
    "prescheduled-contradiction": "A pod names a node that its own nodeSelector or affinity excludes.",
    "prescheduled-too-many-terms": "A pod names a node, and has too many node affinity terms to add the node to.",
    "prescheduled": "A pod with spec.nodeName bypasses the scheduler; `draguard mutate` rewrites it.",
    "expression": "An expression of a policy makes the API server's compiler fail.",
    "unused-suppression": _paragraphs(
        "A comment, an annotation or the configuration file suppresses findings of a rule that has none.",
        "Remove it: it would hide the next mistake. It is not reported for rules that a run does not check, such as "
        "those of policies without --policies, and of updates without --old.",
    ),
    "malformed-suppression": ("A comment or an annotation for draguard names no rule, or an unknown one."),
    "unexplained-suppression": (
        "A comment or an annotation suppresses findings without a reason: write it after the rules."
    ),
    "older-version": _paragraphs(
        "An object has an older API version than the releases serve, or a pod names its claims in the old form.",
        "`draguard convert --check` reports it, and `draguard convert --write` converts it. docs/migrate.md shows the "
        "changes from version to version.",
    ),
    "no-counterpart": _paragraphs(
        "An object has a field that newer API versions cannot express, so `draguard convert` keeps it.",
        "The help says what to write instead. Most such fields come from Kubernetes 1.30 and earlier, where a driver's "
        "controller allocated claims; docs/migrate.md has a table.",
    ),
    "internal-error": _paragraphs(
        "draguard itself failed on an object, so that it is not judged; all others are.",
        "The command exits with 3. Please report it with the object; the finding cannot be suppressed.",
    ),
    "unreadable": _paragraphs(
        "A file, or one of its documents, cannot be read as Kubernetes reads it.",
        "The command exits with 1, or with 2 if the path cannot be opened.",
        "In YAML, `kubectl kustomize` refuses a key that is given twice, and so does the API server in what is sent to "
        "it with `fieldValidation=Strict`; `kubectl apply -f` silently takes the last one.",
    ),
    "too-many-findings": _paragraphs(
        "A file has too many findings, so that it is not judged to its end.",
        f"The most are {MOST_FINDINGS:,} in a file, and {MOST_IN_ALL:,} in all files. Fix what is found, and run the "
        "command again. No baseline is written; the finding cannot be suppressed.",
    ),
}
"""Rules about whole objects and files, which no type declares."""
