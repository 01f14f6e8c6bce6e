"""Runs a program: without a shell, for a limited time, with limited output and memory."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from time import monotonic
from typing import IO, Any, Final

from webhook.documents.source import MAX_BYTES
from webhook.sources.options import Progress

SECONDS: Final = 120.0
"""How long a program may take; a kustomization may have bases on other machines."""
MEMORY: Final = 2 * 1024**3
"""Bytes of memory that each of its processes may write to, on Linux; unlimited elsewhere.

Address space is not a useful measure: Go reserves much that it never uses.
"""
_MAX_ERRORS: Final = 8 * 1024
_EVERY: Final = 0.2
"""Seconds between checks of the clock."""
_CHUNK: Final = 64 * 1024
_OWN: Final = {
    # Kustomize hands what a base calls its revision to `git fetch`, which takes `--upload-pack=COMMAND` for an option:
    # of these protocols none runs that command here.
    "GIT_ALLOW_PROTOCOL": "https:ssh",
    "GIT_TERMINAL_PROMPT": "0",  # there is no terminal to answer
    "HELM_PLUGINS": os.devnull,  # what a chart is rendered with is Helm and nothing else
    "KUBECONFIG": os.devnull,  # no cluster is asked
    "KUBERC": "off",
}


class ProgramError(Exception):
    """A program failed; the message is the program's."""


class TooLongError(ProgramError):
    """A program printed more than it may."""


def run(command: Sequence[str], progress: Progress) -> str:
    """Run a program, and return its output.

    Args:
        command: The program's path, and its arguments.
        progress: Opens a context with a function that is called with the seconds that the program has run.

    Raises:
        ProgramError: It cannot be started, failed, took too long, or its output is too long or not text.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("HELM_")} | _OWN
    try:
        with progress() as tell:
            code, out, errors = finished(command, tell, environment=environment, memory=MEMORY)
    except OSError as error:
        raise ProgramError(f"{command[0]}: {error.strerror}") from error
    if code:
        message = errors.decode(errors="replace").strip()
        if any(each in message for each in ("out of memory", "MemoryError", "annot allocate memory")):
            message = f"took more memory than the {MEMORY / 1024**3:g} GiB that it may"
        raise ProgramError(message or f"ended with exit code {code}")
    try:
        return out.decode()
    except UnicodeDecodeError as error:
        raise ProgramError(f"{command[0]} printed what is not UTF-8 text") from error


def finished(
    command: Sequence[str],
    tell: Callable[[int], None] = lambda _seconds: None,
    *,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
    is_asking: bool = False,
    memory: int = 0,
    **limits: Any,
) -> tuple[int, bytes, bytes]:
    """Run a program to its end; return its exit code, and what it printed on standard output and standard error.

    Args:
        tell: As for :func:`output_of`, which takes the limits, too.
        environment: Its variables; None for those of this process.
        is_asking: Whether it may ask at the terminal; otherwise its children end with it, too.
        memory: Bytes of memory that each of its processes may write to; 0 for any.

    Raises:
        OSError: It cannot be started.
        ProgramError: It takes or prints more than it may.
    """
    with ExitStack() as stack:
        with _held_interrupts():
            process = stack.enter_context(
                subprocess.Popen(  # noqa: S603 - each argument is one argument
                    command,
                    stdin=None if is_asking else stdin,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=environment,
                    start_new_session=not is_asking,
                )
            )
            stack.push(partial(_end, process.kill if is_asking else partial(os.killpg, process.pid, signal.SIGKILL)))
        if memory:
            _limit_memory(process.pid, memory)
        out, errors = output_of(process, tell, **limits)
    return process.returncode, out, errors


def _end(kill: Callable[[], None], error: type[BaseException] | None, *_: object) -> None:
    """End a program after an error."""
    if error:
        with suppress(ProcessLookupError):
            kill()


@contextmanager
def _held_interrupts() -> Iterator[None]:
    """Hold SIGINT and SIGTERM back while a program starts: an exception then would leave it running."""
    held: list[int] = []
    before: dict[int, Any] = {}
    with suppress(ValueError):  # only the main thread is interrupted
        for each in (signal.SIGINT, signal.SIGTERM):
            before[each] = signal.signal(each, lambda number, _: held.append(number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)
        for number in held:
            signal.raise_signal(number)


def _limit_memory(pid: int, bytes_: int) -> None:
    """Limit the memory of a process and of its future children."""
    import resource  # Windows has no such module

    if not hasattr(resource, "prlimit"):  # Linux only
        return
    with suppress(OSError, ValueError):  # it has ended, or cannot be limited
        _, most = resource.prlimit(pid, resource.RLIMIT_DATA)
        limit = bytes_ if most == resource.RLIM_INFINITY else min(bytes_, most)
        resource.prlimit(pid, resource.RLIMIT_DATA, (limit, most))


def output_of(
    process: subprocess.Popen[bytes],
    tell: Callable[[int], None],
    *,
    most: int = 0,
    seconds: float = 0,
    hear: Callable[[bytes], None] | None = None,
) -> tuple[bytes, bytes]:
    """Read standard output and standard error until both end, or the program does.

    Args:
        process: The program, which the caller ends after an error.
        tell: Receives the seconds that it has run, several times a second.
        most: How many bytes it may print; 0 for as many as a file may have.
        seconds: How long it may take; 0 for as long as rendering may.
        hear: Receives all that it has complained about so far, while it waits.

    Raises:
        TooLongError: It prints more.
        ProgramError: It takes longer.
    """
    start, most, seconds = monotonic(), most or MAX_BYTES, seconds or SECONDS
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    assert process.stderr is not None  # noqa: S101 - as above
    read = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    with selectors.DefaultSelector() as waiting:
        for descriptor in read:
            waiting.register(descriptor, selectors.EVENT_READ)
        while waiting.get_map():
            has_ended = process.poll() is not None  # asked first, as it may print until it ends
            ready = waiting.select(_EVERY)
            passed = monotonic() - start
            tell(int(passed))
            if not ready:
                if has_ended:  # what it has started may keep its output open
                    break
                if hear:
                    hear(bytes(read[process.stderr.fileno()]))
            if passed > seconds:
                raise ProgramError(f"took longer than {seconds:g} seconds")
            for key, _ in ready:
                data = os.read(key.fd, _CHUNK)
                if not data:
                    waiting.unregister(key.fd)
                read[key.fd] += data
            if len(read[process.stdout.fileno()]) > most:
                raise TooLongError(f"printed more than {most // (1024 * 1024)} MiB")
            del read[process.stderr.fileno()][_MAX_ERRORS:]
    return bytes(read[process.stdout.fileno()]), bytes(read[process.stderr.fileno()])
