"""The command line: one module per command, imported only when it runs; each returns an exit code."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import Namespace

_EXTRAS = {
    "helm": ("helm_python",),
    "ui": ("flask",),
    "serve": ("cryptography", "httptools", "prometheus_client", "uvloop"),
}
"""The extras in pyproject.toml, and the modules that they bring."""
USAGE = 2
INTERNAL = 3
INTERRUPTED = 130
"""As a shell reports a command that SIGINT has ended."""
READER_GONE = 141
"""As a shell reports a command that SIGPIPE has ended."""
TERMINATED = 143
"""As a shell reports a command that SIGTERM has ended."""
_SERVING = frozenset({"serve", "manage-certificate"})
"""The commands that run until they are stopped."""
_STREAMS = {"stdin": ("r", os.O_RDONLY), "stdout": ("w", os.O_RDONLY), "stderr": ("w", os.O_WRONLY)}
"""How standard streams are used, and how the null device that replaces a closed one is opened.

Output to a closed standard output is lost: as the device is not open for writing, it fails.
"""
_UNCOLLECTED = 400_000
"""How many objects a command makes before garbage collection: most stay until it ends, and form no cycles."""


class TerminatedError(KeyboardInterrupt):
    """SIGTERM; the command ends as after SIGINT, with all that it has started."""


def kubectl() -> int:
    """Run ``kubectl dra``: as ``draguard``, but what is asked about a cluster is asked of that of kubectl's context."""
    given = sys.argv[1:]
    sys.argv[1:] = [each for each in given if each not in {"-A", "--all-namespaces"}]
    return main(everywhere=len(sys.argv) <= len(given))


def main(argv: Sequence[str] | None = None, *, everywhere: bool | None = None) -> int:
    """Run the command that the arguments name; return its exit code.

    Args:
        argv: The arguments without the program's name; None for those of the process.
        everywhere: For ``kubectl dra``, whether all namespaces are meant; None for ``draguard``.

    Raises:
        SystemExit: argparse has printed help, the version or a usage error.
    """
    _prepare_streams()
    given = sys.argv[1:] if argv is None else argv
    if not _SERVING.intersection(given[:1]):
        gc.set_threshold(_UNCOLLECTED)
        atexit.register(gc.freeze)  # the interpreter would look through all objects as it ends
    arguments: Namespace | None = None
    try:
        if given and given[0] in ("-V", "--version"):
            from webhook.cli.version import run  # argparse takes longer to import than this takes

            code = run()
        else:
            from webhook.cli.parser import KUBECTL, make_parser

            parser = make_parser(given) if everywhere is None else make_parser(given, KUBECTL)
            arguments = parser.parse_args(given)
            arguments.program = parser.prog
            if arguments.command is None:
                parser.print_help(sys.stderr)
                return USAGE
            if argv is None and arguments.command not in _SERVING:
                import signal

                signal.signal(signal.SIGTERM, _terminate)
            code = _run(arguments, everywhere=everywhere)
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
        return READER_GONE
    except TerminatedError:
        _complain(arguments, "terminated; the output is not complete")
        return TERMINATED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (OSError, MemoryError) as error:  # the reader turns errors of input files into findings; output can fail
        error.__traceback__ = None  # frees what the work held: without memory, the message would fail, too
        _discard_output()
        known = (error.filename, error.strerror) if isinstance(error, OSError) else ("out of memory",)
        _complain(arguments, ": ".join(str(part) for part in known if part) or str(error))  # without an error number
        return INTERNAL
    return code


def _terminate(number: int, _frame: object) -> None:
    import signal

    signal.signal(number, signal.SIG_IGN)  # a second one, such as that of timeout to its group, would break the end
    raise TerminatedError


def _run(arguments: Namespace, *, everywhere: bool | None) -> int:
    from webhook.configuration.options import OF_CLUSTERS, Live
    from webhook.optional import install
    from webhook.usage import UsageError

    try:
        if "settings" in arguments:
            from webhook.cli.parser import settle  # --version needs no parser

            settle(arguments)
        if everywhere is not None and arguments.command in OF_CLUSTERS and not arguments.cluster:
            arguments.cluster = [Live()]
        is_once = not getattr(arguments, "every", 0)  # else it connects for each scan
        if is_once and any(isinstance(each, Live) for each in getattr(arguments, "cluster", ())):
            from webhook.check.target import follow  # most clusters are in files
            from webhook.cli.console import tell

            follow(arguments, tell, has_namespace=everywhere is False)
        install("documents")
        module = arguments.command.replace("-", "_")
        code: int = import_module(f"webhook.cli.{module}").run(arguments)
    except UsageError as error:
        from webhook.cli.parser import setter  # needed for mistakes only

        _complain(arguments, f"{error}{setter(arguments, error.option)}")
        return error.code
    except ModuleNotFoundError as error:
        if not (advice := missing(error)):
            _report_own_failure(arguments)
            return INTERNAL
        _complain(arguments, advice)
        return USAGE
    except (OSError, MemoryError):
        raise
    except Exception:  # noqa: BLE001 - no error may pass for a finding
        _report_own_failure(arguments)
        return INTERNAL
    return code


def missing(error: ModuleNotFoundError) -> str:
    """Explain how to install a missing module; empty if no extra brings it."""
    module = (error.name or "").partition(".")[0]
    extra = next((name for name, modules in _EXTRAS.items() if module in modules), "")
    return extra and f"the module {module} is missing: in a clone of draguard, run pip install '.[{extra}]'"


def _name_of(arguments: Namespace | None) -> str:
    """Return the command with its action, as users write it; None stands for arguments that are not parsed yet."""
    words = (getattr(arguments, name, "") for name in ("command", "action"))
    return " ".join(filter(None, [getattr(arguments, "program", "draguard"), *words]))


def _complain(arguments: Namespace | None, what: object) -> None:
    from webhook.report.text import harmless  # needed for mistakes only

    print(f"{_name_of(arguments)}: error: {harmless(str(what))}", file=sys.stderr)


def _prepare_streams() -> None:
    """Make standard streams usable, however the process was started."""
    for name, (mode, access) in _STREAMS.items():
        stream = getattr(sys, name)
        if stream is None:  # closed by who started the process
            setattr(sys, name, open(os.open(os.devnull, access), mode, encoding="utf-8"))  # noqa: SIM115 - until the process ends
        elif mode == "w" and (reconfigure := getattr(stream, "reconfigure", None)):
            # Characters that a terminal's encoding lacks are escaped instead of ending the report.
            reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Discard output that the interpreter flushes at exit, where it would print an error."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # standard output is not a file
        return


def _report_own_failure(arguments: Namespace) -> None:
    import traceback  # needed for draguard's own mistakes only

    traceback.print_exc()
    print(
        f"{_name_of(arguments)}: error: draguard itself failed; please report this with the lines above",
        file=sys.stderr,
    )
