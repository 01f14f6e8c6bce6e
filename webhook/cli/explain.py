"""``draguard explain``: documentation of a kind, field, rule or feature gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from webhook.cli.arguments import UsageError
from webhook.cli.options.release import kubernetes
from webhook.explain.query import UnknownNameError, explain

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Print the documentation; an unknown name is a usage error."""
    stated = kubernetes(arguments)
    try:
        if " " in arguments.name:
            from webhook.explain.answers import explain_answer  # most queries are names

            text = explain_answer(arguments.name, kubernetes=stated)
        else:
            text = explain(
                arguments.name,
                api_version=arguments.api_version,
                kubernetes=stated,
                recursive=arguments.recursive,
            )
    except UnknownNameError as error:
        raise UsageError(str(error)) from error
    print(text)
    return 0
