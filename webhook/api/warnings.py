"""Warns of fields and kinds that the API server accepts but drops, ignores or deprecates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from webhook.api.gates import GATES, on_since, stage
from webhook.problem import WARNING, Path, Problem, value_at
from webhook.release import Release
from webhook.schema.decoding import Misfit
from webhook.schema.fields import CompiledStruct
from webhook.schema.target import CREATE, STATUS, UPDATE_STATUS, Target

if TYPE_CHECKING:
    from webhook.api.versions import Served


def of_kind(obj: dict[str, Any], kind: Served, target: Target) -> Iterator[Problem]:
    """Warn of a kind that is deprecated, as the API server words it, or served only with a feature gate."""
    path = Path(("apiVersion",))
    if kind.deprecation and target.release >= kind.deprecation.deprecated:
        message = (
            f"{obj['apiVersion']} {obj['kind']} is deprecated in v1.{kind.deprecation.deprecated}+, "
            f"unavailable in v1.{kind.deprecation.removed}+"
        )
        yield Problem(WARNING, "deprecated", "Deprecated", path, message)
    gate = target.pick(kind.gate)
    if gate and gate not in target.gates:
        message = f"{obj['kind']} is served only with the feature gate {gate}"
        yield Problem(WARNING, "gate-off", "GateOff", path, message, _stages(gate, target.release))


def gates_off(dropped: Iterable[Misfit], obj: dict[str, Any], target: Target) -> Iterator[Problem]:
    """Warn of fields that are dropped before validation because their feature gate is off, unless they are empty."""
    for misfit in dropped:
        if value_at(obj, misfit.path) in ([], {}, ""):
            continue
        message = f"dropped: this field needs the feature gate {' and '.join(misfit.gates)}"
        hint = "; ".join(_stages(gate, target.release) for gate in misfit.gates)
        yield Problem(WARNING, misfit.rule, "Dropped", misfit.path, message, hint)


def _stages(gate: str, release: Release) -> str:
    """Describe which releases have a gate, in the same words for each release that has it off."""
    first, on = next(iter(GATES[gate].items())), on_since(gate)
    here = stage(gate, release)
    by_default = f"on by default from 1.{on}" if on else "not on by default in any release yet"
    known = [f"{first[1].maturity} from 1.{first[0]}"] if first[1] and first[0] != on else []
    stated = ", switched off by --feature-gates" if here and here.on else ""
    return f"{gate}: {', '.join([*known, by_default])}{stated}"


def status_dropped(struct: CompiledStruct, obj: dict[str, Any]) -> Iterator[Problem]:
    """Warn of a status that the API server drops from a new object; an object with a UID is a copy of a stored one."""
    field, metadata = struct.type.fields.get(STATUS), obj.get("metadata")
    if isinstance(metadata, dict) and metadata.get("uid"):
        return
    if struct.target.operation == CREATE and field is not None and obj.get(STATUS):
        message = "status is dropped when an object is created; it is set by an update of the status subresource"
        yield Problem(WARNING, "status-dropped", "Dropped", Path((STATUS,)), message)


def not_touched(struct: CompiledStruct, obj: dict[str, Any], old: dict[str, Any]) -> Iterator[Problem]:
    """Warn of a change that an update of another subresource discards."""
    if STATUS not in struct.fields:
        return
    ignored, other = ("spec", "of the status") if struct.target.operation == UPDATE_STATUS else (STATUS, "of the spec")
    field = struct.fields.get(ignored)
    if field and obj.get(ignored) and field.canonical(obj[ignored]) != field.canonical(old.get(ignored)):
        message = f"{ignored} is not changed by an update {other}"
        yield Problem(WARNING, f"{ignored}-ignored", "Ignored", Path((ignored,)), message)
