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


class TestFollowing:
    def test_content_that_is_being_written_is_not_used(self, directory: Path) -> None:
        followed = reloaded(directory)
        for text in ("", "3", "34"):
            (directory / "b").write_text(text, encoding="utf-8")
            followed.follow()
            assert followed.may_have_changed()
            assert (followed.value, followed.generation) == ("12", 1)
        followed.follow()
        assert (followed.value, followed.generation) == ("134", 2)

    def test_a_change_is_taken_up(self, directory: Path) -> None:
        followed = reloaded(directory)
        (directory / "b").write_text("3", encoding="utf-8")
        look(followed)
        assert (followed.value, followed.generation, followed.fault) == ("13", 2, "")

    def test_files_that_come_and_go_are_taken_up(self, directory: Path) -> None:
        followed = reloaded(directory)
        (directory / "a").rename(directory / "c")
        look(followed)
        assert followed.value == "21"

    def test_nothing_is_made_anew_without_a_change(self, directory: Path) -> None:
        made = []
        followed = reloaded(directory, lambda: made.append(1))
        for _ in range(3):
            look(followed)
        assert (len(made), followed.generation) == (1, 1)

    def test_it_is_due_while_files_change(self, directory: Path) -> None:
        followed = reloaded(directory)
        assert not followed.may_have_changed()
        (directory / "b").write_text("345", encoding="utf-8")
        assert followed.may_have_changed()
        followed.follow()
        assert followed.may_have_changed()
        followed.follow()
        assert not followed.may_have_changed()

    def test_it_is_always_due_with_many_files(self, directory: Path) -> None:
        for number in range(100):
            (directory / f"{number}").touch()
        assert reloaded(directory).may_have_changed()

    def test_unusable_content_is_reported_once_and_the_old_kept(
        self, directory: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        followed = reloaded(directory)
        (directory / "b").write_text("bad", encoding="utf-8")
        for _ in range(3):
            look(followed)
        assert (followed.value, followed.generation, followed.failures) == ("12", 1, 1)
        assert followed.fault == "b: is bad"
        assert [record.levelno for record in caplog.records] == [logging.ERROR]
        assert "the new numbers are not used, the old ones kept: b: is bad" in caplog.text

    def test_special_files_are_not_waited_for(self, directory: Path) -> None:
        followed = reloaded(directory)
        (directory / "b").unlink()
        os.mkfifo(directory / "b")
        look(followed)
        assert (followed.value, followed.fault) == ("12", f"{directory / 'b'}: no regular file")

    def test_what_was_in_use_before_may_come_back(self, directory: Path) -> None:
        followed = reloaded(directory)
        for text in ("bad", "2"):
            (directory / "b").write_text(text, encoding="utf-8")
            look(followed)
        assert (followed.value, followed.failures, followed.fault) == ("12", 1, "")

    def test_a_failure_of_its_own_is_not_an_end(self, directory: Path, caplog: pytest.LogCaptureFixture) -> None:
        followed = reloaded(directory)
        (directory / "b").write_bytes(b"\xff")
        look(followed)
        assert followed.value == "12"
        assert followed.fault.startswith("draguard itself failed to load them: UnicodeDecodeError")
        assert "Traceback" in caplog.text

    def test_what_changes_while_it_is_read_is_read_again(self, directory: Path) -> None:
        changes = iter(["", "4", ""])

        def change() -> None:
            if text := next(changes, ""):
                (directory / "a").write_text(text, encoding="utf-8")

        followed = reloaded(directory, change)
        (directory / "b").write_text("3", encoding="utf-8")
        look(followed)
        assert (followed.value, followed.generation) == ("12", 1)
        look(followed)
        assert (followed.value, followed.generation) == ("43", 2)

    def test_missing_files_are_left_to_their_reader(self, directory: Path) -> None:
        def files() -> Iterator[str]:
            yield from (str(directory / name) for name in ("a", "gone"))

        followed = Reloaded("numbers", files, lambda: (directory / "a").read_text(encoding="utf-8"))
        (directory / "a").write_text("5", encoding="utf-8")
        look(followed)
        assert followed.value == "5"
