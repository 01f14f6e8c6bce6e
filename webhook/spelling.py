"""Suggests the known name that a misspelt one probably stands for.

Two names are near if one is a slip of the other: few letters changed, left out, added or swapped in relation to the
length of the word, as compilers count it (rustc ``rustc_span/src/edit_distance.rs``: a third of the letters). Names are
compared word by word, because a word that differs as a whole is not a slip: ``mig.nvidia.com`` is not
``gpu.nvidia.com`` misspelt, nor ``claim-a`` ``claim-b``, nor ``gpu-0`` ``gpu-1``. How words are joined does not matter.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from typing import Final

from webhook.patterns import Pattern

_WORD: Final = Pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_]")
_LONGEST: Final = 253
"""The most characters of a name to compare."""
_LETTERS_A_SLIP: Final = 3
_MOST_SLIPS: Final = 3
_SHORT: Final = 4
"""The most letters of a word whose first letter must match: ``cpu`` is not ``gpu``, but ``pgu`` is."""
LONG: Final = 5
"""The fewest letters of a word that rarely becomes another known word when mistyped."""
_SHORTENED: Final = 4
"""The fewest letters of a prefix, of a word or of a whole name, that stands for the longer form."""
_INFLECTED: Final = "ing"
"""The ending of a word that is left out before prefixes are compared: ``slicing`` begins like ``slice``."""
_NEVER: Final = _MOST_SLIPS + 1
_MOST_COMPARED: Final = 400
"""The most names that are compared with a written one: of more, those that come before and after it."""
_JOINTS: Final = dict.fromkeys(map(ord, "-_ "))


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the name that was probably meant; empty if none is near.

    Args:
        name: The name as written.
    """
    return next(iter(near(name, known)), "")


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", *, quotes: str = "", lead: str = "") -> str:
    """Ask whether the known name was meant that is nearest to a written one.

    Args:
        name: The name as written.
        otherwise: The text if none is near.
        quotes: The quotation mark around the name.
        lead: The text before the question.
    """
    near = nearest(name, known)
    return f"{lead}did you mean {quotes}{near}{quotes}?" if near else otherwise


def either(names: Sequence[str]) -> str:
    """Join names as alternatives: ``a, b or c``; empty without any."""
    *others, last = names or [""]
    return f"{', '.join(others)} or {last}" if others else last


def beginning(texts: Sequence[str]) -> str:
    """Return what all texts begin with."""
    first, last = min(texts, default=""), max(texts, default="")
    return first[: next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)]


