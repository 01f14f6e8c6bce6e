"""Tests of tables: all rows are one test, since pytest takes longer for a test than most rows take."""

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

Test = Callable[..., None]
LONGEST = 2000
"""The characters of a row that are shown if it fails; some rows are megabytes."""


def each_row(names: str | Sequence[str], *rows: Any) -> Callable[[Test], Test]:
    """Run a test with each row of a table, as ``pytest.mark.parametrize`` does, but as one; all failures are shown.

    Args:
        names: The parameters that get the values of a row, or the one that gets the row.
        rows: The rows.
    """
    table = [{names: row} if isinstance(names, str) else dict(zip(names, row, strict=True)) for row in rows]
    assert table

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **fixtures: Any) -> None:
            failures: list[BaseException] = []
            for number, row in enumerate(table, 1):
                try:
                    test(*args, **fixtures, **row)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - shown below
                    error.add_note(f"in row {number}: {_shortened(repr(row))}")
                    failures.append(error)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(table)} rows fail", failures)

        signature = inspect.signature(test)
        others = [each for name, each in signature.parameters.items() if name not in table[0]]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def each_row_beside(*names: str) -> Callable[[Test], Test]:
    """Run a test with each row of its table in the YAML file beside the test's module, as `each_row` does.

    It is named after the test: a map of the first parameter to the second, or a list of maps of parameters.
    """

    def decorate(test: Test) -> Test:
        table = _tables(Path(inspect.getfile(test)).with_suffix(".yaml"))[test.__name__.removeprefix("test_")]
        rows = table.items() if isinstance(table, dict) else [_values(row, names) for row in table]
        return each_row(names, *rows)(test)

    return decorate


def _values(row: dict[str, Any], names: Sequence[str]) -> list[Any]:
    assert row.keys() == set(names), row
    return [row[name] for name in names]


class _Loader(yaml.CSafeLoader):
    """Refuses a key that a map has twice, of which PyYAML takes the last."""


def _map(loader: _Loader, node: yaml.MappingNode) -> Any:
    keys = [(key.tag, str(key.value)) for key, _ in node.value]
    assert len({*keys}) == len(keys), f"a key is there twice{node.start_mark}"
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:map", _map)


def read(file: Path) -> Any:
    """Read a YAML file."""
    return yaml.load(file.read_text(encoding="utf-8"), _Loader)  # noqa: S506 - it is a safe one


_tables = functools.cache(read)
