"""Reports of openreports.io/v1alpha1: a Report for each namespace, and a ClusterReport for all that is in none.

Long ones are split, as an object has at most 1.5 MiB. ``kubectl apply --server-side -f -`` writes them into a cluster
that has these kinds; without server-side apply, an annotation would hold them again, which has a lower limit.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from webhook.explain.names import page
from webhook.findings import Finding
from webhook.objects import JSONObject
from webhook.problem import ERROR, NOTE, WARNING
from webhook.report import Style
from webhook.report.identifiers import identified
from webhook.report.model import Report
from webhook.report.text import as_json

NAME: Final = "draguard"
MANAGED_BY: Final = "app.kubernetes.io/managed-by"
_MOST: Final = 1 << 19
"""The bytes of the results of a report."""
_RESULTS: Final = {ERROR: ("fail", "high"), WARNING: ("warn", "medium"), NOTE: ("warn", "info")}
"""The result and the severity of each level."""
_COUNTS: Final = ("pass", "fail", "warn", "error", "skip")


def lines(report: Report, _style: Style) -> Iterator[str]:
    """Write a list of reports, in JSON."""
    yield as_json({"apiVersion": "v1", "kind": "List", "items": list(reports(report.findings))}, indent=2)


def reports(findings: Iterable[Finding]) -> Iterator[JSONObject]:
    """Yield the reports of findings, by namespace; there is always one of what is in none."""
    by_namespace: dict[str, list[list[JSONObject]]] = defaultdict(lambda: [[]])
    left: dict[str, int] = defaultdict(lambda: _MOST)
    for identifier, finding in identified(findings):
        namespace, result = finding.identity.namespace, _result(identifier, finding)
        size = len(as_json(result))
        if size > left[namespace] < _MOST:
            by_namespace[namespace].append([])
            left[namespace] = _MOST
        by_namespace[namespace][-1].append(result)
        left[namespace] -= size
    by_namespace.setdefault("", [[]])
    for namespace, parts in sorted(by_namespace.items()):
        for number, results in enumerate(parts, 1):
            yield _report(namespace, NAME if number == 1 else f"{NAME}-{number}", results)


def _report(namespace: str, name: str, results: Sequence[JSONObject]) -> JSONObject:
    counts = Counter(each["result"] for each in results)
    return {
        "apiVersion": "openreports.io/v1alpha1",
        "kind": "Report" if namespace else "ClusterReport",
        "metadata": {
            "name": name,
            **({"namespace": namespace} if namespace else {}),
            "labels": {MANAGED_BY: NAME},
        },
        "source": NAME,
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
        "source": NAME,
        "policy": problem.rule,
        "category": "Dynamic Resource Allocation",
        "severity": severity,
        "result": result,
        "scored": problem.level == ERROR,
        "resources": [{name: value for name, value in subject.items() if value}],
        "message": problem.message,
        "properties": {name: str(value) for name, value in properties.items() if value},
    }
