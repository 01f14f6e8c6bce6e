"""Semantic versions, `semver("1.2.3")` (library/semverlib.go, github.com/blang/semver/v4)."""

from __future__ import annotations

import operator
import string
from typing import Final, NamedTuple

from webhook.cel.checker.declarations import Library
from webhook.cel.errors import EvaluationError, succeeds
from webhook.cel.functions import Overload, member
from webhook.cel.runtime.operators import compare
from webhook.cel.types.base import BOOL, INT, STRING, struct
from webhook.cel.types.values import UINT_MAX, only_class
from webhook.escapes import go_integer
from webhook.formats import quoted
from webhook.formats.quantities import wrapped

SEMVER: Final = struct("kubernetes.Semver")
_PARTS: Final = 3
_DIGITS: Final = frozenset("0123456789")
_ALPHANUMERIC: Final = _DIGITS | frozenset(f"{string.ascii_letters}-")


@only_class(SEMVER, cel_has_slices=True)  # in Go; so it cannot be a key of a map
class Semver(NamedTuple):
    """A version, as a value of expressions; versions are equal if only their builds differ.

    Its parts are in an order in which they compare as in the specification of semver.org.

    Args:
        numbers: Major, minor and patch.
        is_release: Whether there is no pre-release; a release comes after its pre-releases.
        pre_release: The parts of the pre-release, in a form that compares.
    """

    numbers: tuple[int, int, int]
    is_release: bool
    pre_release: tuple[tuple[bool, int, str], ...]

    def __str__(self) -> str:
        """Write the version, without its build."""
        pre_release = ".".join(text if is_text else str(number) for is_text, number, text in self.pre_release)
        return ".".join(map(str, self.numbers)) + (f"-{pre_release}" if pre_release else "")


def parse(text: str) -> Semver:
    """Read a version.

    Raises:
        EvaluationError: The text is invalid.
    """
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", _PARTS - 1)
    if len(parts) != _PARTS:
        raise EvaluationError("No Major.Minor.Patch elements found")
    major = _number("major", parts[0])
    minor = _number("minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    patch, minus, pre_release = rest.partition("-")
    numbers = (major, minor, _number("patch", patch))
    pre = tuple(map(_identifier, pre_release.split("."))) if minus else ()
    for each in build.split(".") if plus else ():
        if not each:
            raise EvaluationError("Build meta data is empty")
        if not _ALPHANUMERIC.issuperset(each):
            raise EvaluationError(f"Invalid character(s) found in build meta data {quoted(each)}")
    return Semver(numbers, not pre, pre)


def _number(name: str, text: str) -> int:
    if not _DIGITS.issuperset(text):
        raise EvaluationError(f"Invalid character(s) found in {name} number {quoted(text)}")
    if len(text) > 1 and text.startswith("0"):
        raise EvaluationError(f"{name.capitalize()} number must not contain leading zeroes {quoted(text)}")
    return _uint64(text)


def _identifier(text: str) -> tuple[bool, int, str]:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if _DIGITS.issuperset(text):
        if len(text) > 1 and text.startswith("0"):
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        return (False, _uint64(text), "")
    if not _ALPHANUMERIC.issuperset(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return (True, 0, text)


def _uint64(text: str) -> int:
    """Read digits, with the errors of Go's strconv.ParseUint."""
    try:
        return go_integer(text, 0, UINT_MAX)
    except ValueError as error:
        raise EvaluationError(f"strconv.ParseUint: parsing {quoted(text)}: {error}") from None


def _parse_normalized(text: str, normalize: bool) -> Semver:  # noqa: FBT001 - an argument of the expression
    """Leave out `v` and leading zeros, and add missing numbers up to three, if wanted."""
    if not normalize:
        return parse(text)
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", _PARTS - 1)]
    if len(parts) < _PARTS and not {"+", "-"}.isdisjoint(parts[-1]):
        raise EvaluationError("short version cannot contain PreRelease/Build meta data")
    return parse(".".join(parts + ["0"] * (_PARTS - len(parts))))


def _without_zeros(part: str) -> str:
    if len(part.encode(errors="surrogatepass")) <= 1:
        return part
    part = part.lstrip("0")
    return part if part[:1] in _DIGITS and part else f"0{part}"


def _part(name: str, position: int) -> Overload:
    return member(name, f"semver_{name}", (SEMVER,), INT, lambda semver: wrapped(semver.numbers[position]))


_PAIR: Final = (SEMVER, SEMVER)

VERSION_0: Final = Library(
    functions=(
        Overload("semver", "string_to_semver", (STRING,), SEMVER, parse),
        Overload("isSemver", "is_semver_string", (STRING,), BOOL, succeeds(parse)),
        member("isGreaterThan", "semver_is_greater_than", _PAIR, BOOL, operator.gt),
        member("isLessThan", "semver_is_less_than", _PAIR, BOOL, operator.lt),
        member("compareTo", "semver_compare_to", _PAIR, INT, compare),
        _part("major", 0),
        _part("minor", 1),
        _part("patch", 2),
    ),
)
VERSION_1: Final = Library(
    functions=(
        *VERSION_0.functions,
        Overload("semver", "string_bool_to_semver", (STRING, BOOL), SEMVER, _parse_normalized),
        Overload("isSemver", "is_semver_string_bool", (STRING, BOOL), BOOL, succeeds(_parse_normalized)),
    ),
)
"""It has brought the second argument of `semver` and `isSemver`, to normalize."""
