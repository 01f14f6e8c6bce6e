"""Reads the objects of a running cluster: by kubectl, or in a pod with the token of its service account.

kubectl is a child process, so that exec plugins, OIDC, proxies and client certificates work as for its user.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from shutil import which
from threading import Event
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

import msgspec

from webhook.cluster.errors import ClusterError, Expired, Forbidden, NotFound, TooLong
from webhook.documents.jsontext import is_deep, pruned
from webhook.documents.source import MAX_DEPTH
from webhook.inventory import DRA
from webhook.inventory.snapshots import GROUPS, OF_OTHERS, OPTIONAL
from webhook.objects import DEFAULT_NAMESPACE, LAST_APPLIED, JSONObject, items, text
from webhook.policy.manifest.kinds import Kinds, Known
from webhook.sources.running import ProgramError, TooLongError, finished

if TYPE_CHECKING:
    from webhook.cluster.api import Api
    from webhook.configuration.options import Live
    from webhook.documents.stored import Reader

CHUNK: Final = 500
"""How many objects are asked for at a time, as kubectl does; fewer if they are large."""
MAX_RESPONSE: Final = 16 * 1024**2
"""The bytes of a response; for more, fewer objects are asked for: stored ones have at most 1.5 MiB."""
MAX_METRICS: Final = 64 * 1024**2
"""The bytes of the API server's metrics."""
MAX_BYTES: Final = 1024**3
"""The bytes of all objects that are kept until they are used."""
MAX_VERSIONS: Final = 10_000
"""The versions of all groups; a cluster with hundreds of CustomResourceDefinitions serves hundreds."""
MAX_OBJECTS: Final = 200_000
"""The objects of a kind; Kubernetes supports 150,000 pods."""
MAX_ANNOTATION: Final = 1024
"""The characters of an annotation that is kept, beside those of DRA's own objects."""
SECONDS: Final = 60.0
"""The timeout of a request; a login may wait for its user."""
_TELLING: Final = ",".join(
    f"reason!={each}"
    for each in ("Pulling", "Pulled", "Created", "Started", "ScalingReplicaSet", "SuccessfulCreate", "SuccessfulDelete")
)
"""The events that tell more than that all goes well."""
_WORKERS: Final = 4
_EVERY: Final = 0.2
_LONGEST_MESSAGE: Final = 300
_FAULT: Final = re.compile(r"Error from server \((\w+)\): (.*)")
_FAULTS: Final[Mapping[str, type[ClusterError]]] = {"Forbidden": Forbidden, "NotFound": NotFound, "Expired": Expired}
_GATE: Final = re.compile(rb'^kubernetes_feature_enabled\{name="(\w+)",stage="\w*"\} ([01])$', re.MULTILINE)
_VERSION: Final = re.compile(r"v?(1\.[0-9]{1,3}(?:\.[0-9]{1,4})?)(?![0-9])")


