"""The objects of a self-managed certificate, and replicas that manage it, with the time and state that they see."""

import base64
import re
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from tests.apiserver import ApiServer, running
from tests.serving import look
from webhook.cluster.manager import Manager, Pair
from webhook.cluster.options import PAIR, ManagerOptions, encode_all
from webhook.cluster.rotation import step
from webhook.objects import JSONObject
from webhook.server import Certificate

DAY = timedelta(days=1)


class Clock:
    """Seconds that pass on demand."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class Replica(Manager):
    """A manager in time of its own, with a server that follows its files."""

    def __init__(self, api: ApiServer, where: Path, **options: Any) -> None:
        self.time = Clock()
        self.path = where / PAIR
        given = options_of(api, where)
        self.names = given.names
        super().__init__(replace(given, **options), clock=self.time)
        self.certificate: Certificate | None = None

    def round(self, seconds: float = 40.0) -> None:
        """Run all tasks that are due, and renew the Lease meanwhile."""
        for _ in range(int(seconds / 5)):
            self.time.seconds += 5
            self.tick()

    def fingerprint(self) -> bytes:
        return ssl.PEM_cert_to_DER_cert(self.files()[0].decode())

    def files(self) -> tuple[bytes, bytes]:
        """Return certificate and key."""
        found = Pair(self.path).content()
        assert found is not None
        return found

    def handshake(self, bundle: bytes) -> bytes:
        """Shake hands as a client that trusts a bundle alone, and return the certificate that it saw."""
        if self.certificate is None:
            self.certificate = Certificate(self.path, self.path)
        look(self.certificate)
        trusting = ssl.create_default_context(cadata=bundle.decode())
        trusting.verify_flags |= ssl.VERIFY_X509_STRICT
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = trusting.wrap_bio(back, there, server_hostname=NAME)
        server = self.certificate.value.context.wrap_bio(there, back, server_side=True)
        for side in (client, server) * 3:
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
        return client.getpeercert(binary_form=True) or b""


def options_of(api: ApiServer, directory: Path) -> ManagerOptions:
    return ManagerOptions(
        namespace="draguard-system",
        secret="draguard-certificates",  # noqa: S106 - its name
        lease="draguard-certificates",
        names=(NAME, f"{NAME}.cluster.local"),
        directory=directory,
        webhooks=("draguard",),
        account=api.account,
        server=api.address,
    )


def age(api: ApiServer) -> None:
    """Let the certificates be as old as they are when the authority becomes due.

    It is three hours earlier then, so that real clients take for valid what is made in the hours to come.
    """
    api.wait(timedelta(hours=-3))
    data: dict[str, bytes] = {}
    for days in (243.5, 183.4, 123.3, 63.2, 3.1):
        found = step(data, api.now - timedelta(days=days), options_of(api, Path()).names, None)
        assert found
        data = found.data
    api.put(SECRET, {"data": encode_all(data)})


def bundles(api: ApiServer) -> list[bytes]:
    """Return the bundles of the webhooks of all configurations."""
    return [
        base64.b64decode(webhook["clientConfig"].get("caBundle", ""))
        for path in (VALIDATING, MUTATING)
        if path in api.objects
        for webhook in api.objects[path]["webhooks"]
    ]


def held(api: ApiServer) -> dict[str, bytes]:
    return {name: base64.b64decode(text) for name, text in api.objects[SECRET].get("data", {}).items()}


def holder(api: ApiServer) -> object:
    return api.objects[LEASE]["spec"].get("holderIdentity")


def all_trust(api: ApiServer, *replicas: Replica, that: Callable[[bytes], object] = lambda _: True) -> None:
    """Shake hands with every replica as every webhook's client, or those whose bundle is chosen."""
    for replica, bundle in product(replicas, {*filter(that, bundles(api))}):
        assert replica.handshake(bundle) == replica.fingerprint()


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


@contextmanager
def managed(directory: Path) -> Iterator[ApiServer]:
    """Run an API server with the chart's objects: all of them empty, and only the documented permissions."""
    account = directory / "account"
    account.mkdir()
    with running(account, documented_roles()) as server:
        server.put(SECRET, {"type": "Opaque"})
        server.put(LEASE, {"spec": {}})
        server.put(VALIDATING, configuration())
        server.put(MUTATING, configuration(1))
        yield server


def configuration(webhooks: int = 2) -> JSONObject:
    return {
        "metadata": {"name": "draguard"},
        "webhooks": [
            {"name": f"{place}.draguard", "clientConfig": {"service": {"name": "draguard"}}, "timeoutSeconds": 5}
            for place in range(webhooks)
        ],
    }
