"""The time that draguard simulate may take."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from functools import reduce
from importlib import import_module
from pathlib import Path
from time import sleep
from typing import Any

import pytest

from tests.cli.simulating import CLUSTER, DEPLOYMENT, simulated
from tests.command import draguard
from tests.rows import each_row
from webhook.budget import DeadlineExceededError, current
from webhook.check import progress
from webhook.check.cluster import read_cluster
from webhook.cli import main
from webhook.inventory import Inventory
from webhook.simulation import Scheduler
from webhook.simulation.answers import Answers
from webhook.simulation.scheduler import Fit, Placement, fit


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestTime:
    def test_it_is_said_which_pods_are_left_out(self) -> None:
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--timeout", "1e-9")
        assert done.code == 1
        pods = ", ".join(f"team-y/inference-XXXXX-{number}" for number in range(3))
        over = "1e-09 seconds have passed while files were read; give a longer --timeout"
        assert done.err == f"not simulated: 3 of 3 pods ({pods}): {over}\n"
        assert "pending" not in done.out

    def test_json_has_them_all(self) -> None:
        found = simulated(DEPLOYMENT, "--cluster", CLUSTER, "--timeout", "1e-9")
        assert [each["why"]["reason"] for each in found] == [
            "not simulated: 1e-09 seconds have passed while files were read"
        ] * 3
        assert found[0].keys() == simulated(DEPLOYMENT, "--cluster", CLUSTER)[0].keys()
        assert found[0]["why"].keys() == simulated(DEPLOYMENT, "--cluster", CLUSTER)[0]["why"].keys()

    def test_fit_says_that_more_may_fit(self) -> None:
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--fit", "--timeout", "1e-9")
        assert (done.code, done.err) == (
            1,
            "more pods may fit: 1e-09 seconds have passed while files were read; give a longer --timeout\n",
        )

    def test_reading_counts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def slow(*arguments: Any, **options: Any) -> Inventory:
            sleep(0.1)
            return read_cluster(*arguments, **options)

        monkeypatch.setattr(import_module("webhook.cli.simulate"), "read_cluster", slow)
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--timeout", "0.1")
        assert "not simulated: 3 of 3 pods" in done.err

    def test_selectors_that_take_long_to_compile_end_the_reading(self, tmp_path: Path) -> None:
        nested = reduce(lambda inner, number: f"[1, 2].all(x{number}, {inner})", range(24), "true")
        selectors = [{"cel": {"expression": f"{nested} && {number} > 0"}} for number in range(32)]
        costly = {"kind": "DeviceClass", "metadata": {"name": "costly"}, "spec": {"selectors": selectors}}
        (tmp_path / "class.json").write_text(json.dumps({"apiVersion": "resource.k8s.io/v1", **costly}))
        paths = ("--cluster", CLUSTER, "--cluster", tmp_path / "class.json")
        done = draguard("simulate", DEPLOYMENT, *paths, "--timeout", "1e-9")
        said = "not simulated: 1e-09 seconds have passed while files were read; give a longer --timeout\n"
        assert (done.code, done.out, done.err) == (1, "", said)

    @pytest.mark.parametrize(
        ("pod", "said"),
        [
            (DEPLOYMENT, "2 of 3 pods (team-y/inference-XXXXX-1, team-y/inference-XXXXX-2): {}; give fewer pods, or a"),
            ("train-1-0", "1 pod (team-x/train-1-0): {}; give a"),
        ],
    )
    def test_fewer_pods_are_advised_only_where_they_help(
        self, pod: str | Path, said: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        schedule = Scheduler.schedule

        def late(scheduler: Scheduler, each: dict[str, Any]) -> Placement:
            if not each["metadata"]["name"].endswith("XXXXX-0"):
                raise DeadlineExceededError
            return schedule(scheduler, each)

        monkeypatch.setattr(Scheduler, "schedule", late)
        done = draguard("simulate", pod, "--cluster", CLUSTER)
        assert done.err == f"not simulated: {said.format('300 seconds have passed')} longer --timeout\n"

    def test_fit_looks_for_help_only_while_there_is_time(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def late(*arguments: Any) -> Fit:
            found = fit(*arguments)
            current().deadline = 0.0
            return found

        monkeypatch.setattr(import_module("webhook.check.simulated"), "fit", late)
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--fit")
        assert (done.code, done.err) == (0, "")
        assert "there was no time to try all changes: others may help, too" in done.out

    def test_fit_counts_pods_although_there_is_no_time_to_explain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def late(*_: object) -> None:
            raise DeadlineExceededError

        monkeypatch.setattr(Answers, "of", late)
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, "--fit")
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("1 pod like team-y/inference-XXXXX-0 fits\n")
        assert "then no node takes another: not explained: 300 seconds have passed\n" in done.out

    def test_progress_is_shown_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(progress, "PATIENCE", 0.0)
        monkeypatch.setattr(progress, "_EVERY", 0.0)
        with redirect_stdout(io.StringIO()), redirect_stderr(Terminal()) as terminal:
            main(["simulate", str(DEPLOYMENT), "--cluster", str(CLUSTER)])
        assert "\r\x1b[K4 documents\r" in terminal.getvalue()  # the cluster
        assert "0 of 3 pods, 4 checks of nodes" in terminal.getvalue()
        assert "1 of 3 pods, 5 checks of nodes" in terminal.getvalue()
        assert terminal.getvalue().endswith("\r\x1b[K")

    @each_row("time", ["0", "-1", "soon", "inf", "nan"])
    def test_the_time_is_a_positive_number(self, time: str) -> None:
        done = draguard("simulate", DEPLOYMENT, "--cluster", CLUSTER, f"--timeout={time}")
        assert done.code == 2
        assert f"{time!r} is not a positive number of seconds" in done.err
