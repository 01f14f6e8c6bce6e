"""Findings and reports."""

from typing import Any

from webhook.findings import Finding, Identity
from webhook.problem import Path, Problem
from webhook.report.model import Judged, Report


def finding(message: str = "m", level: str = "error", **more: Any) -> Finding:
    problem = Problem(level, "dns-label", "FieldValueInvalid", Path(("spec", "name")), message, more.pop("hint", "h"))
    stated = {"file": "a.yaml", "line": 3, "column": 3, "text": "  name: A", "document": 1, **more}
    return Finding(problem, **stated)


def report(*findings: Finding, suppressed: tuple[Finding, ...] = ()) -> Report:
    made = Report()
    made.files = dict.fromkeys(["clean.yaml", *(each.file for each in findings)])
    made.documents = len(made.files)
    made.findings, made.suppressed = list(findings), list(suppressed)
    made.judged = [Judged("clean.yaml", 1, Identity("v1", "Pod", "", "fine"))]
    return made
