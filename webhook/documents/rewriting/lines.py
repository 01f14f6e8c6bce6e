"""Indentation of whole lines."""

from __future__ import annotations


def shifted(text: str, step: str) -> str:
    """Indent every line that is not empty."""
    lines = text.splitlines(keepends=True)
    return "".join(step + line if line.strip("\r\n") else line for line in lines)


def dedented(text: str, column: int, wanted: int) -> str:
    """Move the text at a column, or right of it, to another column.

    Args:
        text: Whole lines.
        column: The column.
        wanted: The target column; text between the two columns goes there, too.
    """
    return "".join(_moved(line, column, wanted) for line in text.splitlines(keepends=True))


def _moved(line: str, column: int, wanted: int) -> str:
    content = line.lstrip(" \t")
    indentation = line[: len(line) - len(content)]
    if len(indentation) >= column:
        return indentation[:wanted] + indentation[column:] + content
    return indentation[:wanted] + content
