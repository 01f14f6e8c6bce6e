"""`base64.encode`, `base64.decode` (cel-go ext/encoders.go)."""

import base64
import binascii
from typing import Final

from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError
from webhook.cel.functions import Overload
from webhook.cel.types.base import BYTES, STRING


def _decode(text: str) -> bytes:
    padded = text + "=" * (-len(text) % 4)
    try:
        return base64.b64decode(padded, validate=True)
    except (binascii.Error, ValueError):
        raise EvaluationError("illegal base64 data") from None


def _encode(value: bytes) -> str:
    return base64.b64encode(value).decode("ascii")


ENCODERS: Final = Library(
    functions=(
        Overload("base64.decode", "base64_decode_string", (STRING,), BYTES, _decode),
        Overload("base64.encode", "base64_encode_bytes", (BYTES,), STRING, _encode),
    ),
)
