"""Quantities such as ``1536Mi``: parsed, rounded, compared and printed as the API server does.

Follows apimachinery ``pkg/api/resource`` (``quantity.go``, ``suffix.go``, ``amount.go``), quirks included. A number is
stored as digits and a power of ten, so that ``1e1000000000`` costs no more than its text.
"""

from __future__ import annotations

from webhook.formats import FINE, Messages
from webhook.patterns import Pattern
from webhook.records import Record

DECIMAL_SI = "DecimalSI"
BINARY_SI = "BinarySI"
DECIMAL_EXPONENT = "DecimalExponent"

_FORMAT_WRONG = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_NUMERIC = "unable to parse numeric part of quantity"
_SUFFIX = "unable to parse quantity's suffix"

_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIXES = {power: suffix for suffix, power in _BINARY.items()}

# Looser than the regular expression of the error text: "+", "." and "Ki" are zero. Possessive, so as to stay linear.
_parts = Pattern(r"([-+]?)(0*+)([0-9]*+)(?:\.([0-9]*+))?([eEinumkKMGTP]*+[-+]?+[0-9]*+)")
_exponent = Pattern(r"[eE]([-+]?)(?=[0-9])0*+([0-9]{0,19})")
_plain_pattern = Pattern("[0-9]{1,15}([KMGTPE]i|[mkMGTPE])?")
"""Matches the common quantities, which need no further checks."""

_written_pattern = Pattern(r"([-+]?[0-9]{1,30}(?:\.[0-9]{1,30})?) {0,9}([A-Za-z]{0,9})")
"""Matches an amount as people write it."""
_bytes_pattern = Pattern("([KMGTPEkmgtpe]?)([Ii]?)[Bb]?")
_cpu_pattern = Pattern("(m?)([Ii]|(?:[Vv]?[Cc][Pp][Uu]|[Cc]ore)s?)")
"""Match the units that people write behind amounts of bytes and of CPU."""

_INT64 = range(-(2**63), 2**63)
_INT64_DIGITS = 19
_FAST_DIGITS, _FAST_BINARY_DIGITS = 18, 14
"""The digits that upstream assumes to fit an int64; longer numbers take its slow path, which caps and rounds."""
_UNITS_THAT_WRAP = frozenset({1, 2, 3, 6, 9})
"""The powers of ten by which upstream multiplies unchecked (``math.go``, ``positiveScaleInt64``)."""
_WRAPPING_DIGITS = 64
"""The last digits of a whole number that decide on its lowest 64 bits: 10 to the power of 64 has none of them."""
_KIBI = 1024
"""The smallest number that is written with a binary suffix."""
_MILLI = -3
_NANO = -9
_EXACT_DIGITS = 600
"""The digits up to which sums and fractions of binary quantities are exact; Python converts at least 640."""
# White space that JSON allows inside a string as it is; the decoder trims the JSON text, where a newline is a "\n".
_BLANKS = " \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def wrapped(number: int) -> int:
    """Return the lowest 64 bits of a number as a signed one, as Go's arithmetic does."""
    return (number + 2**63) % 2**64 - 2**63


