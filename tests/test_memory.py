"""The memory check of the soak: it finds leaks of a hundred bytes, and no swings."""

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.memory import MB, Process, Sample, report
from benchmarks.served import Served
from tests.rows import each_row

REQUESTS = 200_000


def samples(
    serving: Callable[[int], float] = lambda _sent: 0,
    forking: Callable[[int], float] = lambda _sent: 0,
    files: Callable[[int], int] = lambda _sent: 20,
    others: int = 2,
) -> list[Sample]:
    """Make what is observed of a webhook, after so many requests.

    Args:
        serving: The bytes by which the process that serves has grown.
        forking: The same of the one that forks others.
        files: The open files of the process that serves.
        others: The number of processes for heavy reviews.
    """
    chance = random.Random(3)  # noqa: S311 - to be repeated, not to be secret
    found = []
    for sent in range(0, REQUESTS + 1, 500):
        moment = 5 * MB if sent % 1500 == 0 else 0  # a long review
        warming = min(sent / (0.3 * REQUESTS), 1) * 60 * MB
        heavy = [Process(100 + sent // 9000 + lane, 2, chance.randint(20, 72) * MB, 5) for lane in range(others)]
        processes = [
            Process(1, 0, round(28 * MB + warming + moment + serving(sent)), files(sent)),
            Process(2, 1, round(28 * MB + forking(sent)), 4),
            *heavy,
        ]
        found.append(Sample(sent, processes, sum(process.memory for process in processes)))
    return found


def test_processes_that_come_and_go_and_a_cache_that_fills_up_are_not_a_leak(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert report(samples(serving=lambda sent: 3 * MB * sent / REQUESTS), REQUESTS) == []
    capsys.readouterr()
    assert report(samples(), REQUESTS) == []
    printed = capsys.readouterr().out
    assert "the process that serves: 88.0, then 88.0 MB, +0 bytes a review; 20, then 20 open files" in printed
    assert "processes for heavy reviews, replaced as they grow: up to 72.0 MB each" in printed


@each_row(
    ("observed", "said"),
    ({"serving": lambda sent: 100 * sent}, "the process that serves leaks memory: +100 bytes a review, once warm"),
    (
        {"forking": lambda sent: 100 * sent},
        "the process that forks others leaks memory: +100 bytes a review, once warm",
    ),
    ({"files": lambda sent: 20 + sent // 9000}, "the process that serves leaves files open: 28, then 37"),
    ({"others": 5}, "5 processes for heavy reviews are left over, not 2"),
)
def test_memory_files_and_processes_that_are_left_are_found(observed: dict[str, Any], said: str) -> None:
    assert report(samples(**observed), REQUESTS) == [said]


def test_too_few_reviews_tell_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(samples(serving=lambda sent: 1000 * sent), 20_000) == []
    assert capsys.readouterr().out.startswith("memory: not judged")


ANSWERING = """
import sys
kept, leak = [], int(sys.argv[1])
for line in sys.stdin:
    for _ in range(2000):
        kept.append(bytes(leak)) if leak else bytes(4 << 20 if _ == 7 else 100)
    print(flush=True)
"""


@pytest.mark.process
@pytest.mark.parametrize(("leak", "fails"), [(0, False), (100 - sys.getsizeof(b"") - 8, True)])
def test_a_process_that_leaks_is_found(leak: int, fails: bool, tmp_path: Path) -> None:
    found = []
    with subprocess.Popen(
        [sys.executable, "-c", ANSWERING, str(leak)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        server = Served("", process.pid, tmp_path)
        assert process.stdin
        assert process.stdout
        for sent in range(0, REQUESTS + 1, 2000):
            (own,) = server.processes()
            found.append(Sample(sent, [own, Process(2, 1, 0, 0)], own.memory))
            print(file=process.stdin, flush=True)
            process.stdout.readline()
        process.stdin.close()
    assert bool(report(found, REQUESTS)) is fails


def test_processes_are_found_with_their_depth(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        processes = Served("", os.getpid(), tmp_path).processes()
        child.kill()
    depths = {each.pid: each.depth for each in processes}
    assert (processes[0].pid, depths[os.getpid()], depths[child.pid]) == (os.getpid(), 0, 1)
    assert processes[0].memory > MB
    assert processes[0].files >= 3
    assert Served("", child.pid, tmp_path).processes() == []
