"""Answers AdmissionReviews over HTTPS.

Needs uvloop and httptools, so import this package only where something is served. A request's way: `port` accepts a
connection, and closes another when there are too many, `tls` decrypts it, `connection` reads HTTP within the limits of
`messages`, and `app` answers it, a heavy review by `lane` in a process of its own. Beside it: `certificate` (its files
may change), `serving` (the event loop and its end), and `metrics`.
"""

from __future__ import annotations

from webhook.server.app import BODY_LIMIT, OVERVIEW, Pages, Reviews, probes
from webhook.server.certificate import Certificate, Clients, ServerError
from webhook.server.lane import Forks, Lane
from webhook.server.messages import Limits
from webhook.server.port import listen
from webhook.server.serving import SHUTDOWN_DELAY, Server, open_many_files

__all__ = [
    "BODY_LIMIT",
    "OVERVIEW",
    "SHUTDOWN_DELAY",
    "Certificate",
    "Clients",
    "Forks",
    "Lane",
    "Limits",
    "Pages",
    "Reviews",
    "Server",
    "ServerError",
    "listen",
    "open_many_files",
    "probes",
]
