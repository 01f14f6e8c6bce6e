r"""Unicode classes that Go's regular expressions support by name, such as `\p{Greek}`.

Follows unicodeTable in Go's regexp/syntax/parse.go. Go has Unicode 15, as RE2 has here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final


_CATEGORIES: Final = (
    "C Cc Cf Cn Co Cs L LC Ll Lm Lo Lt Lu M Mc Me Mn N Nd Nl No P Pc Pd Pe Pf Pi Po Ps S Sc Sk Sm So Z Zl Zp Zs"
)
_ALIASES: Final = {
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
    **{_canonical(name): rf"\p{{{name}}}" for name in (*_CATEGORIES.split(), *_SCRIPTS.split())},
    **{_canonical(alias): rf"\p{{{name}}}" for name, aliases in _ALIASES.items() for alias in aliases.split()},
    **_OWN,
}
_UNASSIGNED: Final = frozenset({"cn", "unassigned"})


def unicode_class(name: str) -> tuple[str, bool] | None:
    """RE2's form of a class.

    Args:
        name: The class's name, as written in a pattern, without a `^`.

    Returns:
        The form between brackets, and whether these must be negated; None if there is no such class.
    """
    key = _canonical(name)
    if key in _UNASSIGNED:
        return _ASSIGNED, True
    found = _KNOWN.get(key)
    return None if found is None else (found, False)
