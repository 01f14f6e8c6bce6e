"""Parses regular expressions as Go's regexp does, with its errors.

Follows Go's regexp/syntax/parse.go, with its limits on nesting, repetition and size, and its error texts. A pattern is
read once from left to right, in time that grows with its length alone; nothing is compiled. RE2 reads nearly the same
syntax: only the names of groups and of Unicode classes are rewritten for it.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from webhook.cel.errors import EvaluationError
from webhook.patterns import Pattern
from webhook.records import NamedTuple, Record

# -- The parse stack of Go's regexp/syntax, with its limits


MAX_REPEAT: Final = 1000
MAX_HEIGHT: Final = 1000
MAX_SIZE: Final = (128 << 20) // 40
"""The number of instructions of 40 bytes that fit the memory that Go allows."""

COUNT: Final = "invalid repeat count"
LITERAL, CLASS, OTHER, CONCATENATION, ALTERNATION, CAPTURE = range(6)


class Node(Record):
    """A part of the expression, with only the data that limits need.

    Attributes:
        kind: The kind of the part.
        size: The largest number of Go's instructions for it.
        height: The depth of nested parts, including itself.
        copies: The number of times that nested repetitions repeat the innermost part.
        weight: About the number of RE2's instructions for it.
        fold: Whether a literal ignores case.
    """

    kind: int
    size: int = 1
    fold: bool = False
    weight: int = 1
    height: int = 1
    copies: int = 1


_TOO_MANY_DIGITS: Final = 5
_MAX_RUNE: Final = 0x10FFFF
_MOST_DIGITS: Final = 6
"""The digits of the largest code point."""
_PERL_CLASSES: Final = frozenset("dDsSwW")
_EMPTY: Final = frozenset("AbBz")
_CONTROL: Final = dict(zip("afnrtv", "\a\f\n\r\t\v", strict=True))
_POSIX: Final = frozenset(
    "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()  # noqa: SIM905 - a line in place of fourteen
)
_WORD: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
_COUNTS: Final = Pattern(r"\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\}")
_FLAGS: Final = Pattern(r"\(\?([imsU]*)(-[imsU]*)?")
_NAME: Final = Pattern(r"\(\?P?<(?=.)([^>]*)(>?)", re.DOTALL)
_OCTAL: Final = Pattern(r"\\(0[0-7]{0,2}|[1-7][0-7]{1,2})")
_HEXADECIMAL: Final = Pattern(r"\\x(?:([0-9a-fA-F]{2})|\{([0-9a-fA-F]+)\})")
_BEGUN: Final = Pattern(r"\\x\{0*([0-9a-fA-F]*)")
_UNICODE: Final = Pattern(r"\\[pP](?:\{([^}]*)\}|([^{]))", re.DOTALL)

_RANGE: Final = "invalid character class range"
_ESCAPE: Final = "invalid escape sequence"
_INVALID_NAME: Final = "invalid named capture"
_UNICODE_WEIGHT: Final = 600
_CLASS_WEIGHT: Final = 8


class ParsedPattern(NamedTuple):
    """A parsed regular expression: its text in RE2's syntax, and about how many instructions RE2 compiles it to."""

    text: str
    weight: int


def read_pattern(text: str) -> ParsedPattern:
    """Reads a regular expression.

    Raises:
        EvaluationError: Go rejects the expression.
    """
    return _Reader(text).read()


