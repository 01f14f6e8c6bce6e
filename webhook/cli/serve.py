"""``draguard serve``: the admission webhook over HTTPS."""

from __future__ import annotations

import base64
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from webhook import admission, server
from webhook.cli.arguments import UsageError
from webhook.cli.following import faults, followed

if TYPE_CHECKING:
    from argparse import Namespace

ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - in a pod, the API server asks from outside
LOCAL = "localhost"
INTERNAL = 3
_LONGEST_DELAY = 3600

_log = logging.getLogger(__name__)


def run(arguments: Namespace) -> int:
    """Serve until a signal comes."""
    if arguments.body_limit is not None and arguments.body_limit <= 0:
        message = f"--body-limit: {arguments.body_limit} bytes hold no review; give at least some thousand"
        raise UsageError(message)
    if arguments.workers < 1:
        message = f"--workers: {arguments.workers} processes answer nothing; give at least 1"
        raise UsageError(message)
    delay = arguments.shutdown_delay
    if delay is None:
        delay = 0.0 if arguments.dev else server.SHUTDOWN_DELAY
    if not 0 <= delay <= _LONGEST_DELAY:
        message = f"--shutdown-delay: {delay:g} is not between 0 and {_LONGEST_DELAY} seconds"
        raise UsageError(message)
    answering = followed(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")

    app = server.create_app(
        lambda body, call: admission.answer(body, call, answering.value),
        unready=(lambda: faults(answering)) if arguments.on_broken_policies == "unready" else tuple,
        body_limit=arguments.body_limit or server.BODY_LIMIT,
    )
    host = arguments.host or (LOCAL if arguments.dev else ALL_ADDRESSES)
    try:
        clients = _clients(arguments)
        certificate = _made_on_the_fly(host, clients) if arguments.dev else _given(arguments, clients)
        server.serve(
            app, host, arguments.port, certificate, delay, workers=arguments.workers, chores=[answering.follow]
        )
    except server.ServerError as error:
        raise UsageError(str(error)) from error
    except server.WorkersError as error:
        print(f"draguard serve: error: {error}", file=sys.stderr)
        return INTERNAL
    return 0


def _clients(arguments: Namespace) -> server.Clients | None:
    if arguments.client_ca is None:
        if arguments.client_name:
            message = "--client-name: give --client-ca, too: a name means nothing unless somebody vouches for it"
            raise UsageError(message)
        return None
    if getattr(arguments, "monitoring_port", None) is None:
        _log.warning("kubelet has no certificate for --client-ca: give --monitoring-port, and let it send probes there")
    return server.Clients(Path(arguments.client_ca), arguments.client_name)


def _given(arguments: Namespace, clients: server.Clients | None) -> server.Certificate:
    return server.Certificate.of_files(Path(arguments.tls_cert), Path(arguments.tls_key), clients=clients)


def _made_on_the_fly(host: str, clients: server.Clients | None) -> server.Certificate:
    from webhook import certs  # noqa: PLC0415 - cryptography is loaded only to make certificates

    try:
        pair = certs.ephemeral([*certs.DEFAULT_NAMES, host])
    except certs.CertificateError as error:
        raise UsageError(str(error)) from error
    print("caBundle of the certificate that was made on the fly:", file=sys.stderr)
    print(base64.b64encode(pair.ca).decode(), flush=True)
    return server.Certificate(pair.certificate, pair.key, clients=clients)
