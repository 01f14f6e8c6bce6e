"""The claims of a pod, as the scheduler finds them."""

from typing import Any

from tests.rows import each_row
from webhook.inventory import Inventory
from webhook.inventory.claims import Blocked, claims_of

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default", "uid": "1"},
    "spec": {
        "schedulingGroup": {"podGroupName": "g"},
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "t"}],
    },
    "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]},
}
OF_POD = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "1", "controller": True}
OF_GROUP = {**OF_POD, "apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup", "name": "g", "uid": "2"}
ANOTHERS = {**OF_POD, "name": "other", "uid": "3"}
NO_OWNER = "ResourceClaim default/c was not created for Pod default/p"


@each_row(
    ("owner", "groups", "blocked"),
    [
        (OF_POD, True, ""),
        (OF_GROUP, True, ""),
        (OF_GROUP, False, f"{NO_OWNER} (Pod is not owner)"),
        (ANOTHERS, True, f"{NO_OWNER} (neither Pod nor PodGroup g is the owner)"),
        ({**OF_GROUP, "name": "h"}, True, f"{NO_OWNER} (neither Pod nor PodGroup g is the owner)"),
        (
            {**OF_GROUP, "apiVersion": "scheduling.volcano.sh/v1beta1"},
            True,
            f"{NO_OWNER} (neither Pod nor PodGroup g is the owner)",
        ),
        (ANOTHERS, False, f"{NO_OWNER} (Pod is not owner)"),
    ],
)
def test_a_claim_from_a_template_belongs_to_the_pod_or_its_group(
    owner: dict[str, Any], *, groups: bool, blocked: str
) -> None:
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "default", "ownerReferences": [owner]},
        "spec": {},
    }
    found = claims_of(POD, Inventory([claim]), groups=groups)
    assert (found.reason if isinstance(found, Blocked) else "") == blocked
