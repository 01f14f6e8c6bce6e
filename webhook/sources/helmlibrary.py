"""Renders a chart with Helm's library, for machines without Helm: ``python -m webhook.sources.helmlibrary OPTIONS``.

Prints the text of each template, by its name, as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import helm_python
from helm_python import _native  # its public render() takes no Kubernetes version


def main(options: dict[str, Any]) -> None:
    """Print the rendered templates.

    Args:
        options: ``chart`` (its directory), ``values`` (files), ``sets``, and ``release``, in the library's form.
    """
    values: dict[str, Any] = {}
    for file in options["values"]:
        with open(file, encoding="utf-8") as opened:
            _merge(values, helm_python.values_from_yaml(opened.read()))
    for text in options["sets"]:
        _merge(values, helm_python.parse_set_string(text))
    with helm_python.Chart.load(options["chart"]) as chart:
        chart.validate_schema(values)
        sys.stdout.write(
            _native.call_string("helm_render", chart._raw(), json.dumps(values), json.dumps(options["release"]))  # noqa: SLF001 - its public functions cannot do this
        )


def _merge(values: dict[str, Any], more: dict[str, Any]) -> None:
    """Merge values over others, map by map, as Helm does."""
    for key, value in more.items():
        held = values.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            _merge(held, value)
        else:
            values[key] = value


if __name__ == "__main__":
    try:
        main(json.loads(sys.argv[1]))
    except (helm_python.HelmError, OSError) as error:
        sys.exit(f"Error: {error}")
