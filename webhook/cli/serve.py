"""``draguard serve``: the admission webhook over HTTPS."""

from __future__ import annotations

import base64
import logging
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import FrameType

from webhook import __version__, admission, server
from webhook.admission import ReviewOptions
from webhook.certificates.exposure import exposures
from webhook.check.reviews import options
from webhook.cli.console import print_error
from webhook.cli.console import tell as note
from webhook.cli.manage_certificate import started
from webhook.documents import find
from webhook.logs import SHARE, DecisionLog, configure
from webhook.optional import install
from webhook.problem import WARNING
from webhook.reloading import Reloaded, UnusableError
from webhook.usage import UsageError, naming

_STANDARD_INPUT = "-"


def reloaded_options(arguments: Namespace) -> Reloaded[ReviewOptions]:
    """Read the options, which follow the files of ``--policies``, ``--authorizer`` and ``--kubernetes-version-file``.

    Standard input can be read only once, so policies from there are not reloaded.

    Raises:
        UsageError: As :func:`webhook.check.reviews.options` does.
    """
    named = [*arguments.policies, *filter(None, [arguments.authorizer])]
    if not arguments.policies or _STANDARD_INPUT in named:
        named = []
    named += [path for path in arguments.cluster if path != _STANDARD_INPUT]
    version = arguments.kubernetes_version_file if arguments.kubernetes_version is None else None

    def files() -> Iterator[str]:
        if version:
            yield version
        if named:
            yield from find(named)

    def prepared(tell: Callable[[str], None] = print_error) -> ReviewOptions:
        found = options(arguments, tell, note, WARNING)  # such an object must not make the server unready
        if found.policies:
            found.policies.prepare()
        return found

    def anew() -> ReviewOptions:
        lines: list[str] = []
        try:
            found = prepared(lines.append)
        except UsageError as error:
            raise UnusableError("\n".join([*lines, str(error)])) from error
        for each in lines:
            print_error(each)
        return found

    policies = "policies and the cluster" if arguments.cluster else "policies"
    what = " and ".join(filter(None, (policies if named or not version else "", "release" if version else "")))
    return Reloaded(what, files, anew, prepared)


def faults(answering: Reloaded[ReviewOptions]) -> Iterator[str]:
    """Explain, for readiness, why the policies in use are not those of their files."""
    if answering.fault:
        yield f"the policies in the files cannot be used: {answering.fault.splitlines()[0]}"


ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - in a pod, the API server connects from outside
_LONGEST_DELAY = 3600

_log = logging.getLogger(__name__)


def run(arguments: Namespace) -> int:
    """Serve until a signal arrives.

    SIGTERM is handled during start-up, too: a container's first process ignores signals that it does not handle.
    """
    before = signal.signal(signal.SIGTERM, _end)
    install("reviews")
    try:
        return _serve(arguments)
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, _frame: FrameType | None) -> None:
    print(f"draguard serve: received {signal.Signals(number).name} while starting", file=sys.stderr)
    raise SystemExit(128 + number)


def _serve(arguments: Namespace) -> int:
    _check(arguments)
    delay = _delay(arguments)
    log = DecisionLog(_share(arguments))
    answering = reloaded_options(arguments)
    configure(arguments.log_format, arguments.log_level)

    def review(body: bytes, call: admission.Call) -> admission.Answer:
        return admission.answer(body, call, answering.value)

    host = arguments.host or ("localhost" if arguments.dev else ALL_ADDRESSES)
    server.open_many_files()
    with naming(of=server.ServerError), ExitStack() as stack:
        # Before there are keys, threads and connections: the processes that judge heavy reviews need none of them.
        forks = server.Forks(review, answering.renew, lambda: answering.generation)
        stack.callback(forks.close)
        clients = _clients(arguments)
        if arguments.manage_certificate:
            stack.callback(started(arguments).stop)
        certificate, ready = _made_on_the_fly(host, clients) if arguments.dev else _from_files(arguments, clients)
        lane = server.Lane(forks)
        metrics = None
        if arguments.monitoring_port is not None:
            from webhook.server.metrics import Metrics  # needed only when metered

            release = answering.value.kubernetes
            metrics = Metrics(certificate, answering, release, lambda: lane.ended, version=__version__)

        def observe(record: admission.Record, seconds: float) -> None:
            log.reviewed(record, seconds)
            if metrics:
                metrics.reviewed(record, seconds)

        app = server.Reviews(
            review,
            lane=lane,
            observe=observe,
            refused=metrics.refused if metrics else lambda _status: None,
            unready=(lambda: faults(answering)) if arguments.on_broken_policies == "unready" else tuple,
            body_limit=arguments.body_limit or server.BODY_LIMIT,
        )
        listener = stack.enter_context(server.listen(host, arguments.port))
        beside = None
        if metrics:
            pages = {"/": lambda _request: server.OVERVIEW, "/metrics": metrics.page, **server.probes(app.reasons)}
            where = arguments.monitoring_host or host, arguments.monitoring_port
            beside = server.Pages(pages), stack.enter_context(server.listen(*where, "--monitoring-"))
        serving = server.Server(
            app,
            listener,
            certificate,
            shutdown_delay=delay,
            limits=server.Limits(connections_per_address=arguments.connections_per_address),
            beside=beside,
            reloaded=[answering],
            ready=ready,
        )
        if metrics:
            metrics.connections = serving.port.crowd.__len__
        serving.run()
    return 0


