"""Converts objects to the API version that a policy matches."""

from __future__ import annotations

from webhook.api import conversion
from webhook.objects import JSONObject, text
from webhook.policy.evaluation.params import ConfigurationError
from webhook.policy.manifest.kinds import Kind, kind_of


def convert(obj: JSONObject | None, kind: Kind) -> JSONObject | None:
    """Return an object in another version of its kind.

    Args:
        obj: The object; None stays None.
        kind: The kind, in the wanted version.

    Raises:
        ConfigurationError: draguard does not know how the two versions differ.
    """
    if obj is None:
        return None
    if obj.get("kind") == kind.kind and obj.get("apiVersion") == kind.api_version:  # as nearly always
        return obj
    own = kind_of(text(obj, "apiVersion"), text(obj, "kind"))
    if own == kind or own.kind != kind.kind:  # a Scale, or the options of a DELETE, is of a kind of its own
        return obj
    try:
        return conversion.convert(obj, kind.api_version)
    except conversion.ConversionError:
        raise ConfigurationError(f"draguard cannot convert {own} to {kind.api_version}") from None
