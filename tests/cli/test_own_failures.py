"""draguard's own failures: one object is reported as not judged, all others are judged."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command import ROOT, draguard, reported
from webhook import migration
from webhook.check import judge, references
from webhook.cli.policy import test as suites
from webhook.deviceselectors.fleet import rows
from webhook.engine import manifests, prescheduled
from webhook.engine import suites as engine_suites
from webhook.engine.suites import Sent
from webhook.policy import load
from webhook.policy.manifest import policies
from webhook.simulation import Scheduler

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: NAME}
spec: {devices: {requests: [{name: r, exactly: {deviceClassName: c, cuont: 1}}]}}
"""
POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: broken}\nspec: {resourceClaims: [{name: a}]}\n"


def breaking(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that fails on the object named ``broken``."""

    def is_broken(*arguments: Any) -> bool:
        objects = (getattr(each, "obj", each) for each in arguments)
        return any(isinstance(each, dict) and each.get("metadata", {}).get("name") == "broken" for each in objects)

    return fail_of(is_broken, original)


def fail_of(of: Callable[..., bool], original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that fails on some arguments."""

    def broken(*arguments: Any, **options: Any) -> Any:
        if of(*arguments):
            message = "the fault\n\x1b[31m of the test"
            raise LookupError(message)
        return original(*arguments, **options)

    return broken


@pytest.mark.parametrize(
    ("of", "step"),  # judging, finding the kind, passing over pods, looking up references
    [(judge, "review"), (judge.Judge, "kind_of"), (judge, "is_pod_without_claims"), (references, "_views")],
)
def test_one_object_is_reported_and_all_others_are_judged(
    of: object, step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of, step, breaking(getattr(of, step)))
    broken = CLAIM.replace("NAME", "broken")
    broken = broken.replace("cuont: 1", "count: 1") if step == "_views" else broken
    for index, text in enumerate((CLAIM.replace("NAME", "a"), broken, CLAIM.replace("NAME", "b"))):
        (tmp_path / f"{index}.yaml").write_text(text, encoding="utf-8")
    done = draguard("validate", "-o", "json", "--ignore", "internal-error", tmp_path)
    assert done.code == 3
    found = json.loads(done.out)["findings"]
    assert [(each["file"][-6:], each["rule"]) for each in found] == [
        ("0.yaml", "unknown-field"),
        ("1.yaml", "internal-error"),
        ("2.yaml", "unknown-field"),
    ]
    text = found[1]["message"]
    assert text.startswith("draguard itself failed on this object: LookupError: the fault (at ")
    assert ".py:" in text


def test_a_later_judgement_fails_alone_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "review", breaking(manifests.review))
    (tmp_path / "m.yaml").write_text(POD + "---\n" + CLAIM.replace("NAME", "a"), encoding="utf-8")
    done = draguard("validate", "-o", "sarif", tmp_path)
    assert done.code == 3
    (run,) = json.loads(done.out)["runs"]
    assert {each["ruleId"] for each in run["results"]} == {"internal-error", "unknown-field"}
    assert run["invocations"][0]["executionSuccessful"] is False


