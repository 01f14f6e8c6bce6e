"""Draw the output of commands as pictures in docs: python -m tests.terminal."""

import re
from html import escape
from typing import Final

from tests.command import ROOT, draguard

PICTURES: Final = {
    ROOT / "docs" / "why.svg": (
        "draguard why says what keeps a pod from its devices, what would help, and by what that is known",
        "why notebook -n ml --cluster examples/why/cluster.yaml",
    ),
    ROOT / "docs" / "simulate.svg": (
        "draguard simulate says why pods stay pending, and what would help",
        "simulate examples/simulate/deployment.yaml --cluster examples/simulate/cluster.yaml",
    ),
}
"""The title and the command of each picture."""
_COLUMNS, _LINE, _CHARACTER, _MARGIN = 112, 19, 7.85, 16
_CLASSES: Final = {"1;32": "good", "1;31": "bad", "1;36": "help"}
_STYLE: Final = """
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328; white-space: pre }
rect { fill: #f6f8fa; stroke: #d1d9e0 }
.prompt { fill: #59636e } .good { fill: #1a7f37; font-weight: bold }
.bad { fill: #d1242f; font-weight: bold } .help { fill: #0969da; font-weight: bold }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } rect { fill: #151b23; stroke: #3d444d }
.prompt { fill: #9198a1 } .good { fill: #3fb950 } .bad { fill: #f85149 } .help { fill: #4493f8 }
}
"""
_SEQUENCE: Final = re.compile(r"\x1b\[([0-9;]*)m")


def picture(title: str, command: str) -> str:
    """Return the picture of a terminal in which a command was run; dark where the reader's screen is."""
    arguments = [ROOT / each if "/" in each else each for each in command.split()]
    printed = draguard(*arguments, "--color", "always", columns=_COLUMNS).out.splitlines()
    lines = ['<tspan class="prompt">$</tspan> ' + escape(f"draguard {command}")]
    lines += [*map(_spans, printed)]
    height = len(lines) * _LINE + 2 * _MARGIN
    width = round(_COLUMNS * _CHARACTER) + 2 * _MARGIN
    rows = [
        f'<text x="{_MARGIN}" y="{_MARGIN + (index + 1) * _LINE - 5}" xml:space="preserve">{line}</text>'
        for index, line in enumerate(lines)
    ]
    box = f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6"/>'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">'
    return "\n".join([head, f"<title>{title}</title>", f"<style>{_STYLE}</style>", box, *rows, "</svg>", ""])


def _spans(line: str) -> str:
    """Write a line with its colours as elements."""
    found, is_open = [], False
    for index, part in enumerate(_SEQUENCE.split(line)):
        if index % 2 == 0:
            found.append(escape(part))
            continue
        if is_open:
            found.append("</tspan>")
        is_open = part in _CLASSES
        if is_open:
            found.append(f'<tspan class="{_CLASSES[part]}">')
    return "".join(found) + ("</tspan>" if is_open else "")


if __name__ == "__main__":
    for path, told in PICTURES.items():
        path.write_text(picture(*told), encoding="utf-8")
