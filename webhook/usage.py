"""The error of options and arguments that cannot be used."""

from __future__ import annotations


class UsageError(Exception):
    """A usage error.

    Args:
        message: The mistake, and how to fix it.
        option: The option whose value is wrong, such as ``--cluster``; empty if it is about something else.
        value: The value that is wrong, if the message does not name it.
        code: The exit code of the command.
    """

    def __init__(self, message: str, option: str = "", value: str = "", code: int = 2) -> None:
        super().__init__(f"{' '.join(filter(None, (option, value)))}: {message}" if option else message)
        self.option, self.code = option, code
