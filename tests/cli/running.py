"""Runs draguard serve as a process, and sends requests to it."""

import os
import re
import signal
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests import serving
from tests.command import SCRIPT


@contextmanager
def running(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[tuple[int, str]]:
    """Run the server on a free port; yield the port and what it has written to standard output."""
    command = [str(SCRIPT), "serve", "--port=0", "--shutdown-delay=0", *arguments]
    variables, pipe = {**os.environ, **(env or {})}, subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=variables) as server:
        assert server.stdout
        assert server.stderr
        try:
            for line in server.stderr:
                if match := re.search(r"listening on https://\S+?:(\d+)\b", line):
                    yield int(match[1]), server.stdout.readline() if "--dev" in arguments else ""
                    break
        finally:
            server.send_signal(signal.SIGTERM)
            server.stderr.read()
        assert server.wait(timeout=60) == 0


def ask(port: int, authority: str, endpoint: str, body: bytes) -> tuple[int, bytes]:
    trust = ssl.create_default_context(cadata=authority)
    return serving.ask(port, "POST", f"/{endpoint}", body, serving.JSON, trust=trust, host="localhost")