class _Reader:
    """Reads a pattern, with the branches of the innermost group so far, and the parts of the last branch."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._branches: list[Node] = []
        self._parts: list[Node] = []
        self._around: list[tuple[int, bool, list[Node], list[Node]]] = []
        """Of each open group, its kind, and the state before it: whether case was ignored, the branches and parts."""
        self._fold = False
        self._pieces: list[str] = []
        self._copied = 0
        self._ends_of_names = True

    def read(self) -> ParsedPattern:
        text, size = self._text, len(self._text)
        repeated = -1
        while self._at < size:
            start = self._at
            # `repeated` is the start of the previous repetition; two in a row are an error.
            repeated = start if self._repetition(start, repeated) else -1
            if repeated < 0:
                self._one(text[start])
        whole = self._whole()
        if self._around:
            self._fail("missing closing )", 0)
        self._pieces.append(text[self._copied :])
        return ParsedPattern("".join(self._pieces), whole.weight)

    def _fail(self, what: str, start: int, end: int | None = None) -> NoReturn:
        raise EvaluationError(f"error parsing regexp: {what}: `{self._text[start:end]}`")

    # -- what has been read

    def _push(self, node: Node) -> None:
        self._merge()
        self._parts.append(node)
        self._check(node)

    def _literal(self, *, fold: bool | None = None) -> None:
        self._push(Node(LITERAL, fold=self._fold if fold is None else fold))

    def _merge(self) -> None:
        """Joins the two last literals, as no repetition can apply to the last one alone any more."""
        if len(self._parts) > 1:
            before, last = self._parts[-2:]
            if last.kind == before.kind == LITERAL and last.fold == before.fold:
                before.size += last.size
                before.weight += last.weight
                self._parts.pop()

    def _check(self, node: Node) -> None:
        if node.size > MAX_SIZE:
            self._fail("expression too large", 0)
        if node.height > MAX_HEIGHT:
            self._fail("expression nests too deeply", 0)

    def _joined(self, parts: list[Node], kind: int) -> Node:
        if len(parts) == 1:
            return parts[0]
        node = Node(kind if parts else OTHER)
        if parts:
            node.size = sum(each.size for each in parts) + (len(parts) - 1 if kind == ALTERNATION else 0)
            node.weight = sum(each.weight for each in parts) + len(parts)
            node.copies = max(each.copies for each in parts)
            # Concatenations in concatenations are one.
            node.height = 1 + max(each.height - (each.kind == kind) for each in parts)
        self._check(node)
        return node

    def _end_branch(self) -> None:
        """Ends a branch of an alternation, in which those that match one character are joined."""
        self._merge()
        branch, branches = self._joined(self._parts, CONCATENATION), self._branches
        self._parts = []
        both = (*branches[-1:], branch)
        if branches and all(each.kind == CLASS or (each.kind == LITERAL and each.size == 1) for each in both):
            branches[-1].weight += branch.weight
            branches[-1].kind = CLASS
        else:
            branches.append(branch)

    def _open(self, kind: int) -> None:
        self._around.append((kind, self._fold, self._branches, self._parts))
        self._branches, self._parts = [], []

    def _whole(self) -> Node:
        """All of the innermost group."""
        self._end_branch()
        return self._joined(self._branches, ALTERNATION)

    def _close(self) -> None:
        part = self._whole()
        if not self._around:
            self._fail("unexpected )", 0)
        kind, self._fold, self._branches, self._parts = self._around.pop()
        if kind == CAPTURE:
            part = Node(OTHER, part.size + 2, weight=part.weight + 2, height=part.height + 1, copies=part.copies)
        self._push(part)

    # -- parts

    def _one(self, char: str) -> None:
        if char == "\\":
            self._escape()
        elif char == "[":
            self._class()
        elif char == "(" and self._text.startswith("(?", self._at):
            self._group()
        else:
            self._at += 1
            if char == "(":
                self._open(CAPTURE)
            elif char == "|":
                self._end_branch()
            elif char == ")":
                self._close()
            elif char == ".":
                self._push(Node(CLASS, weight=_CLASS_WEIGHT))
            elif char in "^$":
                self._push(Node(OTHER))
            else:
                self._literal()

    def _repetition(self, start: int, repeated: int) -> bool:
        """Reads `*`, `+`, `?`, `{2}`, `{2,}` or `{2,3}`; any other brace is a literal."""
        text = self._text
        counts = None
        if text[start] in "*+?":
            self._at += 1
        elif text[start] == "{" and (found := _COUNTS.match(text, start)):
            self._at = found.end()
            least, most = (int((each or "-1")[:_TOO_MANY_DIGITS]) for each in (found[1], found[3]))
            if not found[2]:
                most = least
            if max(least, most) > MAX_REPEAT or 0 <= most < least:
                self._fail(COUNT, start, self._at)
            counts = least, most
        else:
            return False
        if text.startswith("?", self._at):
            self._at += 1
        if repeated >= 0:
            self._fail("invalid nested repetition operator", repeated, self._at)
        if not self._parts:
            self._fail("missing argument to repetition operator", start, self._at)
        self._repeat(start, counts)
        return True

    def _repeat(self, start: int, counts: tuple[int, int] | None) -> None:
        part = self._parts[-1]
        least, most = counts or (1, 1)
        count = max(1, least if most < 0 else most)
        if counts is None:
            size = part.size + (2 if self._text[start] == "*" else 1)
        elif most >= 0:
            size = most * part.size + most - least
        else:
            size = 1 + least * part.size if least else 2 + part.size
        weight = part.weight + 1 if counts is None else part.weight * count
        copies = part.copies * count if most else 1
        node = Node(OTHER, max(1, size), weight=weight, height=part.height + 1, copies=copies)
        self._parts[-1] = node
        self._check(node)
        if count > 1 and node.copies > MAX_REPEAT:
            self._fail(COUNT, start, self._at)

    def _group(self) -> None:
        """`(?:…)`, `(?i)`, `(?P<name>…)` and similar groups."""
        text, start = self._text, self._at
        if named := _NAME.match(text, start):
            if not named[2]:
                self._fail(_INVALID_NAME, start)
            if not named[1] or not _WORD.issuperset(named[1]):
                self._fail(_INVALID_NAME, start, named.end())
            self._at = named.end()
            self._replace(start, "(")  # groups are not used, and RE2 requires unique names
            self._open(CAPTURE)
            return
        flags = _FLAGS.match(text, start)
        at, off = flags.end(), flags[2]
        if text[at : at + 1] not in {":", ")"} or off == "-":
            self._fail("invalid or unsupported Perl syntax", start, at + 1 if at < len(text) else None)
        self._at = at + 1
        if text[at] == ":":
            self._open(OTHER)
        if "i" in (off or "") or "i" in flags[1]:
            self._fold = "i" not in (off or "")

    def _escape(self) -> None:
        text, start = self._text, self._at
        if (char := text[start + 1 : start + 2]) == "C":
            self._fail(_ESCAPE, start, start + 2)
        elif char == "Q":
            end = text.find("\\E", start + 2)
            quoted = text[start + 2 :] if end < 0 else text[start + 2 : end]
            self._at = len(text) if end < 0 else end + 2
            for _ in quoted:
                self._literal()
        elif char and char in _EMPTY:
            self._at += 2
            self._push(Node(OTHER))
        elif weight := self._set(in_class=False):
            self._push(Node(CLASS, weight=weight))
        else:
            self._character()
            self._literal()

    def _set(self, *, in_class: bool) -> int:
        r"""`\d`, `\pL` and similar sets of characters: the weight; 0 for anything else."""
        if (char := self._text[self._at + 1 : self._at + 2]) in {"p", "P"}:
            self._unicode(in_class=in_class)
            return _UNICODE_WEIGHT
        if char in _PERL_CLASSES:
            self._at += 2
            return _CLASS_WEIGHT
        return 0

    def _character(self) -> int:
        """An escape that stands for a character."""
        text, start = self._text, self._at
        if not (char := text[start + 1 : start + 2]):
            self._fail("trailing backslash at end of expression", len(text))
        if char == "x":
            return self._hexadecimal(start)
        if octal := _OCTAL.match(text, start):
            self._at = octal.end()
            return int(octal[1], 8)
        if char not in _CONTROL and (not char.isascii() or (char in _WORD and char != "_")):
            self._fail(_ESCAPE, start, start + 2)
        self._at = start + 2
        return ord(_CONTROL.get(char, char))

    def _hexadecimal(self, start: int) -> int:
        found = _HEXADECIMAL.match(self._text, start)
        digits = (found[1] or found[2]).lstrip("0") or "0" if found else ""
        if found is None or len(digits) > _MOST_DIGITS or int(digits, 16) > _MAX_RUNE:
            if (begun := _BEGUN.match(self._text, start)) is None:
                self._fail(_ESCAPE, start, start + 4)
            sizes = range(_MOST_DIGITS, min(len(begun[1]), _MOST_DIGITS + 1) + 1)
            too_large = (begun.start(1) + size for size in sizes if int(begun[1][:size], 16) > _MAX_RUNE)
            self._fail(_ESCAPE, start, next(too_large, begun.end() + 1))
        self._at = found.end()
        return int(digits, 16)

    def _unicode(self, *, in_class: bool) -> None:
        r"""`\pN`, `\p{Greek}`, `\P{^Greek}`."""
        text, start = self._text, self._at
        negative = text[start + 1] == "P"
        if (found := _UNICODE.match(text, start)) is None:
            self._fail(_RANGE, start)
        name, self._at = found[1] or found[2] or "", found.end()
        if name.startswith("^"):
            negative, name = not negative, name[1:]
        if (key := _canonical(name)) in {"cn", "unassigned"}:
            key, negative = "assigned", not negative
        if key not in _KNOWN:
            self._fail(_RANGE, start, self._at)
        self._replace(start, _in_re2(_KNOWN[key], negative=negative, in_class=in_class))

    def _replace(self, start: int, text: str) -> None:
        """Records RE2's replacement for the text just read."""
        self._pieces += (self._text[self._copied : start], text)
        self._copied = self._at

    def _class(self) -> None:
        text, start = self._text, self._at
        self._at += 1
        negative = text.startswith("^", self._at)
        self._at += negative
        weight = 0
        characters: set[int] | None = set()
        while not weight or not text.startswith("]", self._at):
            own = self._named_class() or (text.startswith("\\", self._at) and self._set(in_class=True))
            if own:
                characters = None
                weight += own
                continue
            low, high = self._range(start)
            weight += _CLASS_WEIGHT
            if characters is not None:
                characters = characters | {low, high} if high - low < 2 and len(characters) < 2 else None  # noqa: PLR2004 - a pair
        self._at += 1
        one, *others = map(chr, characters) if characters and not negative else ("",)
        is_pair = bool(others) and (one.lower() == others[0] or others[0].lower() == one)
        if one and (is_pair or not others):
            self._literal(fold=is_pair or (self._fold and one.lower() != one.upper()))
        else:
            self._push(Node(CLASS, weight=weight))

    def _named_class(self) -> int:
        """`[:alpha:]`, within brackets: the weight; 0 for anything else."""
        text, start = self._text, self._at
        if not self._ends_of_names or not text.startswith("[:", start) or len(text) - start < 3:  # noqa: PLR2004 - `[:]`
            return 0
        if (end := text.find(":]", start + 2)) < 0:
            self._ends_of_names = False
            return 0
        if text[start + 2 : end].removeprefix("^") not in _POSIX:
            self._fail(_RANGE, start, end + 2)
        self._at = end + 2
        return _CLASS_WEIGHT

    def _range(self, class_at: int) -> tuple[int, int]:
        text, start = self._text, self._at
        low = high = self._class_character(class_at)
        if text.startswith("-", self._at) and self._at + 1 < len(text) and text[self._at + 1] != "]":
            self._at += 1
            if (high := self._class_character(class_at)) < low:
                self._fail(_RANGE, start, self._at)
        return low, high

    def _class_character(self, class_at: int) -> int:
        text = self._text
        if self._at >= len(text):
            self._fail("missing closing ]", class_at)
        if text[self._at] == "\\":
            return self._character()
        self._at += 1
        return ord(text[self._at - 1])


