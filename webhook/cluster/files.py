"""Certificate files, replaced atomically as kubelet does (pkg/volume/util/atomic_writer.go)."""

from __future__ import annotations

import os
import shutil
import ssl
import tempfile
from pathlib import Path

from webhook.cluster.errors import ClusterError
from webhook.cluster.secret import SERVING, SERVING_KEY

_DATA = "..data"


class Pair:
    """``tls.crt`` and ``tls.key`` in a separate directory.

    Both are links through ``..data``, which is replaced as a whole: a reader that opens them through it gets files that
    belong together.

    Args:
        directory: Their directory, preferably in memory; created if missing.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def is_usable(self) -> bool:
        """Tell whether a certificate and its key exist, for example from before a restart of the container."""
        return not _fault(self.directory)

    def content(self) -> tuple[bytes, bytes] | None:
        """Return the existing certificate and key, if they can be used."""
        if not self.is_usable():
            return None
        # Through one name of their directory, so that they belong together.
        directory = Path(os.path.realpath(self.directory / _DATA))
        try:
            return (directory / SERVING).read_bytes(), (directory / SERVING_KEY).read_bytes()
        except OSError:
            return None

    def put(self, certificate: bytes, key: bytes) -> None:
        """Replace both at once, readable by their owner only.

        Raises:
            ClusterError: They do not belong together, or cannot be written; the old ones stay.
        """
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = Path(tempfile.mkdtemp(prefix="..", dir=self.directory))
            try:
                _write(new / SERVING, certificate)
                _write(new / SERVING_KEY, key)
                if fault := _fault(new):
                    raise ClusterError(f"the pair in the Secret is refused, the one in use kept: {fault}")
                self._turn_to(new)
            finally:
                self._remove_unused()
        except OSError as error:
            raise ClusterError(
                f"cannot write to {self.directory}: {error.strerror}: give a directory that can be written"
            ) from error

    def _turn_to(self, new: Path) -> None:
        for name in (SERVING, SERVING_KEY):
            _link(self.directory / name, f"{_DATA}/{name}")
        _link(self.directory / _DATA, new.name)

    def _remove_unused(self) -> None:
        """Remove unused files: the previous pair or the remains of a crash."""
        current = os.path.realpath(self.directory / _DATA)
        for path in self.directory.glob("..?*"):
            if path.is_dir() and not path.is_symlink() and os.path.realpath(path) != current:
                shutil.rmtree(path)


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)


def _link(path: Path, target: str) -> None:
    """Create or replace a symbolic link atomically."""
    if path.is_symlink() and path.readlink() == Path(target):
        return
    new = path.with_name("..new")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(path)


def _fault(directory: Path) -> str:
    """Return why the pair in a directory is unusable, empty if it is usable."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(directory / SERVING, directory / SERVING_KEY, password="")
    except ssl.SSLError as error:
        return error.reason or "no certificate and key in PEM"
    except OSError as error:
        return error.strerror or str(error)
    return ""
