"""Authors of manifests cannot switch off rules that are enforced at admission."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from tests.admission.reviews import CLAIM, asked
from tests.command import draguard
from tests.rows import each_row
from webhook.admission import Enforcement, ReviewOptions, review

WRONG = CLAIM | {"spec": {"resourceClassName": "GPU", "colour": "red"}}
IGNORE = "dns-subdomain: I may; unknown-field: I may; required: I may"
ANNOTATIONS = {
    "draguard.github.io/ignore": IGNORE,
    "draguard.github.io/level": "off",
    "kubectl.kubernetes.io/last-applied-configuration": "# draguard: ignore[dns-subdomain, unknown-field] I may\n{}",
}


def ignoring(obj: dict[str, Any]) -> dict[str, Any]:
    annotated = copy.deepcopy(obj)
    annotated["metadata"]["annotations"] = ANNOTATIONS
    return annotated


def answered(obj: dict[str, Any], enforcement: Enforcement) -> Any:
    return review(asked(obj), "validate", ReviewOptions(enforcement=enforcement))["response"]


@each_row("enforcement", [Enforcement(), Enforcement(rules={"dns-subdomain": "deny"}), Enforcement("warn")])
@each_row("wrong", [WRONG, CLAIM | {"spec": {"resourceClassName": "GPU"}}])
def test_annotations_do_not_change_an_answer(wrong: dict[str, Any], enforcement: Enforcement) -> None:
    before = answered(wrong, enforcement)
    assert answered(ignoring(wrong), enforcement) == before
    assert before["allowed"] is (enforcement.mode == "warn")
    assert before.get("warnings") or not before["allowed"]


def test_files_and_variables_do_not_change_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".draguard.yaml").write_text("levels: {'*': off}\nexclude: ['*']\n", encoding="utf-8")
    (tmp_path / "review.json").write_text(json.dumps(asked(ignoring(WRONG))), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("IGNORE", "LEVEL", "BASELINE", "ENFORCE"):
        monkeypatch.setenv(f"DRAGUARD_{name}", "warn")
    done = draguard("review", "review.json")
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out)["response"]["allowed"] is False


def test_offline_the_same_object_is_suppressed(tmp_path: Path) -> None:
    (tmp_path / "claim.json").write_text(json.dumps(ignoring(WRONG)), encoding="utf-8")
    assert draguard("validate", "--ignore", "*-suppression,deprecated", tmp_path).code == 0
