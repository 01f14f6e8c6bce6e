"""Loaded files follow their changes, and never mix two states."""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.serving import look
from webhook.reloading import Reloaded, UnusableError

pytestmark = pytest.mark.process


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "a").write_text("1", encoding="utf-8")
    (tmp_path / "b").write_text("2", encoding="utf-8")
    return tmp_path


def reloaded(directory: Path, made: Callable[[], None] = lambda: None) -> Reloaded[str]:
    def files() -> Iterator[str]:
        yield from sorted(map(str, directory.iterdir()))

    def make() -> str:
        texts = [path.read_text(encoding="utf-8") for path in sorted(directory.iterdir())]
        made()
        if "bad" in texts:
            raise UnusableError("b: is bad")
        return "".join(texts)

    return Reloaded("numbers", files, make)


def state(followed: Reloaded[str]) -> tuple[str, int, str]:
    look(followed)
    return followed.value, followed.generation, followed.fault


def test_content_that_is_being_written_is_not_used(directory: Path) -> None:
    followed = reloaded(directory)
    assert not followed.may_have_changed()
    for text in ("", "3", "34"):
        (directory / "b").write_text(text, encoding="utf-8")
        assert followed.may_have_changed()
        followed.follow()
        assert followed.may_have_changed()
        assert (followed.value, followed.generation) == ("12", 1)
    followed.follow()
    assert (followed.value, followed.generation) == ("134", 2)
    assert not followed.may_have_changed()


def test_it_is_always_due_with_many_files(directory: Path) -> None:
    for number in range(100):
        (directory / f"{number}").touch()
    assert reloaded(directory).may_have_changed()


def test_changes_are_taken_up_files_come_and_go_and_nothing_is_made_anew_without_one(directory: Path) -> None:
    made: list[int] = []
    followed = reloaded(directory, lambda: made.append(1))
    assert [state(followed) for _ in range(3)] == [("12", 1, "")] * 3
    assert len(made) == 1
    (directory / "b").write_text("3", encoding="utf-8")
    assert state(followed) == ("13", 2, "")
    (directory / "a").rename(directory / "c")
    assert state(followed) == ("31", 3, "")


def test_unusable_content_is_reported_once_and_the_old_kept(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    followed, file = reloaded(directory), directory / "b"
    file.write_text("bad", encoding="utf-8")
    assert [state(followed) for _ in range(3)] == [("12", 1, "b: is bad")] * 3
    assert followed.failures == 1
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "the new numbers are not used, the old ones kept: b: is bad" in caplog.text
    file.write_text("2", encoding="utf-8")  # which is in use
    assert state(followed) == ("12", 2, "")
    file.unlink()
    os.mkfifo(file)  # which is not waited for
    assert state(followed) == ("12", 2, f"{file}: no regular file")
    assert "Traceback" not in caplog.text
    file.unlink()
    file.write_bytes(b"\xff")
    *same, fault = state(followed)
    assert same == ["12", 2]
    assert fault.startswith("draguard itself failed to load them: UnicodeDecodeError")
    assert "Traceback" in caplog.text


def test_what_changes_while_it_is_read_is_read_again(directory: Path) -> None:
    changes = iter(["", "4", ""])

    def change() -> None:
        if text := next(changes, ""):
            (directory / "a").write_text(text, encoding="utf-8")

    followed = reloaded(directory, change)
    (directory / "b").write_text("3", encoding="utf-8")
    assert state(followed) == ("12", 1, "")
    assert state(followed) == ("43", 2, "")


def test_missing_files_are_left_to_their_reader(directory: Path) -> None:
    def files() -> Iterator[str]:
        yield from (str(directory / name) for name in ("a", "gone"))

    followed = Reloaded("numbers", files, lambda: (directory / "a").read_text(encoding="utf-8"))
    (directory / "a").write_text("5", encoding="utf-8")
    assert state(followed)[0] == "5"
