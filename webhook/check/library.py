"""``draguard validate`` as a function, for :func:`webhook.check_files`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from os import PathLike, fspath
from types import SimpleNamespace
from typing import Any, Final

from webhook.arguments import check_mapping, check_string, several
from webhook.check.files import judged
from webhook.configuration.options import COMMANDS, OptionSources, labels, switches
from webhook.findings import Finding
from webhook.usage import UsageError


def _paths(name: str, value: Any) -> list[str]:
    return [fspath(each) for each in several(name, value, "a path", str, PathLike)]


def _texts(what: str) -> Callable[[str, Any], list[str]]:
    return lambda name, value: several(name, value, what, str)


def _releases(name: str, value: Any) -> list[str]:
    return [] if value is None else several(name, value, "a string", str)


def _gates(name: str, value: Any) -> list[str]:
    check_mapping(name, value, bool)
    return switches(value or {})


def _labels(name: str, value: Any) -> list[str]:
    check_mapping(name, value, dict)
    return labels(value or {})


def _text(name: str, value: Any) -> str | None:
    check_string(name, value)
    return value or None


_OPTIONS: Final[Mapping[str, tuple[str, Callable[[str, Any], Any]]]] = {
    "kubernetes": ("kubernetes_version", _releases),
    "feature_gates": ("feature_gates", _gates),
    "runtime_config": ("runtime_config", _gates),
    "namespace_labels": ("namespace_labels", _labels),
    "policies": ("policies", _paths),
    "old": ("old", _paths),
    "cluster": ("cluster", _paths),
    "user": ("as_user", _text),
    "groups": ("as_group", _texts("a string")),
    "all_pods": ("all_pods", lambda _, value: value),
    "select": ("select", _texts("a rule")),
    "ignore": ("ignore", _texts("a rule")),
}
"""By argument: the name of its option among the command's arguments, and how its value is read."""
_ARGUMENTS: Final = {option: argument for argument, (option, _) in _OPTIONS.items()} | {"as": "user"}
"""The arguments, by the names of their options."""


def findings(paths: Any, config: Any, given: Mapping[str, Any]) -> list[Finding]:
    """Validate manifests, and return the findings.

    Args:
        paths: One path or several.
        config: The path of the configuration file; None to read none.
        given: The other arguments of :func:`webhook.check_files`, by name.

    Raises:
        ValueError: An argument has another type, or does not fit.
    """
    options = {option: read(name, given[name]) for name, (option, read) in _OPTIONS.items()}
    files = _paths("paths", paths)
    if not files:  # a glob without a match must not let a test pass
        raise ValueError("paths must name at least one file or directory")
    stated = {name: value for name, value in options.items() if value}
    defaults = {each.dest: each.default for each in COMMANDS["validate"].options}
    arguments: Any = SimpleNamespace(**{**defaults, **stated, "paths": files, "quiet": True})
    try:
        file = None if config is None else _paths("config", config)[0]
        arguments.settings = OptionSources(None, dict.fromkeys(stated, "the call"))
        if file is not None:
            from webhook.configuration.reading import configured  # most calls name none

            arguments.settings = configured(arguments, file, arguments.settings.sources)
        return judged(arguments).findings
    except UsageError as error:
        raise ValueError(re.sub(r"--([a-z][a-z-]*)", _argument, str(error))) from error


def _argument(option: re.Match[str]) -> str:
    name = option[1].replace("-", "_")
    return _ARGUMENTS.get(name, name)
