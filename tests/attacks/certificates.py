"""A Secret that loses the certificate of the replicas, while clients trust ``caBundle``."""

import socket
import ssl
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tests.apiserver import ApiServer
from tests.attacks import Attack
from tests.attacks.target import Target
from tests.cli.running import running
from tests.cluster.replicas import NAME, SECRET, bundles, held, managed

REPLICAS = 2
PATIENCE = 30.0
ROUND = 1.0
"""Seconds in which replicas look at the Secret four times."""
_QUICK = """
import sys
from webhook.cli import main
from webhook.cluster import manager
from webhook.server import serving
manager.LOOK_SECONDS, serving._LOOK = 0.25, 0.05  # a twentieth, for tests to wait less
sys.exit(main())
"""


def _replica(api: ApiServer, directory: Path, stack: ExitStack) -> int:
    host, _, port = api.address.rpartition(":")
    options = ("--manage-namespace=draguard-system", "--manage-webhooks=draguard", f"--manage-name={NAME}")
    directories = (f"--manage-account={api.account}", f"--manage-directory={directory}")
    env = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    given, program = (
        ("--host=127.0.0.1", "--manage-certificate", *options, *directories),
        (sys.executable, "-c", _QUICK),
    )
    return stack.enter_context(running(*given, env=env, program=program))[0]


def _refusals(api: ApiServer, ports: list[int]) -> Iterator[str]:
    """Shake hands with each replica as the API server does."""
    for bundle in bundles(api):
        trusting = ssl.create_default_context(cadata=bundle.decode())
        for port in ports:
            try:
                with socket.create_connection(("127.0.0.1", port), 10) as plain:
                    trusting.wrap_socket(plain, server_hostname=NAME).close()
            except ssl.SSLError as error:
                yield f"a client refuses: {error.reason}"


def _empty(_target: Target) -> list[str]:
    """Empty the Secret again and again, and go on until all has come to rest."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        api = stack.enter_context(managed(directory))
        ports = [_replica(api, directory / str(number), stack) for number in range(REPLICAS)]
        end = time.monotonic() + PATIENCE
        while not all(bundles(api)):
            assert time.monotonic() < end, "no caBundle was written"
            time.sleep(0.1)
        while next(_refusals(api, ports), "") and time.monotonic() < end:
            time.sleep(0.1)  # until all replicas serve with it
        faults, shaken = list[str](), 0
        for lost in ({"data": {"ca.crt": "", "ca.key": ""}}, {}, {}):
            api.put(SECRET, lost)
            until = time.monotonic() + ROUND
            while time.monotonic() < until or ("tls.crt" not in held(api) and time.monotonic() < until + PATIENCE):
                faults += _refusals(api, ports)
                shaken += 1
                time.sleep(0.02)
            if not held(api).get("tls.crt"):
                faults.append("the Secret was not filled again")
        return [*faults[:3], f"{len(faults)} of {shaken} rounds"] if faults else []


ATTACK = Attack("a self-managed Secret that loses its data, three times", _empty, seconds=1.0)
