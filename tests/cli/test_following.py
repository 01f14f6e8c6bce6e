"""Policies of ``draguard serve`` follow their files."""

import io
import os
import sys
from pathlib import Path

import pytest

from tests.policies import POLICY
from tests.serving import look
from webhook.admission import ReviewOptions
from webhook.cel.environment import Program
from webhook.cli.parser import make_parser
from webhook.cli.serve import faults, reloaded_options
from webhook.reloading import Reloaded
from webhook.usage import UsageError

GOOD, OTHER, BROKEN = (POLICY.format(expression=text) for text in ("'true'", "'false'", "object.metadata.nam"))
NO_RULES = "rules: []"


def answering(*options: str) -> Reloaded[ReviewOptions]:
    """Read the options of the command."""
    return reloaded_options(make_parser().parse_args(["serve", *options]))


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("policies.yaml").write_text(GOOD, encoding="utf-8")
    return Path("policies.yaml")


def test_new_policies_replace_the_old_ones(file: Path) -> None:
    answers = answering("--policies", str(file))
    before = answers.value.policies
    file.write_text(OTHER, encoding="utf-8")
    look(answers)
    assert answers.value.policies is not before
    assert (answers.generation, list(faults(answers))) == (2, [])


def test_policies_are_compiled_when_they_are_loaded(file: Path) -> None:
    policies = answering("--policies", str(file)).value.policies
    assert policies is not None
    (hook,) = policies.validating
    for validation in hook.policy.validations:
        assert isinstance(validation.expression.compiled, Program)
        assert "evaluate" in vars(validation.expression.compiled)
    assert hook.policy.validations


@pytest.mark.parametrize("change", ["broken", "gone", "empty"])
def test_unusable_files_are_reported_and_the_old_ones_kept(
    change: str, file: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = answering("--policies", str(file))
    before = answers.value
    if change == "gone":
        file.unlink()
    else:
        file.write_text({"broken": BROKEN, "empty": ""}[change], encoding="utf-8")
    look(answers)
    assert answers.value is before
    assert answers.failures == 1
    (fault,) = faults(answers)
    assert fault.startswith("the policies in the files cannot be used: ")
    assert "policies.yaml" in fault
    assert fault.removeprefix("the policies in the files cannot be used: ") in caplog.text
    assert capsys.readouterr() == ("", "")


def test_an_object_that_cannot_be_decoded_is_reported_and_the_policies_used(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "warning wrong-type: metadata.labels[x]: json: cannot unmarshal bool"
    wrong = "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {x: y}}}\n"
    answers = answering("--policies", str(file))
    file.write_text(OTHER + wrong, encoding="utf-8")
    look(answers)
    assert (answers.generation, list(faults(answers))) == (2, [])
    assert said in capsys.readouterr().err
    answering("--policies", str(file))
    assert said in capsys.readouterr().err


def test_what_users_may_do_follows_its_file_too(file: Path) -> None:
    Path("users.yaml").write_text(NO_RULES, encoding="utf-8")
    answers = answering("--policies", str(file), "--authorizer", "users.yaml")
    before = answers.value.authorizer
    Path("users.yaml").write_text("rules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*']}]", encoding="utf-8")
    look(answers)
    assert answers.generation == 2
    assert answers.value.authorizer is not before


def test_policies_that_are_wrong_from_the_beginning_are_wrong_use(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(BROKEN, encoding="utf-8")
    with pytest.raises(UsageError, match="--policies: 1 error: `draguard policy check`"):
        answering("--policies", str(file))
    assert "policies.yaml:" in capsys.readouterr().err


def test_standard_input_is_read_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
    answers = answering("--policies", "-", "--policies", str(file))
    file.write_text(BROKEN, encoding="utf-8")
    look(answers)
    assert (answers.generation, answers.failures) == (1, 0)


def test_without_policies_there_is_nothing_to_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = answering()
    monkeypatch.setattr("webhook.cli.serve.options", lambda *_: pytest.fail("they were read again"))
    look(answers)
    assert answers.value.policies is None


def test_the_release_follows_its_file(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "kubernetes.version"
    option = f"--kubernetes-version-file={file}"
    answers = answering(option)
    assert answers.value.kubernetes is None
    assert f"{file} does not exist" in caplog.text
    for stated, meant in (("v1.34.1-gke.7\n", "v1.34.1-gke.7"), ("latest", None), ("v1.36.0", "v1.36.0")):
        file.write_text(stated, encoding="ascii")
        look(answers)
        assert answers.value.kubernetes == meant
    assert answers.generation == 4
    assert answering(option, "--kubernetes-version=1.30").value.kubernetes == "1.30"


def test_a_pipe_in_the_place_of_the_release_is_not_waited_for(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    pipe = tmp_path / "kubernetes.version"
    os.mkfifo(pipe)
    answers = answering("--kubernetes-version-file", str(pipe))
    assert answers.value.kubernetes is None
    assert f"{pipe}: no regular file: objects are judged by the newest release" in caplog.text
