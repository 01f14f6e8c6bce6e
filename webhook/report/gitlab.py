"""A GitLab Code Quality report (docs.gitlab.com/ci/testing/code_quality): ``artifacts: reports: codequality:``."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.report import Style
from webhook.report.identifiers import identified
from webhook.report.model import Report
from webhook.report.text import as_json, full_text, line_of, relative


def lines(report: Report, _style: Style) -> Iterator[str]:
    """Write one JSON list, with an object for each finding, on one line."""
    issues = [
        {
            "type": "issue",
            "check_name": finding.problem.rule,
            "description": full_text(finding),
            "severity": {"error": "major", "warning": "minor", "note": "info"}[finding.problem.level],
            "fingerprint": identifier,
            "location": {"path": relative(finding.file), "lines": {"begin": line_of(finding) or 1}},
        }
        for identifier, finding in identified(report.findings)
    ]
    yield as_json(issues)
