"""Several processes give the same findings as one, and end as one does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.manifests import CLAIM
from tests.command import ROOT, SCRIPT, Done, draguard, process
from tests.structured import CLAIM as CLAIM_V1
from webhook.cli.validate import processes
from webhook.cli.validate.processes import in_ranges
from webhook.limits import MOST_FINDINGS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.process

CORPORA = ["examples", "tests/cases", "tests/references", "policies", "charts", "tests/chart"]
"""Findings of all rules; claims, pods and classes that refer to one another; templates, kustomizations."""


def jobs(number: int, *arguments: str | Path) -> Done:
    """Run `draguard validate` in a number of processes."""
    return process("validate", *arguments, env={"DRAGUARD_JOBS": str(number)})


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        "--output json --all-pods",
        "--output junit --cluster examples/simulate/cluster.yaml",
        "--output sarif --kubernetes-version 1.31",
        "--kubernetes-version 1.31 --kubernetes-version 1.34 --exclude *.json",
        "--policies policies --as jane --namespace-labels default=team=a",
        "--against HEAD --new-only --output github",
        "--old examples/fixed --ignore cel-* --level object-name=warn",
        "--diff",
    ],
)
def test_processes_say_what_one_says_in_the_same_order(options: str) -> None:
    one, three = (jobs(number, *options.split(), *CORPORA) for number in (1, 3))
    assert three == one
    assert one.out


def test_a_large_file_is_judged_in_parts_with_the_same_places(tmp_path: Path) -> None:
    documents = [
        text.replace("name: claim", f"name: claim-{number}")
        for number in range(700)
        for text in [
            CLAIM_V1 + ("  colour: red\n" if not number % 50 else ""),
            "# nothing\n",
            "a: [\n" * (number == 99),
        ]
    ]
    file = tmp_path / "claims.yaml"
    file.write_text("---\n".join(documents), encoding="utf-8")
    for options in (["-o", "json"], ["-o", "text"], ["-o", "junit"]):
        one, two = (jobs(number, *options, file) for number in (1, 2))
        assert one == two
    assert one.out.count("colour") > 10


def test_comments_and_baselines_count_in_all_processes(tmp_path: Path) -> None:
    for number in range(60):
        text = CLAIM_V1.replace("name: claim", f"name: claim-{number}")
        said = ["", "  # draguard: ignore[unknown-field] why", "  # draguard: ignore[enum] nothing here"][number % 3]
        (tmp_path / f"claim-{number:02}.yaml").write_text(f"{text}  colour: red{said}\n", encoding="utf-8")
    baseline = tmp_path / "known.json"
    written = [jobs(number, "--write-baseline", baseline, tmp_path / "claim-1*.yaml") for number in (1, 3)]
    assert written[0] == written[1]
    one, three = (jobs(number, "--baseline", baseline, tmp_path, "-o", "json") for number in (1, 3))
    assert one == three
    assert '"unused-suppression"' in one.out


def test_what_a_namespace_decides_is_judged_once_all_are_known(tmp_path: Path) -> None:
    claims = "---\n".join(
        CLAIM_V1.replace("name: claim", f"name: claim-{number}") + "        adminAccess: true\n" for number in range(99)
    )
    space = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: default\n  labels:\n"
    space += '    resource.kubernetes.io/admin-access: "true"\n'
    (tmp_path / "a.yaml").write_text(claims, encoding="utf-8")
    assert jobs(1, tmp_path) == jobs(3, tmp_path)
    (tmp_path / "z.yaml").write_text(space, encoding="utf-8")
    one, three = jobs(1, tmp_path), jobs(3, tmp_path)
    assert one == three
    assert "no problems" in one.out


def many(tmp_path: Path, documents: int) -> Path:
    file = tmp_path / "many.yaml"
    file.write_text("---\n".join(CLAIM.format(number=number) for number in range(documents)), encoding="utf-8")
    return file


def children(of: int) -> list[int]:
    """Return the processes that a process has started."""
    try:
        with open(f"/proc/{of}/task/{of}/children", encoding="ascii") as listed:  # noqa: PTH123 - of the kernel
            return [int(each) for each in listed.read().split()]
    except FileNotFoundError:
        return []


def started(file: Path) -> tuple[subprocess.Popen[str], list[int]]:
    """Start judging in two processes, and return once there are two."""
    command = [str(SCRIPT), "validate", "--jobs", "2", str(file)]
    own = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 30
    while len(found := children(own.pid)) < 2 and time.monotonic() < deadline and own.poll() is None:
        time.sleep(0.002)
    return own, found


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(is_so: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 20
    while not is_so() and time.monotonic() < deadline:
        time.sleep(0.01)
    return is_so()


def test_a_process_that_is_killed_is_an_error_and_nothing_passes_for_valid(tmp_path: Path) -> None:
    own, workers = started(many(tmp_path, 40_000))
    os.kill(workers[0], signal.SIGKILL)
    out, err = own.communicate(timeout=60)
    assert (own.returncode, out) == (3, "")
    assert re.fullmatch(
        r"draguard validate: error: a process that judged \S+ was ended by signal 9, as where memory runs out; "
        r"findings would be missing, so none are reported: try --jobs 1\n",
        err,
    )
    assert wait_until(lambda: not any(map(is_there, workers)))


@pytest.mark.parametrize("is_for_all", [True, False])
def test_ctrl_c_ends_all_processes_at_once(tmp_path: Path, *, is_for_all: bool) -> None:
    own, workers = started(many(tmp_path, 40_000))
    (os.killpg if is_for_all else os.kill)(own.pid, signal.SIGINT)
    out, err = own.communicate(timeout=60)
    assert (own.returncode, out, err) == (130, "", "")
    assert wait_until(lambda: not any(map(is_there, workers)))


def test_processes_end_with_the_one_that_has_started_them(tmp_path: Path) -> None:
    own, workers = started(many(tmp_path, 40_000))
    own.kill()
    own.communicate(timeout=60)
    assert wait_until(lambda: not any(map(is_there, workers)))


SPREADING = """
import os, sys
from webhook.cli.validate.processes import spread
def work(piece):
    {body}
