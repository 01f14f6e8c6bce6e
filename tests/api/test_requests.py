"""Tables of requests, and what is found in each: ``requests/*.yaml``.

A file has ``objects`` by name; all else are tests: a sentence and its rows, or ``rows`` beside what these share. A row
is a request to create the object ``of`` that name, with ``change`` (values by path) and ``without`` (paths); or to
update ``old``, the same object, or another ``of`` them, with changes of its own. ``release``, ``gates``, ``labels`` (of
the namespace) and ``subresource`` are those of the request; ``found`` has the findings, where ``…`` stands for any
text; they have their hints if one of them is stated. ``rules`` are theirs, if stated.
"""

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.rows import each_row, read
from webhook import Problem, validate

FILES = sorted((Path(__file__).parent / "requests").glob("*.yaml"))
OPTIONS = {
    "release": "kubernetes",
    "gates": "feature_gates",
    "labels": "namespace_labels",
    "subresource": "subresource",
}
OBJECT = {"of", "change", "without"}
ROW = {*OBJECT, *OPTIONS, "old", "found", "rules"}


def rows() -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Read the tables: sentence, objects and row."""
    for file in FILES:
        table = dict(read(file))
        objects = table.pop("objects")
        for sentence, group in table.items():
            shared = dict(group) if isinstance(group, dict) else {"rows": group}
            requests = shared.pop("rows")
            assert requests, sentence
            for row in requests:
                assert (shared | row).keys() <= ROW, row
                assert row.get("old", {}).keys() <= OBJECT, row
                yield f"{file.stem}: {sentence}", objects, shared | row


def changed(obj: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """Copy an object with other values at paths such as ``spec.containers.0.image``, and without some fields."""
    result = copy.deepcopy(obj)
    for path, value in [*row.get("change", {}).items(), *((path, ...) for path in row.get("without", ()))]:
        *steps, last = [int(step) if step.isdigit() else step for step in path.split(".")]
        holder: Any = result
        for step in steps:
            holder = holder[step]
        if value is ...:
            del holder[last]
        else:
            holder[last] = value
    return result


def said(problem: Problem, *, with_hint: bool) -> str:
    """Write a finding: what is special about it, its field, its path if that differs, and its message."""
    kind = "" if problem.level == "error" else f"{problem.level} {problem.rule} "
    if problem.reason in {"Conflict", "InternalError", "NotFound"}:
        kind = f"{problem.reason} "
    path = f" ({problem.path})" if problem.path and problem.field != str(problem.path) else ""
    hint = f" -> {problem.hint}" if with_hint and problem.hint else ""
    return f"{kind}{problem.field}{path}: {problem.message}{hint}"


@each_row(("sentence", "objects", "row"), rows())
def test_a_request_has_the_findings_of_its_row(sentence: str, objects: dict[str, Any], row: dict[str, Any]) -> None:
    obj = objects[row["of"]] if "of" in row else {}
    old = changed(objects[row["old"]["of"]] if "of" in row["old"] else obj, row["old"]) if "old" in row else None
    options = {option: row[name] for name, option in OPTIONS.items() if name in row}
    found = validate(changed(obj, row), old, **options)
    hints = any(" -> " in text for text in row["found"])
    texts = [said(problem, with_hint=hints) for problem in found]
    assert len(texts) == len(row["found"]), (sentence, texts)
    for text, wanted in zip(texts, row["found"], strict=True):
        assert re.fullmatch(".*".join(map(re.escape, wanted.split("…"))), text, re.DOTALL), (sentence, text)
    assert row.get("rules") in (None, [problem.rule for problem in found]), sentence
