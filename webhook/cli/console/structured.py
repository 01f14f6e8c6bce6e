"""Results as JSON or YAML."""

from __future__ import annotations

from typing import Any

from webhook.report.excerpt import as_json


def show_structured(value: Any, form: str) -> None:
    """Print a result.

    Args:
        form: Its form: ``json`` or ``yaml``.
    """
    if form == "json":
        text = as_json(value, indent=2)
    else:
        from webhook.documents.dump import dump  # JSON does not need it

        text = dump([value]).removesuffix("\n")
    print(text)
