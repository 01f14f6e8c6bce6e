"""The values of options that the configuration file sets, unless a source of higher precedence does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.records import NamedTuple
from webhook.usage import UsageError

if TYPE_CHECKING:
    from webhook.configuration.reading import Configuration

_MERGED = frozenset({"feature_gates", "runtime_config", "namespace_labels"})
"""Options to which the file adds entries of other names."""


class Settings(NamedTuple):
    """The sources of the options' values.

    Args:
        configuration: The configuration file; None if there is none.
        sources: The source of an option's value, by its name in the arguments; options with defaults are absent.
    """

    configuration: Configuration | None
    sources: dict[str, str]


def configured(arguments: Any, file: str | None, sources: dict[str, str]) -> Settings:
    """Apply a configuration file to options that no source of higher precedence sets.

    Args:
        file: The configuration file; None if there is none.
        sources: The sources of the options that are set; those that the file sets are added.

    Raises:
        UsageError: The file cannot be used.
    """
    configuration = _configuration(file) if file else None
    if configuration:
        _fill(arguments, configuration, sources)
    return Settings(configuration, sources)


def _configuration(file: str) -> Configuration:
    from webhook.configuration.reading import ConfigurationError, load  # needed only with a file

    try:
        return load(file)
    except ConfigurationError as error:
        raise UsageError(str(error)) from error


def _fill(arguments: Any, configuration: Configuration, sources: dict[str, str]) -> None:
    """Apply the configuration file to options that have no value of higher precedence."""
    from webhook.configuration.reading import OPTIONS

    for name, option in OPTIONS.items():
        if name not in configuration.values or not hasattr(arguments, option):
            continue
        value, stated = configuration.option(name), getattr(arguments, option)
        if option in _MERGED:
            keys = {each.partition("=")[0] for each in stated}
            value = [*(each for each in value if each.partition("=")[0] not in keys), *stated]
        elif option in sources:
            continue
        elif isinstance(value, list) and not isinstance(stated, list):
            value = value[-1]
        setattr(arguments, option, value)
        line = f"{configuration.file}:{configuration.line(name)}"
        sources[option] = f"{line}, {sources[option]}" if option in sources else line
