"""Results as JSON or YAML."""

from __future__ import annotations

import json
from typing import Any


def show_structured(value: Any, form: str) -> None:
    """Print a result.

    Args:
        value: A JSON value.
        form: Its form: ``json`` or ``yaml``.
    """
    if form == "json":
        text = json.dumps(value, indent=2)
    else:
        from webhook.documents.dump import dump  # noqa: PLC0415 - JSON does not need it

        text = dump([value]).removesuffix("\n")
    print(text)
