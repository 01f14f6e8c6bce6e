"""JUnit XML, which GitLab, Jenkins and others read.

A file is a ``testsuite``, an object a ``testcase``, an error a ``failure``; warnings, notes and suppressed findings are
the case's ``system-out``. Remarks on the run are that of a suite without cases, ``remarks``. In tests of policies, a
suite is a ``testsuite`` and a case a ``testcase``. Two more suites follow. In ``coverage``, each expression is a case,
which is skipped if it was not covered completely, or failed if that is required; ``policies`` holds the findings about
policies and suites themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import filterfalse

from webhook.findings import Finding, Identity
from webhook.problem import ERROR
from webhook.report import Style
from webhook.report.model import Report, Tested
from webhook.report.text import as_markup, full_text, line_of, noted, place_of, printable_lines

_Case = tuple[str, str]
"""The result of a test case, empty if it has passed, and its element."""


def lines(report: Report, _style: Style) -> Iterator[str]:
    """Write one XML document."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<testsuites>"
    if report.tested:
        yield from _of_tests(report, report.tested)
    else:
        yield from _of_objects(report)
    if remarks := noted(report):
        yield f"  <testsuite{_attributes(name='remarks', tests=0, failures=0, errors=0, skipped=0)}>"
        yield f"    <system-out>{_escaped(chr(10).join(remarks))}</system-out>"
        yield "  </testsuite>"
    yield "</testsuites>"


def _of_objects(report: Report) -> Iterator[str]:
    objects: dict[str, dict[int, tuple[Identity, list[Finding]]]] = {file: {} for file in report.files}
    for judged in report.judged:
        objects.setdefault(judged.file, {})[judged.document] = (judged.identity, [])
    for finding in (*report.findings, *report.suppressed):
        of_file = objects.setdefault(finding.file, {})
        of_file.setdefault(finding.document, (finding.identity, []))[1].append(finding)
    for file, documents in objects.items():
        yield from _suite(file, [_object(file, *documents[number]) for number in sorted(documents)])


def _object(file: str, about: Identity, findings: list[Finding]) -> _Case:
    """Write an object, and what was found in it, as a test case."""
    name = "/".join(filter(None, (about.namespace, about.name)))
    errors = list(filter(_is_failure, findings))
    line = min(map(line_of, errors or findings), default=0)
    output = "\n".join(map(_mentioned, filterfalse(_is_failure, findings)))
    return _case(
        f"{about.kind} {name}".strip() or "the file", file, line, why="\n".join(map(_placed, errors)), output=output
    )


def _is_failure(finding: Finding) -> bool:
    return finding.problem.level == ERROR and not finding.suppression


def _mentioned(finding: Finding) -> str:
    """Write a finding that does not fail a case."""
    if finding.suppression is None:
        return f"{finding.problem.level} {_placed(finding)}"
    reason = ": ".join(filter(None, (finding.suppression.kind, finding.suppression.reason)))
    return f"suppressed ({reason}) {_placed(finding)}"


def _placed(finding: Finding) -> str:
    return f"{place_of(finding)} {finding.problem.rule}: {full_text(finding)}"


def _of_tests(report: Report, tested: Tested) -> Iterator[str]:
    for ran in tested.runs:
        file = ran.suite.source
        cases = [
            _case(each.name, file, ran.suite.position(("cases", each.place)).line, why="\n".join(each.failures))
            for each in ran.result.cases
        ]
        yield from _suite(file, cases)
    expressions = []
    for each, manifest in tested.coverage:
        place, policy = (manifest.source, manifest.position(each.path).line), f"{each.policy.kind} {each.policy.name}"
        outcome = "failure" if tested.strict else "skipped"
        expressions.append(_case(str(each.path), *place, outcome=outcome, why=each.complaint, class_name=policy))
    yield from _suite("coverage", expressions)
    every = sorted((*report.findings, *report.suppressed), key=_is_failure, reverse=True)
    others = [
        _case(each.problem.rule, each.file, each.line, outcome="error", why=str(each.problem).removeprefix(": "))
        if _is_failure(each)
        else _case(each.problem.rule, each.file, each.line, output=_mentioned(each))
        for each in every
        if each.problem.rule != ("case" if _is_failure(each) else "not-covered")  # which the suites above have
    ]
    yield from _suite("policies", others)


def _suite(name: str, cases: Sequence[_Case]) -> Iterator[str]:
    if not cases:
        return
    results = Counter(result for result, _ in cases)
    numbers = {"failures": results["failure"], "errors": results["error"], "skipped": results["skipped"]}
    yield f"  <testsuite{_attributes(name=name, tests=len(cases), **numbers)}>"
    yield from (element for _, element in cases)
    yield "  </testsuite>"


def _case(
    name: str, file: str, line: int, *, outcome: str = "failure", why: str = "", output: str = "", class_name: str = ""
) -> _Case:
    """Write a test case.

    Args:
        line: The line; 0 if it is not known.
        outcome: The element of its result, unless it has passed.
        why: The text of the result; empty if it has passed.
        class_name: Its class; by default the file.
    """
    place: dict[str, str | int] = {"line": line} if line else {}
    head = f"    <testcase{_attributes(classname=class_name or file, name=name, file=file, **place)}"
    content = ""
    if why:
        first, *more = why.splitlines()
        content = f"<{outcome}{_attributes(message=first)}"
        content += f">{_escaped(why)}</{outcome}>" if more else "/>"
    content += f"<system-out>{_escaped(output)}</system-out>" if output else ""
    return outcome if why else "", f"{head}>{content}</testcase>" if content else f"{head}/>"


def _attributes(**values: str | int) -> str:
    return "".join(f' {name}="{_escaped(str(value))}"' for name, value in values.items())


def _escaped(text: str) -> str:
    """Escape a text for XML, and the characters that XML lacks."""
    return as_markup(printable_lines(text)).replace("\n", "&#10;")
