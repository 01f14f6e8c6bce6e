"""Parses regular expressions as Go's regexp does, with its errors.

Follows Go's regexp/syntax/parse.go, with its limits on nesting, repetition and size, and its error texts. A pattern is
read once from left to right, in time that grows with its length alone; nothing is compiled. RE2 reads nearly the same
syntax: only the names of groups and of Unicode classes are rewritten for it.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple, NoReturn

from webhook.cel.errors import EvaluationError
from webhook.patterns import Pattern
from webhook.records import Record

# -- The parts of a pattern, with what Go's limits need


MAX_REPEAT: Final = 1000
MAX_HEIGHT: Final = 1000
MAX_SIZE: Final = (128 << 20) // 40
"""The number of instructions of 40 bytes that fit the memory that Go allows."""

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


# -- The syntax of parts


_MAX_RUNE: Final = 0x10FFFF
_CONTROL: Final = dict(zip("afnrtv", "\a\f\n\r\t\v", strict=True))
_SETS: Final = frozenset({r"\d", r"\D", r"\p", r"\P", r"\s", r"\S", r"\w", r"\W"})
_POSIX: Final = frozenset(
    "alnum alpha ascii blank cntrl digit graph lower print punct space upper word xdigit".split()  # noqa: SIM905 - a line in place of fourteen
)
_REPETITION: Final = Pattern(r"([*+?]|\{(0|[1-9][0-9]*)(,(0|[1-9][0-9]*)?)?\})\??")
_UNCOUNTED: Final = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}
"""The least and the most repetitions; -1 for any number."""
_TOO_MANY_DIGITS: Final = 5
_NAMED: Final = Pattern(r"\(\?P?<(?=.)(?:([0-9A-Za-z_]+>)|[^>]*>?)", re.DOTALL)
_FLAGS: Final = Pattern(r"\(\?([imsU]*)(-[imsU]*)?(.?)", re.DOTALL)
_QUOTED: Final = Pattern(r"\\Q(.*?)(?:\\E|\Z)", re.DOTALL)
_CHARACTER: Final = Pattern(
    r"\\(?:x([0-9a-fA-F]{2})|x\{([0-9a-fA-F]+)\}|(0[0-7]{0,2}|[1-7][0-7]{1,2})|([afnrtv\x00-/:-@\[-`{-\x7f]))"
)
_NO_CHARACTER: Final = Pattern(
    r"\\(?:x\{0*(?:10[0-9a-fA-F]{5}|(?:1[1-9a-fA-F]|[2-9a-fA-F][0-9a-fA-F])[0-9a-fA-F]{4}|[0-9a-fA-F]*.?)|x.{0,2}|.)",
    re.DOTALL,
)
"""An escape that stands for no character, as far as Go reads it: to the digit that makes it too large."""
_UNICODE: Final = Pattern(r"\\([pP])(?:\{(\^?)([^}]*)\}|([^{]))", re.DOTALL)

COUNT: Final = "invalid repeat count"
_RANGE: Final = "invalid character class range"
_UNICODE_WEIGHT: Final = 600
_CLASS_WEIGHT: Final = 8


class ParsedPattern(NamedTuple):
    """A parsed regular expression: its text in RE2's syntax, and about how many instructions RE2 compiles it to."""

    text: str
    weight: int


def read_pattern(text: str) -> ParsedPattern:
    """Read a regular expression.

    Raises:
        EvaluationError: Go rejects the expression.
    """
    return _Reader(text).read()


