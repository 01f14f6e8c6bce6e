"""Admits usual requests by those parts of them that matter: valid new objects that no policy refuses.

What rules do not read, such as the environment of a container, is skipped by the decoder; a second one reads what
policies do. A request that may have another answer is left to be read and answered as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Final, Literal, Required, TypedDict, get_args

import msgspec

from webhook.admission.decisions import ReviewOptions
from webhook.admission.record import ALLOWED, Call, Endpoint, Record
from webhook.admission.requests import API_VERSION, MAX_UID, AdmissionRequest
from webhook.admission.responses import assuming
from webhook.api.judgement import namespace_refusals, plan_of
from webhook.api.versions import find
from webhook.budget import INLINE, REVIEW, Budget, BudgetExceededError, DeadlineExceededError, enter, leave
from webhook.engine import prescheduled
from webhook.fast.extents import Extent, type_of
from webhook.fast.plan import planned_decoding
from webhook.fast.policies import Passed, QuickPolicies
from webhook.policy.manifest.model import MUTATING, VALIDATING
from webhook.schema import CREATE

OFTEN: Final = 16
"""How many requests of a kind are answered as a whole before a decoder is made for them."""
_MOST: Final = 64
"""The largest number of kinds, as they are written, that are remembered, and of namespaces for each."""
_MOST_MISSES: Final = 256
"""How many more requests of a kind may have to be read again than are admitted."""
_CREATE: Final = b'"CREATE"'
_HEAD: Final = 4096
"""In how many bytes the operation must be found; longer names than that are invalid."""
_GROUP: Final = b'"group"'
"""The first field of a request's kind, which API servers write before other groups."""
_PLACE: Final = ("kind", "resource", "requestKind", "requestResource", "subResource", "requestSubResource", "operation")
"""The fields of a request that decide, with its namespace, which rules and policies may apply."""
_OWN: Final = ("userInfo", "dryRun", "options", "name", "namespace")
"""The fields of requests that differ in one place, and that policies see."""
_NAMED_BY: Final = ("group", "version", "kind", "resource")
"""The fields of kinds and resources."""
_REVIEW: Final = {"apiVersion": API_VERSION, "kind": "AdmissionReview"}
_NAMESPACE: Final = Annotated[str, msgspec.Meta(min_length=1, max_length=63)]
"""The namespaces that an API server sends; those of other clients may be of any length, and what passed is kept."""


def install() -> None:
    """Look at requests before they are read as a whole, and before policies are evaluated."""
    ReviewOptions.read_first = Shortcut


class _Usual(msgspec.Struct):
    """How to admit requests of a kind.

    Args:
        read: Reads a request with those parts of its object that rules read.
        is_fine: Recognizes requests that need no look at more of the object.
        passed: Tells whether policies let a request pass.
        misses: How many more requests had to be read again than were admitted.
    """

    read: Callable[[bytes], dict[str, Any]]
    is_fine: Callable[[Mapping[str, Any]], bool]
    passed: Callable[[bytes, Mapping[str, Any]], Passed | None]
    misses: int = 0


