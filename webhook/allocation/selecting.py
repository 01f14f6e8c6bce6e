"""Evaluates the selectors of classes and requests, once for each distinct device content.

Follows upstream's ``isSelectable`` and k8s.io/dynamic-resource-allocation ``cel/compile.go`` (DeviceMatches).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeVar

from webhook.allocation.devices import LISTS, SCALARS, Catalog, Content, Device, named
from webhook.allocation.features import Implementation
from webhook.budget import current
from webhook.cel.cache import Cache
from webhook.cel.environment import Program, Refusal
from webhook.cel.errors import CelError, CostLimitExceededError, EvaluationError
from webhook.cel.kubernetes import quantity, semver
from webhook.cel.kubernetes.devices import CONSUMABLE_CAPACITY, LIST_ATTRIBUTES, MAX_COST, compile_selector
from webhook.cel.runtime.meter import Meter
from webhook.cel.syntax.ast import reads
from webhook.cel.types.values import NONE, DefaultingMap, Optional, Value, type_of
from webhook.escapes import GO_SPACE
from webhook.objects import JSONObject
from webhook.records import Told
from webhook.release import Release

Result = TypeVar("Result")

_NAMED: Final = 3
"""The steps to an attribute or a capacity."""
_CONVERSIONS: Final = {
    "string": "unsupported native conversion from string to 'bool'",
    "int": "unsupported type conversion from 'int' to bool",
    "uint": "unsupported type conversion from 'uint' to bool",
    "type": "type conversion not supported for 'type'",
    "kubernetes.NamedFormat": "type conversion error from 'Format' to 'bool'",
    **{
        name: f"type conversion error from {shown} to 'bool'"
        for name, shown in (("bytes", "Bytes"), ("double", "Double"), ("list", "list"), ("map", "map"))
    },
}
"""Go's message for results other than bool, by their type, where it is not made of the type's name."""


RUNTIME: Final = "CEL runtime error: "
"""The prefix of errors from the evaluation of an expression."""


class Fault(Told):
    """Why an expression or a pod fails, in upstream's words.

    Args:
        missing: The key that the expression did not find in a device; empty for other errors.
        claim: The claim that fails, with its namespace; empty if the error is not about one.
        of_class: The class whose selector fails; empty for other errors.
        words: The text without the claim and upstream's advice; empty if that is the whole text.
        has_overload: Whether the types of the values were not the fault.
        is_runtime: Whether the expression compiled, but failed for a device.
        is_crash: Whether the scheduler crashes instead of saying so.
    """

    missing: str = ""
    claim: str = ""
    of_class: str = ""
    words: str = ""
    has_overload: bool = True
    is_runtime: bool = False
    is_crash: bool = False


NO_FAULT: Final = Fault("")
"""Stands for no error: also that of a selector that is just false."""


class SelectorFault(NamedTuple):
    """A selector that cannot be compiled or evaluated: the scheduler gives up on the pod.

    Args:
        of_class: Whether it is a selector of the class, not of the request.
        place: Its place among the selectors.
        detail: The error, in upstream's words.
        expression: Its text.
    """

    of_class: bool
    place: int
    detail: Fault
    expression: str


Choice = bool | SelectorFault
"""Whether selectors hold for a device."""


Reads = Sequence[tuple[str, str]]
"""The parts of a device that an expression reads: ``attributes`` or ``capacity``, and a name with its domain."""


def reads_of(selector: Program) -> Reads | None:
    """Return the reads of a selector beside those of all devices, None if their names are not known."""
    found = []
    for path in sorted(set(reads(selector.checked.root, "device"))):
        if path in {("driver",), ("allowMultipleAllocations",)}:
            continue
        if len(path) < _NAMED or path[0] not in {"attributes", "capacity"}:
            return None
        found.append((path[0], f"{path[1]}/{path[2]}"))
    return tuple(found)


def seen(content: Content, holder: str, name: str) -> Hashable:
    """Return what expressions see of a device under a name; its attributes are plain."""
    found = named(content.attributes if holder == "attributes" else content.capacity, content.driver, name)
    if found is None:
        return None
    return next(iter(found.items())) if holder == "attributes" else str(found.get("value"))


def by_content(look: Callable[[Content], Result]) -> Callable[[Content], Result]:
    """Return a function that looks at each content once: a list by their indexes takes a quarter of a dict's memory."""
    known: list[Any] = []

    def find(content: Content) -> Result:
        index = content.index
        if index >= len(known):
            known.extend(repeat(_UNSEEN, index + 1 - len(known)))
        result: Any = known[index]
        if result is _UNSEEN:
            result = known[index] = look(content)
        found: Result = result
        return found

    return find


def of_devices(look: Callable[[Content], Result]) -> Callable[[Sequence[Device]], tuple[Result, ...]]:
    """Return a function that looks at the content of each of some devices, at each content once."""
    find = by_content(look)
    return lambda devices: tuple([find(device.content) for device in devices])


