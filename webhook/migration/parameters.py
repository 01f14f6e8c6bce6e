"""The parameters of v1alpha2 among the objects that are converted, which become parts of the claims that name them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.api.versions import GROUP
from webhook.inventory import CLAIMS
from webhook.migration.structured import of_claim
from webhook.objects import JSONObject, mapping, name_of, text

VERSION: Final = f"{GROUP}/v1alpha2"
_KIND: Final = "ResourceClaimParameters"
_SPECS: Final = dict(zip(CLAIMS, (("spec",), ("spec", "spec")), strict=True))
"""The path of the spec of a claim, by kind."""

_Reference = tuple[str, str, str, str]
"""A namespace, and the group, kind and name of an object in it."""


class Parameters:
    """ResourceClaimParameters, by the references that claims of the same namespace have to them.

    Args:
        objects: All objects that are converted.
    """

    def __init__(self, objects: Iterable[object] = ()) -> None:
        self._known: dict[_Reference, JSONObject] = {}
        self._claims: dict[_Reference, str] = {}
        """A claim or template that has each reference."""
        for obj in objects:
            if isinstance(obj, dict) and obj.get("apiVersion") == VERSION:
                self._note(obj)

    def _note(self, obj: JSONObject) -> None:
        kind = text(obj, "kind")
        if kind == _KIND:
            for each in _names(obj):
                self._known.setdefault(each, obj)
        elif kind in _SPECS and (reference := _referred(obj)):
            self._claims.setdefault(reference, f"{kind} {name_of(obj)}")

    def devices(self, claim: JSONObject) -> JSONObject | None:
        """Return the ``spec.devices`` of a claim with these parameters, without its class; None if that is unclear."""
        reference = _referred(claim)
        found = self._known.get(reference) if reference else None
        return found and of_claim(found)

    def user(self, parameters: JSONObject) -> str:
        """Name a claim that these parameters become a part of; empty if there is none."""
        used = [self._claims[each] for each in _names(parameters) if each in self._claims]
        return used[0] if used and of_claim(parameters) else ""


def _names(parameters: JSONObject) -> list[_Reference]:
    """List the references that lead to parameters: to themselves, or to what they were made from."""
    where, made = _namespace(parameters), mapping(parameters, "generatedFrom")
    names = [(where, GROUP, _KIND, name_of(parameters))]
    return [*names, (where, *_target(made))] if made else names


def _referred(claim: JSONObject) -> _Reference | None:
    reference = mapping(claim, *_SPECS.get(text(claim, "kind"), ()), "parametersRef")
    return (_namespace(claim), *_target(reference)) if reference else None


def _target(reference: JSONObject) -> tuple[str, str, str]:
    return text(reference, "apiGroup"), text(reference, "kind"), text(reference, "name")


def _namespace(obj: JSONObject) -> str:
    return text(obj, "metadata", "namespace") or "default"
