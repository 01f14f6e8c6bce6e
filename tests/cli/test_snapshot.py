"""``draguard snapshot``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import SCRIPT, draguard


class TestSnapshot:
    def test_prints_the_command(self) -> None:
        assert draguard("snapshot").out == (
            "kubectl get deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates,devicetaintrules,nodes,"
            "pods,namespaces,resourcequotas,apiservices -A -o yaml\n"
        )
        shorter = draguard("snapshot", "--without", "devicetaintrules", "-n", "a", "--context", "c").out
        assert shorter.startswith("kubectl --context c get deviceclasses,")
        assert "devicetaintrules" not in shorter
        assert shorter.endswith(" -n a -o yaml\n")

    def test_warns_of_what_one_namespace_leaves_out(self) -> None:
        assert draguard("snapshot", "-n", "a").err == (
            "warning: claims and pods outside namespace a are left out: "
            "devices, cpu and memory that they use look free\n"
        )
        assert draguard("snapshot").err == ""

    def test_runs_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kubectl(tmp_path, monkeypatch, 'echo "asked for $2"')
        done = draguard("snapshot", "--run")
        assert done.code == 0
        assert "asked for deviceclasses" in done.out

    @pytest.mark.process
    def test_needs_no_memory_for_what_kubectl_prints(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kubectl(tmp_path, monkeypatch, "head -c 300000000 /dev/zero")
        limit = f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_DATA, ({200 << 20},) * 2); "
        command = [
            sys.executable,
            "-c",
            f"{limit}os.execv(sys.argv[1], sys.argv[1:])",
            str(SCRIPT),
            "snapshot",
            "--run",
        ]
        assert subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0

    def test_asks_again_without_what_is_not_served(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kubectl(
            tmp_path,
            monkeypatch,
            "case $2 in *devicetaintrules*) echo the first half; echo \"error: the server doesn't have a resource type "
            '\\"devicetaintrules\\"" >&2; exit 1;; esac',
            'echo "asked for $2"',
        )
        done = draguard("snapshot", "--run")
        assert (done.code, done.out.startswith("asked for "), "devicetaintrules" in done.out) == (0, True, False)
        assert done.err == "warning: the cluster does not serve devicetaintrules: the snapshot leaves them out\n"

    @pytest.mark.parametrize(
        ("last", "said"),
        [
            ("echo The connection was refused >&2", "The connection was refused\n"),
            ("", 'E1122 20:10:19.1    42 memcache.go:265] "Unhandled Error" err="refused"\n'),
        ],
    )
    def test_says_once_that_there_is_no_cluster(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: str, said: str
    ) -> None:
        log = """echo 'E1122 20:10:19.1    42 memcache.go:265] "Unhandled Error" err="refused"' >&2"""
        self.kubectl(tmp_path, monkeypatch, log, log, last, "exit 1")
        done = draguard("snapshot", "--run")
        assert (done.code, done.out, done.err) == (1, "", said)

    @staticmethod
    def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *script: str) -> None:
        program = tmp_path / "kubectl"
        program.write_text("\n".join(["#!/bin/sh", *script, ""]))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")

    def test_without_kubectl(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        done = draguard("snapshot", "--run")
        assert (done.code, "kubectl is not installed here" in done.err) == (2, True)

    def test_an_unknown_resource(self) -> None:
        assert "--without secrets: give one of" in draguard("snapshot", "--without", "secrets").err
