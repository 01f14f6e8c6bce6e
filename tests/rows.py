"""Tests of tables: all rows are one test, since pytest takes longer for a test than most rows take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Test = Callable[..., None]


def each_row(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test with each row of a table, as ``pytest.mark.parametrize`` does, but as one; all failures are shown.

    Args:
        names: The parameters that get the values of a row, or the one that gets the row.
        rows: The table.
    """
    table = [{names: row} if isinstance(names, str) else dict(zip(names, row, strict=True)) for row in rows]
    assert table

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            failures = []
            for row in table:
                try:
                    test(*args, **fixtures, **row)
                except Exception as error:  # noqa: BLE001 - shown below
                    error.add_note(f"with {row}")
                    failures.append(error)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(table)} rows fail", failures)

        signature = inspect.signature(test)
        others = [each for name, each in signature.parameters.items() if name not in table[0]]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate
