"""``draguard config``: the schema of the configuration file, and the settings in effect."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from webhook.check.judge import Namespaces
from webhook.check.suppressing import exclusions, rule_levels, suppressions
from webhook.check.target import feature_gates, kubernetes_versions, pod_locations, runtime_config
from webhook.cli.console import show_structured
from webhook.cli.parser import COMMAND_LINE
from webhook.configuration.reading import KEYS, Configuration, schema
from webhook.documents import STDIN
from webhook.documents.search import top_of
from webhook.usage import UsageError


def run(arguments: Namespace) -> int:
    """Print the schema or the settings in effect.

    Raises:
        UsageError: A path does not exist, or an option does not fit.
    """
    if arguments.action == "schema":
        print(json.dumps(schema(), indent=2))
        return 0
    for path in arguments.paths:
        if path != STDIN and not os.path.lexists(top_of(path)):
            raise UsageError(f"{path}: no such file or directory")
    configuration: Configuration | None = arguments.settings.configuration
    file, settings = configuration.file if configuration else "", list(_settings(arguments, configuration))
    is_stated = arguments.settings.sources.get("output") == COMMAND_LINE  # variables mean the form of reports
    *others, output = arguments.output
    if is_stated and (others or output.file or output.format not in {"text", "json"}):
        raise UsageError("settings are printed as text, which is YAML, or as json, and not to a file", "--output")
    if is_stated and output.format == "json":
        shown = {name: {"value": value, "source": source} for name, value, source in settings}
        show_structured({"configuration": file or None, "settings": shown}, "json")
        return 0
    print(f"# configuration file: {file or 'none'}")
    for name, value, source in settings:
        line = f"{name}: {json.dumps(value, ensure_ascii=False)}"
        print(f"# {name}: none" if value is None else f"{line}  # {source}")
    return 0


def _settings(arguments: Namespace, configuration: Configuration | None) -> Iterator[tuple[str, Any, str]]:
    """Return the settings in effect, and their sources."""
    sources, values = arguments.settings.sources, _values(arguments, configuration)
    for name, key in KEYS.items():
        value, source = values[name], sources.get(key.option.dest, "") if key.option else ""
        if (key.adds or key.option is None) and configuration and name in configuration.values:
            source = ", ".join(filter(None, (f"{configuration.file}:{configuration.line(name)}", source)))
        if name == "baseline" and _is_missing(arguments):
            source += f"; no such file: `draguard validate --write-baseline {value}` makes it"
        yield name, value, source or "default"


def _values(arguments: Namespace, configuration: Configuration | None) -> dict[str, Any]:
    """Return the value of every key; check the options."""
    exclusions(arguments)
    levels = rule_levels(arguments, configuration)
    if not _is_missing(arguments):
        suppressions(arguments, arguments.paths)
    written = configuration.values if configuration else {}
    namespaces = Namespaces(arguments.namespace_labels).stated
    return {name: getattr(arguments, key.option.dest) for name, key in KEYS.items() if key.option} | {
        "kubernetesVersions": list(filter(None, kubernetes_versions(arguments))),
        "featureGates": feature_gates(arguments, None) or {},
        "runtimeConfig": runtime_config(arguments) or {},
        "namespaceLabels": {each["metadata"]["name"]: each["metadata"]["labels"] for each in namespaces},
        "podTemplates": {"/".join(kind): [*paths] for kind, paths in (pod_locations(arguments) or {}).items()},
        "exclude": [*written.get("exclude", ()), *arguments.exclude],
        "levels": {**levels.configured, **{name or "*": level for name, level in levels.stated.items()}},
        "ignores": written.get("ignores", []),
    }


def _is_missing(arguments: Namespace) -> bool:
    """Tell whether the baseline has not been written yet."""
    return bool(arguments.baseline) and not os.path.lexists(arguments.baseline)