class Kubectl:
    """Sends requests to an API server by kubectl.

    Args:
        program: The path of kubectl.
        context: The context of its configuration; empty for the current one.
        tell: Receives what it says while it runs, such as how to log in.
    """

    def __init__(self, program: str, context: str, tell: Callable[[str], None]) -> None:
        self._command = [program, *([f"--context={context}"] if context else [])]
        self._tell, self._heard = tell, set[str]()
        self.ended = Event()
        """Ends all that runs."""

    @property
    def namespace(self) -> str:
        """The namespace that is meant where none is stated: that of the context."""
        try:
            found = self._output(["config", "view", "--minify", "--output=jsonpath={..namespace}"], MAX_RESPONSE)
        except ClusterError:  # it may have no configuration
            found = b""
        return found.decode(errors="replace").strip() or DEFAULT_NAMESPACE

    def read(self, path: str, most: int) -> bytes:
        """Return what is at a path.

        Args:
            path: The path, with its query.
            most: The bytes that it may have.

        Raises:
            Forbidden: The user may not read it.
            NotFound: It does not exist.
            Expired: A list cannot be continued.
            TooLong: It has more.
            ClusterError: It cannot be read.
        """
        return self._output(["get", "--raw", path], most)

    def _output(self, arguments: Sequence[str], most: int) -> bytes:
        # In a session of its own, it could not ask at the terminal how to log in.
        is_asking = bool(sys.stdin and sys.stdin.isatty())
        command = [*self._command, *arguments]
        try:
            code, out, errors = finished(
                command, self._tick, is_asking=is_asking, most=most, seconds=SECONDS, hear=self._hear
            )
        except OSError as error:
            raise ClusterError(f"{self._command[0]}: {error.strerror}") from error
        except TooLongError as error:
            raise TooLong("the answer is too long") from error
        except ProgramError as error:
            raise ClusterError(f"kubectl {error}") from error
        if code:
            # Of the lines, the last one tells.
            said = errors.decode(errors="replace").strip().splitlines()
            last = said[-1] if said else f"kubectl ended with exit code {code}"
            match = _FAULT.search(last)
            message = (match[2] if match else last).removeprefix("error: ")[:_LONGEST_MESSAGE]
            raise _FAULTS.get(match[1] if match else "", ClusterError)(message)
        return out

    def _tick(self, _: int) -> None:
        if self.ended.is_set():
            raise ProgramError("was ended")

    def _hear(self, complaints: bytes) -> None:
        """Pass on, once, what kubectl says while it waits."""
        for line in complaints.decode(errors="replace").splitlines():
            if line not in self._heard and not _FAULT.match(line):
                self._heard.add(line)
                self._tell(f"kubectl: {line}")


class ListMetadata(msgspec.Struct, rename={"more": "continue"}):
    """The metadata of a part of a list.

    Args:
        more: The token that asks for the next part; empty in the last one.
    """

    more: str = ""


class Chunk(msgspec.Struct):
    """A part of a list, with its objects as JSON."""

    metadata: ListMetadata
    items: list[msgspec.Raw] | None = None


class _Info(msgspec.Struct):
    gitVersion: str  # noqa: N815 - as on the wire


class Where(NamedTuple):
    """The namespaces whose objects are read.

    Args:
        namespace: The namespace of objects that may not be read in all namespaces; empty for none.
        only: Whether those of other namespaces are not to be read.
    """

    namespace: str = ""
    only: bool = False


EVERYWHERE: Final = Where()


class ObjectsOfKind(NamedTuple):
    """The objects of a kind.

    Args:
        objects: The objects: as JSON, or as they are read.
        note: A note on them, such as why they were not read; empty for none.
        is_missing: Whether they could not be read.
    """

    kind: str
    objects: Sequence[Any] = ()
    note: str = ""
    is_missing: bool = False


