"""JSON, as ``json.schema.json`` beside this module describes it; ``draguard schema report`` prints that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from webhook.documents.search import spelled
from webhook.explain.names import page
from webhook.findings import Finding
from webhook.grouping import by_key
from webhook.objects import JSONObject
from webhook.problem import NOTE, WARNING
from webhook.report import Style
from webhook.report.identifiers import identified
from webhook.report.model import Report, Tested
from webhook.report.text import as_json, by_number, fix_of, noted

VERSION: Final = 1
"""The version of the schema."""


def lines(report: Report, _style: Style) -> Iterator[str]:
    """Write one JSON object, indented."""
    shown: JSONObject = {"version": VERSION, "files": list(report.files)}
    if report.tested:
        shown |= {"suites": _suites(report.tested), "coverage": _coverage(report.tested)}
    shown["findings"] = [_finding(*each) for each in identified(report.findings)]
    shown["suppressed"] = [_finding(*each) for each in identified(report.suppressed)]
    shown["fixed"] = report.fixed
    shown["remarks"] = noted(report)
    if report.costs is not None:
        shown["costs"] = report.costs
    shown["summary"] = _of_tests(report, report.tested) if report.tested else _summary(report)
    yield as_json(shown, indent=2)


def _summary(report: Report) -> JSONObject:
    paths = by_key((reason, spelled(path)) for path, reason in report.selection.unread)
    skipped = [
        {"apiVersion": api_version, "kind": kind, "documents": documents}
        for (api_version, kind), documents in by_number(report)
    ]
    return {
        "kubernetes": report.releases,
        "files": len(report.files),
        "documents": report.documents,
        "judged": report.documents - sum(report.skipped.values()) - report.without_claims,
        "errors": report.errors,
        "warnings": report.count(WARNING),
        "notes": report.count(NOTE),
        "suppressed": len(report.suppressed),
        "skipped": skipped,
        "withoutClaims": report.without_claims,
        "notRead": [
            {"reason": reason, "count": count, **({"paths": paths.get(reason, [])} if report.lists_files else {})}
            for reason, count in report.selection.left_out.items()
        ],
    }


def _of_tests(report: Report, tested: Tested) -> JSONObject:
    return {
        "kubernetes": tested.releases,
        "suites": len(tested.runs),
        "cases": tested.cases,
        "failed": tested.failed,
        "expressions": len(tested.coverage),
        "covered": tested.covered,
        "errors": report.errors,
        "warnings": report.count(WARNING),
        "suppressed": len(report.suppressed),
    }


def _finding(identifier: str, finding: Finding) -> JSONObject:
    problem, about, origin, fix = finding.problem, finding.identity, finding.origin, fix_of(finding)
    return {
        "file": finding.file,
        "document": finding.document,
        "line": finding.line,
        "column": finding.column,
        "level": problem.level,
        "rule": problem.rule,
        "help": page(problem.rule),
        "reason": problem.reason,
        "field": problem.field,
        "message": problem.message,
        "hint": problem.hint,
        "fix": fix and ("safe" if fix.safe else "unsafe"),
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "rendered": finding.rendered,
        "placed": finding.placed,
        "written": finding.written,
        "template": finding.template,
        "kubernetes": finding.kubernetes,
        "releases": list(finding.releases or filter(None, [finding.kubernetes])),
        "fingerprint": identifier,
        "policy": origin and {name: value for name, value in origin._asdict().items() if name != "text"},
        "suppression": finding.suppression and finding.suppression._asdict(),
    }


def _suites(tested: Tested) -> list[JSONObject]:
    return [
        {
            "file": ran.suite.source,
            "line": ran.suite.position().line,
            "kubernetes": ran.kubernetes,
            "cases": [
                {
                    "name": case.name,
                    "file": ran.suite.source,
                    "line": ran.suite.position(("cases", case.place)).line,
                    "passed": case.passed,
                    "failures": case.failures,
                }
                for case in ran.result.cases
            ],
        }
        for ran in tested.runs
    ]


def _coverage(tested: Tested) -> list[JSONObject]:
    return [
        {
            "kind": each.policy.kind,
            "policy": each.policy.name,
            "field": str(each.path),
            "file": manifest.source,
            "line": manifest.position(each.path).line,
            "missing": each.missing,
        }
        for each, manifest in tested.coverage
    ]