def test_nothing_is_fixed_by_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "review", breaking(manifests.review))
    text = CLAIM.replace("NAME", "broken") + "---\n" + CLAIM.replace("NAME", "a")
    (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
    done = draguard("validate", "--fix", "--unsafe-fixes", tmp_path)
    assert done.code == 3
    assert "count: 1" in (tmp_path / "m.yaml").read_text(encoding="utf-8")


def test_mutate_and_convert_name_the_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prescheduled, "rewrite_manifest", breaking(prescheduled.rewrite_manifest))
    monkeypatch.setattr("webhook.migration.converted", breaking(migration.converted))
    older = CLAIM.replace("/v1", "/v1beta2").replace("cuont", "count")
    text = "---\n".join(older.replace("NAME", name) for name in ("a", "broken", "b"))
    (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
    done = draguard("mutate", tmp_path)
    assert (done.code, done.out) == (3, text)
    assert f"{tmp_path}/m.yaml:6:1: error internal-error: draguard itself failed on this object: Lookup" in done.err
    done = draguard("convert", tmp_path)
    assert (done.code, done.out.count("apiVersion: resource.k8s.io/v1\n")) == (3, 2)
    assert "error internal-error: " in done.err
    assert "2 places in 1 file converted; errors in 1 file\n" in done.err


def test_simulate_and_match_name_the_object(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "review", breaking(manifests.review))
    text = CLAIM.replace("NAME", "a") + "---\n" + CLAIM.replace("NAME", "broken")
    (tmp_path / "m.yaml").write_text(text, encoding="utf-8")
    for command in ("simulate", "match"):
        done = draguard(command, tmp_path)
        assert (done.code, done.out) == (3, "")
        rules = [line.split()[2] for line in done.err.splitlines() if ": error " in line]
        assert rules == ["unknown-field:", "internal-error:"]


FOLDERS = [ROOT / "policies" / each for each in ("admin-access", "claim-device-limit")]


def test_policy_check_checks_all_other_policies(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = fail_of(lambda obj, *_: obj["metadata"]["name"].startswith("admin-access"), policies.validate_policy)
    monkeypatch.setattr(load, "validate_policy", broken)
    done = draguard("policy", "check", "-o", "json", *FOLDERS)
    assert done.code == 3
    found = json.loads(done.out)["findings"]
    assert {each["rule"] for each in found} == {"internal-error"}
    assert {each["file"].rpartition("policies/")[2] for each in found} == {"admin-access/policy.yaml"}


def test_policy_test_runs_all_other_suites(monkeypatch: pytest.MonkeyPatch) -> None:
    def is_broken(suite: Any, *_: Any) -> bool:
        return any("admin" in case["name"] for case in suite["cases"])

    monkeypatch.setattr(suites, "run_suite", fail_of(is_broken, engine_suites.run_suite))
    done = draguard("policy", "test", "-o", "json", *FOLDERS)
    assert done.code == 3
    report = json.loads(done.out)
    assert {each["rule"] for each in report["findings"] if each["level"] == "error"} == {"internal-error"}
    assert len(report["suites"]) == 1


def test_policy_test_runs_all_other_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = ROOT / "policies/admin-access"
    before = reported("policy", "test", directory)["suites"][0]["cases"]
    monkeypatch.setattr(Sent, "of", fail_of(lambda case, *_: case["name"] == before[1]["name"], Sent.of))
    done = draguard("policy", "test", "-o", "json", directory)
    assert done.code == 3
    report = json.loads(done.out)
    assert report["suites"][0]["cases"] == [before[0], *before[2:]]
    (failed,) = (each for each in report["findings"] if each["level"] == "error")
    assert (failed["rule"], failed["field"]) == ("internal-error", "cases[1]")


def test_simulate_goes_on_with_the_other_pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scheduler, "schedule", breaking(Scheduler.schedule))
    pods = "---\n".join(POD.replace("[{name: a}]", "[]").replace("broken", name) for name in ("one", "broken", "two"))
    (tmp_path / "pods.yaml").write_text(pods.replace("spec: {", "spec: {containers: [{name: c, image: i}], "))
    done = draguard("simulate", tmp_path, "--cluster", ROOT / "examples/simulate/cluster.yaml")
    assert done.code == 3
    names = [line.partition(": ")[0] for line in done.out.splitlines()[:3]]
    assert names == ["default/one", "default/broken", "default/two"]
    assert "default/broken: pending: draguard itself failed on this object: LookupError: the fault (at " in done.out


def test_match_goes_on_with_the_other_selectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webhook.cli.match.rows", fail_of(lambda _, query, *__: "broken" in str(query.own), rows))
    cluster = ("--cluster", ROOT / "examples/simulate/cluster.yaml")
    done = draguard("match", "-e", 'device.driver == "broken"', "-e", "true", *cluster)
    assert done.code == 3
    assert "error 0   : draguard itself failed on this object: LookupError" in done.out
    assert "true: 8 of 8 devices match" in done.out
