"""Reports kinds that are misspelt: no API server has them."""

from __future__ import annotations

from typing import Any

from webhook.policy.manifest.kinds import meant
from webhook.problem import ERROR, Fix, Path, Problem


def misspelt(obj: Any) -> list[Problem]:
    """Report an object whose kind is one of Kubernetes' own, but for a slip; other unknown kinds may be anybody's.

    Args:
        obj: Any JSON value; an object is of a kind without rules.
    """
    version, kind = (obj.get("apiVersion"), obj.get("kind")) if isinstance(obj, dict) else (None, None)
    near = meant(version, kind)
    if not near:
        return []
    message = f'no matches for kind "{kind}" in version "{version}"'
    fix = Fix("replace", near, safe=False)
    return [Problem(ERROR, "not-served", "NotFound", Path(("kind",)), message, f'did you mean "{near}"?', fix=fix)]
