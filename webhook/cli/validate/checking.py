"""``draguard validate`` as a function, for :func:`webhook.check_files`."""

from __future__ import annotations

import re
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Final

from webhook.arguments import several
from webhook.cli.arguments import UsageError, make_parser
from webhook.cli.options.settings import configured
from webhook.cli.validate import judged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from webhook.findings import Finding

_COMMAND: Final = "validate"
_ARGUMENTS: Final = {"kubernetes-version": "kubernetes", "as": "user", "as-group": "groups"}
"""The arguments whose names are not those of their options."""


def findings(paths: Sequence[str], config: str | None, **options: Any) -> list[Finding]:
    """Validate manifests, and return the findings.

    Args:
        paths: As on the command line.
        config: The configuration file; None to read none.
        options: Differences from the command's defaults, by the names of its arguments.

    Raises:
        ValueError: An option does not fit.
    """
    arguments = make_parser([_COMMAND]).parse_args([_COMMAND])
    stated = {name: value for name, value in options.items() if value}
    for name, value in {**stated, "paths": paths, "quiet": True}.items():
        setattr(arguments, name, value)
    try:
        arguments.settings = configured(arguments, config, dict.fromkeys(stated, "the call"))
        arguments.jobs = 1  # the caller's process may have threads
        return judged(arguments).findings
    except UsageError as error:
        raise ValueError(re.sub(r"--([a-z][a-z-]*)", _argument, str(error))) from error


def _argument(option: re.Match[str]) -> str:
    return _ARGUMENTS.get(option[1], option[1].replace("-", "_"))


def named(argument: str, paths: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    """Return the names of one path or several.

    Raises:
        ValueError: The argument of this name holds something else.
    """
    return [fspath(each) for each in several(argument, paths, "a path", str, PathLike)]


def labelled(namespace: str, labels: Mapping[str, str]) -> str:
    """Spell the labels of a namespace as on the command line."""
    return f"{namespace}={','.join(f'{key}={value}' for key, value in labels.items())}"
