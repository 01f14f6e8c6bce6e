"""Opaque driver configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from webhook.api.dra.names import TAGGED_DRIVER_NAME, driver_name
from webhook.problem import Path, Problem, Verbatim, invalid, required, too_long
from webhook.schema.declarations import Struct
from webhook.schema.fields import Anything, Check, CompiledField, Nested
from webhook.schema.target import OLDEST, Target

RAW_MAX_BYTES = {32: 10 * 1024}
"""The most bytes of a driver's own JSON, from Kubernetes 1.32 on."""

_OMITTED = Verbatim('"<value omitted>"')
_WORDING = {OLDEST: "parameters must be a valid JSON object", 34: "must be a valid JSON object"}


class RawObject(Anything):
    """A driver's JSON object, limited by the bytes of its JSON text.

    Args:
        **common: As for :class:`Field`.
    """

    is_object = True

    def compile(self, target: Target, owner: str, package: str) -> CompiledField:
        """Compile the closures for one target."""
        compiled = super().compile(target, owner, package)
        walk = self._checker(target) if target.validates else compiled.walk
        return compiled._replace(walk=walk, canonical=_canonical)

    def limits(self) -> dict[str, str]:
        """Describe the declared limits of the object."""
        size = f"{RAW_MAX_BYTES[32]} bytes of JSON at most"
        return super().limits() | {"size": size, "json-object": "a JSON object"}

    def _checker(self, target: Target) -> Check:
        limit = None if target.stored else target.pick(RAW_MAX_BYTES)
        wording, needed = target.pick(_WORDING), self.required

        def check(value: Any) -> Sequence[Problem]:
            if value is None:
                return (required(Path()),) if needed else ()
            if limit is not None and raw_size(value) > limit:
                return (too_long(Path(), limit, target.release),)
            if not isinstance(value, dict):
                return (invalid(Path(), _OMITTED, wording).named("json-object"),)
            return ()

        return check


def raw_size(value: Any) -> int:
    """Count the bytes of a value as Go writes JSON: ``<``, ``>`` and ``&`` take six each."""
    import json  # few objects have parameters

    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    escaped = sum(map(text.count, "<>&")) * 5 + sum(map(text.count, "\u2028\u2029")) * 3
    return len(text.encode("utf-8", "surrogatepass")) + escaped


def _canonical(value: Any) -> Any:
    import json

    # In Python 1, 1.0 and True are equal.
    return None if value is None else json.dumps(value, sort_keys=True)


class OpaqueDeviceConfiguration(Struct):
    """Parameters for one driver, which only that driver reads."""

    driver = driver_name(
        "The driver that the parameters are for.", required=True, declared=TAGGED_DRIVER_NAME, written=True
    )
    parameters = RawObject("The driver's own parameters, a JSON object.", required=True)


class DeviceConfiguration(Struct):
    """Configuration for devices."""

    embedded: ClassVar = {"opaque": "DeviceConfiguration"}

    opaque_ = Nested(OpaqueDeviceConfiguration, pointer=True, required=True)
