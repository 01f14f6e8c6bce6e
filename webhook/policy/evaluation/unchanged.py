"""Detects quickly that a mutation leaves an object as it is, as most do that have been applied before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from webhook.api.shapes import schema_of
from webhook.cel.kubernetes.environments import POLICY_LIMIT
from webhook.cel.types.values import Struct
from webhook.policy.evaluation.activation import Evaluation, OutOfBudgetError
from webhook.schema.derive.plain import plain
from webhook.schema.derive.shape import MapOf, Scalar, Structure

if TYPE_CHECKING:
    from webhook.cel import Meter
    from webhook.policy.manifest.programs import Programs

_SCALARS = frozenset({str, int, bool})


def leaves_unchanged(programs: Programs, bindings: Mapping[str, Any], meter: Meter) -> bool:
    """Tell whether the only mutation of a policy, an ApplyConfiguration, certainly leaves the object as it is.

    Args:
        programs: The policy's expressions.
        bindings: The variables of its expressions.
        meter: Counts the cost.

    Raises:
        DeadlineExceededError: The deadline has passed.
        BudgetExceededError: The work exceeds the budget in force.
    """
    evaluation = Evaluation(bindings, programs.variables, POLICY_LIMIT, meter)
    try:
        outcome = evaluation.evaluate(programs.mutations[0])
    except OutOfBudgetError:
        return False
    obj = bindings["object"]
    if outcome.error or type(obj) is not dict or (schema := schema_of(obj["apiVersion"], obj["kind"])) is None:
        return False
    return _has(obj, outcome.value, schema, "Object") and plain(schema)(obj)


def _has(obj: Any, value: Any, shape: Structure, name: str) -> bool:
    """Tell whether an object has all that a configuration sets; an atomic part cannot be set."""
    if type(value) is not Struct or value.cel_type.name != name or type(obj) is not dict or shape.is_atomic:
        return False
    for field, each in value.items():
        inner, old = shape.field(field), obj.get(field)
        if isinstance(inner, Structure):
            if not _has(old, each, inner, f"{name}.{field}"):
                return False
        elif isinstance(inner, MapOf):
            if inner.is_atomic or type(each) is not dict or type(old) is not dict or not _has_texts(old, each):
                return False
        elif not isinstance(inner, Scalar) or type(each) not in _SCALARS or type(old) is not type(each) or old != each:
            return False
    return True


def _has_texts(old: dict[str, Any], texts: dict[Any, Any]) -> bool:
    return all(type(key) is str and type(each) is str and old.get(key) == each for key, each in texts.items())
