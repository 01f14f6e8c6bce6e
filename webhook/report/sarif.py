"""SARIF 2.1.0, which code scanning of GitHub and others takes (docs.oasis-open.org/sarif/sarif/v2.1.0)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from webhook.documents import parse
from webhook.documents.source import MAX_BYTES, Source, decoded
from webhook.explain.names import HOME, page, texts
from webhook.findings import INTERNAL, Finding, Origin
from webhook.grouping import by_key
from webhook.objects import JSONObject
from webhook.report import Style
from webhook.report.identifiers import identified
from webhook.report.model import Report
from webhook.report.text import MAX_MESSAGE, as_json, end_column, fix_of, full_text, line_of, noted, relative

if TYPE_CHECKING:
    from webhook.edit.tree import Edit

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def lines(report: Report, _style: Style) -> Iterator[str]:
    """Write one SARIF log with one run, on one line."""
    findings = [*report.findings, *report.suppressed]
    names = sorted({each.problem.rule for each in findings})
    known = texts(names)
    notes = [{"level": "note", "message": {"text": line}} for line in noted(report)]
    has_failed = INTERNAL in names
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "draguard",
                        "version": version("draguard"),
                        "informationUri": HOME,
                        "rules": [_rule(name, known[name]) for name in names],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": not has_failed, "toolExecutionNotifications": notes}],
                "results": _results(findings, {name: index for index, name in enumerate(names)}),
            }
        ],
    }
    yield as_json(log)  # without indentation, which takes three times as long


def _rule(name: str, text: str) -> JSONObject:
    first, _, _ = text.partition("\n\n")
    return {
        "id": name,
        "shortDescription": {"text": _unmarked(first)},
        "fullDescription": {"text": _unmarked(text)},
        "help": {"text": f"{_unmarked(text)}\n\n{page(name)}", "markdown": f"{text}\n\n[{name}]({page(name)})"},
        "helpUri": page(name),
    }


def _unmarked(text: str) -> str:
    return " ".join(text.replace("`", "").split())


def _results(findings: Sequence[Finding], rules: Mapping[str, int]) -> list[JSONObject]:
    offered = _fixes(each for each in findings if each.suppression is None)
    return [
        _result(identifier, finding, rules[finding.problem.rule])
        | ({"fixes": [offered[id(finding)]]} if id(finding) in offered else {})
        for identifier, finding in identified(findings)
    ]


def _result(identifier: str, finding: Finding, rule: int) -> JSONObject:
    problem, about = finding.problem, finding.identity
    result: JSONObject = {
        "ruleId": problem.rule,
        "ruleIndex": rule,
        "level": problem.level,
        "message": {"text": full_text(finding)},
        "locations": [_location(finding)],
        "partialFingerprints": {"primaryLocationLineHash": identifier},
        "properties": {
            "field": problem.field,
            "reason": problem.reason,
            "kubernetes": list(finding.releases or filter(None, [finding.kubernetes])),
            "apiVersion": about.api_version,
            "document": finding.document,
        },
    }
    if name := "/".join(filter(None, (about.kind, about.namespace, about.name))):
        result["locations"][0]["logicalLocations"] = [
            {"name": about.name or about.kind, "fullyQualifiedName": name, "kind": "object"}
        ]
    if finding.origin and finding.origin.file:
        result["relatedLocations"] = [
            _location(finding.origin) | {"id": 1, "message": {"text": f"{finding.origin.kind} {finding.origin.name}"}}
        ]
    if finding.suppression:
        kind, reason = finding.suppression
        where = "inSource" if kind in {"inline", "annotation"} else "external"
        result["suppressions"] = [{"kind": where, "status": "accepted", "justification": reason or kind}]
    return result


def _location(where: Finding | Origin) -> JSONObject:
    place: JSONObject = {"artifactLocation": _artifact(where.file)}
    if line := line_of(where):
        place["region"] = {
            "startLine": line,
            "startColumn": where.column,
            "endColumn": end_column(where),
        }
        if len(where.text) <= MAX_MESSAGE:  # each finding of a line repeats it
            place["region"]["snippet"] = {"text": where.text}
    return {"physicalLocation": place}


def _artifact(file: str) -> JSONObject:
    """Name a file by a URI, relative to the root of the sources where it is below the current directory."""
    path = relative(file)
    uri = quote(os.fsencode(path))
    if os.path.isabs(path):
        return {"uri": f"file://{uri}"}
    # A colon in the first segment would end a scheme.
    head, slash, rest = uri.partition("/")
    return {"uri": f"{head.replace(':', '%3A')}{slash}{rest}", "uriBaseId": "%SRCROOT%"}


MOST: Final = 1_000
"""The most findings with fixes; ``--fix`` applies all."""


def _fixes(findings: Iterable[Finding]) -> dict[int, JSONObject]:
    """Return the fixes, by the identity of the finding."""
    # An object that is renamed has its name in other files, too.
    fixable = (each for each in findings if (fix := fix_of(each)) and fix.change != "respell")
    found: dict[int, JSONObject] = {}
    for file, of_file in by_key((each.file, each) for each in fixable).items():
        if len(found) < MOST:
            found |= {id(each): change for each, change in _of_file(file, of_file[:MOST])}
    return found


def _of_file(file: str, findings: Sequence[Finding]) -> Iterator[tuple[Finding, JSONObject]]:
    from webhook.fixing import Planner
    from webhook.regular import read_up_to

    try:
        data = read_up_to(file, MAX_BYTES)
        source = Source(file, decoded(data))
    except (OSError, ValueError):
        return
    planner = Planner({file: source.text}, parse(data, file))
    for finding in findings:
        if finding.line and source.line(finding.line) == finding.text:
            edits = [edit for plan in planner.plans([finding]) for edit in plan.edits.get(file, ())]
            if edits:
                replacements = [_replaced(each, source) for each in edits]
                change = {"artifactLocation": _artifact(file), "replacements": replacements}
                yield finding, {"description": {"text": finding.problem.hint or "fix"}, "artifactChanges": [change]}


def _replaced(edit: Edit, source: Source) -> JSONObject:
    (line, column), (end_line, end_column) = map(source.position, (edit.start, edit.end))
    region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}