def some_of(texts: Sequence[str], most: int, more: str = "{} more") -> list[str]:
    """Return the first of some texts; if there are others, then a text with their number."""
    return [*texts[:most], *([more.format(len(texts) - most)] if len(texts) > most else [])]


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are nearest to a written one, in their order; empty if none is near.

    Args:
        name: The name as written.
        known: The known names; those of a set are taken in alphabetical order.
    """
    if not name or len(name) > _LONGEST:
        return []
    known = [*dict.fromkeys(sorted(known) if isinstance(known, set | frozenset) else known)]
    if len(known) > _MOST_COMPARED:
        known.sort()
        place = bisect(known, name)
        known = known[max(place - _MOST_COMPARED // 2, 0) : place + _MOST_COMPARED // 2]
    words, best, found = _words(name), _NEVER, list[str]()
    for candidate in known:
        if candidate and len(candidate) <= _LONGEST:
            slips = _slips(words, _words(candidate), best)
            if slips < best:
                best, found = slips, [candidate]
            elif slips == best < _NEVER:
                found.append(candidate)
    return found if best <= 1 else _parts_of(name, words, known) or found


def certain(written: str, allowed: Iterable[str]) -> str:
    """Return the only one of the allowed values that another one certainly stands for; empty if there is none.

    There is at most one slip in five letters. How words are joined does not matter, nor the case.

    Args:
        written: The value as written.
        allowed: The allowed values.
    """
    text = _joined(written)
    if not text.isalnum() or len(text) > _LONGEST:  # !Exists is not Exists
        return ""
    slips = {each: _distance(text, _joined(each), min(len(each) // LONG, _MOST_SLIPS)) for each in allowed}
    fewest = [each for each in slips if slips[each] == min(slips.values()) < _NEVER]
    return fewest[0] if len(fewest) == 1 else ""


def _joined(words: str) -> str:
    return words.translate(_JOINTS).lower()


def mistyped(name: str, known: Iterable[str], shortest: int = LONG) -> str:
    """Return the name that a mistyped one certainly stands for; empty if there is none.

    The names differ in one long word: a letter is missing or doubled, or two neighbours are swapped.

    Args:
        name: The name as written.
        shortest: The fewest letters of the word.
    """
    if len(name) > _LONGEST:
        return ""
    words = name.split(".")
    for candidate in known:
        theirs = candidate.split(".")
        if len(words) == len(theirs):
            different = [pair for pair in zip(words, theirs, strict=True) if pair[0] != pair[1]]
            if len(different) == 1 and len(different[0][1]) >= shortest and _is_slip_of_the_fingers(*different[0]):
                return candidate
    return ""


def _is_slip_of_the_fingers(written: str, meant: str) -> bool:
    places = range(len(meant))
    left_out = (meant[:at] + meant[at + 1 :] for at in places)
    doubled = (meant[: at + 1] + meant[at:] for at in places)
    swapped = (meant[:at] + meant[at + 1] + meant[at] + meant[at + 2 :] for at in places[:-1])
    return written in left_out or written in doubled or written in swapped


def _words(name: str) -> list[str]:
    return [each.lower() for each in _WORD.findall(name)] or [name]


def _slips(written: list[str], meant: list[str], most: int) -> int:
    """Count the slips between two names; above the bound if they are not near."""
    if len(written) == len(meant):
        slips = 0
        for one, other in zip(written, meant, strict=True):
            if one == other:
                continue
            slips += 1 if len(written) > 1 and _is_shortened(one, other) else _distance(one, other, _bound(one, other))
            if slips > most:
                break
        if slips < _NEVER:
            return slips
    digits, others = ([each for each in words if each.isdigit()] for words in (written, meant))
    if len(written) == len(meant) or (digits and others and digits != others):
        return _NEVER
    one, other = "".join(written), "".join(meant)
    return _distance(one, other, min(most, _bound(one, other)))


def _bound(written: str, meant: str) -> int:
    """Return how many slips are allowed between two words: none in numbers; at the start of a short word, one swap."""
    is_other = written[0] != meant[0] and len(written) <= _SHORT and sorted(written) != sorted(meant)
    if is_other or written.isdigit() or meant.isdigit():
        return 0
    return min((len(written) + 1) // _LETTERS_A_SLIP, _MOST_SLIPS)


def _is_shortened(one: str, other: str) -> bool:
    if one == other[:-1] and not other.isdigit():  # the last letter is missing, as in gpu.example.i
        return True
    one, other = one.removesuffix(_INFLECTED), other.removesuffix(_INFLECTED)
    return min(len(one), len(other)) >= _SHORTENED and (one.startswith(other) or other.startswith(one))


def _distance(one: str, other: str, most: int) -> int:
    """Count the letters changed, left out, added or swapped with the next one; stop above a bound."""
    if abs(len(one) - len(other)) > most or len({*one} - {*other}) > most:  # a slip brings one letter at most
        return _NEVER
    before: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        low, high = max(1, row - most), min(len(other), row + most)
        this = [_NEVER] * (len(other) + 1)
        this[0] = row
        for column in range(low, high + 1):
            least = min(last[column] + 1, this[column - 1] + 1, last[column - 1] + (letter != other[column - 1]))
            is_swapped = row > 1 < column and letter == other[column - 2] and one[row - 2] == other[column - 1]
            this[column] = min(least, before[column - 2] + 1) if is_swapped else least
        before, last = last, this
        if min(last) > most:
            return _NEVER
    return last[-1] if last[-1] <= most else _NEVER


def _parts_of(name: str, words: list[str], known: Iterable[str]) -> list[str]:
    """Return the only field that starts with the name, ends with several of its words, or equals it without Name."""
    if len(name) < _SHORTENED or not name.isalnum():
        return []
    count, found = len(words), list[str]()
    for each in filter(str.isalnum, known):
        theirs = _words(each)
        has_end = words[1:] and theirs[-count:] == words
        if has_end or theirs[:count] == words or [*theirs, "name"] == words:
            found.append(each)
    return found if len(found) == 1 else []
