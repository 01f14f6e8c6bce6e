"""Pages of a WSGI application are made in a thread when they are first requested."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from webhook.server.http.messages import Page, Request, target_of
from webhook.server.http.pages import Pages
from webhook.server.http.wsgi import of_wsgi

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

REQUEST = Request(b"GET", target_of(b"/"), {})


def path_of(environ: WSGIEnvironment, start: StartResponse) -> Iterable[bytes]:
    """Answer with the path that is requested."""
    start("200 OK", [("Content-Type", "text/plain")])
    return [environ["PATH_INFO"].encode()]


def test_others_are_answered_while_it_is_made() -> None:
    may_go_on, made = threading.Event(), list[threading.Thread]()

    def make() -> WSGIApplication:
        may_go_on.wait()
        made.append(threading.current_thread())
        return path_of

    async def check() -> None:
        pages = Pages({"/": of_wsgi(make, "/")})
        first: asyncio.Future[Page] = asyncio.get_running_loop().create_future()
        pages.answer(REQUEST, first.set_result)
        answers = list[Page]()
        pages.answer(REQUEST, answers.append)
        may_go_on.set()
        assert (await first).body == b"/"
        pages.answer(REQUEST, answers.append)
        assert [page.status for page in answers] == [503, 200]

    asyncio.run(check())
    assert len(made) == 1
    assert made != [threading.current_thread()]


def test_a_page_that_cannot_be_made_is_an_error(caplog: pytest.LogCaptureFixture) -> None:
    def make() -> WSGIApplication:
        raise ImportError("no such application")

    async def check() -> None:
        pages = Pages({"/": of_wsgi(make, "/")})
        for _ in range(2):
            answered: asyncio.Future[Page] = asyncio.get_running_loop().create_future()
            pages.answer(REQUEST, answered.set_result)
            assert (await answered).status == 500

    asyncio.run(check())
    assert "no such application" in caplog.text