class Server:
    """The API server of a running cluster.

    Args:
        name: The name of the cluster in messages.
        transport: Sends the requests: kubectl, or in a pod a client with the token of its service account.
        context: The stated context of kubectl's configuration; empty for none.

    Raises:
        ClusterError: It does not answer.
    """

    def __init__(self, name: str, transport: Kubectl | Api, context: str = "") -> None:
        self.name, self._transport, self.context = name, transport, context
        self._ended = transport.ended
        match = _VERSION.match(decoded(self._read("/version"), _Info).gitVersion)
        self.version = match[1] if match else ""
        """Its release, such as ``1.36.3``; empty if it is none."""
        self._kept = 0
        self._reader: Reader | None = None
        self.count = 0
        """The objects that were read so far."""
        self.is_strict = False
        """Whether a kind that cannot be read is an error, unless that is forbidden."""

    def __str__(self) -> str:
        """Name the cluster."""
        return self.name

    @property
    def namespace(self) -> str:
        """The namespace that is meant where none is stated."""
        return self._transport.namespace

    @property
    def gates(self) -> dict[str, bool]:
        """Its feature gates, by its metrics; empty if they may not be read."""
        try:
            found = _GATE.findall(self._transport.read("/metrics", MAX_METRICS))
            return {name.decode(): on == b"1" for name, on in found}
        except ClusterError:
            return {}

    @property
    def groups(self) -> dict[str, list[str]]:
        """Which versions of which groups it serves; empty if that may not be read."""
        try:
            listed = items(decoded(self._read("/apis")), "groups")
        except ClusterError:
            return {}
        served = {text(each, "name"): [text(one, "version") for one in items(each, "versions")] for each in listed}
        return {"": ["v1"], **served} if 0 < sum(map(len, served.values())) <= MAX_VERSIONS else {}

    def parts(
        self,
        kinds: Sequence[str],
        where: Where = EVERYWHERE,
        watch: Callable[[int], None] | None = None,
        reader: Reader | None = None,
    ) -> Iterator[ObjectsOfKind]:
        """Read the objects of some kinds, several at a time.

        A kind is read whole or not at all: objects that are missing would be taken for objects that do not exist.

        Args:
            kinds: The kinds; of some there may be nothing to read.
            where: In which namespaces.
            watch: Receives the number of objects that were read so far, several times a second.
            reader: Reads the objects; None to have them as JSON.

        Yields:
            The kinds, in their order.

        Raises:
            ClusterError: There are none, as some could not be read.
        """
        self._kept, self.count, self._reader = 0, 0, reader
        served = self.groups
        if "APIService" in kinds and served:
            names = (f"{version}.{group}" for group, versions in served.items() for version in versions)
            api = {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService"}
            services = (msgspec.json.encode(api | {"metadata": {"name": each}}) for each in names)
            yield ObjectsOfKind(
                "APIService", [reader.read(each, "APIService") if reader else each for each in services]
            )
        pool = ThreadPoolExecutor(_WORKERS)
        try:
            others = ((GROUPS[kind], kind) for kind in kinds if kind != "APIService")
            every = ((each, known) for each in others for known in (*Kinds().of_group(each[0]), *OF_OTHERS))
            asked = [known for each, known in every if (known.group, known.kind) == each]
            has_faults = False
            for found in [pool.submit(self._of_kind, known, served, where) for known in asked]:
                while watch and not wait([found], _EVERY).done:
                    watch(self.count)
                yield (part := found.result())
                has_faults = has_faults or part.is_missing
            if has_faults and not self.count:
                raise ClusterError(f"none of these objects can be read of {self.name}")
        finally:
            self._ended.set()
            pool.shutdown(cancel_futures=True)
            self._ended.clear()

    def _of_kind(self, known: Known, served: Mapping[str, Sequence[str]], where: Where) -> ObjectsOfKind:
        for version in known.versions:
            if served and version not in served.get(known.group, ()):
                continue
            root = f"/apis/{known.group}/{version}" if known.group else f"/api/{version}"
            typed = {"apiVersion": f"{known.group}/{version}" if known.group else version, "kind": known.kind}
            try:
                return self._listed(known, root, typed, where)
            except NotFound:  # the version does not have this kind
                continue
            except ClusterError as error:
                forbidden = "forbidden: " if isinstance(error, Forbidden) else ""
                note = f"{known.resource} not read: {forbidden}{error}"
                if self.is_strict and not forbidden:
                    raise ClusterError(note) from error
                return ObjectsOfKind(known.kind, note=note, is_missing=True)
        return ObjectsOfKind(
            known.kind, note="" if known.resource in OPTIONAL else f"{known.resource} not read: not served"
        )

    def _listed(self, known: Known, root: str, typed: JSONObject, where: Where) -> ObjectsOfKind:
        """Read the objects of a kind; of events, those that tell something, and in other namespaces only warnings."""
        everywhere = f"{root}/{known.resource}"
        within = f"{root}/namespaces/{quote(where.namespace)}/{known.resource}"
        is_picked = known.kind == "Event" and self._reader is not None  # not for all to be kept
        telling = _TELLING if is_picked else ""
        if not (where.namespace and known.namespaced):
            return ObjectsOfKind(known.kind, self._objects(everywhere, typed, telling))
        others = f"type=Warning,metadata.namespace!={where.namespace}" if is_picked else ""
        note, found = "", list[Any]()
        try:
            found = [] if where.only else self._objects(everywhere, typed, others)
        except Forbidden:
            note = f"{known.resource} of other namespaces than {where.namespace} not read: forbidden"
        if note or is_picked or where.only:
            found = [*self._objects(within, typed, telling), *found]
        return ObjectsOfKind(known.kind, found, note)

    def _objects(self, path: str, typed: JSONObject, fields: str = "") -> list[Any]:
        path = f"{path}?{f'fieldSelector={quote(fields)}&' if fields else ''}"
        try:
            return self._read_all(path, typed)
        except Expired:
            return self._read_all(path, typed)

    def _read(self, path: str) -> bytes:
        return self._transport.read(path, MAX_RESPONSE)

    def _read_all(self, path: str, typed: JSONObject) -> list[Any]:
        found, kept = list[Any](), 0
        try:
            for chunk in chunks(self._read, path):
                for item in chunk.items or ():
                    content = _stored(bytes(item), typed)
                    kept += len(content)
                    self._kept += len(content)
                    found.append(self._reader.read(content, typed["kind"]) if self._reader else content)
                self.count += len(chunk.items or ())
                if len(found) > MAX_OBJECTS or self._kept > MAX_BYTES:
                    raise ClusterError(f"more than {MAX_OBJECTS:,} objects, or {MAX_BYTES >> 20} MiB with all others")
        except msgspec.MsgspecError as error:  # such as a number that is out of range
            raise _not_of_api_server(error) from error
        except Expired:
            self._kept -= kept
            self.count -= len(found)
            raise
        return found


def chunks(get: Callable[[str], bytes], path: str) -> Iterator[Chunk]:
    """Read a list in parts, which are shorter where objects are long.

    Args:
        get: Returns what is at a path.
        path: The path, with the beginning of its query.

    Raises:
        ClusterError: It cannot be read to its end.
    """
    limit, more = CHUNK, ""
    while True:
        rest = f"&continue={quote(more)}" if more else ""
        try:
            chunk: Chunk = decoded(get(f"{path}limit={limit}{rest}"), Chunk)
        except TooLong:
            if limit == 1:
                raise
            limit = max(limit // 4, 1)
            continue
        yield chunk
        before, more = more, chunk.metadata.more
        if not more:
            return
        if not chunk.items or more == before:
            raise ClusterError("the API server returned a list that does not go on")


def decoded(content: bytes, of: Any = Any) -> Any:
    """Decode what an API server sends; what a tenant has nested too deeply is left out."""
    try:
        return msgspec.json.decode(content, type=of)
    except RecursionError:
        return decoded(pruned(content.decode(errors="replace")).encode(), of)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _not_of_api_server(error) from error


def _not_of_api_server(error: Exception) -> ClusterError:
    return ClusterError(f"the answer is not that of an API server: {error}"[:_LONGEST_MESSAGE])


def _stored(item: bytes, typed: JSONObject) -> bytes:
    """Return an object of a list without what nothing needs, as what is left has to fit into memory."""
    if item.count(b"{") + item.count(b"[") > MAX_DEPTH and is_deep(decoded(item)):
        item = pruned(item.decode()).encode()
    obj = decoded(item, dict[str, msgspec.Raw])
    if isinstance(metadata := decoded(obj.get("metadata", b"null")), dict):
        is_ours = typed["apiVersion"].startswith(DRA)
        managers = items(metadata, "managedFields") if is_ours else []  # in which version something was written
        metadata.pop("managedFields", None)
        if managers:
            metadata["managedFields"] = [{key: each[key] for key in each if key != "fieldsV1"} for each in managers]
        if isinstance(annotations := metadata.get("annotations"), dict):
            metadata["annotations"] = {
                key: value
                for key, value in annotations.items()
                if len(str(value)) <= MAX_ANNOTATION or (is_ours and key == LAST_APPLIED)
            }
        obj["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.json.encode({**typed, **obj})


def connect(live: Live, tell: Callable[[str], None]) -> Server:
    """Connect to a running cluster.

    Args:
        live: The cluster.
        tell: Receives what kubectl says while it runs, such as how to log in.

    Raises:
        ClusterError: It cannot be reached.
    """
    if program := which("kubectl"):
        return Server(str(live), Kubectl(program, live.context, tell), live.context)
    if live.context or not os.environ.get("KUBERNETES_SERVICE_HOST"):
        raise ClusterError("kubectl is not installed here: install it, or give a file with --cluster")
    from webhook.cluster.api import Api  # few commands run in pods
    from webhook.cluster.options import SERVICE_ACCOUNT

    return Server("this pod's cluster", Api(SERVICE_ACCOUNT, seconds=20.0))  # where no user has to log in
