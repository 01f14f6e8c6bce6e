"""Results as JSON or YAML."""

from __future__ import annotations

from webhook.report.excerpt import as_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def show_structured(value: Any, form: str) -> None:
    """Print a result.

    Args:
        value: A JSON value.
        form: Its form: ``json`` or ``yaml``.
    """
    if form == "json":
        text = as_json(value, indent=2)
    else:
        from webhook.documents.dump import dump  # JSON does not need it

        text = dump([value]).removesuffix("\n")
    print(text)
