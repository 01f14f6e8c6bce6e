"""Of many findings in a file that say the same, people read the first ones."""

import json

from tests.report.findings import finding, report
from tests.rows import each_row
from webhook.findings import Finding, Identity
from webhook.problem import Path
from webhook.report import Style, make
from webhook.report.text import MAX_ALIKE, as_text, first_ones

MANY = MAX_ALIKE + 5


def of(number: int, message: str = "m", **more: str) -> Finding:
    each = finding(message, **more, line=number, identity=Identity("v1", "Pod", "", f"p{number}"))
    return each._replace(problem=each.problem._replace(path=Path(("items", number, "name"))))


def test_the_last_one_that_is_shown_tells_how_many_more_there_are() -> None:
    shown = list(first_ones([of(number) for number in range(MANY)]))
    assert [(each.line, more) for each, more in shown] == [(number, 5 * (number == 9)) for number in range(MAX_ALIKE)]


@each_row(("message", "count"), [("Pod p{}: m", MAX_ALIKE), ("{}", MANY), ("m of p{}", MANY)])
def test_findings_that_differ_but_for_their_object_are_all_shown(message: str, count: int) -> None:
    assert len(list(first_ones([of(number, message.format(number)) for number in range(MANY)]))) == count


def test_findings_in_other_files_are_shown() -> None:
    assert len(list(first_ones([of(number, file=f"{number}.yaml") for number in range(MANY)]))) == MANY


def test_text_leaves_them_out_and_others_do_not() -> None:
    made = report(*(of(number) for number in range(MANY)))
    lines = {name: list(make(name, Style()).lines(made)) for name in ("text", "concise", "json")}
    assert sum("a.yaml:" in line for line in lines["text"]) == MAX_ALIKE
    assert lines["text"].index("note: 5 more findings like this; --output concise lists all") > 0
    assert len(lines["concise"]) == MANY
    assert len(json.loads("\n".join(lines["json"]))["findings"]) == MANY
    made.releases += ("1.33", "1.36")
    assert sum("a.yaml:" in line for line in as_text(made.findings)) == MANY  # as of commands without --output
    table = [line for line in make("text", Style()).lines(made) if "  error" in line]
    assert len(table) == MAX_ALIKE


def test_a_long_hint_is_shown_at_the_first_finding_that_has_it() -> None:
    long = "change it: " + "x" * 120
    lines = list(as_text([of(1, hint=long), of(2, hint="change it"), of(3, hint=long), of(4, hint="change it")]))
    hints = [line.removeprefix("help: ") for line in lines if line.startswith("help: ")]
    assert hints == [long, "change it", "as at a.yaml:1:3", "change it"]
