"""The server without rules, to measure HTTP and TLS: python -m benchmarks.bare fixed|admits DIRECTORY."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from webhook import server
from webhook.admission import Answer
from webhook.certificates import certs

if TYPE_CHECKING:
    from webhook.admission import Call

JSON = "application/json"
FIXED = b'{"response": {"allowed": true}}'


def fixed(_body: bytes, _call: Call) -> Answer:
    """Answer without reading the request."""
    return Answer(200, FIXED, JSON)


def admits(body: bytes, _call: Call) -> Answer:
    """Admit everything, with the request's uid, as benchmarks/go/untyped does."""
    response = {"uid": json.loads(body)["request"]["uid"], "allowed": True}
    answered = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return Answer(200, json.dumps(answered).encode(), JSON)


def main() -> None:
    """Serve one of them with the certificate in a directory."""
    review = {"fixed": fixed, "admits": admits}[sys.argv[1]]
    directory = Path(sys.argv[2])
    logging.basicConfig(level=logging.INFO)
    certificate = server.Certificate(directory / certs.CERTIFICATE, directory / certs.KEY)
    server.Server(server.Reviews(review), server.listen("127.0.0.1", 0), certificate).run()


if __name__ == "__main__":
    main()
