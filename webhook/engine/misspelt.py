"""Reports kinds that are misspelt: no API server has them."""

from __future__ import annotations

from typing import Any

from webhook.api.templates import is_pod_without_claims, makes_pods
from webhook.api.unserved import no_match
from webhook.api.versions import DEFAULT, VERSIONS, find, is_own, release_of
from webhook.policy.manifest.kinds import meant
from webhook.problem import ERROR, Fix, Path, Problem


def misspelt(obj: Any, kubernetes: str | None = None) -> list[Problem]:
    """Report an object whose kind or version is one of Kubernetes' own, but for a slip; others may be anybody's."""
    if not isinstance(obj, dict):
        return []
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if find(version, kind) is not None:
        return []
    near = meant(version, kind)
    if not near:
        return no_match(obj, release_of(kubernetes) if kubernetes else DEFAULT) if _has_claims(obj) else []
    message = f'no matches for kind "{kind}" in version "{version}"'
    fix = Fix("replace", near, safe=False)
    return [Problem(ERROR, "not-served", "NotFound", Path(("kind",)), message, f'did you mean "{near}"?', fix=fix)]


def _has_claims(obj: dict[str, Any]) -> bool:
    """Tell whether an object can only be meant as a pod or workload of Kubernetes with resource claims."""
    kind = obj.get("kind")
    home = next((name for name, each in VERSIONS.items() if isinstance(kind, str) and kind in each.kinds), None)
    if home is None or not is_own(obj.get("apiVersion")) or not makes_pods(home, kind):
        return False
    return not is_pod_without_claims({**obj, "apiVersion": home})