def _check(arguments: Namespace) -> None:
    """Refuse limits with which nothing could be served, and options that would be silently ignored."""
    has_files, is_managed = arguments.tls_cert or arguments.tls_key, arguments.manage_certificate
    body, connections = arguments.body_limit, arguments.connections_per_address
    complaints = {
        f"--body-limit: {body} bytes are too few for a review; give at least a few thousand": (
            body is not None and body <= 0
        ),
        f"--connections-per-address: {connections} is too few; give at least 1": connections < 1,
        "--dev makes a certificate on the fly, --manage-certificate one in the cluster: give one of the two": (
            arguments.dev and is_managed
        ),
        "--dev makes a certificate on the fly: leave out --dev, or --tls-cert and --tls-key": (
            arguments.dev and has_files
        ),
        "--manage-certificate puts its certificate into --manage-directory: leave out --tls-cert and --tls-key": (
            is_managed and has_files
        ),
        "--manage-webhooks, --manage-name: give --manage-certificate, too: without it nothing is managed": (
            not is_managed and (arguments.manage_webhooks or arguments.manage_name)
        ),
        "--authorizer: give --policies, too: only policies ask what users may do": (
            arguments.authorizer and not arguments.policies
        ),
        "--monitoring-host needs --monitoring-port": arguments.monitoring_host and arguments.monitoring_port is None,
    }
    for message, is_wrong in complaints.items():
        if is_wrong:
            raise UsageError(message)


def _delay(arguments: Namespace) -> float:
    """Return the seconds for which connections are accepted after SIGTERM.

    Raises:
        UsageError: ``--shutdown-delay`` is negative, or longer than an hour.
    """
    delay: float | None = arguments.shutdown_delay
    if delay is None:
        return 0.0 if arguments.dev else server.SHUTDOWN_DELAY
    if not 0 <= delay <= _LONGEST_DELAY:
        raise UsageError(f"{delay:g} is not between 0 and {_LONGEST_DELAY} seconds", "--shutdown-delay")
    return delay


def _share(arguments: Namespace) -> float:
    """Read ``--log-allowed``, such as ``0.01`` or ``1/100``."""
    if arguments.log_allowed is None:
        return 1 if arguments.dev else SHARE
    part, _, whole = arguments.log_allowed.partition("/")
    try:
        share = float(part) / float(whole or 1)
    except (ValueError, ZeroDivisionError):
        share = -1
    if not 0 <= share <= 1:
        message = f"{arguments.log_allowed!r} is not a share: give a number from 0 to 1, or such as 1/100"
        raise UsageError(message, "--log-allowed")
    return share


def _clients(arguments: Namespace) -> server.Clients | None:
    if arguments.client_ca is None:
        if arguments.client_name:
            raise UsageError("give --client-ca, too: only a signed certificate proves a name", "--client-name")
        return None
    if arguments.monitoring_port is None:
        _log.warning("kubelet has no certificate for --client-ca: give --monitoring-port, and let it send probes there")
    return server.Clients(Path(arguments.client_ca), arguments.client_name)


_Serving = tuple[server.Certificate, Callable[[str], None]]
"""A certificate, and a function that is called once the server listens: it prints the authority of one just made."""


def _from_files(arguments: Namespace, clients: server.Clients | None) -> _Serving:
    certificate, key = Path(arguments.tls_cert or "certs/tls.crt"), Path(arguments.tls_key or "certs/tls.key")
    if arguments.manage_certificate:
        from webhook.cluster.options import PAIR  # few servers manage theirs

        certificate = key = Path(arguments.manage_directory, PAIR)
    found = server.Certificate(certificate, key, clients=clients)
    for text in exposures(key, secret=True):
        _log.warning("%s", text)
    return found, lambda _url: None


def _made_on_the_fly(host: str, clients: server.Clients | None) -> _Serving:
    from webhook.certificates import certs  # cryptography is loaded only to make certificates

    pair = certs.ephemeral([*certs.DEFAULT_NAMES, host])

    def ready(_url: str) -> None:
        # Each line is written at once, as other threads write to the log.
        sys.stderr.write("caBundle of the certificate that was made on the fly:\n")
        sys.stderr.flush()
        sys.stdout.write(f"{base64.b64encode(pair.ca).decode()}\n")
        sys.stdout.flush()

    return server.Certificate(pair.certificate, pair.key, clients=clients), ready
