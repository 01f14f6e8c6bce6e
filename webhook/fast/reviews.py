"""Reads AdmissionReviews: parts of objects that were read before are not decoded again, nor walked again if valid.

Pods of a workload have the same spec. The decoder skips the parts of an object, which are then known by their bytes.
"""

from __future__ import annotations

from marshal import dumps
from typing import Annotated, Any, Final, Literal, Required, TypedDict, get_type_hints

import msgspec

from webhook.admission.decisions import ReviewOptions
from webhook.admission.record import Endpoint
from webhook.admission.requests import API_VERSION, MAX_UID, OPERATIONS, AdmissionRequest, First
from webhook.fast.policies import QuickPolicies
from webhook.policy.manifest.model import MUTATING, VALIDATING
from webhook.schema.fields import KEPT

LONGEST: Final = 4096
"""The most bytes of a part that is kept: clients choose them."""
ROOM: Final = 1 << 20
"""The most bytes of all that are kept; then all are forgotten, and what is frequent is soon known again."""
MOST: Final = 4096
"""The most parts that were met once, and the most values that kept parts share."""
_SHORT: Final = 256
"""The most bytes of a value that kept parts share; without that, they take four times the memory."""
_PLAIN_FORMAT: Final = 2
"""The newest format of marshal in which equal values are written alike."""


def _some_of(name: str, fields: dict[str, Any]) -> Any:
    """Return the type of maps with some of the fields; the decoder skips others."""
    return TypedDict(name, fields, total=False)  # type: ignore[operator]


_REQUEST: Final = _some_of(
    "Request",
    get_type_hints(AdmissionRequest)
    | {
        "uid": Required[Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_UID)]],
        "operation": Required[Literal[*OPERATIONS]],
        "object": Required[dict[str, msgspec.Raw]],
        "oldObject": Any,
        "options": Any,
    },
)
_REVIEW: Final = _some_of(
    "Review",
    {
        "apiVersion": Required[Literal[API_VERSION]],
        "kind": Required[Literal["AdmissionReview"]],
        "request": Required[_REQUEST],
    },
)
_decode_review: Final = msgspec.json.Decoder(_REVIEW).decode
_decode: Final = msgspec.json.Decoder().decode
_KINDS: Final[dict[Endpoint, str]] = {"validate": VALIDATING, "mutate": MUTATING}


def install() -> None:
    """Read reviews first, and evaluate their policies quickly first."""
    First.parse = Reader().parse
    ReviewOptions.passing = lambda policies, endpoint: QuickPolicies(policies, _KINDS[endpoint]).evaluate


class Reader:
    """Reads AdmissionReviews, and keeps the parts of their objects that it meets again."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Any] = {}
        self._shared: dict[bytes, Any] = {}
        """The values that kept parts share."""
        self._room = ROOM
        self._met: set[int] = set()
        """The hashes of parts that were met once."""

    def parse(self, body: bytes) -> dict[str, Any] | None:
        """Return the request of an AdmissionReview that can be answered, without fields that nothing reads.

        None if the review must be read as a whole.

        Args:
            body: The JSON.
        """
        try:
            if not body.isascii():
                body.decode()  # the decoder checks no text that it skips; nor numbers, but no API server writes 1e999
            request: dict[str, Any] = _decode_review(body)["request"]
            obj = request["object"]
            for name, raw in obj.items():
                written = bytes(raw)
                part = self._kept.get(written)
                obj[name] = self._decoded(written) if part is None else part
        except (ValueError, RecursionError):
            return None
        return request

    def _decoded(self, written: bytes) -> Any:
        part = _decode(written)
        if len(written) > LONGEST:
            return part
        if hash(written) in self._met:
            return self._keep(written, part)
        if len(self._met) >= MOST:
            self._met.clear()
        self._met.add(hash(written))
        return part

    def _keep(self, written: bytes, part: Any) -> Any:
        self._room -= len(written)
        if self._room < 0:
            for each in self._kept, self._shared, KEPT:
                each.clear()
            self._room = ROOM - len(written)
        kept = self._kept[written] = self._sharing(part)[0]
        KEPT[id(kept)] = kept, set()
        return kept

    def _sharing(self, value: Any) -> tuple[Any, bool]:
        """Return a value with those parts of others that are equal to its own, and whether it is short, as these are.

        What has a long part is long: parts of parts are written once, however deep they are.
        """
        is_short = True
        for place, each in value.items() if type(value) is dict else enumerate(value) if type(value) is list else ():
            value[place], is_part_short = self._sharing(each)
            is_short = is_short and is_part_short
        if not is_short or len(written := dumps(value, _PLAIN_FORMAT)) > _SHORT:
            return value, False
        return self._shared.setdefault(written, value) if len(self._shared) < MOST else value, True
