"""Several workers are kept at work, and ended in peace."""

from __future__ import annotations

import errno
import logging
import os
import resource
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.serving import eventually
from webhook.server import ServerError, WorkersError
from webhook.server.process.supervision import ALIVE, LEAVING, Supervisor

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [
    # Workers of these tests do next to nothing, so that no lock of a thread of other tests can stop them.
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
    pytest.mark.usefixtures("_patience"),
]


@pytest.fixture
def _patience() -> Iterator[None]:
    """End a supervisor that would go on for ever."""
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("it does not end"))
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


class Diary:
    """What workers write, in a file.

    Args:
        file: The file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        file.touch()

    def write(self, word: str) -> None:
        with self._file.open("a", encoding="utf-8") as file:
            file.write(f"{word} ")

    @property
    def words(self) -> list[str]:
        return self._file.read_text(encoding="utf-8").split()


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


def obedient(diary: Diary) -> Callable[[int, socket.socket], None]:
    """Work until told to end, and write down who was told what."""

    def work(number: int, lifeline: socket.socket) -> None:
        diary.write(f"{number}+")
        lifeline.settimeout(None)
        lifeline.send(ALIVE)
        diary.write(f"{number}{lifeline.recv(1).decode()}")

    return work


def mortal(diary: Diary) -> Callable[[int, socket.socket], None]:
    """Work as told, but let the first number 0 die once both are there, and the second end everything."""

    def work(number: int, lifeline: socket.socket) -> None:
        if number == 0:
            is_first = "0+" not in diary.words
            diary.write("0+")
            if is_first:
                assert eventually(lambda: "1+" in diary.words)
                os._exit(7)
            os.kill(os.getppid(), signal.SIGTERM)
            lifeline.settimeout(None)
            lifeline.send(ALIVE)
            diary.write(f"0{lifeline.recv(1).decode()}")
        else:
            obedient(diary)(number, lifeline)

    return work


def stop() -> None:
    signal.raise_signal(signal.SIGTERM)


class TestEnd:
    @pytest.mark.parametrize(("number", "told"), [(signal.SIGTERM, "s"), (signal.SIGINT, "i")])
    def test_all_are_told_to_end(self, diary: Diary, number: signal.Signals, told: str) -> None:
        lost: list[int] = []
        before = signal.getsignal(number)

        def ready() -> None:
            signal.raise_signal(number)

        Supervisor(obedient(diary), 3, end_seconds=5, ready=ready, lost=lost.append).run()
        assert sorted(diary.words) == sorted(
            [*(f"{each}+" for each in range(3)), *(f"{each}{told}" for each in range(3))]
        )
        assert sorted(lost) == [0, 1, 2]
        assert signal.getsignal(number) is before

    def test_one_that_does_not_end_is_killed(self, caplog: pytest.LogCaptureFixture) -> None:
        def deaf(_number: int, lifeline: socket.socket) -> None:
            lifeline.send(ALIVE)
            time.sleep(60)

        Supervisor(deaf, 1, end_seconds=0.1, ready=stop).run()
        assert "does not end: killing it" in caplog.text
        assert "has ended by SIGKILL" in caplog.text

    def test_a_second_signal_ends_everything_at_once(self, diary: Diary) -> None:
        def deaf(_number: int, lifeline: socket.socket) -> None:
            diary.write(f"{os.getpid()}")
            lifeline.settimeout(None)
            lifeline.send(ALIVE)
            lifeline.recv(1)
            os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(60)

        pid = os.fork()
        if pid == 0:  # a supervisor that has to die
            signal.alarm(20)
            Supervisor(deaf, 1, end_seconds=60, ready=stop).run()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM
        (worker,) = diary.words
        assert eventually(lambda: not os.path.exists(f"/proc/{worker}/fd/0"))  # noqa: PTH110 - whether it is there


class TestReplacement:
    def test_on_sighup_each_is_replaced_by_one_that_is_ready_before(self, diary: Diary) -> None:
        lost = []

        def note(number: int) -> None:
            lost.append(number)
            if len(lost) == 2:
                stop()

        def ready() -> None:
            signal.raise_signal(signal.SIGHUP)

        Supervisor(obedient(diary), 2, end_seconds=5, ready=ready, lost=note).run()
        words = diary.words
        assert sorted(words[:2]) == ["0+", "1+"]
        assert words[2] == "2+"
        retired = [word for word in words if word.endswith("r")]
        assert sorted(retired) == ["0r", "1r"]
        assert words[3] == retired[0]
        assert words[4] == retired[0].replace("r", "+")  # the free number is used again
        assert sorted(word for word in words if word.endswith("s")) == sorted(["2s", words[4].replace("+", "s")])

    def test_one_that_leaves_is_replaced_before_it_has_left(self, diary: Diary) -> None:
        def work(number: int, lifeline: socket.socket) -> None:
            diary.write(f"{number}+")
            lifeline.settimeout(None)
            lifeline.send(ALIVE)
            if number == 0:
                lifeline.send(LEAVING)
            else:
                os.kill(os.getppid(), signal.SIGTERM)
            diary.write(f"{number}{lifeline.recv(1).decode()}")

        Supervisor(work, 1, end_seconds=5).run()
        assert diary.words[:2] == ["0+", "1+"]
        assert sorted(diary.words[2:]) == ["0s", "1s"]

    def test_one_that_dies_is_replaced(self, diary: Diary, caplog: pytest.LogCaptureFixture) -> None:
        def work(number: int, lifeline: socket.socket) -> None:
            diary.write(f"{number}+")
            lifeline.send(ALIVE)
            if len(diary.words) == 1:
                os.kill(os.getpid(), signal.SIGKILL)
            os.kill(os.getppid(), signal.SIGTERM)
            lifeline.settimeout(None)
            diary.write(f"{number}{lifeline.recv(1).decode()}")

        Supervisor(work, 1, end_seconds=5).run()
        assert diary.words == ["0+", "0+", "0s"]
        assert "has ended by SIGKILL" in caplog.text

    def test_one_that_hangs_is_ended_and_says_where(
        self, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
    ) -> None:
        def hanging(_number: int, lifeline: socket.socket) -> None:
            lifeline.send(ALIVE)
            time.sleep(60)

        Supervisor(hanging, 1, end_seconds=5, silent_seconds=1, lost=lambda _number: stop()).run()
        assert "hangs: ending it" in caplog.text
        assert "has ended by SIGABRT" in caplog.text
        assert " in hanging\n" in capfd.readouterr().err

    def test_one_that_hangs_whatever_it_is_told_is_killed(self, caplog: pytest.LogCaptureFixture) -> None:
        def hanging(_number: int, _lifeline: socket.socket) -> None:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGABRT])
            time.sleep(60)

        Supervisor(hanging, 1, end_seconds=5, silent_seconds=1, lost=lambda _number: stop()).run()
        assert "has ended by SIGKILL" in caplog.text


class TestShortage:
    def test_the_others_go_on_while_there_is_no_file_for_another(
        self, diary: Diary, caplog: pytest.LogCaptureFixture
    ) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

        def lost(_number: int) -> None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))

        def each_second() -> None:
            if "no worker can be started: Too many open files" in caplog.text:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

        try:
            Supervisor(mortal(diary), 2, end_seconds=5, lost=lost, each_second=[each_second]).run()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        assert sorted(diary.words) == ["0+", "0+", "0s", "1+", "1s"]

    def test_the_others_go_on_while_there_is_no_process_for_another(
        self, diary: Diary, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fork, outcomes = os.fork, [True, True, False, True]

        def scarce() -> int:  # a limit of processes does not hold for root
            if outcomes.pop(0):
                return fork()
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

        monkeypatch.setattr(os, "fork", scarce)
        Supervisor(mortal(diary), 2, end_seconds=5).run()
        assert sorted(diary.words) == ["0+", "0+", "0s", "1+", "1s"]
        assert caplog.text.count("no worker can be started: Resource temporarily unavailable") == 1


class TestBroken:
    def test_workers_that_die_at_once_end_it(self, caplog: pytest.LogCaptureFixture) -> None:
        def broken(_number: int, _lifeline: socket.socket) -> None:
            raise ZeroDivisionError

        with pytest.raises(WorkersError, match=r"\d workers one after the other have ended with exit code 1 at once"):
            Supervisor(broken, 2, end_seconds=5).run()
        assert "has ended with exit code 1" in caplog.text

    def test_one_that_cannot_work_says_why_in_one_line(self, capfd: pytest.CaptureFixture[str]) -> None:
        handler = logging.StreamHandler()  # what a worker logs stays in the worker
        logging.getLogger().addHandler(handler)

        def broken(_number: int, _lifeline: socket.socket) -> None:
            message = "give it a place"
            raise ServerError(message)

        try:
            with pytest.raises(WorkersError):
                Supervisor(broken, 5, end_seconds=5).run()
        finally:
            logging.getLogger().removeHandler(handler)
        told = capfd.readouterr().err
        assert "worker 0 cannot work: give it a place\n" in told
        assert "Traceback" not in told

    def test_those_from_before_stay_if_new_ones_die(self, diary: Diary, caplog: pytest.LogCaptureFixture) -> None:
        def work(number: int, lifeline: socket.socket) -> None:
            if diary.words:
                raise ZeroDivisionError
            obedient(diary)(number, lifeline)

        def ready() -> None:
            signal.raise_signal(signal.SIGHUP)

        def each_second() -> None:
            if "those from before stay" in caplog.text:
                stop()

        Supervisor(work, 1, end_seconds=5, ready=ready, each_second=[each_second]).run()
        assert diary.words == ["0+", "0s"]

    def test_others_go_on_while_new_ones_die(self, diary: Diary, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.ERROR)

        def work(number: int, lifeline: socket.socket) -> None:
            if number == 0:
                obedient(diary)(number, lifeline)
            else:
                os._exit(7)

        deaths = []

        def lost(number: int) -> None:
            deaths.append(number)
            if len(deaths) == 5:
                stop()

        Supervisor(work, 2, end_seconds=5, lost=lost).run()
        assert deaths == [1, 1, 1, 1, 1, 0]
        assert diary.words == ["0+", "0s"]
