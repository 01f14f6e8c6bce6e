"""Reports of openreports.io/v1alpha1: a Report for each namespace, and a ClusterReport for all that is in none.

``kubectl apply -f -`` writes them into a cluster that has these kinds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from webhook.explain.links import page
from webhook.objects import JSONObject
from webhook.problem import ERROR, NOTE, WARNING
from webhook.report import Format
from webhook.report.excerpt import as_json
from webhook.report.identifiers import identified

if TYPE_CHECKING:
    from webhook.findings import Finding
    from webhook.report.model import Report

_NAME: Final = "draguard"
_RESULTS: Final = {ERROR: ("fail", "high"), WARNING: ("warn", "medium"), NOTE: ("warn", "info")}
"""The result and the severity of each level."""
_COUNTS: Final = ("pass", "fail", "warn", "error", "skip")


class OpenReports(Format):
    """A list of reports, in JSON."""

    def lines(self, report: Report) -> Iterator[str]:
        """Return the list, indented."""
        by_namespace: dict[str, list[tuple[str, Finding]]] = defaultdict(list)
        for identifier, finding in identified(report.findings):
            by_namespace[finding.identity.namespace].append((identifier, finding))
        by_namespace.setdefault("", [])
        items = [_report(namespace, found) for namespace, found in sorted(by_namespace.items())]
        yield as_json({"apiVersion": "v1", "kind": "List", "items": items}, indent=2)


def _report(namespace: str, found: Iterable[tuple[str, Finding]]) -> JSONObject:
    results = [_result(*each) for each in found]
    counts = Counter(each["result"] for each in results)
    return {
        "apiVersion": "openreports.io/v1alpha1",
        "kind": "Report" if namespace else "ClusterReport",
        "metadata": {
            "name": _NAME,
            **({"namespace": namespace} if namespace else {}),
            "labels": {"app.kubernetes.io/managed-by": _NAME},
        },
        "source": _NAME,
        "summary": {name: counts[name] for name in _COUNTS},
        "results": results,
    }


def _result(identifier: str, finding: Finding) -> JSONObject:
    problem, about = finding.problem, finding.identity
    result, severity = _RESULTS[problem.level]
    subject = {
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "fieldPath": problem.field,
    }
    properties = {"resultID": identifier, "hint": problem.hint, "help": page(problem.rule)}
    return {
        "source": _NAME,
        "policy": problem.rule,
        "category": "Dynamic Resource Allocation",
        "severity": severity,
        "result": result,
        "scored": problem.level == ERROR,
        "resources": [{name: value for name, value in subject.items() if value}],
        "message": problem.message,
        "properties": {name: str(value) for name, value in properties.items() if value},
    }
