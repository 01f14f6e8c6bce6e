"""Writes files whole or not at all."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from webhook.documents.search import repository
from webhook.documents.source import decoded, encoded
from webhook.regular import open_regular
from webhook.usage import UsageError


def write(name: str, lines: Iterable[str]) -> None:
    """Write lines to a file: a concurrent reader sees the earlier file, or none.

    Special files, such as ``/dev/stderr`` or a named pipe, are written in place.

    Args:
        name: The file's name; a symbolic link is followed, unless it leads out of a repository.
        lines: The lines, without line feeds.

    Raises:
        OSError: The file cannot be written.
    """
    write_bytes(name, "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace"))


def write_bytes(name: str, text: bytes) -> None:
    """Write a file as :func:`write` does.

    Args:
        name: The file's name; a symbolic link is followed, unless it leads out of a repository.

    Raises:
        OSError: The file cannot be written.
    """
    path = Path(name)
    try:
        check_inside(name)
        if path.exists() and not path.is_file():
            path.write_bytes(text)
        else:
            check_replaceable(name)
            _replace(path.resolve(), text)
    except OSError as error:
        error.filename = name  # not that of a temporary file
        raise


def _replace(path: Path, text: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        if path.exists():
            before = path.stat()
            if before.st_uid != os.geteuid() or before.st_gid != os.getegid():
                # In a container, root often writes files of other users; a user namespace may not have them (EINVAL).
                with suppress(OSError):
                    os.chown(temporary, before.st_uid, before.st_gid)
            os.chmod(temporary, before.st_mode & 0o777)
        else:
            mask = os.umask(0)  # it can be read only by setting it
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def rewrite(files: Iterable[tuple[str, str, str]]) -> None:
    """Change files, each in its own encoding: none unless all may be changed.

    Args:
        files: Their names, with the texts before, as they were read, and after.

    Raises:
        UsageError: A file must not be changed, has been changed meanwhile, or cannot be written.
    """
    name, changes = "", []
    try:
        for name, before, after in files:
            changes.append((name, changed(name, before, after)))
        for name, data in changes:
            write_bytes(name, data)
    except OSError as error:
        raise UsageError(f"{name}: not written: {error.strerror or error}") from error


def changed(name: str, before: str, after: str) -> bytes:
    """Return the bytes of a file that is to be changed, in its own encoding.

    Args:
        before: Its text, as it was read.

    Raises:
        OSError: It must not be changed, or has been changed meanwhile.
    """
    data = read_regular(name)
    check_inside(name)
    check_replaceable(name)
    if decoded(data, "replace") != before:
        raise OSError(0, "it has changed since it was read: try again")
    return encoded(after, data)


def read_regular(name: str) -> bytes:
    """Read a regular file.

    Args:
        name: The file's own name, not that of a link.

    Raises:
        OSError: It is a symbolic link, or no regular file, or it cannot be read.
    """
    if os.path.islink(name):
        raise OSError(0, f"a symbolic link: name the file that it leads to, {os.path.realpath(name)}")
    if not os.path.isfile(name):
        raise OSError(0, "no regular file" if os.path.lexists(name) else "no such file, or its name is not UTF-8")
    with open(name, "rb", opener=open_regular) as file:  # it may be a pipe by now
        return file.read()


def check_inside(name: str) -> None:
    """Check that no link of a repository, whose content may be a stranger's, leads a file out of it or into git's own.

    Raises:
        PermissionError: A link does.
    """
    directory = Path(os.sep)
    for part in Path(name).absolute().parts[1:]:
        path = directory / part
        real = Path(os.path.realpath(path))  # `resolve` fails for links in a circle
        if path.is_symlink() and (top := repository(str(directory))):
            inside = real.relative_to(top).parts if real.is_relative_to(top) else ()
            if inside[:1] in {(), (".git",)}:
                raise PermissionError(
                    errno.EACCES, f"a symbolic link in the repository leads to {real}: name that", name
                )
        directory = real


def check_replaceable(name: str) -> None:
    """Check that a new file may take the place of the one that there is, if any.

    Replacing needs a directory that may be written; but a file that is protected stays as it is, too, and one with
    several hard links would change under one of its names only.

    Args:
        name: The file's name; a symbolic link is followed.

    Raises:
        PermissionError: The file must not be replaced.
    """
    try:
        status = os.stat(name)
    except FileNotFoundError:
        return
    if not status.st_mode & 0o222 or not os.access(name, os.W_OK):  # root may write all files
        raise PermissionError(errno.EACCES, "it is read-only: make it writable first", name)
    if not os.access(Path(name).resolve().parent, os.W_OK):
        raise PermissionError(errno.EACCES, "its directory is read-only: make it writable first", name)
    if status.st_nlink > 1:
        raise PermissionError(
            errno.EMLINK,
            f"it has {status.st_nlink} hard links, and only this one would change: replace it by a copy first",
            name,
        )


def check_writable(file: str, option: str, value: str) -> None:
    """Check that a file can be written, before the work begins.

    Args:
        option: The option that names it.
        value: The value of the option.

    Raises:
        UsageError: It cannot, or a link of a repository leads out of it.
    """
    directory = os.path.dirname(file) or "."
    if not os.path.isdir(directory):
        raise UsageError(f"directory {directory} does not exist: create it first", option, value)
    if os.path.isdir(file):
        raise UsageError("this is a directory: name a file in it", option, value)
    try:
        check_inside(file)
        if os.path.isfile(file):
            check_replaceable(file)
    except PermissionError as error:
        raise UsageError(error.strerror or str(error), option, value) from error
    if not os.access(file if os.path.exists(file) else directory, os.W_OK):
        raise UsageError("permission denied: name a file that you may write", option, value)
