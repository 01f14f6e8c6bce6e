"""SIGINT and SIGTERM: nothing is half written, and all that was started ends."""

import os
import signal
import subprocess
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.command import SCRIPT, draguard
from tests.rows import each_row
from tests.serving import eventually
from tests.sources.programs import chart as chart_of
from tests.structured import claim_manifest

FIXABLE = claim_manifest("a", '        count: "1"\n')
BETA = claim_manifest("a").replace("/v1\n", "/v1beta2\n")


def program(tmp_path: Path, name: str) -> dict[str, str]:
    """Put a program on the PATH that prints half of its output, notes its process and goes on."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / name
    script.write_text(
        f"#!/bin/sh\n[ \"$1\" = version ] && echo v3.19.0 && exit\necho 'apiVersion: v1'\necho $$ > {tmp_path}/pid\n"
        "exec sleep 600\n",
        encoding="utf-8",
    )
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}


def ended(command: list[str | Path], env: dict[str, str], noted: Path, number: int) -> tuple[int, bytes, bytes]:
    """Send a signal to a command whose program is running, which ends, too; return its code, output and errors."""
    running = subprocess.Popen([SCRIPT, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    assert eventually(lambda: noted.read_text(encoding="ascii").strip() != "")
    running.send_signal(number)
    out, errors = running.communicate(timeout=60)
    pid = int(noted.read_text(encoding="ascii"))
    assert eventually(lambda: is_gone(pid))
    return running.returncode, out, errors


SIGNALS = pytest.mark.parametrize(
    ("number", "code", "message"),
    [(signal.SIGINT, 130, ""), (signal.SIGTERM, 143, "draguard %s: error: terminated; the output is not complete\n")],
    ids=["SIGINT", "SIGTERM"],
)


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.process
class TestPrograms:
    @SIGNALS
    def test_helm_ends_too(self, tmp_path: Path, number: int, code: int, message: str) -> None:
        chart = chart_of(tmp_path / "chart", a=FIXABLE)
        done = ended(["validate", chart], program(tmp_path, "helm"), tmp_path / "pid", number)
        assert done == (code, b"", (message and message % "validate").encode())

    @SIGNALS
    def test_a_snapshot_is_whole_or_empty(self, tmp_path: Path, number: int, code: int, message: str) -> None:
        done = ended(["snapshot", "--run"], program(tmp_path, "kubectl"), tmp_path / "pid", number)
        assert done == (code, b"", (message and message % "snapshot").encode())


@each_row(("command", "text"), (("validate", "--fix"), FIXABLE), (("convert", "--write"), BETA))
@each_row("step", "replace", "chmod")
def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, command: tuple[str, ...], text: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "m.yaml"
    file.write_text(text, encoding="utf-8")
    with monkeypatch.context() as patched:
        patched.setattr(f"os.{step}", Mock(side_effect=KeyboardInterrupt))
        done = draguard(*command, tmp_path)
    assert done.code == 130
    assert [each.name for each in tmp_path.iterdir()] == ["m.yaml"]
    assert file.read_text(encoding="utf-8") == text
    draguard(*command, tmp_path)
    assert file.read_text(encoding="utf-8") != text
