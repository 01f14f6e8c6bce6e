"""Applies JSON Patches as the API server does, with its errors, and finds the patch between two values.

Follows gopkg.in/evanphx/json-patch.v4 (``patch.go``). Its texts are part of refusals, and it deviates from RFC 6902:
negative indices count from the end; an absent key can be replaced, and copied as null.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NoReturn

from webhook.budget import work
from webhook.escapes import go_integer
from webhook.objects import JSONObject

OPERATIONS: Final = ("add", "remove", "replace", "move", "copy", "test")
_MISSING: Final = "missing value"
_NO_FROM: Final = f"operation, missing from field: {_MISSING}"
_INVALID_INDEX: Final = "invalid index referenced"
MAX_SIZE: Final = 3 * 1024 * 1024
"""The most characters that copies may add: the maximum of a request."""


class PatchError(Exception):
    """A patch cannot be applied; `missing` has the operation and the path that it does not find, if that is why."""

    def __init__(self, message: str, missing: tuple[str, str] | tuple[()] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class TestFailedError(PatchError):
    """A patch's ``test`` operation failed."""

    __test__ = False


def apply_patch(obj: JSONObject, operations: Sequence[JSONObject]) -> JSONObject:
    """Apply a patch to an object, which is not changed; the result shares what the patch does not reach.

    Raises:
        PatchError: The patch cannot be applied.
        TestFailedError: A ``test`` operation failed.
    """
    patcher = _Patcher(obj)
    for operation in operations:
        patcher.apply(operation)
    if not isinstance(patcher.document, dict):
        raise PatchError("the patched document is not an object")
    return patcher.document


class _Patcher:
    def __init__(self, document: Any) -> None:
        self._own: dict[int, Any] = {}
        self.document = self._copy_of(document)
        self._copied = 0

    def apply(self, operation: JSONObject) -> None:
        name = operation.get("op", "")
        if name not in OPERATIONS:
            raise PatchError(f"Unexpected kind: {name}")
        getattr(self, f"_{name}")(operation)

    def _copy_of(self, container: Any) -> Any:
        """Return a shallow copy of a list or map, which operations may change."""
        own = copy.copy(container)
        self._own[id(own)] = own
        return own

    def _found(self, path: str, complaint: str, operation: str = "") -> tuple[Any, str]:
        """Return the list or map that holds the value at a path, and its key there."""
        missing = PatchError(f"{complaint}: {_MISSING}", (operation, path) if operation else ())
        steps = steps_of(path)
        container = self.document
        for key in steps[:-1]:
            try:
                inner = _get(container, key)
            except PatchError:
                inner = None
            if not isinstance(inner, dict | list):
                raise missing
            if id(inner) not in self._own:
                inner = self._copy_of(inner)
                _set(container, key, inner)
            container = inner
        if not steps:
            raise missing
        return container, steps[-1]

    def _add(self, operation: JSONObject) -> None:
        path = operation["path"]
        container, key = self._found(path, f'add operation does not apply: doc is missing path: "{path}"', "add")
        _guarded(f"error in add for path: '{path}'", lambda: _insert(container, key, _value(operation)))

    def _remove(self, operation: JSONObject) -> None:
        path = operation["path"]
        container, key = self._found(path, f'remove operation does not apply: doc is missing path: "{path}"', "remove")
        _guarded(f"error in remove for path: '{path}'", lambda: _delete(container, key))

    def _replace(self, operation: JSONObject) -> None:
        path = operation["path"]
        if not path:
            value = _value(operation)
            if not isinstance(value, dict | list):
                _fail("replace operation value must be object or array", "%!w(<nil>)")
            self.document = self._copy_of(value)
            return
        container, key = self._found(path, f"replace operation does not apply: doc is missing path: {path}", "replace")
        try:
            _get(container, key)
        except PatchError:
            _fail(f"replace operation does not apply: doc is missing key: {path}", _MISSING)
        _set(container, key, _value(operation))

    def _origin(self, operation: JSONObject) -> tuple[Any, str]:
        """Return the list or map that holds the value to move or copy, and its key there."""
        name, origin = operation["op"], operation.get("from")
        if not origin:
            _fail(f"{name} operation failed to decode from", _NO_FROM)
        return self._found(origin, f"{name} operation does not apply: doc is missing from path: {origin}")

    def _move(self, operation: JSONObject) -> None:
        path, (container, key) = operation["path"], self._origin(operation)
        value = _guarded(f"error in move for path: '{key}'", lambda: _get(container, key))
        _guarded(f"error in move for path: '{key}'", lambda: _delete(container, key))
        target, name = self._found(path, f"move operation does not apply: doc is missing destination path: {path}")
        _guarded(f"error in move for path: '{path}'", lambda: _insert(target, name, value))

    def _copy(self, operation: JSONObject) -> None:
        path, (container, key) = operation["path"], self._origin(operation)
        value = _guarded(f"error in copy for from: '{operation['from']}'", lambda: _get(container, key))
        target, name = self._found(path, f"copy operation does not apply: doc is missing destination path: {path}")
        self._copied += len(json.dumps(value))
        if self._copied > MAX_SIZE:
            size = f"the accumulated size increase of copy is {self._copied}, exceeding the limit {MAX_SIZE}"
            raise PatchError(f"Unable to complete the copy, {size}")
        _guarded("error while adding value during copy", lambda: _insert(target, name, copy.deepcopy(value)))

    def _test(self, operation: JSONObject) -> None:
        path, wanted = operation["path"], operation.get("value")
        if not path:
            found = self.document
        else:
            container, key = self._found(path, f"test operation does not apply: is missing path: {path}", "test")
            found = _guarded(f"error in test for path: '{path}'", lambda: _get(container, key))
        if not equal(found, wanted):
            raise TestFailedError(f"testing value {path} failed: test failed")


