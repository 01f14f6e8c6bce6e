"""The shortest decimal digits that read back as a double."""

from __future__ import annotations

import decimal


def digits_of(number: float) -> tuple[str, int]:
    """The digits of a finite number, and the exponent of the last."""
    _, digits, exponent = decimal.Decimal(repr(number)).as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 - the number is finite
    return "".join(map(str, digits)), exponent


def positional(number: float) -> str:
    """A finite number without an exponent."""
    return f"{decimal.Decimal(repr(number)):f}".removesuffix(".0")
