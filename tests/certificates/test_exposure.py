"""Warnings about keys and directories that others can read or change."""

from pathlib import Path

import pytest

from tests.command import draguard
from webhook.certificates.exposure import exposures


@pytest.fixture
def key(tmp_path: Path) -> Path:
    directory = tmp_path / "certs"
    directory.mkdir(mode=0o700)
    path = directory / "tls.key"
    path.touch(mode=0o600)
    return path


@pytest.mark.parametrize(
    ("mode", "directory", "words"),
    [
        (0o600, 0o700, []),
        (0o440, 0o755, []),
        (0o600, 0o1777, []),
        (0o644, 0o700, ["every user of this machine can read"]),
        (0o604, 0o755, ["every user of this machine can read"]),
        (0o620, 0o700, ["others than its owner can change"]),
        (0o600, 0o777, ["others than its owner can replace files in"]),
        (0o666, 0o775, ["every user of this machine can read", "can change", "can replace files in"]),
    ],
)
def test_access_of_others_is_reported_with_the_fix(key: Path, mode: int, directory: int, words: list[str]) -> None:
    key.chmod(mode)
    key.parent.chmod(directory)
    link = key.parent.parent / "link"
    link.symlink_to(key)
    for path in (key, link):
        result = list(exposures(path, secret=True))
        assert len(result) == len(words)
        assert all(word in text and "chmod " in text for word, text in zip(words, result, strict=True))
    assert not any("can read" in text for text in exposures(key, secret=False))


def test_missing_parts_are_not_shown(tmp_path: Path) -> None:
    assert list(exposures(tmp_path / "none", secret=True)) == []


def test_certs_warns_of_a_directory_and_of_an_authority_that_others_can_reach(tmp_path: Path) -> None:
    directory = tmp_path / "certs"
    assert draguard("certs", f"--dir={directory}").err.count("warning") == 0
    (directory / "tls.crt").unlink()
    (directory / "tls.key").unlink()
    (directory / "ca.key").chmod(0o644)
    directory.chmod(0o777)
    done = draguard("certs", f"--dir={directory}")
    assert done.code == 0
    assert done.err.count("warning: ") == 2
    assert f"every user of this machine can read {directory / 'ca.key'}" in done.err
    assert f"others than its owner can replace files in {directory}" in done.err
