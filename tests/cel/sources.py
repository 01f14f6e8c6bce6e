"""Python source of expressions, and what does not belong in it."""
# ruff: noqa: SIM905  # a line in place of many

import io
import keyword
import re
import tokenize

from webhook.cel.runtime import generator

NAMES = re.compile(r"[ftvk][0-9]+")
KNOWN = {
    *keyword.kwlist, *generator.BUILTINS,
    *"bindings cost error evaluate left limit mark meter".split(),
    *"append args bytes endswith force made present put startswith value".split(),
}  # fmt: skip
"""Keywords, builtins, names of the generator's own, and members."""
MOST_LINES = 1500
"""How many lines a function has at most: some milliseconds to compile, between which the clock is looked at."""
NASTY = (
    "__import__('os').system('true')", "']; import os; k = ['", '"""', "'''", "\\", "\n\timport os\n",
    "\r\x0b\x0c\x1c\x85\u2028", "# coding: utf-7", "+AGE-", "{t1}", "{0}", "%s", "\x00", "\uff49mport", "😀", "k0",
    "left", "meter", "__builtins__", "__class__", "EvaluationError",
)  # fmt: skip
WIDE = {
    "and": " && ".join(f"o.a{number} == 'b'" for number in range(500)),
    "or": " || ".join(f"l.exists(x, x == o.a{number})" for number in range(300)),
    "list": f"[{', '.join(['o'] * 3_000)}].size() == 3000",
    "list of optionals": f"[{', '.join(['?o.?a'] * 1_000)}].size() > 0",
    "map": f"{{{', '.join(f'{number}: o' for number in range(1_000))}}}.size() > 0",
    "calls": f"[{', '.join(['size(o) + 1'] * 1_000)}].size() > 0",
    "lists of lists": f"[{', '.join(['[' + ', '.join(['o'] * 60) + ']'] * 60)}].size() > 0",
    "or of and": " || ".join(f"({' && '.join(['o.a == 1'] * 30)})" for _ in range(100)),
    "deep sums": "(" * 100 + "o.a" + " + size(l))" * 100 + " > 0",
    "deep loops": "l.all(x, " * 100 + "o.a > 0" + ")" * 100,
    "deep ternaries": "".join(f"o.a == {number} ? {number} : " for number in range(200)) + "0",
    "deep and": "".join(f"(o.a == {number} && " for number in range(100)) + "true" + ")" * 100,
    "deep lists": "[" * 200 + "o" + "]" * 200,
    "deep maps": "{'a': " * 200 + "o" + "}" * 200,
    "deep binds": "".join(f"cel.bind(x{number}, o.a, " for number in range(100)) + "x1 + x99" + ")" * 100,
    "deep has": "(" * 100 + "has(o.a)" + " || has(o.b))" * 100,
    "deep negations": "!(" * 200 + "has(o.a)" + ")" * 200,
    "deep indexes": "o[" * 150 + "'a'" + "]" * 150,
    "deep optionals": "optional.of(" * 100 + "o" + ").orValue(l)" * 100,
}


def strangers(source: str) -> set[str]:
    """The tokens of a source that do not come from the generator."""
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    found = {each.string for each in tokens if each.type in {tokenize.STRING, tokenize.COMMENT, tokenize.ERRORTOKEN}}
    found |= {each.string for each in tokens if each.type == tokenize.NUMBER and not each.string.isdecimal()}
    names = {each.string for each in tokens if each.type == tokenize.NAME}
    return found | {each for each in names - KNOWN if not NAMES.fullmatch(each)}


def quoted(text: str) -> str:
    return '"' + "".join(f"\\u{ord(each):04x}" if ord(each) < 0x10000 else f"\\U{ord(each):08x}" for each in text) + '"'
