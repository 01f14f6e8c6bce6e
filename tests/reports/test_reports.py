"""What people reported in public, rebuilt as small inputs: each folder with its commands, and the right answers."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.command import draguard

pytestmark = pytest.mark.no_cover

FOLDER = Path(__file__).parent
ANSWERS: list[tuple[str, dict[str, Any]]] = [
    (folder, answer)
    for folder, answers in yaml.safe_load((FOLDER / "expected.yaml").read_text(encoding="utf-8")).items()
    for answer in answers
]


@pytest.mark.parametrize(("folder", "answer"), ANSWERS, ids=[f"{name}: {each['run']}" for name, each in ANSWERS])
def test_a_report_is_answered(folder: str, answer: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER / folder)
    as_findings = ("--no-config", "--output", "json") if "findings" in answer else ()
    done = draguard(*answer["run"].split(), *as_findings)
    assert done.code == answer["code"]
    if "findings" in answer:
        found = json.loads(done.out)["findings"]
        wanted = [each.split(" ", 3) for each in answer["findings"]]
        assert [[each["level"], each["rule"], str(each["line"])] for each in found] == [each[:3] for each in wanted]
        missing = [part for (*_, part), each in zip(wanted, found, strict=True) if part not in each["message"]]
        assert missing == []
        if "hints" in answer:
            assert [each.get("hint", "") for each in found] == answer["hints"]
    assert [each for each in answer.get("says", ()) if each not in done.out + done.err] == []


def test_each_folder_has_answers() -> None:
    assert {each.name for each in FOLDER.iterdir() if each.is_dir()} - {"__pycache__"} == {name for name, _ in ANSWERS}
