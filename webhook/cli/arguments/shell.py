"""Arguments of ``completion``, ``help`` and ``version``."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

SHELLS = ("bash", "zsh", "fish")

COMPLETION = """\
examples:
  draguard completion bash > ~/.local/share/bash-completion/completions/draguard
  draguard completion zsh > ~/.zfunc/_draguard      with ~/.zfunc in $fpath before compinit
  draguard completion fish > ~/.config/fish/completions/draguard.fish
  eval "$(draguard completion bash)"                for this shell only
"""

HELP = """\
examples:
  draguard help validate
  draguard help policy test
  draguard help --man > ~/.local/share/man/man1/draguard.1
  draguard help --man | man -l -                    shows the manual page
"""

VERSION = ""


def completion(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `draguard completion`."""
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def help(parser: argparse.ArgumentParser) -> None:  # noqa: A001 - the command's name
    """Declare the arguments of `draguard help`."""
    parser.add_argument("names", nargs="*", metavar="COMMAND", help="the command (default: list all commands)")
    parser.add_argument("--man", action="store_true", help="print a manual page of all commands, for man")


def version(_parser: argparse.ArgumentParser) -> None:
    """Declare no arguments."""
