"""Admits usual requests by those parts of them that matter: valid new objects that no policy refuses.

What neither rules nor policies read, such as the environment of a container, is skipped by the decoder. A request that
may have another answer is left to be read and answered as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from webhook.admission.decisions import ReviewOptions
from webhook.admission.enforcement import Enforcement
from webhook.admission.record import ALLOWED, Call, Record
from webhook.admission.responses import assuming
from webhook.api.judgement import namespace_refusals, plan_of
from webhook.api.versions import find
from webhook.budget import INLINE, REVIEW, Budget, BudgetExceededError, DeadlineExceededError, enter, leave
from webhook.engine import prescheduled
from webhook.extent import Extent
from webhook.fast.decoded import layout_of
from webhook.fast.partial import reading_like
from webhook.fast.plan import ReadAsWholeError, planned_decoding
from webhook.schema import CREATE, CompiledStruct

if TYPE_CHECKING:
    from webhook.policy.evaluation.policyset import PolicySet
    from webhook.policy.evaluation.quickpath import QuickPlace, QuickVerdict

OFTEN: Final = 16
"""How many requests of a kind are answered as a whole before a decoder is made for them."""
_MOST: Final = 64
"""The largest number of kinds, as they are written, that are remembered."""
_MOST_MISSES: Final = 256
"""How many more requests of a kind may have to be read again than are admitted."""
_CREATE: Final = b'"CREATE"'
_HEAD: Final = 4096
"""In how many bytes the operation must be found; longer names than that are invalid."""
_GROUP: Final = b'"group"'
"""The first field of a request's kind, which API servers write before other groups."""
_UNKNOWN: Final = object()
_NO_POLICIES: Final = 0, ()
"""The cost and the assumptions of no policies."""


class _Usual:
    """How to admit requests of a kind.

    Args:
        struct: The type of the objects.
        read: Reads a request with those parts of its object that matter.
        is_fine: Recognizes valid objects.
        place: The place of the requests among policies; None without policies.
    """

    __slots__ = ("is_fine", "misses", "place", "read", "struct")

    def __init__(
        self,
        struct: CompiledStruct,
        read: Callable[[bytes], dict[str, Any]],
        is_fine: Callable[[object], bool],
        place: QuickPlace | None,
    ) -> None:
        self.struct, self.read, self.is_fine, self.place = struct, read, is_fine, place
        self.misses = -len(place.instead) if place else 0
        """How many more requests had to be read again than were admitted, but for those for which policies are made."""


class Shortcut:
    """Admits usual requests.

    Args:
        kubernetes: As for :class:`~webhook.admission.decisions.ReviewOptions`.
        feature_gates: The same.
        policies: The same.
        enforcement: The same.
    """

    def __init__(
        self,
        kubernetes: str | None,
        feature_gates: Mapping[str, bool] | None,
        policies: PolicySet | None,
        enforcement: Enforcement,
    ) -> None:
        self._kubernetes, self._feature_gates = kubernetes, feature_gates
        self._policies, self._enforcement = policies, enforcement
        self._met: dict[bytes, int] = {}
        self._usual: dict[bytes, _Usual | None] = {}
        """The kinds that were met often, as they are written; None if all of their objects is read."""

    @classmethod
    def of(cls, options: ReviewOptions) -> Shortcut | None:
        """Return the shortcut for options; None if more of each object must be looked at."""
        if options.surroundings is not None or prescheduled.RULE in options.enforcement.rules:
            return None
        return cls(options.kubernetes, options.feature_gates, options.policies, options.enforcement)

    def _kind_in(self, body: bytes) -> bytes:
        """Return the kind of a request as it is written; empty if such requests are always answered as a whole."""
        operation = body.find(_CREATE, 0, _HEAD)
        at = -1 if operation < 0 else body.find(_GROUP, 0, operation)
        if at < 0:
            return b""
        kind = body[at : body.find(b"}", at, operation)]
        return b"" if self._usual.get(kind, _UNKNOWN) is None else kind

    def answer(self, body: bytes, call: Call) -> tuple[dict[str, Any], Record] | None:
        """Return the response to a usual request, and its record; None if it must be answered as a whole.

        Args:
            body: An AdmissionReview as JSON.
            call: How the webhook was called.

        Raises:
            BudgetExceededError: The call is inline, and too much work for that.
        """
        usual = self._usual.get(self._kind_in(body))
        if usual is None or call.is_late:
            return None
        admitted = None
        before = enter(Budget(INLINE if call.is_inline else REVIEW, call.deadline))
        try:
            admitted = self._admitted(usual, usual.read(body), call)
        except (ValueError, RecursionError, DeadlineExceededError):
            pass
        except BudgetExceededError:
            if call.is_inline:
                raise
        finally:
            leave(before)
        if admitted and usual.misses > 0:
            usual.misses -= 1
        return admitted

    def _admitted(self, usual: _Usual, request: Mapping[str, Any], call: Call) -> tuple[dict[str, Any], Record] | None:
        obj = request["object"]
        if not usual.is_fine(obj) or namespace_refusals(usual.struct, obj) or self._enforcement.exempts(request):
            return None
        if not request.get("name") and obj.metadata.name:  # API servers send it, too
            return None
        verdict: QuickVerdict | None = _NO_POLICIES
        if self._policies:
            verdict = self._policies.quick_validation(request, call.deadline, usual.place)
        if verdict is None:
            return None
        cost, notes = verdict
        return assuming(notes), Record(call.endpoint, request=request, cost=cost)

    def learn(self, body: bytes, record: Record) -> None:
        """Note a request that was answered as a whole.

        If such are admitted often, a decoder is made for them; if most of these must be read again, all are read as a
        whole from then on.

        Args:
            body: The request.
            record: The record of its answer.
        """
        kind = self._kind_in(body)
        if not kind or record.decision != ALLOWED or record.found or record.warnings:
            return
        request, usual = record.request, self._usual.get(kind)
        if usual:
            usual.misses += 1
            if usual.misses > _MOST_MISSES:
                self._usual[kind] = None
        if kind in self._usual or len(self._usual) >= _MOST:
            return
        if request.get("subResource") or not all(isinstance(request.get(each), dict) for each in ("object", "kind")):
            return
        if len(self._met) >= _MOST and kind not in self._met:
            self._met.clear()
        self._met[kind] = self._met.get(kind, 0) + 1
        if self._met[kind] >= OFTEN:
            del self._met[kind]
            self._usual[kind] = self._made(request)

    def _made(self, request: Mapping[str, Any]) -> _Usual | None:
        """Make the decoder for requests like one; None if all of their objects is read."""
        extent = Extent()
        if self._policies:
            self._policies.extend(extent, request)
        obj = request["object"]
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if find(version, kind) is None:
            return None
        stated = None if self._feature_gates is None else frozenset(self._feature_gates.items())
        struct, _ = plan_of(version, kind, CREATE, self._kubernetes, stated)
        try:
            found = planned_decoding(struct, extent, {"apiVersion": version, "kind": kind})
        except ReadAsWholeError:
            return None
        if found is None:
            return None
        type_, is_fine = found
        place = self._policies.validation_place(request, layout_of(type_)) if self._policies else None
        return _Usual(struct, reading_like(request, type_), is_fine, place)
