"""Answers AdmissionReviews over HTTPS.

:func:`create_app` makes an application of a review function, :func:`serve` serves it until a signal comes.
Needs uvloop and httptools, so import this package only where something is served.

A process (:mod:`webhook.server.process`) receives a request through TLS (:mod:`webhook.server.tls`) and a connection
with deadlines and limits; the application (:mod:`webhook.server.http`) answers reviews, probes and pages, heavy reviews
in a process that can be killed; :mod:`webhook.server.monitoring` reports it in the log and metrics.
"""

from __future__ import annotations

from webhook.server.errors import ServerError
from webhook.server.http.adapter import BODY_LIMIT, Adapter
from webhook.server.http.heavy import Heavy
from webhook.server.http.limits import Limits
from webhook.server.http.probes import make_probes
from webhook.server.process.chores import Chore
from webhook.server.process.forks import Forks
from webhook.server.process.reloading import Reloaded, UnusableError
from webhook.server.process.running import SHUTDOWN_DELAY, Plain, serve
from webhook.server.tls.certificate import Certificate
from webhook.server.tls.clients import Clients

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from webhook.admission import Answer, Call, Record

__all__ = [
    "BODY_LIMIT",
    "SHUTDOWN_DELAY",
    "Adapter",
    "Certificate",
    "Chore",
    "Clients",
    "Forks",
    "Heavy",
    "Limits",
    "Plain",
    "Reloaded",
    "ServerError",
    "UnusableError",
    "create_app",
    "serve",
]

_BODIES_LIMIT = 64 << 20


def create_app(
    review: Callable[[bytes, Call], Answer],
    *,
    observe: Callable[[Record, float], None] = lambda _record, _seconds: None,
    refused: Callable[[int], None] = lambda _status: None,
    unready: Callable[[], Iterable[str]] = tuple,
    body_limit: int = BODY_LIMIT,
    heavy: Heavy | None = None,
) -> Adapter:
    """Make the application: ``POST /validate``, ``POST /mutate``, ``GET /healthz``, ``GET /readyz``.

    ``/validate/fail`` and ``/validate/ignore`` state the failure policy, as does ``/mutate/…``.

    Args:
        review: Answers the body of a request, given how the webhook was called. After the call's deadline it must
            answer by the failure policy at once.
        heavy: Answers heavy reviews in processes that can be killed; None leaves them, too, to the event loop.
        observe: Called with each answered review, and the seconds that it took, including waiting.
        refused: Called for each request that is refused before it is reviewed, with the response's status.
        unready: Returns the reasons why reviews cannot be answered now; empty if they can.
        body_limit: The maximum length of a body, in bytes.
    """
    app = Adapter(
        review,
        make_probes(lambda: app.reasons()),  # noqa: PLW0108 - the app does not exist yet
        observe=observe,
        refused=refused,
        unready=unready,
        body_limit=body_limit,
        bodies_limit=max(_BODIES_LIMIT, body_limit),
        heavy=heavy,
    )
    return app
