"""The server's log of decisions, whatever clients send and however slowly it is read."""

import json
import logging
import os
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.admission.reviews import asked
from tests.rows import each_row
from tests.structured import claim
from webhook.admission import Call, Endpoint, Enforcement, Record, ReviewOptions, answer
from webhook.admission.record import RecordedFinding
from webhook.logs import LONGEST, DecisionLog, JsonFormatter, Lines, TextFormatter

Read = Callable[[], str]


@contextmanager
def written(formatter: logging.Formatter, path: Path) -> Iterator[Read]:
    """Write the log to a file; yield a function that reads all of it, once it is written."""
    root = logging.getLogger()
    with path.open("wb", buffering=0) as file:
        lines = Lines(file.fileno())
        lines.setFormatter(formatter)
        others, root.handlers = root.handlers, [lines]  # a surrogate in a captured log would end a pytest-xdist worker
        level = root.level
        root.setLevel(logging.INFO)

        def read() -> str:
            lines.close()
            return path.read_text(encoding="utf-8")

        try:
            yield read
        finally:
            root.handlers = others
            root.setLevel(level)
            lines.close()


def decided(formatter: logging.Formatter, path: Path, record: Record, seconds: float = 0) -> str:
    """Log a decision, and return the line."""
    with written(formatter, path / "log") as read:
        DecisionLog().reviewed(record, seconds)
        return read()


def review(count: int, **request: Any) -> bytes:
    """Make the review of a claim, which is refused if its count of devices is negative."""
    cats = claim({"name": "a", "exactly": {"deviceClassName": "cat", "count": count}})
    cats["metadata"] |= {"name": "cats", "labels": {"secret": "hunter2"}}
    user = {"username": "jane", "groups": ["developers"]}
    return json.dumps(asked(cats, uid="5c0e6d1a", userInfo=user, **request)).encode()


def reviewed(body: bytes, endpoint: Endpoint = "validate", **enforcement: Any) -> Record:
    record = answer(body, Call(endpoint), ReviewOptions(enforcement=Enforcement(**enforcement))).record
    assert record is not None
    return record


def record_of(request: Mapping[str, Any], **result: Any) -> Record:
    return Record("validate", request={"operation": "CREATE", **request}, **result)


def log_failure(message: str) -> None:
    error = ValueError(message)
    logging.getLogger("webhook").error("failed", exc_info=error)


class TestLines:
    def test_a_log_line_has_user_object_and_reason_of_a_refusal(self, tmp_path: Path) -> None:
        line = json.loads(decided(JsonFormatter(), tmp_path, reviewed(review(-1, dryRun=True)), 0.00042))
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
        assert line.pop("message").startswith('ResourceClaim.resource.k8s.io "cats" is invalid: ')
        assert line == {
            "level": "info",
            "logger": "webhook.decisions",
            "decision": "denied",
            "endpoint": "validate",
            "uid": "5c0e6d1a",
            "operation": "CREATE",
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "resource": "resourceclaims.resource.k8s.io",
            "namespace": "default",
            "name": "cats",
            "user": "jane",
            "dryRun": True,
            "found": [{"rule": "count-for-mode", "mode": "deny"}],
            "durationMs": 0.42,
        }

    def test_text_is_for_people(self, tmp_path: Path) -> None:
        line = decided(TextFormatter(), tmp_path, reviewed(review(-1)), 0.00042)
        assert re.match(
            r"\d\d:\d\d:\d\d denied    validate CREATE ResourceClaim default/cats by jane \(0\.4 ms\): "
            r'count-for-mode: ResourceClaim\.resource\.k8s\.io "cats" is invalid: ',
            line,
        )

    def test_text_tells_modes_and_policies_apart(self, tmp_path: Path) -> None:
        found = [RecordedFinding("a", "", "warn"), RecordedFinding("", "b", "deny")]
        found.append(RecordedFinding("", "c", "audit", is_error=True))
        line = decided(TextFormatter(), tmp_path, record_of({"dryRun": True}, found=found, patched=True))
        assert line.endswith(" CREATE (0.0 ms, dry run, patched): a (warn), policy b, policy c failed (audit)\n")

    def test_decisions_are_coloured_on_request(self, tmp_path: Path) -> None:
        with written(TextFormatter(coloured=True), tmp_path / "log") as read:
            DecisionLog().reviewed(reviewed(review(-1)), 0)
            logging.getLogger("webhook.other").info("plain")
            first, second = read().splitlines()
        assert " \x1b[31mdenied   \x1b[0m validate " in first
        assert second.endswith(" info      webhook.other: plain")

    def test_other_lines_go_the_same_way(self, tmp_path: Path) -> None:
        with written(JsonFormatter(), tmp_path / "log") as read:
            logging.getLogger("webhook.server.certificate").warning("a %s", "handshake\n")
            line = json.loads(read())
        del line["time"]
        assert line == {"level": "warning", "logger": "webhook.server.certificate", "message": "a handshake\n"}

    def test_of_a_long_exception_the_end_is_kept_and_in_text_all_is_indented(self, tmp_path: Path) -> None:
        with written(JsonFormatter(), tmp_path / "log") as read:
            log_failure("x" * 9000 + "the end")
            text = read()
        assert json.loads(text)["exception"].endswith("xthe end")
        assert len(text) <= LONGEST
        with written(TextFormatter(), tmp_path / "log") as read:
            log_failure("no\n12:00:00 allowed   forged")
            first, *more = read().splitlines()
        assert first.endswith("webhook: failed")
        assert more[-1] == "  12:00:00 allowed   forged"
        assert all(line.startswith("  ") for line in more)

    def test_many_findings_are_reported_once_each_and_counted(self, tmp_path: Path) -> None:
        found = [RecordedFinding("", f"policy-{number}", "audit") for number in range(30)]
        found = [RecordedFinding("twice", "", "deny")] * 2 + found
        line = json.loads(decided(JsonFormatter(), tmp_path, record_of({}, found=found)))
        assert line["found"][:2] == [{"rule": "twice", "mode": "deny"}, {"policy": "policy-0", "mode": "audit"}]
        assert len(line["found"]) + line["foundMore"] == 31