class Shortcut:
    """Admits usual requests that are validated.

    Args:
        options: How reviews are answered.
    """

    def __init__(self, options: ReviewOptions) -> None:
        self._options = options
        self._reads_parts = options.surroundings is None and prescheduled.RULE not in options.enforcement.rules
        """Whether no more of each object must be looked at."""
        self._met: dict[bytes, int] = {}
        """How often kinds were met, as they are written."""
        self._usual: dict[bytes, _Usual | None] = {}
        """Those that were met often; None if all of their objects is read."""
        self._made: dict[bytes, _Usual | None] = {}
        """The same by what is written: a kind may be written in several ways."""
        policies = options.policies
        self._policies = policies and {
            "validate": QuickPolicies(policies, VALIDATING),
            "mutate": QuickPolicies(policies, MUTATING),
        }

    def _kind_in(self, body: bytes, endpoint: Endpoint) -> bytes | None:
        """Return the kind of a request as it is written; None if such requests are always answered as a whole."""
        operation = -1 if endpoint == "mutate" else body.find(_CREATE, 0, _HEAD)
        at = -1 if operation < 0 else body.find(_GROUP, 0, operation)
        end = -1 if at < 0 else body.find(b"}", at, operation)
        return None if end < 0 or not self._reads_parts else body[at:end]

    def answer(self, body: bytes, call: Call) -> tuple[dict[str, Any], Record] | None:
        """Return the response to a usual request, and its record; None if it must be answered as a whole.

        Args:
            body: An AdmissionReview as JSON.
            call: How the webhook was called.

        Raises:
            BudgetExceededError: The call is inline, and too much work for that.
        """
        kind = self._kind_in(body, call.endpoint)
        usual = self._usual.get(kind) if kind else None
        if usual is None or call.is_late:
            return None
        admitted = None
        before = enter(Budget(INLINE if call.is_inline else REVIEW, call.deadline))
        try:
            admitted = self._admitted(usual, body, call)
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

    def _admitted(self, usual: _Usual, body: bytes, call: Call) -> tuple[dict[str, Any], Record] | None:
        request = usual.read(body)
        if not usual.is_fine(request) or self._options.enforcement.exempts(request):
            return None
        passed = usual.passed(body, request)
        if passed is None:
            return None
        cost, notes = passed
        return assuming(notes), Record(call.endpoint, request=request, cost=cost)

    def passes(self, endpoint: Endpoint, request: Mapping[str, Any]) -> Passed | None:
        """Tell that no policy refuses or changes an object: the cost, and the assumptions made; None if not known.

        Args:
            endpoint: Which policies are asked.
            request: The request of an AdmissionReview.

        Raises:
            DeadlineExceededError: The deadline has passed.
            BudgetExceededError: The work exceeds the budget in force.
        """
        return self._policies[endpoint].evaluate(request) if self._policies else None

    def learn(self, body: bytes, record: Record) -> None:
        """Note a request that was answered as a whole.

        If such are admitted often, a decoder is made for them; if most of these must be read again, all are read as a
        whole from then on.

        Args:
            body: The request.
            record: The record of its answer.
        """
        kind = self._kind_in(body, record.endpoint)
        if kind is None or record.decision != ALLOWED or record.found or record.warnings:
            return
        if usual := self._usual.get(kind):
            usual.misses += 1
            if usual.misses > _MOST_MISSES:
                self._usual[kind] = None
        elif not record.patched and kind not in self._usual and len(self._usual) < _MOST:
            self._meet(kind, record.request)

    def _meet(self, kind: bytes, request: Mapping[str, Any]) -> None:
        """Count a request of a kind, and make a decoder if there were many."""
        if request.get("subResource") or not all(isinstance(request.get(each), dict) for each in ("object", "kind")):
            return
        if len(self._met) >= _MOST and kind not in self._met:
            self._met.clear()
        self._met[kind] = self._met.get(kind, 0) + 1
        if self._met[kind] >= OFTEN:
            del self._met[kind]
            place = msgspec.json.encode([*map(request.get, _PLACE), bool(request.get("namespace"))])
            if place not in self._made:
                self._made[place] = self._like(request)
            self._usual[kind] = self._made[place]

    def _like(self, request: Mapping[str, Any]) -> _Usual | None:
        """Tell how to admit requests like one; None if all of their objects is read."""
        obj, gates = request["object"], self._options.feature_gates
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if find(version, kind) is None:
            return None
        stated = None if gates is None else frozenset(gates.items())
        struct, _ = plan_of(version, kind, CREATE, self._options.kubernetes, stated)
        found = planned_decoding(struct, apiVersion=version, kind=kind)
        if found is None:
            return None
        type_, is_valid = found

        @lru_cache(maxsize=_MOST)
        def may_exist(namespace: str | None) -> bool:
            return not namespace_refusals(struct, {"metadata": {"namespace": namespace}})

        def is_fine(request: Mapping[str, Any]) -> bool:
            obj = request["object"]
            return is_valid(obj) and may_exist(obj.metadata.namespace) and _is_named(request, obj)

        read, policies = _reading_like(request, type_), self._policies and self._policies["validate"]
        if not policies:
            return _Usual(read, is_fine, lambda *_: (0, ()))
        place = policies.place_of(request)
        if not place.is_settled or place.kind != (version, kind):
            return None
        parts = _reading_for_policies(*policies.read(place))
        return _Usual(read, is_fine, lambda body, request: policies.evaluate_in(place, request, parts(body)["request"]))


def _is_named(request: Mapping[str, Any], obj: Any) -> bool:
    """Tell whether a request has the name of its object; API servers send it, too."""
    return bool(request.get("name") or not getattr(obj.metadata, "name", None))


def _reading_for_policies(of_object: Extent, own: Extent) -> Callable[[bytes], Any]:
    """Make a function that reads some of an AdmissionReview's object and request."""
    parts = (
        dict.fromkeys(_OWN, Any)
        if own.whole
        else {name: type_of(own.parts[name]) for name in _OWN if name in own.parts}
    )
    review = _map("Review", {"request": _map("Request", parts | {"object": type_of(of_object)})})
    return msgspec.json.Decoder(review).decode


def _reading_like(request: Mapping[str, Any], type_: Any) -> Callable[[bytes], dict[str, Any]]:
    """Make a function that returns the request of an AdmissionReview if it differs from one only in names and objects.

    For others, the function raises a :class:`ValueError` or :class:`RecursionError`.

    Args:
        request: The request, which creates an object.
        type_: The type of those parts of an object that rules read.
    """
    own: dict[str, Any] = _map_type(AdmissionRequest).__annotations__ | _like(request, *_PLACE)
    uid = Required[Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_UID)]]
    namespace = Required[_NAMESPACE] if request.get("namespace") else Literal[""] | None
    own |= {"uid": uid, "namespace": namespace, "object": Required[type_], "oldObject": None, "options": Any}
    review = _map("AdmissionReview", _like(_REVIEW, *_REVIEW) | {"request": Required[_map("Request", own)]})
    decode = msgspec.json.Decoder(review).decode

    def read(body: bytes) -> dict[str, Any]:
        if not body.isascii():
            body.decode()  # the decoder checks no text that it skips; nor numbers, but no API server writes 1e999
        found: dict[str, Any] = decode(body)["request"]
        return found

    return read


def _like(value: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return the types of some fields of a map that has the same values in them."""
    return {name: _exactly(value.get(name)) for name in names}


def _exactly(value: Any) -> Any:
    if isinstance(value, dict):
        return Required[_map("Same", _like(value, *_NAMED_BY))]
    return None if value is None else Required[Literal[value]]


def _map(name: str, fields: Mapping[str, Any]) -> Any:
    """Return the type of maps with some of the fields, none of which is required by itself; others are skipped."""
    return TypedDict(name, fields, total=False)  # type: ignore[operator]


def _map_type(type_: Any) -> Any:
    """Return a type with maps in place of structs."""
    if isinstance(type_, UnionType):
        return reduce(or_, map(_map_type, get_args(type_)))
    if not (isinstance(type_, type) and issubclass(type_, msgspec.Struct)):
        return type_
    return _map(type_.__name__, {each.name: _map_type(each.type) for each in msgspec.structs.fields(type_)})
