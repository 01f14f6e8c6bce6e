"""Finds the configuration file."""

from __future__ import annotations

import os

from webhook.documents.git import repository
from webhook.documents.search import top_of
from webhook.documents.selection import CONFIGURATION_FILES
from webhook.documents.source import STDIN


def find(path: str) -> str | None:
    """Find the file for a path: in its directory or above, up to the root of its repository.

    Outside a repository the search ends at the working directory if that is above, otherwise in the path's directory:
    files further up may belong to other users.

    Args:
        path: A path as users give it; ``-`` stands for the working directory.
    """
    here = os.getcwd()
    start = os.path.realpath("." if path == STDIN else top_of(path))
    while not os.path.isdir(start):
        start = os.path.dirname(start)
    last = repository(start) or (here if f"{start}/".startswith(here.rstrip("/") + "/") else start)
    directory = start
    while True:
        for name in CONFIGURATION_FILES:
            if os.path.lexists(f"{directory}/{name}"):
                return os.path.relpath(f"{directory}/{name}")
        if directory in {last, "/"}:
            return None
        directory = os.path.dirname(directory)
