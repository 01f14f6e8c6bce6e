"""Fixes of files."""

from pathlib import Path

from tests.command import draguard


def fixed(text: str, *options: str, name: str = "a.yaml", tmp_path: Path) -> str:
    """Return the contents of a file after --fix."""
    file = tmp_path / name
    file.write_bytes(text.encode())
    done = draguard("validate", "--fix", *options, file)
    assert "Traceback" not in done.err
    return file.read_bytes().decode()


UNSAFE = "--unsafe-fixes"


def write(folder: Path, text: str, name: str = "b.yaml") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def guarded(how: str, text: str, folder: Path) -> tuple[Path, Path]:
    """Write a file that is not to be replaced; return it, and what names it: itself if read-only, or a link to it."""
    file, other = write(folder, text, f"{how}.yaml"), folder / f"other-{how}.yaml"
    if how == "read-only":
        file.chmod(0o444)
        return file, file
    (other.symlink_to if how == "link" else other.hardlink_to)(file)
    return file, other
