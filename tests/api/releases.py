"""Findings of a release."""

from __future__ import annotations

from typing import Any

from tests.structured import LABELLED, errors
from webhook import validate

ALL = {"AllAlpha": True, "AllBeta": True, "DeclarativeValidationTakeover": False}


def said(obj: dict[str, Any], kubernetes: str) -> list[tuple[str, str]]:
    """List the errors of a release with all gates on."""
    return errors(validate(obj, kubernetes=kubernetes, feature_gates=ALL, namespace_labels=LABELLED))


def version_of(kubernetes: str) -> str:
    """Return a version that a release serves, the oldest of those with flat requests."""
    return "v1alpha3" if kubernetes == "1.31" else "v1beta1"