class Quantity(Record):
    """A number as the API server holds it; quantities compare by value and ``str`` writes them as the server does.

    Args:
        sign: -1, 0 or 1.
        digits: The decimal digits, with no zero at either end; empty for zero.
        power: The power of ten of the last digit.
        notation: ``DecimalSI``, ``BinarySI`` or ``DecimalExponent``: the kind of its suffix.
        spelled: The server's spelling, where it is not the canonical form.
        scale: The power of ten of the unit that the server counts in 64 bits; None if the number does not fit.
    """

    sign: int = 0
    digits: str = ""
    power: int = 0
    notation: str = DECIMAL_SI
    spelled: str = ""
    scale: int | None = 0

    def __eq__(self, other: object) -> bool:
        """Compare by value: ``1Ki`` is ``1024``."""
        if not isinstance(other, Quantity):
            return NotImplemented
        return (self.sign, self.power, self.digits) == (other.sign, other.power, other.digits)

    def __hash__(self) -> int:
        """Hash equal quantities alike."""
        return hash((self.sign, self.power, self.digits))

    def __lt__(self, other: Quantity) -> bool:
        """Compare by value: ``999M`` is less than ``1Gi``."""
        if self.sign != other.sign or not self.sign:
            return self.sign < other.sign
        less, more = (self, other) if self.sign > 0 else (other, self)
        return (less.length, less.digits) < (more.length, more.digits)

    def __le__(self, other: Quantity) -> bool:
        """Compare by value: ``1024Mi`` is not greater than ``1Gi``."""
        return not other < self

    def __add__(self, other: Quantity) -> Quantity:
        """Add in the notation of the first summand, of the second where that is zero (``Quantity.Add``).

        A sum of more than 600 digits is the greater summand alone.
        """
        power = min(self.power, other.power)
        if max(self.length, other.length) - power > _EXACT_DIGITS:
            return max(self, other, key=lambda summand: summand.length)
        total = sum(one.sign * int(f"0{one.digits}{'0' * (one.power - power)}") for one in (self, other))
        notation = (self if self.sign else other).notation
        return _quantity(-1 if total < 0 else 1, str(abs(total)), power, notation, scale=_common_scale(self, other))

    def __neg__(self) -> Quantity:
        """Change the sign."""
        return Quantity(-self.sign, self.digits, self.power, self.notation, scale=self.scale)

    def noted(self, notation: str) -> Quantity:
        """Return the same number in another notation."""
        return Quantity(self.sign, self.digits, self.power, notation, spelled=self.spelled, scale=self.scale)

    @property
    def length(self) -> int:
        """The number of digits before the decimal point; negative for zeros after it."""
        return len(self.digits) + self.power

    def counted(self, scale: int) -> int | None:
        """Count units of a power of ten, of which the number is a multiple; None beyond 64 bits."""
        if self.length - scale > _INT64_DIGITS:
            return None
        number = self.sign * int(f"0{self.digits}{'0' * (self.power - scale)}") if self.sign else 0
        return number if number in _INT64 else None

    def as_int64(self) -> int | None:
        """Return the whole number that the server finds without rounding: none in ``1000m`` (``Quantity.AsInt64``)."""
        return None if self.scale is None or self.scale < 0 else self.counted(0)

    def approximately(self) -> float:
        """Return the number in floating point, rounded as the server does (``Quantity.AsApproximateFloat64``)."""
        if self.scale is None:
            base, exponent = self.sign * float(f"{self.digits or 0}e{self.power - _NANO}"), _NANO
        else:
            base, exponent = float(self.counted(self.scale) or 0), self.scale
        return base * float(f"1e{exponent}") if exponent else base

    def value(self) -> int:
        """Round away from zero to a whole number of 64 bits (``Quantity.Value``).

        Of a number that does not fit, the lowest 64 bits are left, or 0 if the server counts it in some greater units.
        """
        if self.power < 0:
            number = int(self.digits[: self.power][-_WRAPPING_DIGITS:] or "0") + 1
        else:
            number = int(f"0{self.digits}{'0' * min(self.power, _WRAPPING_DIGITS)}"[-_WRAPPING_DIGITS:])
        number *= self.sign
        wraps = self.scale is None or self.scale in _UNITS_THAT_WRAP
        return wrapped(number) if wraps else number if number in _INT64 and self.length <= _INT64_DIGITS else 0

    def thousandths(self) -> int | None:
        """Count thousandths; None if there are smaller parts, or more than 64 bits of them."""
        return self.counted(_MILLI) if self.power >= _MILLI else None

    def decimal(self) -> str:
        """Write it as a decimal number of its original scale: ``1500m`` is ``1.500`` (``inf.Dec``).

        A number with more than 600 further zeros is written with an exponent.
        """
        scale = min(self.power if self.scale is None else self.scale, self.power, 0)
        minus = "-" if self.sign < 0 else ""
        if self.power - scale > _EXACT_DIGITS:
            return f"{minus}{self.digits}e{self.power}"
        digits = f"{self.digits}{'0' * (self.power - scale)}".rjust(1 - scale, "0")
        return f"{minus}{digits[:scale]}.{digits[scale:]}" if scale else f"{minus}{digits}"

    def __str__(self) -> str:
        """Write it as the API server does: as given if the server considers that canonical, otherwise canonically."""
        if self.spelled or not self.sign:
            return self.spelled or "0"
        minus = "-" if self.sign < 0 else ""
        if self.notation == BINARY_SI and self.power >= 0 and self.length <= _EXACT_DIGITS:
            number, power = int(self.digits + "0" * self.power), 0
            while number % _KIBI == 0:
                number, power = number // _KIBI, power + 10
            if power or number > _KIBI:
                return f"{minus}{number}{_BINARY_SUFFIXES.get(power, '')}"
        padding = self.power % 3
        power = self.power - padding
        if self.notation == DECIMAL_EXPONENT:
            suffix = f"e{power}" if power else ""
        else:
            # There is no suffix beyond E: 1000E is written as 1, and stored so.
            suffix = _DECIMAL_SUFFIXES.get(power, "")
        return f"{minus}{self.digits}{'0' * padding}{suffix}"