def _fail(message: str, cause: str) -> NoReturn:
    raise PatchError(f"{message}: {cause}") from None


def _guarded(message: str, run: Callable[[], Any]) -> Any:
    try:
        return run()
    except PatchError as error:
        _fail(message, str(error))


def _value(operation: JSONObject) -> Any:
    """Return a copy of an operation's value, which later operations may change."""
    return copy.deepcopy(operation.get("value"))


def steps_of(pointer: str) -> list[str]:
    """Return the steps of a JSON Pointer."""
    return [each.replace("~1", "/").replace("~0", "~") for each in pointer.split("/")[1:]]


def _atoi(key: str) -> int:
    """Read a number as Go's strconv.Atoi does."""
    try:
        return go_integer(key)
    except ValueError as error:
        _fail(f'strconv.Atoi: parsing "{key}"', str(error))


def _place(index: int, length: int) -> int:
    """Return an index into a list of this length; a negative one counts from the end."""
    if not -length <= index < length:
        _fail(f"Unable to access invalid index: {index}", _INVALID_INDEX)
    return index + length if index < 0 else index


def _get(container: Any, key: str) -> Any:
    """Return the value at a key; null for a key that a map does not have."""
    return container[_place(_atoi(key), len(container))] if isinstance(container, list) else container.get(key)


def _set(container: Any, key: str, value: Any) -> None:
    if isinstance(container, list):
        container[_place(_atoi(key), len(container))] = value
    else:
        container[key] = value


def _insert(container: Any, key: str, value: Any) -> None:
    if not isinstance(container, list):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        index = _guarded(f"value was not a proper array index: '{key}'", lambda: _atoi(key))
        container.insert(_place(index, len(container) + 1), value)  # -1 appends, as the length includes the new item


def _delete(container: Any, key: str) -> None:
    if isinstance(container, list):
        del container[_place(_atoi(key), len(container))]
    elif key not in container:
        _fail(f"Unable to remove nonexistent key: {key}", _MISSING)
    else:
        del container[key]


def equal(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal; true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        work(1 + len(one))
        return len(one) == len(other) and all(name in other and equal(each, other[name]) for name, each in one.items())
    if isinstance(one, list) and isinstance(other, list):
        work(1 + len(one))
        return len(one) == len(other) and all(map(equal, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


_Steps = tuple[str | int, ...]
ABSENT: Final = object()
"""Stands for a value that one of two values lacks."""


def differences(before: Any, after: Any, path: _Steps = ()) -> Iterator[tuple[_Steps, Any, Any]]:
    """Yield the parts in which two values at a path differ: each path, and what is there before and after.

    List items are compared by their index, so inserting an item changes all items behind it.
    """
    if before is after:  # values that no policy changes are shared
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from (((*path, key), each, ABSENT) for key, each in before.items() if key not in after)
        for key, value in after.items():
            yield from differences(before.get(key, ABSENT), value, (*path, key))
    elif isinstance(before, list) and isinstance(after, list):
        for index, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from differences(old, new, (*path, index))
        for index in range(len(before) - 1, len(after) - 1, -1):
            yield (*path, index), before[index], ABSENT
        for index in range(len(before), len(after)):
            yield (*path, index), ABSENT, after[index]
    elif type(before) is not type(after) or before != after:  # to Python, true is 1, and 1 is 1.0
        yield path, before, after


def difference(before: Any, after: Any, path: _Steps = ()) -> list[JSONObject]:
    """Return the JSON Patch (RFC 6902) from one value to another, both at a path."""
    return [_operation(*each) for each in differences(before, after, tuple(path))]


def _operation(path: _Steps, before: Any, after: Any) -> JSONObject:
    pointer = "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in path)
    if after is ABSENT:
        return {"op": "remove", "path": pointer}
    return {"op": "add" if before is ABSENT else "replace", "path": pointer, "value": after}
