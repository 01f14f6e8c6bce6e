"""Attributes that requests derive from those of devices, read by constraints.

Follows ``EvaluateDerivedAttribute`` of k8s.io/dynamic-resource-allocation ``cel/compile.go``: an expression is
evaluated only where a constraint reads the attribute, and overrides an attribute of that name that the device has.
"""

from __future__ import annotations

from webhook.allocation.selecting import RUNTIME
from webhook.cel.errors import CelError
from webhook.cel.kubernetes.devices import MAX_COST
from webhook.cel.kubernetes.refusals import Refusal
from webhook.cel.kubernetes.semver import Semver
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.values import type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    from webhook.allocation.devices import Content
    from webhook.allocation.selecting import Values
    from webhook.cel.kubernetes.devices import Selector
    from webhook.objects import JSONObject

_KINDS: Final = {"bool": "bool", "int": "int", "string": "string", "kubernetes.Semver": "version"}
"""The field of an attribute that a value belongs into, by the value's type."""
_WORDS: Final = {"kubernetes.Semver": "semver"}


class Derived:
    """An attribute that a request derives.

    Args:
        compiled: Its expression, or why it cannot be compiled.
        values: Devices as expressions see them.
    """

    __slots__ = ("_compiled", "_known", "_values")

    def __init__(self, compiled: Selector | Refusal, values: Values) -> None:
        self._compiled = compiled
        self._values = values
        self._known: dict[int, JSONObject | str] = {}

    def of(self, content: Content) -> JSONObject | str:
        """Return the attribute of a device, as in the API, or the error."""
        found = self._known.get(content.index)
        if found is None:
            found = self._known[content.index] = self._evaluate(content)
        return found

    def _evaluate(self, content: Content) -> JSONObject | str:
        if isinstance(self._compiled, Refusal):
            return f"CEL compile error: {self._compiled.detail}"
        try:
            result = self._compiled.program.evaluate(self._values.of(content), meter=Meter(MAX_COST))
        except CelError as error:
            return f"{RUNTIME}{error}"
        found = _attribute(result)
        return f"{RUNTIME}{found}" if isinstance(found, str) else found


def _attribute(result: Any) -> JSONObject | str:
    """Return a result as an attribute, or the reason why it cannot be one (``valToDeviceAttribute``)."""
    if not isinstance(result, list):
        name = type_of(result).name
        return {_KINDS[name]: _plain(result)} if name in _KINDS else f"unsupported CEL return type: {name}"
    names = [type_of(each).name for each in result]
    if not names:
        return {"strings": []}
    first = names[0]
    if first not in _KINDS:
        return f"unsupported list element type: {first}"
    for index, name in enumerate(names):
        if name != first:
            return f"expected list element at index {index} to be {_WORDS.get(first, first)}, got {name}"
    return {f"{_KINDS[first]}s": [_plain(each) for each in result]}


def _plain(value: Any) -> Any:
    return str(value.version) if isinstance(value, Semver) else value
