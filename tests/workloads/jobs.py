"""Jobs with claims."""

import copy
from typing import Any

JOB: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "train", "image": "trainer:1", "resources": {"claims": [{"name": "gpu"}]}}],
                "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
            }
        }
    },
}


def job(*, made_from: str = "one-gpu", used: Any = (), image: str = "trainer:1", suspend: bool = False) -> Any:
    """Make a job; without ``used``, its container uses the claim."""
    result = copy.deepcopy(JOB)
    pod = result["spec"]["template"]["spec"]
    result["spec"]["suspend"] = suspend
    pod["resourceClaims"][0]["resourceClaimTemplateName"] = made_from
    pod["containers"][0]["image"] = image
    if used != ():
        pod["containers"][0]["resources"]["claims"] = used
    return result