_UNSEEN: Final = object()


_BYTES_A_CHARACTER: Final = 400
"""The memory that a compiled selector takes for each character of its text."""
_BYTES: Final = 20_000
_programs: Final[Cache[tuple[Program | Refusal, Reads | None]]] = Cache(16 << 20)
"""The compiled selectors of all allocators, with their reads; the scheduler keeps such a cache, too."""


class _Selector:
    """A selector, with its results for contents that look the same to it."""

    def __init__(self, expression: str, release: Release, gates: frozenset[str], values: DeviceValues) -> None:
        key = expression, release, gates, current().is_offline
        known = _programs.get(key)
        if known is None:
            compiled = compile_selector(expression, release, gates, stored=True)
            known = compiled, None if isinstance(compiled, Refusal) else reads_of(compiled)
            _programs.put(key, known, _BYTES + _BYTES_A_CHARACTER * len(expression))
        self._compiled, self.reads = known
        self.expression = expression
        self._values = values
        self._alike: dict[Hashable, bool | Fault] = {}
        self.holds = by_content(self._holds)
        """Tells whether the selector holds, or returns its error."""

    def _holds(self, content: Content) -> bool | Fault:
        if self.reads is None or not content.is_plain:
            return self._evaluate(content)
        key = content.driver, content.is_shared, *(seen(content, *read) for read in self.reads)
        if key not in self._alike:
            self._alike[key] = self._evaluate(content)
        return self._alike[key]

    def _evaluate(self, content: Content) -> bool | Fault:
        if isinstance(self._compiled, Refusal):
            return Fault(f"CEL compile error: {self._compiled.text}")
        try:
            result = self._compiled.evaluate(self._values.of(content), meter=Meter(MAX_COST))
        except CelError as error:
            if not isinstance(error, EvaluationError):
                # Of a stopped evaluation with cost left, the cause is a type at which cel-go panics.
                is_panic = isinstance(error, CostLimitExceededError) and error.left >= 0
                return Fault(f"{RUNTIME}{error}", has_overload=not is_panic, is_runtime=True)
            missing, has_overload = error.missing, error.has_overload
            return Fault(f"{RUNTIME}{error}", missing=missing, has_overload=has_overload, is_runtime=True)
        return result if result is True or result is False else _converted(result)


def _converted(result: Value) -> bool | Fault:
    """Convert a result other than bool as Go does: an optional to its value (cel-go common/types/optional.go)."""
    inner = result
    if result is NONE:
        detail = "optional.none() dereference"
    else:
        while type(inner) is Optional:
            inner = inner.value
        if type(inner) is bool:
            return inner
        name = type_of(inner).name
        detail = _CONVERSIONS.get(name, f"type conversion error from '{name.rpartition('.')[2]}' to 'bool'")
    text = f"{RUNTIME}CEL result of type {type_of(result).name} could not be converted to bool: {detail}"
    return Fault(text, is_runtime=True)


_LISTS_SEEN_SINCE: Final = 37
"""From this release on, expressions see lists, whatever the gate says."""


class DeviceValues:
    """Devices as expressions see them; the last device is kept, as selectors of class and request read it in turn.

    Args:
        variant: The allocator; those that know no shared capacity hide that devices allow multiple allocations.
        with_lists: Whether list attributes are on.
    """

    def __init__(self, variant: Implementation, *, with_lists: bool) -> None:
        self._shows_sharing = variant.knows_capacity
        self._with_lists = with_lists or variant.release >= _LISTS_SEEN_SINCE
        self._index = -1
        self._last: Mapping[str, Any] = {}

    def of(self, content: Content) -> Mapping[str, Any]:
        """Return the bindings for a device.

        Raises:
            EvaluationError: An attribute has no value of a supported type.
        """
        if content.index != self._index:
            self._last = {"device": self._device(content)}
            self._index = content.index
        return self._last

    def _device(self, content: Content) -> Mapping[str, Any]:
        values: dict[str, dict[str, Any]] = DefaultingMap()
        for name, domain, id_, attribute in _qualified(content.attributes, content.driver):
            values.setdefault(domain, {})[id_] = self._value(name, attribute)
        amounts: dict[str, dict[str, Any]] = DefaultingMap()
        for _, domain, id_, each in _qualified(content.capacity, content.driver):
            amounts.setdefault(domain, {})[id_] = quantity.parse(str(each.get("value", "0")).strip(GO_SPACE))
        return {
            "driver": content.driver,
            "allowMultipleAllocations": content.is_shared and self._shows_sharing,
            "attributes": values,
            "capacity": amounts,
        }

    def _value(self, name: str, attribute: JSONObject) -> Any:
        try:
            if self._with_lists:
                for kind, scalar in LISTS.items():
                    values = attribute.get(kind)
                    if values is not None:
                        return [semver.parse(each) if scalar == "version" else each for each in values]
            for kind in SCALARS:
                value = attribute.get(kind)
                if value is not None:
                    return semver.parse(value) if kind == "version" else value
        except EvaluationError as error:
            raise EvaluationError(f"attribute {name}: parse semantic version: {error}") from None
        raise EvaluationError(f"attribute {name}: unsupported attribute value")


