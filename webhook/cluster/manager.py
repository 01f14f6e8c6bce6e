"""The certificate manager: keeps a replica's certificate and, as the leader, the caBundles current.

A single thread does all the work. It tries to acquire the Lease every two seconds and reads the Secret every five;
failures are retried with increasing delays, while serving continues with the pair on disk.
"""

from __future__ import annotations

import logging
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from webhook.cluster import api
from webhook.cluster.api import ObjectRef
from webhook.cluster.election import Election
from webhook.cluster.errors import ClusterError, Conflict, NotFound
from webhook.cluster.options import (
    BUNDLE,
    CLUSTER_VERSION,
    PAIR,
    SERVING,
    SERVING_KEY,
    ManagerOptions,
    Step,
    decode,
    decode_all,
    encode,
    encode_all,
)
from webhook.cluster.tasks import Task

if TYPE_CHECKING:
    from webhook.objects import JSONObject

LOOK_SECONDS = 5
OBTAIN_SECONDS = 300.0
VERSION_SECONDS = 600

_CERTIFICATE = b"-----BEGIN CERTIFICATE"
_log = logging.getLogger(__name__)


class Manager:
    """Manages the certificates of this replica's webhook.

    Args:
        options: The objects of the cluster to manage.
        clock: A monotonic clock, in seconds.

    Attributes:
        rotations: How many changes of the Secret this replica has made, by their kind.
    """

    def __init__(self, options: ManagerOptions, clock: Callable[[], float] = time.monotonic) -> None:
        self.rotations: Counter[str] = Counter()
        self._options, self._clock = options, clock
        self._api = api.Api(options.account, options.server)
        self._secret = api.secret(options)
        self._configurations = api.configurations(options)
        self._election = Election(self._api, api.lease(options.namespace, options.lease), options.identity, clock)
        self._pair = Pair(options.directory / PAIR) if options.directory else None
        self._version: dict[str, bytes] = {}
        self._serving = self._pair.content() if self._pair else None
        self._missing: list[str] = []
        version = [Task(self._ask_version, VERSION_SECONDS)] if options.directory is None else []
        self._tasks = (self._election.task, *version, Task(self._look, LOOK_SECONDS))
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def leading(self) -> bool:
        """Whether this replica is the leader."""
        return self._election.leading

    @property
    def last_error(self) -> str:
        """The error of the last round, empty if it succeeded."""
        return "; ".join(task.error for task in self._tasks if task.error)

    def unready(self) -> Iterator[str]:
        """Return why the replica cannot serve; later errors are in ``last_error``, since serving continues."""
        if self._serving is None:
            why = self.last_error or f"waiting for the leader to fill {self._secret.what}"
            yield f"no serving certificate yet: {why}"

    def start(self, seconds: float = OBTAIN_SECONDS) -> None:
        """Wait until there is a pair on disk, and start a thread that keeps the certificates current.

        A pair from before a restart of the container is enough if the API server is unreachable.

        Args:
            seconds: The longest time to wait.

        Raises:
            ClusterError: There was none in time, or :meth:`stop` was called.
        """
        deadline, logged = self._clock() + seconds, ""
        try:
            while not self._ended.is_set():
                pause = self.tick()
                reasons = "; ".join(self.unready())
                if not reasons:
                    self._thread = threading.Thread(target=self.run, name="certificates", daemon=True)
                    self._thread.start()
                    return
                if reasons != logged:
                    _log.warning("%s", reasons)
                    logged = reasons
                if self._clock() >= deadline:
                    raise ClusterError(f"{reasons} (given up after {seconds:g} s)")
                self._ended.wait(pause)
            raise ClusterError("stopped before there was a serving certificate")
        finally:
            if self._thread is None:
                self._election.release()

    def stop(self) -> None:
        """End the thread and let another replica lead; may be called from any thread, also during :meth:`start`."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(2 * api.TIMEOUT)

    def tick(self) -> float:
        """Run the tasks that are due, and return the seconds until the next; never raises."""
        for task in self._tasks:
            if task.due <= self._clock():
                task.run(self._clock)
        return max(0.0, min(task.due for task in self._tasks) - self._clock())

    def run(self) -> None:
        """Keep the certificates current until :meth:`stop` is called."""
        while not self._ended.is_set():
            self._ended.wait(self.tick())
        self._election.release()

    def _ask_version(self) -> None:
        """Read the cluster's version, which changes when the cluster is upgraded."""
        version = self._api.get(api.VERSION).get("gitVersion")
        if isinstance(version, str) and version.isascii() and version.isprintable():
            self._version = {CLUSTER_VERSION: version.encode()}

    def _look(self) -> None:
        """Apply the Secret's pair; as leader, also update the Secret and the trusted bundles.

        The configurations are read before the Secret. So if a former leader writes an outdated bundle, the
        configuration must have changed in the meantime, and the write is a conflict.
        """
        found = self._read_configurations() if self.leading else {}
        secret = self._api.get(self._secret)
        data = decode_all(secret.get("data"))
        try:
            if self.leading:
                data = self._advance(secret, data, _trusted(found))
                self._publish(found, data)
        finally:
            self._take_up(data)

    def _read_configurations(self) -> dict[ObjectRef, JSONObject | ClusterError]:
        """Return the existing configurations, and the errors of reading the others."""
        found: dict[ObjectRef, JSONObject | ClusterError] = {}
        missing = []
        for ref in self._configurations:
            try:
                found[ref] = self._api.get(ref)
            except NotFound as error:
                missing.append(str(error))
            except ClusterError as error:
                found[ref] = error
        if missing != self._missing:
            _log.warning("%s", "; ".join(missing) or "all webhook configurations are there")
        self._missing = missing
        return found

    def _advance(self, secret: JSONObject, data: dict[str, bytes], trusted: list[bytes | None]) -> dict[str, bytes]:
        """Carry out the next step, if there is one, and return the Secret's new content."""
        from webhook.cluster import rotation  # cryptography takes 9 MB, which only a leader needs

        wanted = {**data, **self._version}
        step = rotation.step(wanted, self._api.now, self._options.names, trusted, served=self._serving)
        if step is None and wanted != data:
            step = Step("version", f"the cluster's version is {wanted[CLUSTER_VERSION].decode()}", wanted)
        if step is None:
            return data
        if not self.leading:
            raise Conflict("the lead was lost before the Secret was written")
        self._api.patch(self._secret, secret, [{"op": "add", "path": "/data", "value": encode_all(step.data)}])
        self.rotations[step.kind] += 1
        _log.info("%s: %s: %s", self._secret.what, step.kind, step.why)
        return step.data

    def _publish(self, found: Mapping[ObjectRef, JSONObject | ClusterError], data: Mapping[str, bytes]) -> None:
        """Write the bundle to every webhook configuration that can be changed; then report the others."""
        faults, bundle = [], data.get(BUNDLE)
        for ref, configuration in found.items():
            try:
                if isinstance(configuration, ClusterError):
                    raise configuration
                if bundle and (changes := _changes(configuration, encode(bundle))) and self.leading:
                    self._api.patch(ref, configuration, changes)
                    _log.info("%s: caBundle is written", ref.what)
            except ClusterError as error:
                faults.append(error)
        if faults:
            raise faults[0] if len(faults) == 1 else ClusterError("; ".join(map(str, faults)))

    def _take_up(self, data: Mapping[str, bytes]) -> None:
        """Write the Secret's pair to disk, unless it is already there or missing."""
        pair = data.get(SERVING, b""), data.get(SERVING_KEY, b"")
        if not all(pair) or pair == self._serving:
            return
        if self._pair:
            self._pair.put(*pair)
            _log.info("a new serving certificate of %s is in %s", self._secret.what, self._pair.path)
        self._serving = pair