_MAX_BINARY = Quantity(1, str(2**63 - 1), 0, BINARY_SI)
_ONE = Quantity(1, "1", 0)


def quantity(value: str, _release: int) -> Messages:
    """A quantity: a decimal number and a suffix, ``m`` to ``E``, ``Ki`` to ``Ei`` or an exponent such as ``e3``.

    Source: apimachinery ``pkg/api/resource/quantity.go``, ``UnmarshalJSON``.
    """
    if _plain_pattern.fullmatch(value):
        return FINE
    try:
        decode_quantity(value)
    except ValueError as error:
        return (str(error),)
    return FINE


def near_quantity(value: str, resource: str = "") -> tuple[str, bool]:
    """Write an amount as quantities are written: 10G for 10 gb; empty if none is meant.

    Args:
        value: The amount as written.
        resource: The resource, if known: of CPU, m is a thousandth; elsewhere, it may be meant as M.

    Returns:
        The quantity, and whether it is what was meant beyond doubt.
    """
    if (parts := _written_pattern.fullmatch(value)) is None:
        return "", False
    number, unit = parts.groups()
    is_cpu = resource == "cpu"
    suffix, is_certain = unit, is_cpu or unit != "m"
    if quantity(number + unit, 0):
        is_certain = False
        if is_cpu and (parts := _cpu_pattern.fullmatch(unit)):
            suffix, is_certain = parts[1], parts[2] not in {"i", "I"}
        elif not is_cpu and (parts := _bytes_pattern.fullmatch(unit)):
            prefix = parts[1].upper()
            suffix, is_certain = f"{prefix}i" if parts[2] else {"K": "k"}.get(prefix, prefix), parts[1] != "m"
    near = f"{number}{suffix}"
    return (near, is_certain) if near != value and not quantity(near, 0) else ("", False)


def whole_quantity(number: int) -> Quantity:
    """Make a quantity from a 64-bit integer (``NewQuantity``)."""
    return _quantity(-1 if number < 0 else 1, str(abs(number)), 0, DECIMAL_EXPONENT, scale=0)


def decode_quantity(value: object) -> Quantity:
    """Read a quantity from JSON, where it may be a text, a number or null.

    Args:
        value: The JSON value; a float stands for the text that Go's JSON encoder gives it.

    Raises:
        ValueError: The API server's decoder refuses the value; the error has its message.

    Source: apimachinery ``pkg/api/resource/quantity.go``, ``UnmarshalJSON``.
    """
    if value is None:
        return Quantity()
    if isinstance(value, str):
        return parse_quantity(value.strip(_BLANKS))
    if isinstance(value, int | float) and not isinstance(value, bool):
        return parse_quantity(_number_text(value))
    raise ValueError(_FORMAT_WRONG)


def readable_quantity(text: str) -> Quantity | None:
    """Read a quantity, None if the text is malformed.

    Args:
        text: A whole number or an amount, such as ``10Gi``.
    """
    try:
        return decode_quantity(text)
    except ValueError:
        return None


