"""The objects of a self-managed certificate, and the roles to change them."""

import re
from pathlib import Path

import yaml

from webhook.objects import JSONObject

DOCUMENTED = Path(__file__).parents[2] / "docs/certificates.md"
SECRET = "/api/v1/namespaces/draguard-system/secrets/draguard-certificates"  # noqa: S105 - where it is
LEASE = "/apis/coordination.k8s.io/v1/namespaces/draguard-system/leases/draguard-certificates"
VALIDATING, MUTATING = (
    f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/draguard" for kind in ("validating", "mutating")
)
NAME = "draguard.draguard-system.svc"


def documented_roles() -> list[JSONObject]:
    """Return the roles that docs/certificates.md requires."""
    text = DOCUMENTED.read_text()
    roles = [role for block in re.findall(r"```yaml\n(.+?)```", text, re.DOTALL) for role in yaml.safe_load_all(block)]
    assert [role["kind"] for role in roles] == ["Role", "ClusterRole"]
    return roles


def configuration(webhooks: int = 2) -> JSONObject:
    return {
        "metadata": {"name": "draguard"},
        "webhooks": [
            {"name": f"{place}.draguard", "clientConfig": {"service": {"name": "draguard"}}, "timeoutSeconds": 5}
            for place in range(webhooks)
        ],
    }