def _trusted(found: Mapping[ObjectRef, JSONObject | ClusterError]) -> list[bytes | None]:
    """Return the bundle of every webhook, None for a configuration that could not be read."""
    bundles: list[bytes | None] = []
    for configuration in found.values():
        if isinstance(configuration, ClusterError):
            bundles.append(None)
        else:
            webhooks = configuration.get("webhooks") or ()
            bundles += [decode(webhook["clientConfig"].get("caBundle")) for webhook in webhooks]
    return bundles


def _changes(configuration: JSONObject, bundle: str) -> list[JSONObject]:
    """Return the JSON Patch that sets the bundle of every webhook of a configuration, and changes nothing else."""
    return [
        {"op": "add", "path": f"/webhooks/{place}/clientConfig/caBundle", "value": bundle}
        for place, webhook in enumerate(configuration.get("webhooks") or ())
        if webhook["clientConfig"].get("caBundle") != bundle
    ]


class Pair:
    """A certificate and its key in one file, so that both are replaced at once.

    Args:
        path: The file, preferably in memory; its directory is created if missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def content(self) -> tuple[bytes, bytes] | None:
        """Return certificate and key, if they can be used, such as those from before a restart of the container."""
        if _fault(self.path):
            return None
        key, begin, rest = self.path.read_bytes().partition(_CERTIFICATE)
        return begin + rest, key

    def put(self, certificate: bytes, key: bytes) -> None:
        """Replace both at once, readable by their owner only.

        Raises:
            ClusterError: They do not belong together, or cannot be written; the old ones stay.
        """
        new = self.path.with_suffix(".new")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.unlink(missing_ok=True)  # what a crash has left
            new.touch(mode=0o600, exist_ok=False)
            new.write_bytes(b"%b\n%b" % (key.rstrip(), certificate))
            if fault := _fault(new):
                raise ClusterError(f"the pair in the Secret is refused, the one in use kept: {fault}")
            new.replace(self.path)
        except OSError as error:
            raise ClusterError(
                f"cannot write to {self.path.parent}: {error.strerror}: give a directory that can be written"
            ) from error
        finally:
            with suppress(OSError):
                new.unlink(missing_ok=True)


def _fault(path: Path) -> str:
    """Return why the pair in a file is unusable, empty if it is usable."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(path, password="")
    except ssl.SSLError as error:
        return error.reason or "no certificate and key in PEM"
    except OSError as error:
        return error.strerror or str(error)
    return ""