def parse_quantity(text: str) -> Quantity:
    """Read a quantity from its text.

    Args:
        text: The text, without white space around it.

    Raises:
        ValueError: The text is not a quantity; the error has the API server's message.

    Source: apimachinery ``pkg/api/resource/quantity.go``, ``ParseQuantity``.
    """
    match = _parts.fullmatch(text)
    if match is None or not text:
        raise ValueError(_FORMAT_WRONG)
    minus, zeros, whole, fraction, suffix = match.groups(default="")
    notation, power = _scale(suffix)
    sign = -1 if minus == "-" else 1
    digits = (whole or "0") + fraction
    if notation == BINARY_SI:
        if not fraction and len(digits) + power * 3 // 10 <= _FAST_BINARY_DIGITS:
            number = int(digits)
            return _quantity(sign, str(number << power), 0, notation, text if number % 8 else "", scale=0)
    else:
        power = _int32(power - len(fraction))
        if len(digits) <= _FAST_DIGITS and power >= _NANO:
            canonical = power % 3 == 0 and not digits.startswith("0") and not digits.endswith("000")
            return _quantity(sign, digits, power, notation, text if canonical else "", scale=power)
    if not (zeros or whole or fraction):
        raise ValueError(_NUMERIC)
    if notation == BINARY_SI:
        return _large_or_broken_binary(sign, whole, fraction, power)
    return _quantity(sign, *_rounded_up(digits, power), notation)


def _scale(suffix: str) -> tuple[str, int]:
    """Return a suffix's notation and its power: of two in binary notation, of ten in the others (``suffix.go``)."""
    if suffix in _DECIMAL:
        return DECIMAL_SI, _DECIMAL[suffix]
    if suffix in _BINARY:
        return BINARY_SI, _BINARY[suffix]
    match = _exponent.fullmatch(suffix)
    if match is None or (power := int(f"{match[1]}0{match[2]}")) not in _INT64:
        raise ValueError(_SUFFIX)
    return DECIMAL_EXPONENT, _int32(power)


def _large_or_broken_binary(sign: int, whole: str, fraction: str, power: int) -> Quantity:
    if len(whole) > _INT64_DIGITS:
        return _quantity(sign, _MAX_BINARY.digits, 0, BINARY_SI)
    # Any nonzero digit beyond those rounds the number up.
    more = "1" if fraction[_EXACT_DIGITS:].strip("0") else ""
    fraction = fraction[:_EXACT_DIGITS] + more
    scaled = str(int(f"0{whole}{fraction}") << power)
    magnitude = min(_quantity(1, *_rounded_up(scaled, -len(fraction)), BINARY_SI), _MAX_BINARY)
    notation = BINARY_SI if magnitude >= _ONE else DECIMAL_SI
    return _quantity(sign, magnitude.digits, magnitude.power, notation)


def _rounded_up(digits: str, power: int) -> tuple[str, int]:
    """Round up to a multiple of one nano, the smallest unit of a quantity."""
    if power >= _NANO:
        return digits, power
    kept = digits[: power - _NANO]
    if not digits[len(kept) :].strip("0"):
        return kept, _NANO
    below = kept.rstrip("9")
    carried = f"{below[:-1]}{int(below[-1]) + 1}" if below else "1"
    return carried + "0" * (len(kept) - len(below)), _NANO


def _common_scale(one: Quantity, other: Quantity) -> int | None:
    """Find the scale of a sum, if it fits 64 bits (``int64Amount.Add``)."""
    if one.scale is None or other.scale is None:
        return None
    if not one.sign or not other.sign:
        return other.scale if other.sign else one.scale
    scale = min(one.scale, other.scale)
    first, second = one.counted(scale), other.counted(scale)
    return scale if first is not None and second is not None and first + second in _INT64 else None


def _quantity(
    sign: int, digits: str, power: int, notation: str, spelled: str = "", *, scale: int | None = None
) -> Quantity:
    significant = digits.strip("0")
    if not significant:
        return Quantity(notation=notation, scale=scale)
    power += len(digits) - len(digits.rstrip("0"))
    return Quantity(sign, significant, power, notation, spelled=spelled, scale=scale)


def _int32(number: int) -> int:
    """Wrap around as Go's conversion does: ``1e4294967297`` is 10."""
    return (number + 2**31) % 2**32 - 2**31


def _number_text(number: float) -> str:
    """Spell a number as Go's JSON encoder does (``floatEncoder``)."""
    if isinstance(number, int) and number in _INT64:
        return str(number)
    from decimal import Decimal  # hardly a quantity is given as such a number

    if isinstance(number, int):
        return format(Decimal(number), "f")
    text = repr(number)
    if not number or 1e-6 <= abs(number) < 1e21:  # noqa: PLR2004 - where Go writes no exponent
        return format(Decimal(text), "f")
    return text.replace("e-0", "e-")