class _Reader:
    """Reads a pattern, with the branches of the innermost group so far, and the parts of the last branch."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._fold = text, 0, False
        self._branches: list[Node] = []
        self._parts: list[Node] = []
        self._around: list[tuple[int, bool, list[Node], list[Node]]] = []
        """Of each open group, its kind, and the state before it: whether case was ignored, the branches and parts."""
        self._pieces: list[str] = []
        self._copied = 0
        self._last_name = text.rfind(":]")

    def read(self) -> ParsedPattern:
        text, repeated = self._text, -1
        while self._at < len(text):
            start = self._at
            if text[start] in "*+?{" and (found := _REPETITION.match(text, start)):
                self._repeat(found, repeated)
                repeated = start
            else:
                self._part(text[start])
                repeated = -1
        whole = self._whole()
        if self._around:
            self._fail("missing closing )", 0)
        return ParsedPattern("".join((*self._pieces, text[self._copied :])), whole.weight)

    def _fail(self, what: str, start: int, end: int | None = None) -> NoReturn:
        raise EvaluationError(f"error parsing regexp: {what}: `{self._text[start:end]}`")

    # -- what has been read

    def _checked(self, node: Node) -> Node:
        if node.size > MAX_SIZE:
            self._fail("expression too large", 0)
        if node.height > MAX_HEIGHT:
            self._fail("expression nests too deeply", 0)
        return node

    def _push(self, node: Node) -> None:
        self._merge()
        self._parts.append(self._checked(node))

    def _merge(self) -> None:
        """Join the two last literals, as no repetition can apply to the last one alone any more."""
        if len(parts := self._parts) > 1:
            before, last = parts[-2:]
            if last.kind == before.kind == LITERAL and last.fold == before.fold:
                before.size += last.size
                before.weight += last.weight
                parts.pop()

    def _joined(self, parts: list[Node], kind: int) -> Node:
        if len(parts) < 2:  # noqa: PLR2004 - nothing to join
            return parts[0] if parts else Node(OTHER)
        return self._checked(
            Node(
                kind,
                sum(each.size for each in parts) + (len(parts) - 1 if kind == ALTERNATION else 0),
                weight=sum(each.weight for each in parts) + len(parts),
                # Concatenations in concatenations are one.
                height=1 + max(each.height - (each.kind == kind) for each in parts),
                copies=max(each.copies for each in parts),
            )
        )

    def _end_branch(self) -> None:
        """End a branch of an alternation, in which those that match one character are joined."""
        self._merge()
        self._branches.append(self._joined(self._parts, CONCATENATION))
        self._parts = []
        both = self._branches[-2:]
        if len(both) > 1 and all(each.kind == CLASS or (each.kind == LITERAL and each.size == 1) for each in both):
            both[0].weight += self._branches.pop().weight
            both[0].kind = CLASS

    def _whole(self) -> Node:
        """All of the innermost group."""
        self._end_branch()
        return self._joined(self._branches, ALTERNATION)

    def _open(self, kind: int) -> None:
        self._around.append((kind, self._fold, self._branches, self._parts))
        self._branches, self._parts = [], []

    def _close(self) -> None:
        part = self._whole()
        if not self._around:
            self._fail("unexpected )", 0)
        kind, self._fold, self._branches, self._parts = self._around.pop()
        if kind == CAPTURE:
            part = Node(OTHER, part.size + 2, weight=part.weight + 2, height=part.height + 1, copies=part.copies)
        self._push(part)

    # -- parts

    def _repeat(self, found: re.Match[str], repeated: int) -> None:
        """Repeat the last part; `repeated` is the start of the repetition before: two in a row are an error."""
        start, self._at = found.span()
        if (counts := _UNCOUNTED.get(found[1])) is None:
            least = int(found[2][:_TOO_MANY_DIGITS])
            counts = least, int((found[4] or "-1")[:_TOO_MANY_DIGITS]) if found[3] else least
        least, most = counts
        if max(counts) > MAX_REPEAT or 0 <= most < least:
            self._fail(COUNT, start, found.end(1))
        if repeated >= 0:
            self._fail("invalid nested repetition operator", repeated, self._at)
        if not self._parts:
            self._fail("missing argument to repetition operator", start, self._at)
        part, count = self._parts[-1], max(1, least if most < 0 else most)
        jumps = most - least if most >= 0 else 1 + (not least)
        size = count * part.size + jumps if most else 1
        weight = part.weight * count + (found[1] in _UNCOUNTED)
        copies = part.copies * count if most else 1
        self._parts[-1] = self._checked(Node(OTHER, size, weight=weight, height=part.height + 1, copies=copies))
        if count > 1 and copies > MAX_REPEAT:
            self._fail(COUNT, start, self._at)

    def _part(self, char: str) -> None:
        text, start = self._text, self._at
        if char == "\\":
            self._escape()
        elif char == "[":
            self._class()
        elif char == "(" and text.startswith("(?", start):
            self._special_group()
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
                self._push(Node(LITERAL, fold=self._fold))

    def _special_group(self) -> None:
        """`(?:…)`, `(?i)`, `(?P<name>…)` and similar groups."""
        text, start = self._text, self._at
        if found := _NAMED.match(text, start):
            self._at = found.end()
            if not found[1]:
                self._fail("invalid named capture", start, self._at)
            self._replace(start, "(")  # groups are not used, and RE2 requires unique names
            self._open(CAPTURE)
            return
        found = _FLAGS.match(text, start)
        on, off, end = found.groups(default="")
        self._at = found.end()
        if end not in {":", ")"} or off == "-":
            self._fail("invalid or unsupported Perl syntax", start, self._at)
        if end == ":":
            self._open(OTHER)
        if "i" in on + off:
            self._fold = "i" not in off

    def _escape(self) -> None:
        text, start = self._text, self._at
        if found := _QUOTED.match(text, start):
            self._at = found.end()
            for _ in found[1]:
                self._push(Node(LITERAL, fold=self._fold))
        elif text[start + 1 : start + 2] in {"A", "b", "B", "z"}:
            self._at += 2
            self._push(Node(OTHER))
        elif weight := self._set(in_class=False):
            self._push(Node(CLASS, weight=weight))
        else:
            self._character()
            self._push(Node(LITERAL, fold=self._fold))

    def _set(self, *, in_class: bool) -> int:
        r"""`\d`, `\pL` and similar sets of characters: the weight; 0 for anything else."""
        start = self._text[self._at : self._at + 2]
        if start not in _SETS:
            return 0
        if start in {r"\p", r"\P"}:
            self._unicode(in_class=in_class)
            return _UNICODE_WEIGHT
        self._at += 2
        return _CLASS_WEIGHT

    def _unicode(self, *, in_class: bool) -> None:
        r"""`\pN`, `\p{Greek}`, `\P{^Greek}`."""
        start = self._at
        if (found := _UNICODE.match(self._text, start)) is None:
            self._fail(_RANGE, start)
        self._at = found.end()
        is_negative = (found[1] == "P") != bool(found[2])
        if (key := _canonical(found[3] or found[4] or "")) in {"cn", "unassigned"}:
            key, is_negative = "assigned", not is_negative
        if key not in _KNOWN:
            self._fail(_RANGE, start, self._at)
        self._replace(start, _in_re2(_KNOWN[key], negative=is_negative, in_class=in_class))

    def _replace(self, start: int, text: str) -> None:
        """Record RE2's replacement for the text just read."""
        self._pieces += (self._text[self._copied : start], text)
        self._copied = self._at

    def _character(self) -> int:
        """An escape that stands for a character."""
        text, start = self._text, self._at
        if start + 1 == len(text):
            self._fail("trailing backslash at end of expression", len(text))
        if found := _CHARACTER.match(text, start):
            self._at = found.end()
            if char := found[4]:
                return ord(_CONTROL.get(char, char))
            code = int(found[3], 8) if found[3] else int(found[1] or found[2], 16)
            if code <= _MAX_RUNE:
                return code
        return self._fail("invalid escape sequence", start, _NO_CHARACTER.match(text, start).end())

    def _class(self) -> None:
        text, start = self._text, self._at
        is_negative = text.startswith("^", start + 1)
        self._at += 1 + is_negative
        weight, characters = 0, set[int]()
        while not weight or not text.startswith("]", self._at):
            low, high, own = 0, _MAX_RUNE, self._named_class() or self._set(in_class=True)
            if not own:
                own, first = _CLASS_WEIGHT, self._at
                low = high = self._class_character(start)
                if text.startswith("-", self._at) and text[self._at + 1 : self._at + 2] not in {"", "]"}:
                    self._at += 1
                    if (high := self._class_character(start)) < low:
                        self._fail(_RANGE, first, self._at)
            weight += own
            if len(characters) < 3:  # noqa: PLR2004 - three are as good as all
                characters.update(range(low, min(high, low + 2) + 1))
        self._at += 1
        one, *others = map(chr, characters)
        is_pair = [each.lower() for each in others] == [one.lower()]
        if is_negative or (others and not is_pair):
            self._push(Node(CLASS, weight=weight))
        else:
            self._push(Node(LITERAL, fold=is_pair or (self._fold and one.lower() != one.upper())))

    def _named_class(self) -> int:
        """`[:alpha:]`, within brackets: the weight; 0 for anything else."""
        text, start = self._text, self._at
        if not text.startswith("[:", start) or self._last_name < start + 2:
            return 0
        self._at = text.find(":]", start + 2) + 2
        if text[start + 2 : self._at - 2].removeprefix("^") not in _POSIX:
            self._fail(_RANGE, start, self._at)
        return _CLASS_WEIGHT

    def _class_character(self, class_at: int) -> int:
        char = self._text[self._at : self._at + 1]
        if not char:
            self._fail("missing closing ]", class_at)
        if char == "\\":
            return self._character()
        self._at += 1
        return ord(char)


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
