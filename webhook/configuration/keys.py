"""The keys of the configuration file, as the table of options has them."""

from __future__ import annotations

from typing import Any, Final

from webhook.configuration.options import IN_FILE, Option
from webhook.configuration.shapes import Key, Record


def _named(option: Option) -> str:
    return f" ({max(option.names, key=len)})" if option.names else ""


CONFIGURATION: Final = Record(
    {each.key: Key(each.value.shape, f"{each.value.doc}{_named(each)}.") for each in IN_FILE if each.value}
)
"""All keys."""
ADDING: Final = frozenset({"exclude", "levels", "ignores"})
"""The keys that add to their options."""
OPTIONS: Final = {each.key: each.dest for each in IN_FILE if each.key not in ADDING}
"""The options that keys set."""


def texts(name: str, value: Any) -> Any:
    """Return the value of a key in the form of its option: a list of texts, a text, or a boolean."""
    if name in {"featureGates", "runtimeConfig"}:
        return [f"{each}={str(on).lower()}" for each, on in value.items()]
    if name == "namespaceLabels":
        return [f"{space}={','.join(f'{key}={label}' for key, label in of.items())}" for space, of in value.items()]
    if name == "podTemplates":
        return [f"{kind}={path}" for kind, paths in value.items() for path in paths]
    return value


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "draguard configuration (.draguard.yaml)",
    } | CONFIGURATION.schema()
