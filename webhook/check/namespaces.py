"""Labels of namespaces, from Namespace objects and ``--namespace-labels``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from webhook import formats
from webhook.api.versions import NEWEST, release_of
from webhook.findings import identity
from webhook.problem import ERROR, Problem
from webhook.usage import UsageError

ADMIN_RULES = frozenset({"admin-access", "admin-access-of-template", "admin-access-allocated"})
"""The rules that depend on the labels of an object's namespace."""

ADMIN_HINT = "its labels are not known: add the Namespace, or give --namespace-labels"
POLICY_HINT = "give the Namespace, too, or its labels with --namespace-labels"
"""How to provide a namespace's unknown labels to rules and policies."""

_EXAMPLE = "ops=resource.kubernetes.io/admin-access=true"


class Namespaces:
    """The known labels of namespaces.

    Args:
        stated: ``NAMESPACE=KEY=VALUE,…`` each; they take precedence over objects.
        default: The namespace of objects that state none.

    Raises:
        UsageError: One of the texts is malformed.
    """

    def __init__(self, stated: Iterable[str] = (), default: str = "default") -> None:
        self._stated: dict[str, dict[str, str]] = {}
        self._found: dict[str, dict[str, Any]] = {}
        self._default = default
        self.all_noted = False
        """Whether all objects were added; until then only stated labels are known."""
        for text in stated:
            name, labels = _read(text)
            self._stated.setdefault(name, {}).update(labels)

    @property
    def stated(self) -> list[dict[str, Any]]:
        """The Namespaces whose labels are stated, as objects."""
        return [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
            for name, labels in self._stated.items()
        ]

    def note(self, obj: Any) -> None:
        """Add an object if it is a Namespace; the last one of a name counts."""
        if not isinstance(obj, dict) or obj.get("kind") != "Namespace" or obj.get("apiVersion") != "v1":
            return
        metadata = obj.get("metadata")
        if isinstance(metadata, dict) and isinstance(name := metadata.get("name"), str):
            self._found[name] = obj

    @property
    def found(self) -> list[dict[str, Any]]:
        """The Namespaces that were added."""
        return list(self._found.values())

    def labels_around(self, obj: Any) -> Mapping[str, str] | None:
        """Return the labels of an object's namespace; None if they are unknown."""
        if not self._stated and not self._found:
            return None
        name = identity(obj).namespace or self._default
        if name in self._stated:
            return self._stated[name]
        found = self._found.get(name) if self.all_noted else None
        labels = found["metadata"].get("labels") if found else {}
        return None if found is None else labels if isinstance(labels, dict) else {}

    def hinted(self, problem: Problem, obj: Any, release: str) -> Problem:
        """Add a hint to a refusal of admin access: the label of the namespace that was probably meant to allow it."""
        labels = self.labels_around(obj) if problem.rule in ADMIN_RULES and problem.level == ERROR else None
        if not labels:
            return problem
        from webhook.api.dra.resourceclaim import admin_label, admin_label_meant  # few claims have admin access

        judged_as = release_of(release)
        meant = admin_label_meant(labels, judged_as)
        hint = f'the namespace has {meant}: write {admin_label(judged_as)}: "true"'
        return problem._replace(hint=hint) if meant else problem


def _read(text: str) -> tuple[str, dict[str, str]]:
    name, given, labels = text.partition("=")
    if not given:
        raise UsageError(f"--namespace-labels: {text} has no labels: write it as {_EXAMPLE}, or {name}= for none")
    if faults := formats.dns_label(name, NEWEST):
        raise UsageError(f"--namespace-labels: {name!r} is not a namespace: {faults[0]}; write it as {_EXAMPLE}")
    found = {}
    for pair in filter(None, labels.split(",")):
        key, given, value = pair.partition("=")
        if not given:
            raise UsageError(f"--namespace-labels: {name}: the label {pair} has no value: write it as {_EXAMPLE}")
        if faults := (*formats.label_key(key, NEWEST), *formats.label_value(value, NEWEST)):
            raise UsageError(f"--namespace-labels: {name}: {pair} is not a label: {faults[0]}")
        found[key] = value
    return name, found
