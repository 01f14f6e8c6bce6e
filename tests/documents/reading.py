"""Documents of a text, for tests."""

from typing import Any

from webhook.documents import Document, Unreadable, parse

CLAIM = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata:\n  name: gpu\n"


def documents(text: str | bytes) -> list[Document]:
    found = list(parse(text))
    assert all(isinstance(each, Document) for each in found), (text, found)
    return [each for each in found if isinstance(each, Document)]


def readable(text: str | bytes) -> list[Any]:
    """Return the values of the documents that can be read."""
    return [each.data for each in parse(text) if isinstance(each, Document)]


def unreadable(text: str | bytes) -> list[Unreadable]:
    return [each for each in parse(text) if isinstance(each, Unreadable)]


def objects(text: str | bytes) -> list[Any]:
    return [document.data for document in documents(text)]


def value(text: str) -> Any:
    (found,) = objects(text)
    return found


def outcomes(text: str) -> list[Any]:
    """Return the value of each document, or the line of its error."""
    return [each.data if isinstance(each, Document) else each.line for each in parse(text)]


def faults(text: str | bytes) -> list[tuple[int, int, str]]:
    return [(each.line, each.column, each.message) for each in unreadable(text)]


def messages(text: str | bytes) -> list[str]:
    return [each.message for each in unreadable(text)]


def exactly(found: Any, expected: Any) -> bool:
    """Tell True from 1 and 1 from 1.0."""
    return repr(found) == repr(expected)