class TestWhatClientsSend:
    @each_row(
        "hostile",
        *('jane"}\n{"decision":"allowed"', "\r12:00:00 allowed", "\x1b[2J\x1b[31m", "\x00" * 5000, "\u202etxt.exe"),
        *("a\u2028b\x85c", "\ud800", "x" * 100_000, "\U0001f600" * 5000),
    )
    @each_row("formatter", JsonFormatter(), TextFormatter())
    def test_makes_no_line_of_its_own_and_none_that_is_too_long(
        self, hostile: str, formatter: logging.Formatter, tmp_path: Path
    ) -> None:
        named = dict.fromkeys(("kind", "version", "resource", "group"), hostile)
        own = dict.fromkeys(("uid", "subResource", "namespace", "name"), hostile)
        request = {**own, "kind": named, "resource": named, "userInfo": {"username": hostile}}
        with written(formatter, tmp_path / "log") as read:
            DecisionLog().reviewed(record_of(request, decision="denied", message=hostile), 0)
            logging.getLogger("webhook.server").warning("review %s", hostile)
            text = read()
        assert len(text.splitlines()) == text.count("\n") == 2
        assert all(len(line.encode()) < LONGEST and line.isprintable() for line in text.splitlines())
        if isinstance(formatter, JsonFormatter):
            first, second = (json.loads(line) for line in text.splitlines())
            assert (first["decision"], second["level"]) == ("denied", "warning")
            assert first["user"][:9] == hostile[:9]

    def test_reads_as_one_word_in_text(self, tmp_path: Path) -> None:
        request = {"name": "a by admin (0.1 ms)", "userInfo": {"username": 'x "y'}}
        line = decided(TextFormatter(), tmp_path, record_of(request, decision="denied"))
        assert ' CREATE "a by admin (0.1 ms)" by "x \\"y" (0.0 ms)\n' in line

    def test_objects_are_not_logged(self, tmp_path: Path) -> None:
        with written(JsonFormatter(), tmp_path / "log") as read:
            for count in (-1, 1):
                DecisionLog(1).reviewed(reviewed(review(count)), 0)
            text = read()
        assert text.count("\n") == 2
        assert "hunter2" not in text
        assert "deviceClassName" not in text


class TestShare:
    @each_row(
        "result",
        *({"decision": "denied"}, {"decision": "failed"}, {"patched": True}, {"warnings": 1}),
        {"found": [RecordedFinding("a", "", "audit")]},
    )
    def test_what_is_out_of_the_ordinary_is_always_logged(self, result: dict[str, Any], tmp_path: Path) -> None:
        with written(JsonFormatter(), tmp_path / "log") as read:
            DecisionLog(0).reviewed(record_of({}, **result), 0)
            assert read()

    def test_a_flood_of_malformed_reviews_is_not_a_flood_of_lines(self, tmp_path: Path) -> None:
        with written(JsonFormatter(), tmp_path / "log") as read:
            log = DecisionLog(1)
            for _ in range(1000):
                log.reviewed(reviewed(b"none"), 0)
            lines = [json.loads(line) for line in read().splitlines()]
        assert 10 <= len(lines) < 100
        assert lines[0]["level"] == "warning"
        assert lines[0]["message"].startswith("invalid AdmissionReview on /validate: ")

    @each_row("decision", "allowed", "exempt")
    def test_what_is_plainly_allowed_is_logged_by_its_uid(self, decision: str, tmp_path: Path) -> None:
        def logged(share: float, name: str) -> list[str]:
            log = DecisionLog(share)
            with written(JsonFormatter(), tmp_path / name) as read:
                for number in range(1000):
                    log.reviewed(record_of({"uid": f"uid-{number}"}, decision=decision), 0)
                return [json.loads(line)["uid"] for line in read().splitlines()]

        assert logged(0, "none") == []
        assert len(logged(1, "all")) == 1000
        tenth = logged(0.1, "one replica")
        assert 50 < len(tenth) < 200
        assert tenth == logged(0.1, "another")
        assert set(tenth) < set(logged(0.5, "more"))

    def test_a_level_that_is_not_wanted_costs_nothing(self, tmp_path: Path) -> None:
        with written(JsonFormatter(), tmp_path / "log") as read:
            logging.getLogger().setLevel(logging.WARNING)
            for decision in ("denied", "failed"):
                DecisionLog(1).reviewed(record_of({}, decision=decision), 0)
            assert [json.loads(line)["level"] for line in read().splitlines()] == ["error"]


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):  # it may be closed already
            os.close(end)