def _qualified(values: Mapping[str, JSONObject], driver: str) -> Iterator[tuple[str, str, str, JSONObject]]:
    """Yield values with their names, the domain, and the name without; those that state a domain come last, and count.

    Before Kubernetes 1.38 any of two spellings of a name may count.
    """
    for name, value in sorted(values.items(), key=lambda item: "/" in item[0]):
        domain, found, rest = name.partition("/")
        yield (name, domain, rest, value) if found else (name, driver, name, value)


class Chooser:
    """The selectors of a class, then those of a request; the first that is false or fails ends the evaluation."""

    def __init__(self, of_class: Sequence[_Selector], of_request: Sequence[_Selector], *, binds: bool) -> None:
        self._of_class, self._binds, self._of_request = of_class, binds, of_request
        self.choose = by_content(self._choose)
        """Tells whether the request wants a device."""

    @property
    def reads(self) -> list[Reads | None]:
        """The reads of each selector; None for a selector that may read anything."""
        return [each.reads for each in (*self._of_class, *self._of_request)]

    def _choose(self, content: Content) -> Choice:
        if not self._binds and content.others.get("bindingConditions"):
            return False
        first = self.first_false(content)
        return first is None or (first.detail is not NO_FAULT and first)

    def first_false(self, content: Content, *, of_class: bool = False) -> SelectorFault | None:
        """Return the first selector that does not hold, with an empty detail if it is just false; None if all hold.

        Args:
            of_class: Whether only the selectors of the class count.
        """
        for is_class, selectors in ((True, self._of_class), (False, () if of_class else self._of_request)):
            for place, selector in enumerate(selectors):
                found = selector.holds(content)
                if found is not True:
                    return SelectorFault(is_class, place, found or NO_FAULT, selector.expression)
        return None


_CHOOSERS: Final = 64
"""The number of choosers that are remembered: clients can invent any number of them."""


class Selectors:
    """The selectors of a cluster: each is compiled once, and evaluated once for each content.

    Args:
        with_lists: Whether expressions see attributes that are lists; by default, if the allocator does.
    """

    def __init__(self, variant: Implementation, *, with_lists: bool | None = None) -> None:
        features = variant.features
        with_lists = features.ListTypeAttributes if with_lists is None else with_lists
        gates = {CONSUMABLE_CAPACITY: features.ConsumableCapacity, LIST_ATTRIBUTES: with_lists}
        self._gates = frozenset(gate for gate, is_on in gates.items() if is_on)
        self._release, self._binds = variant.release, features.DeviceBindingAndStatus
        self._sight = variant.release, self._gates, self._binds, variant.knows_capacity
        """All that decides what expressions see of devices."""
        self.values = DeviceValues(variant, with_lists=with_lists)
        """Devices as the expressions see them."""
        self._compiled: dict[str, _Selector] = {}
        self._choosers: dict[tuple[tuple[str, ...], tuple[str, ...]], Chooser] = {}

    @classmethod
    def of(cls, catalog: Catalog, variant: Implementation, *, with_lists: bool | None = None) -> Selectors:
        """Return the selectors for the devices of a catalog, with the results of others that see the same of these."""
        made = cls(variant, with_lists=with_lists)
        found: Selectors = catalog.selectors.setdefault(made._sight, made)
        return found

    def chooser(self, of_class: Sequence[JSONObject], of_request: Sequence[JSONObject]) -> Chooser:
        """Return a chooser of the devices that a request of a class wants."""
        first, second = (
            tuple((each.get("cel") or {}).get("expression", "") for each in selectors)
            for selectors in (of_class, of_request)
        )
        if (found := self._choosers.get((first, second))) is None:
            if len(self._choosers) >= _CHOOSERS:
                self._choosers.clear()
                self._compiled.clear()
            for each in (*first, *second):
                if each not in self._compiled:
                    self._compiled[each] = _Selector(each, self._release, self._gates, self.values)
            several = ([self._compiled[each] for each in expressions] for expressions in (first, second))
            found = self._choosers[first, second] = Chooser(*several, binds=self._binds)
        return found

    def derivation(self, expression: str) -> tuple[Program | Refusal, DeviceValues]:
        """Return a derived attribute, from the devices as its expression sees them."""
        compiled = compile_selector(expression, self._release, self._gates, stored=True, is_derived=True)
        return compiled, self.values
