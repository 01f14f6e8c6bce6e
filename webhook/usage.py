"""The error of options and arguments that cannot be used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


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


@contextmanager
def naming(option: str = "", of: type[Exception] = ValueError) -> Iterator[None]:
    """Raise errors as usage errors, of an option unless it is empty.

    Args:
        of: The class of the errors.
    """
    try:
        yield
    except of as error:
        raise UsageError(str(error), option) from error
