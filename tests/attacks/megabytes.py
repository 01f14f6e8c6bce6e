"""Long bodies on very many connections at once."""

import selectors
import ssl
import time
from itertools import cycle
from typing import Final

from tests.attacks import MIB, Attack
from tests.attacks.readers import CONNECTIONS, post
from tests.attacks.target import Target, claim, padded

_PODS: Final = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
"""Other addresses than the ordinary client's."""
_SECONDS: Final = 3
"""For which it sends, once the connections are open."""


def _send(target: Target) -> None:
    pods, waiting = cycle(_PODS), selectors.DefaultSelector()
    request = memoryview(post(padded(claim(["true"]), MIB), "/validate"))
    for each in target.crowd(CONNECTIONS, lambda: target.tls(next(pods)), least=1 / 3):
        each.settimeout(0)
        waiting.register(each, selectors.EVENT_WRITE, iter(range(0, len(request), 1 << 14)))
    end = time.monotonic() + _SECONDS
    while waiting.get_map() and time.monotonic() < end:
        for key, _ in waiting.select(0.1):
            at = next(key.data, None)
            try:
                if at is None:
                    waiting.unregister(key.fileobj)
                else:
                    key.fileobj.send(request[at : at + (1 << 14)])  # type: ignore[union-attr]
            except ssl.SSLWantWriteError:
                continue
            except OSError:
                waiting.unregister(key.fileobj)


ATTACK = Attack("bodies of 1 MB on 960 connections at once", _send, growth=300 * MIB)
