"""The fixes in SARIF: the edits that ``--fix`` makes, separately for each finding."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate

from webhook.report.excerpt import fix_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Final

    from webhook.documents.edits import Edit
    from webhook.findings import Finding
    from webhook.objects import JSONObject

MOST: Final = 1_000
"""The most findings with fixes; ``--fix`` applies all."""


def fixes(findings: Iterable[Finding], artifact: Callable[[str], JSONObject]) -> dict[int, JSONObject]:
    """Return the fixes, by the identity of the finding.

    Args:
        artifact: Names a file as SARIF does.
    """
    by_file: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        # An object that is renamed has its name in other files, too.
        if (fix := fix_of(finding)) and fix.change != "respell":
            by_file[finding.file].append(finding)
    found: dict[int, JSONObject] = {}
    for file, of_file in by_file.items():
        if len(found) < MOST:
            found |= {id(each): change for each, change in _of_file(file, of_file[:MOST], artifact)}
    return found


def _of_file(
    file: str, findings: Sequence[Finding], artifact: Callable[[str], JSONObject]
) -> Iterator[tuple[Finding, JSONObject]]:
    from webhook.documents import parse  # needed only with fixes
    from webhook.documents.content import decoded
    from webhook.documents.limits import MAX_BYTES
    from webhook.fixing.planning import Planner
    from webhook.regular import read_up_to

    try:
        data = read_up_to(file, MAX_BYTES)
        text = decoded(data)
    except (OSError, ValueError):
        return
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    planner = Planner({file: text}, parse(data, file))
    for finding in findings:
        if lines[finding.line - 1 : finding.line] and lines[finding.line - 1].rstrip("\r") == finding.text:
            edits = [edit for plan in planner.plans([finding]) for edit in plan.edits.get(file, ())]
            if edits:
                change = {
                    "artifactLocation": artifact(file),
                    "replacements": [_replaced(each, starts) for each in edits],
                }
                yield finding, {"description": {"text": finding.problem.hint or "fix"}, "artifactChanges": [change]}


def _replaced(edit: Edit, starts: Sequence[int]) -> JSONObject:
    (line, column), (end_line, end_column) = (_place(offset, starts) for offset in (edit.start, edit.end))
    region = {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
    return {"deletedRegion": region, "insertedContent": {"text": edit.text}}


def _place(offset: int, starts: Sequence[int]) -> tuple[int, int]:
    line = bisect_right(starts, offset)
    return line, offset - starts[line - 1] + 1
