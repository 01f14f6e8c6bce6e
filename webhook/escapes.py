"""The short escapes of Go's string literals."""

from typing import Final

GO_ESCAPES: Final = str.maketrans(
    {
        '"': '\\"',
        "\\": "\\\\",
        "\a": "\\a",
        "\b": "\\b",
        "\f": "\\f",
        "\n": "\\n",
        "\r": "\\r",
        "\t": "\\t",
        "\v": "\\v",
    }
)
"""The escapes of characters that have one, for :meth:`str.translate`."""
