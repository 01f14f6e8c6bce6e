"""AdmissionReviews that real kube-apiservers 1.30 and 1.36 sent to a webhook.

Each has the path that it was sent to and the review. The API server calls a validating webhook after it has validated
the object itself; it also admitted all pods and v1alpha2 objects that it sent to the mutating webhook.
"""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

RECORDED = Path(__file__).parent / "recorded.jsonl.gz"


class Recorded(NamedTuple):
    """A review, and the path that it was sent to."""

    path: str
    review: dict[str, Any]

    @property
    def endpoint(self) -> str:
        return self.path.strip("/").partition("?")[0]

    @property
    def uid(self) -> str:
        return str(self.review["request"]["uid"])

    @property
    def is_judged(self) -> bool:
        """Whether the object is a pod or belongs to v1alpha2."""
        kind = self.review["request"]["kind"]
        return bool(kind["kind"] == "Pod" or kind["version"] == "v1alpha2")


@cache
def recorded() -> tuple[Recorded, ...]:
    """Read them all, once: no test may change them."""
    with gzip.open(RECORDED, "rt", encoding="utf-8") as lines:
        values = [json.loads(line) for line in lines]
    return tuple(Recorded(value["path"], value["review"]) for value in values)
