"""Tells what a Kubernetes API server will say of Dynamic Resource Allocation objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.problem import Path, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

__all__ = ["Path", "Problem", "validate"]


def validate(
    obj: Any,
    old: Any = None,
    *,
    kubernetes: str | None = None,
    subresource: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    namespace_labels: Mapping[str, str] | None = None,
) -> list[Problem]:
    """Say what the API server of a Kubernetes release would say of an object; an empty list means that it takes it.

    Kinds that have nothing to do with Dynamic Resource Allocation are not judged: nothing is said of them.

    Args:
        obj: The object as a client would submit it, as plain dicts: unknown fields and wrong types are findings.
        old: The object as the server stored it, for an update; None for a create.
        kubernetes: The release, such as ``"1.30"``; None for the newest that serves the object's version.
        subresource: ``"status"`` for an update of the status, which needs ``old``; nothing for the object itself.
        feature_gates: Gates that differ from the release's defaults, by name; ``AllAlpha`` and ``AllBeta`` too.
            DRA's own gate counts as on.
        namespace_labels: The labels of the object's namespace.

    Raises:
        ValueError: ``kubernetes`` is no version that is known here, ``subresource`` no subresource that is judged, a
            feature gate unknown or locked, or a status is to be judged without ``old``.
    """
    from webhook.api.judgement import judge, unnamed  # noqa: PLC0415 - `import webhook` stays cheap

    if subresource not in {"", "status"}:
        message = f'subresource {subresource!r} is not judged: give "status", or "" for the object itself'
        raise ValueError(message)
    if subresource and old is None:
        message = f"a {subresource} is judged as an update: give the stored object as old"
        raise ValueError(message)
    return unnamed(obj) or judge(
        obj,
        old,
        kubernetes=kubernetes,
        subresource=subresource,
        feature_gates=feature_gates,
        namespace_labels=namespace_labels,
    )