try:
    print(list(spread(work, list(range(40)), 3)))
except Exception as error:
    print(type(error).__name__, error, error.__cause__)
"""


def spreading(body: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SPREADING.format(body=body)], capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.strip()


def test_results_come_in_the_order_of_the_work() -> None:
    slow = "import time; time.sleep(0.02 * (piece % 3 == 0)); return piece * 'x'"
    assert spreading(slow) == str([number * "x" for number in range(40)])


def test_large_results_arrive_whole() -> None:
    assert spreading("return len('x' * (piece << 16))") == str([number << 16 for number in range(40)])


def test_an_error_in_a_process_is_raised_with_its_traceback() -> None:
    result = spreading("raise LookupError(piece)")
    assert result.startswith("LookupError 0")
    assert "in work" in result


def test_an_error_that_cannot_be_pickled_is_still_reported() -> None:
    result = spreading("class Own(Exception): pass\n    raise Own('why')")
    assert result.startswith("RuntimeError Own: why")


def test_a_process_that_exits_by_itself_is_an_error() -> None:
    assert "was ended with status 7" in spreading("os._exit(7) if piece == 20 else None")


def test_one_process_needs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: False)
    assert list(in_ranges(list, [1, 2, 3], 4)) == [[1, 2, 3]]
    assert list(in_ranges(list, [], 1)) == []
    assert processes.default() == 1


@pytest.mark.parametrize(("count", "jobs"), [(processes.ENOUGH, None), (processes.ENOUGH, 4), (9, 4)])
def test_quick_work_needs_no_other_process(count: int, jobs: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "can_fork", lambda: True)
    monkeypatch.setattr(processes, "default", lambda: 4)
    monkeypatch.setattr(processes, "spread", lambda *_: [])
    items = list(range(count))
    assert [each for found in in_ranges(list, items, jobs) for each in found] == items
    monkeypatch.setattr(processes, "_CHEAP", 0)
    assert [each for found in in_ranges(list, items, jobs) for each in found] < items


def test_no_work_needs_no_process() -> None:
    assert list(in_ranges(list, [], 4)) == []


def test_few_manifests_need_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "default", lambda: 4)
    assert processes.worth(None, processes.ENOUGH - 1) == 1
    assert processes.worth(None, processes.ENOUGH) == 4
    assert processes.worth(1, 1 << 20) == 1


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "max 100000\n"}, processes.MOST),
        ({"cpu/cpu.cfs_quota_us": "100000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 1),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, processes.MOST),
        ({"cpu.max": "what\n"}, processes.MOST),
        ({}, processes.MOST),
    ],
)
def test_the_quota_of_the_cgroup_counts(files: dict[str, str], cpus: int, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    quota: Any = processes._quota  # noqa: SLF001 - the real one is the kernel's
    assert quota(str(tmp_path)) == cpus


@pytest.mark.parametrize("number", ["0", "-1", "65", "x", "1e1"])
def test_a_number_of_processes_is_one_to_64(number: str) -> None:
    done = draguard("validate", f"--jobs={number}", ROOT / "examples/fixed")
    assert done.code == 2
    assert done.err.endswith(f"argument --jobs: '{number}' is not a number from 1 to 64\n")


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    from webhook.documents.search import find_files  # noqa: PLC0415
    from webhook.documents.shares import Packer, Reader, Unpacker, shares, sized  # noqa: PLC0415

    file = tmp_path / "claim.yaml"
    file.write_text(CLAIM_V1, encoding="utf-8")
    assert len(list(find_files([str(file)]))) == 1
    (share,) = shares(sized([str(file)], None), 2)
    (document,) = Reader(None).read(share, count())
    packer = Packer(["claim"])
    packed = packer(document)  # type: ignore[arg-type]
    unpacker = Unpacker()
    unpacker.begin(share, packer.sources)
    assert unpacker.origin(packed).position(("spec",)) == (4, 1)
    file.write_text(CLAIM_V1.replace("gpu", "cpu"), encoding="utf-8")
    unpacker.begin(share, packer.sources)
    with pytest.raises(OSError, match="changed while it was read"):
        unpacker.origin(packed).position(("spec",))


def test_the_parts_of_a_file_have_one_text_in_memory(tmp_path: Path) -> None:
    from webhook.documents.shares import Packer, Reader, Unpacker, shares, sized  # noqa: PLC0415

    for name in ("one.yaml", "two.yaml"):
        (tmp_path / name).write_text(f"---\n{CLAIM_V1}" * 100, encoding="utf-8")
    found = shares(sized([str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml")], None), 2)
    sources: dict[str, set[int]] = {}
    kept, unpacker, reader = [], Unpacker(), Reader(None)
    for share in found:
        packer = Packer(["claim"])
        packed = [packer(each) for each in reader.read(share, count())]  # type: ignore[arg-type]
        unpacker.begin(share, packer.sources)
        kept += [unpacker.origin(each).source for each in packed]
        sources.setdefault(share.name, set()).add(id(kept[-1]))
    assert len(found) > 3
    assert [len(each) for each in sources.values()] == [1, 1]


@pytest.mark.parametrize("document", ["# nothing: apiVersion\n---\n", "nothing: apiVersion\n---\n"])
def test_a_large_file_without_a_manifest_is_refused_or_counted(document: str, tmp_path: Path) -> None:
    file = tmp_path / "nothing.yaml"
    file.write_text(document * 3_000, encoding="utf-8")
    for paths in ([file], [tmp_path], [ROOT / "examples/fixed", tmp_path], [file, ROOT / "examples/fixed"]):
        one, two = (jobs(number, *paths) for number in (1, 2))
        assert one == two


@pytest.mark.slow
def test_a_file_with_more_findings_than_anybody_reads_is_not_judged_to_its_end(tmp_path: Path) -> None:
    fields = "".join(f"  field{number}: 1\n" for number in range(100))
    faulty, other = tmp_path / "faulty.yaml", tmp_path / "other.yaml"
    named = (CLAIM_V1.replace("name: c", f"name: c{number}") for number in range(MOST_FINDINGS // 100 + 20))
    faulty.write_text("---\n".join(claim + fields for claim in named), encoding="utf-8")
    other.write_text(CLAIM_V1 + "  colour: red\n", encoding="utf-8")
    one, two = (jobs(number, "-o", "json", tmp_path) for number in (1, 2))
    assert one == two
    assert one.code == 1
    report = json.loads(one.out)
    assert report["summary"]["errors"] == MOST_FINDINGS + 2
    (full,) = (each for each in report["findings"] if each["rule"] == "too-many-findings")
    assert full["message"].endswith("the rest of this file is not judged")
    assert [each["file"] for each in report["findings"]][-1] == str(other)


@pytest.mark.slow
def test_of_a_million_faults_in_an_object_most_are_not_looked_for(tmp_path: Path) -> None:
    file = tmp_path / "faulty.yaml"
    file.write_text(CLAIM_V1 + "".join(f"  field{number}: 1\n" for number in range(20_000)), encoding="utf-8")
    baseline = tmp_path / "known.json"
    done = draguard("validate", "--jobs", "1", "--write-baseline", baseline, "-o", "concise", file)
    assert done.code == 1
    assert len(done.out.splitlines()) == MOST_FINDINGS + 1
    assert not baseline.exists()
