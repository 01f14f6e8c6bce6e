"""``draguard explain``: documentation of a kind, field, rule or feature gate."""

from __future__ import annotations

import sys
from argparse import Namespace
from typing import Final

from webhook.check.target import kubernetes
from webhook.configuration.options import COMMANDS
from webhook.documents import STDIN
from webhook.explain.query import UnknownNameError, explain, explain_answer, explain_reason
from webhook.usage import UsageError

_MOST: Final = 1 << 16
"""The most characters that are read from standard input."""


def run(arguments: Namespace) -> int:
    """Print the documentation; an unknown name is a usage error."""
    stated = kubernetes(arguments)
    name = sys.stdin.read(_MOST).strip() if arguments.name == STDIN else arguments.name
    if arguments.name == STDIN and not name:
        raise UsageError("standard input is empty: if the API server refuses nothing, there is nothing to explain")
    try:
        if " " in name:
            text = explain_answer(name, kubernetes=stated)
        else:
            text = explain(name, api_version=arguments.api_version, kubernetes=stated, recursive=arguments.recursive)
    except UnknownNameError as error:
        text = explain_reason(name)
        if not text and name in COMMANDS:
            raise UsageError(f"{name} is a command: see `draguard help {name}`") from error
        if not text:
            raise UsageError(str(error)) from error
    print(text)
    return 0
