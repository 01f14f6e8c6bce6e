"""Results of policy tests as JUnit XML.

A suite is a ``testsuite``, a case a ``testcase``. Two more suites follow. In ``coverage``, each expression is a case,
skipped if no case has seen all of it, or failed if that is demanded; ``policies`` is what is wrong with policies and
suites themselves.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from webhook.problem import ERROR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from webhook.cli.testreport import TestReport

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_Case = tuple[str, str, str, int, str, str]
"""Class name, name, file, line; and what became of it, as the name of an element (empty for passed), and why."""


def as_junit(tested: TestReport, *, strict: bool) -> str:
    """Show what was tested as one XML document.

    Args:
        tested: What was tested.
        strict: Whether an expression that was not seen whole is a failure.
    """
    return "\n".join(_document(tested, strict=strict))


def _document(tested: TestReport, *, strict: bool) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield "<testsuites>"
    for ran in tested.runs:
        file = ran.suite.source
        cases = [
            (file, case.name, file, ran.suite.position(("cases", index)).line, "failure", "\n".join(case.failures))
            for index, case in enumerate(ran.result.cases)
        ]
        yield from _suite(file, cases)
    expressions = [
        (
            f"{each.policy.kind} {each.policy.name}",
            str(each.path),
            manifest.source,
            manifest.position(each.path).line,
            "failure" if strict else "skipped",
            f"no case has seen this {' or '.join(each.missing)}" if each.missing else "",
        )
        for each, manifest in tested.coverage
    ]
    yield from _suite("coverage", expressions)
    errors = [
        (each.file, each.problem.rule, each.file, each.line, "error", str(each.problem).removeprefix(": "))
        for each in tested.report.findings
        if each.problem.level == ERROR and each.problem.rule != "case"
    ]
    yield from _suite("policies", errors)
    yield "</testsuites>"


def _suite(name: str, cases: Iterable[_Case]) -> Iterator[str]:
    cases = list(cases)
    if not cases:
        return
    numbers = {
        f"{outcome}s" if outcome != "skipped" else outcome: sum(bool(case[5]) and case[4] == outcome for case in cases)
        for outcome in ("failure", "error", "skipped")
    }
    yield f"  <testsuite{_attributes(name=name, tests=len(cases), **numbers)}>"
    for class_name, case, file, line, outcome, why in cases:
        head = f"    <testcase{_attributes(classname=class_name, name=case, file=file, line=line)}"
        if why:
            yield f"{head}><{outcome}{_attributes(message=why)}/></testcase>"
        else:
            yield f"{head}/>"
    yield "  </testsuite>"


def _attributes(**values: str | int) -> str:
    return "".join(f' {name}="{_escaped(str(value))}"' for name, value in values.items())


def _escaped(text: str) -> str:
    """Write a text as XML takes it; what XML cannot say at all becomes a question mark."""
    return escape(_NO_XML.sub("?", text)).replace("\n", "&#10;").replace("\t", "&#9;").replace("\r", "&#13;")
