"""Leader election by a Lease, as client-go does it (tools/leaderelection/leaderelection.go).

Clocks of different machines are never compared. A replica measures by its own clock since when it has seen the Lease
unchanged; a leader stops leading well before others may take its place.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from webhook.cluster.api import Api, ObjectRef
from webhook.cluster.errors import ClusterError
from webhook.cluster.tasks import Task

if TYPE_CHECKING:
    from webhook.objects import JSONObject

LEASE_SECONDS = 15
RENEW_SECONDS = 10
"""A leader stops leading after this time without renewal; its last request then ends before the Lease does."""

RETRY_SECONDS = 2

_log = logging.getLogger(__name__)


class Election:
    """A candidate.

    Args:
        api: The API server.
        lease: The Lease, which must exist.
        identity: The candidate's unique name.
        clock: A monotonic clock, in seconds.
    """

    def __init__(self, api: Api, lease: ObjectRef, identity: str, clock: Callable[[], float]) -> None:
        self._api, self._lease, self._identity, self._clock = api, lease, identity, clock
        self._seen: JSONObject | None = None
        self._seen_at = self._until = clock()
        self.task = Task(self.campaign, RETRY_SECONDS)
        """Campaigns, again and again."""

    @property
    def leading(self) -> bool:
        """Whether this candidate leads now."""
        return self._clock() < self._until

    def campaign(self) -> None:
        """Acquire the Lease if it is free, renew it if this candidate holds it.

        Raises:
            ClusterError: The Lease cannot be read or written.
        """
        was_leading, started = self.leading, self._clock()
        lease = self._api.get(self._lease)
        spec = lease.get("spec") or {}
        if spec != self._seen:
            self._seen, self._seen_at = spec, self._clock()
        holder = spec.get("holderIdentity")
        if holder and holder != self._identity:
            self._until = started
            if was_leading:
                _log.warning("%s is leader in place of this one", holder)
            seconds = spec.get("leaseDurationSeconds")
            if self._clock() < self._seen_at + (seconds if isinstance(seconds, int) else LEASE_SECONDS):
                return
        now = _micro_time()
        taken: JSONObject = {"holderIdentity": self._identity, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now}
        if holder != self._identity:
            taken |= {"acquireTime": now, "leaseTransitions": (spec.get("leaseTransitions") or 0) + 1}
        self._write(lease, spec | taken)
        self._until = started + RENEW_SECONDS
        if not was_leading:
            _log.info("leader: %s holds %s", self._identity, self._lease.what)

    def release(self) -> None:
        """Release the Lease, so that another candidate can lead at once; never raises."""
        if not self.leading:
            return
        self._until = self._clock()
        try:
            lease = self._api.get(self._lease)
            spec = lease.get("spec") or {}
            if spec.get("holderIdentity") == self._identity:
                # As client-go leaves it: without a holder, for a second.
                spec.pop("holderIdentity")
                self._write(lease, spec | {"leaseDurationSeconds": 1, "renewTime": _micro_time()})
                _log.info("no more leader: %s is released", self._lease.what)
        except ClusterError as error:
            _log.warning("the others will wait %d s for the lead: %s", LEASE_SECONDS, error)

    def _write(self, lease: JSONObject, spec: JSONObject) -> None:
        self._api.patch(self._lease, lease, [{"op": "add", "path": "/spec", "value": spec}])


def _micro_time() -> str:
    """Return the time in readable form; other candidates only check whether it has changed."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