def _in_re2(body: str, *, negative: bool, in_class: bool) -> str:
    """RE2's form of a class, of which the part between brackets is given."""
    if body.startswith("\\p{") and body.count("\\") == 1:
        return f"\\P{body[2:]}" if negative else body
    if not negative:
        return body if in_class else f"[{body}]"
    if not in_class:
        return f"[^{body}]"
    # Brackets in brackets cannot be negated: only characters outside of ASCII can be distinguished.
    return r"\x{80}-\x{10FFFF}" if body == ASCII else r"\P{Any}"


_CATEGORIES: Final = {
    "C": "Other", "Cc": "Control cntrl", "Cf": "Format", "Cn": "Unassigned", "Co": "Private_Use", "Cs": "Surrogate",
    "L": "Letter", "LC": "Cased_Letter", "Ll": "Lowercase_Letter", "Lm": "Modifier_Letter", "Lo": "Other_Letter",
    "Lt": "Titlecase_Letter", "Lu": "Uppercase_Letter", "M": "Mark Combining_Mark", "Mc": "Spacing_Mark",
    "Me": "Enclosing_Mark", "Mn": "Nonspacing_Mark", "N": "Number", "Nd": "Decimal_Number digit", "Nl": "Letter_Number",
    "No": "Other_Number", "P": "Punctuation punct", "Pc": "Connector_Punctuation", "Pd": "Dash_Punctuation",
    "Pe": "Close_Punctuation", "Pf": "Final_Punctuation", "Pi": "Initial_Punctuation", "Po": "Other_Punctuation",
    "Ps": "Open_Punctuation", "S": "Symbol", "Sc": "Currency_Symbol", "Sk": "Modifier_Symbol", "Sm": "Math_Symbol",
    "So": "Other_Symbol", "Z": "Separator", "Zl": "Line_Separator", "Zp": "Paragraph_Separator",
    "Zs": "Space_Separator",
}  # fmt: skip
_SCRIPTS: Final = (
    "Adlam Ahom Anatolian_Hieroglyphs Arabic Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki "
    "Bopomofo Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee "
    "Chorasmian Common Coptic Cuneiform Cypriot Cypro_Minoan Cyrillic Deseret Devanagari Dives_Akuru Dogra Duployan "
    "Egyptian_Hieroglyphs Elbasan Elymaic Ethiopic Georgian Glagolitic Gothic Grantha Greek Gujarati Gunjala_Gondi "
    "Gurmukhi Han Hangul Hanifi_Rohingya Hanunoo Hatran Hebrew Hiragana Imperial_Aramaic Inherited "
    "Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi Kayah_Li Kharoshthi "
    "Khitan_Small_Script Khmer Khojki Khudawadi Lao Latin Lepcha Limbu Linear_A Linear_B Lisu Lycian Lydian Mahajani "
    "Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek Mende_Kikakui "
    "Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean Nag_Mundari Nandinagari "
    "New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian Old_Italic Old_North_Arabian "
    "Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya Osage Osmanya Pahawh_Hmong "
    "Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan Saurashtra Sharada Shavian "
    "Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri Syriac Tagalog Tagbanwa Tai_Le "
    "Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Thai Tibetan Tifinagh Tirhuta Toto Ugaritic Vai "
    "Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square"
)

_IGNORED: Final = str.maketrans("", "", "_- ")


def _canonical(name: str) -> str:
    name = name.translate(_IGNORED)
    return name.lower() if name.isascii() else name


ASCII: Final = r"\x{0}-\x{7F}"
r"""RE2's form of `\p{ASCII}`."""
_ASSIGNED: Final = r"\pL\pM\pN\pP\pS\pZ\pC"
"""All assigned code points: in RE2, too, `C` excludes `Cn`."""
_CASED: Final = r"\p{Lu}\p{Ll}\p{Lt}"
_OWN: Final = {"ascii": ASCII, "assigned": _ASSIGNED, "lc": _CASED, "casedletter": _CASED, "any": r"\p{Any}"}
_KNOWN: Final = {
    **{_canonical(name): rf"\p{{{name}}}" for name in (*_CATEGORIES, *_SCRIPTS.split())},
    **{_canonical(alias): rf"\p{{{name}}}" for name, aliases in _CATEGORIES.items() for alias in aliases.split()},
    **_OWN,
}