def drain(reader: int, whole: Callable[[bytes], bool]) -> bytes:
    received = b""
    while not whole(received):
        assert select.select([reader], (), (), 5)[0], received[-1000:]
        received += os.read(reader, 1 << 16)
    return received


@pytest.mark.process
class TestReaders:
    @pytest.fixture
    def lines(self, pipe: tuple[int, int]) -> Iterator[Lines]:
        lines = Lines(pipe[1], waiting=100)
        lines.setFormatter(logging.Formatter("%(message)s"))
        yield lines
        lines.close()

    @staticmethod
    def log(lines: Lines, text: str) -> None:
        lines.handle(logging.LogRecord("webhook", logging.INFO, "", 0, text, None, None))

    def test_a_slow_reader_blocks_nothing_and_learns_of_lost_lines(self, lines: Lines, pipe: tuple[int, int]) -> None:
        for number in range(1000):  # a pipe takes 64 KiB
            self.log(lines, f"{number:1000}")

        def accounted(received: bytes) -> int:
            dropped = re.findall(rb"^(\d+) lines were dropped: standard error was not read", received, re.MULTILINE)
            return len(kept(received)) + sum(map(int, dropped))

        def kept(received: bytes) -> list[int]:
            return [int(number) for number in re.findall(rb"^ *(\d+)$", received, re.MULTILINE)]

        received = drain(pipe[0], lambda received: accounted(received) == 1000)
        assert kept(received) == sorted(set(kept(received)))
        assert 100 <= len(kept(received)) < 1000

    def test_a_closed_pipe_ends_nothing(self, lines: Lines, pipe: tuple[int, int]) -> None:
        os.close(pipe[0])
        for _ in range(3):
            self.log(lines, "nobody listens")

    def test_a_pipe_that_does_not_block_gets_every_line(self, lines: Lines, pipe: tuple[int, int]) -> None:
        os.set_blocking(pipe[1], False)
        for number in range(90):
            self.log(lines, f"{number:3000}")
        received = drain(pipe[0], lambda received: received.endswith(b" 89\n"))
        assert [int(line) for line in received.splitlines()] == list(range(90))

    def test_a_record_that_cannot_be_formatted_is_reported(
        self, lines: Lines, capsys: pytest.CaptureFixture[str]
    ) -> None:
        lines.handle(logging.LogRecord("webhook", logging.INFO, "", 0, "%d", ("text",), None))
        assert "TypeError" in capsys.readouterr().err

    def test_who_closes_waits_for_no_reader_for_ever(self, lines: Lines, pipe: tuple[int, int]) -> None:
        for _ in range(80):
            self.log(lines, "x" * 4000)
        lines.close()  # else this test would never end
        assert drain(pipe[0], lambda received: received.count(b"\n") == 80)


PROCESS = """
import logging, os
from webhook.logs import configure
configure({options})
log = logging.getLogger("webhook.trial")
log.info("parent")
child = os.fork()
log.info("child" if child == 0 else "parent again")
if child == 0:
    logging.shutdown()
    os._exit(0)
os.waitpid(child, 0)
log.debug("unwanted")
log.error("end")
"""


@pytest.mark.process
class TestProcesses:
    @staticmethod
    def run(options: str, stderr: int, **environment: str) -> bytes:
        command = [sys.executable, "-c", PROCESS.format(options=options)]
        environment = {"TERM": "xterm", **{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **environment}
        return subprocess.run(command, stderr=stderr, check=True, timeout=30, env=environment).stderr

    def test_forked_ones_write_every_line(self) -> None:
        lines = [json.loads(line) for line in self.run("'auto'", subprocess.PIPE).splitlines()]
        assert sorted(line["message"] for line in lines) == ["child", "end", "parent", "parent again"]

    @each_row(("environment", "coloured"), ({}, True), ({"NO_COLOR": "1"}, False))
    def test_a_terminal_gets_text(self, environment: dict[str, str], *, coloured: bool) -> None:
        ours, theirs = os.openpty()
        try:
            self.run("'auto'", theirs, **environment)
            received = drain(ours, lambda received: b"webhook.trial: end" in received)
        finally:
            os.close(theirs)
            os.close(ours)
        assert (b"\x1b[1;31merror    \x1b[0m webhook.trial: end" in received) is coloured

    def test_formats_and_levels_can_be_chosen(self) -> None:
        lines = self.run("'text', 'error'", subprocess.PIPE).splitlines()
        assert [line[9:] for line in lines] == [b"error     webhook.trial: end"]
