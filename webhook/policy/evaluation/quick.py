"""Quick evaluation of a policy: one function tells that it does not apply, or that all its validations hold.

The function is derived from the policy's compiled expressions, and counts the same cost as evaluating them one by one.
For any other outcome they are evaluated one by one, from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from webhook.budget import DOCUMENT, Budget, BudgetExceededError, current, limited
from webhook.cel import CostLimitExceededError, EvaluationError
from webhook.cel.kubernetes.environments import CALL_LIMIT, MATCH_CONDITIONS_LIMIT, POLICY_LIMIT
from webhook.cel.runtime.meter import look
from webhook.layout import Layout
from webhook.objects import JSONObject
from webhook.policy.evaluation.activation import PLACE_FIELDS, STEP
from webhook.policy.manifest.model import Policy

if TYPE_CHECKING:
    from webhook.cel import Joint, Meter
    from webhook.cel.runtime.program import EvaluateJoint
    from webhook.extent import Extent
    from webhook.policy.manifest.programs import Programs

LIMIT: Final = 300_000
"""The most that quick evaluation may cost for a request: far below the limits of an expression and of a policy."""
OFTEN: Final = 16
"""How often a policy is evaluated before its quick evaluation is made, which takes longer than a few evaluations."""

_EXPRESSION_LIMIT: Final = CALL_LIMIT + STEP
_SKIPPED_CONDITIONS: Final = (MATCH_CONDITIONS_LIMIT - LIMIT) // _EXPRESSION_LIMIT
"""How many match conditions may be skipped once one is false, as they could not exceed the cost limit of all."""
_SKIPPED_MESSAGES: Final = (POLICY_LIMIT - LIMIT) // _EXPRESSION_LIMIT
"""How many messages and variables may be skipped if all validations hold, for the same reason."""
_VARIABLES: Final = frozenset({"object", "oldObject", "params", "request", "namespaceObject", "variables"})


class Quick:
    """The quick evaluation of a policy, made once the policy has been evaluated often.

    Args:
        joint: The policy's conditions and validations; None if it has none.
        needs: The variables that it needs beside the objects and parameters.
        sees_user: Whether it sees more of the request than all requests in a place have in common.
    """

    __slots__ = ("_joint", "_layouts", "_missing", "evaluate", "needs", "sees_user")

    def __init__(self, joint: Joint | None, needs: tuple[str, ...], *, sees_user: bool) -> None:
        self._joint = joint
        self._layouts: Mapping[str, Layout] = {}
        self._missing = OFTEN
        """How many evaluations are missing before the function is made."""
        self.needs = needs
        self.sees_user = sees_user
        self.evaluate: EvaluateJoint = self._not_yet if joint else _always
        """Evaluates the policy, as what `Joint.compiled` returns."""

    def prepare(self) -> None:
        """Make the function now."""
        if self._joint is None:
            return
        self.evaluate = _never
        try:
            with limited(Budget(DOCUMENT, is_offline=True)):
                self.evaluate = self._joint.compiled(self._layouts)
        except (CostLimitExceededError, RecursionError):
            pass

    def for_layout(self, layout: Layout) -> Quick:
        """Return the same for objects that are held in a certain way, made at the first evaluation.

        Args:
            layout: How they are held; what `extend` finds of maps that are held as objects are only fields.
        """
        other = Quick(self._joint, self.needs, sees_user=self.sees_user)
        other._layouts, other._missing = {"object": layout}, 1
        return other

    def extend(self, extent: Extent) -> None:
        """Add to an extent what the evaluation reads of the object; all of it if that cannot be told."""
        if self._joint is None:
            return
        try:
            with limited(Budget(DOCUMENT, is_offline=True)):
                self._joint.extend(extent, "object")
        except (BudgetExceededError, RecursionError):
            extent.whole = True

    def _not_yet(self, meter: Meter, left: int, mark: int, bindings: Mapping[str, Any]) -> tuple[int, int, bool]:
        self._missing -= 1
        if self._missing <= 0:
            self.prepare()
            raise CostLimitExceededError  # one policy for each request, as to make the functions of many takes long
        return _never(meter, left, mark, bindings)


def _always(_meter: Meter, left: int, mark: int, _bindings: Mapping[str, Any]) -> tuple[int, int, bool]:
    return left, mark, True


def _never(_meter: Meter, _left: int, mark: int, _bindings: Mapping[str, Any]) -> tuple[int, int, bool]:
    return -1, mark, False


Step = tuple[Quick, "JSONObject | None"]
"""The quick evaluation of a policy, and its parameters."""


def evaluate_quickly(steps: Iterable[Step], bindings: dict[str, Any], meter: Meter, *, changes: bool) -> bool | None:
    """Tell whether all validations of the last of several policies hold; False if it does not apply.

    Args:
        steps: The quick evaluations of the policies.
        bindings: The variables of their expressions; their parameters are added to these.
        meter: Counts their cost.
        changes: Whether they change objects to which they apply: then their conditions must be evaluated again.

    Returns:
        None if a policy has another outcome, so that all of them must be evaluated one by one.

    Raises:
        DeadlineExceededError: The deadline has passed.
        BudgetExceededError: The work exceeds the budget in force.
    """
    left, built, holds = LIMIT, meter.bytes, False
    try:
        mark = look(meter, left)
        for quick, bindings["params"] in steps:
            left, mark, holds = quick.evaluate(meter, left, mark, bindings)
            if changes and holds:
                left = -1
                break
    except (CostLimitExceededError, EvaluationError, RecursionError):
        left = -1
    except BudgetExceededError:
        if not current().is_offline:
            raise
        left = -1
    if left < 0 or meter.bytes < 0:
        meter.bytes = built
        return None
    meter.cost += LIMIT - left
    return holds


def quick_of(policy: Policy, programs: Programs) -> Quick | None:
    """Return the quick evaluation of a policy; None if it has none."""
    joint, uses = programs.joint(_SKIPPED_CONDITIONS), programs.uses
    says_more = policy.annotations or (
        any(programs.messages) and len(programs.messages) + len(programs.variables) > _SKIPPED_MESSAGES
    )
    if says_more or not uses <= _VARIABLES:
        return None
    if joint is None and (policy.conditions or policy.validations or not may_leave_unchanged(policy)):
        return None
    fields = programs.fields_of("request")
    sees_user = fields is None or not fields <= PLACE_FIELDS
    return Quick(joint, tuple(uses & {"request", "namespaceObject"}), sees_user=sees_user)


def may_leave_unchanged(policy: Policy) -> bool:
    """Tell whether a policy does nothing but to merge one configuration, which may leave an object as it is."""
    return [each.patch_type for each in policy.mutations] == ["ApplyConfiguration"] and not policy.reinvoked


def is_of(obj: Any, api_version: str, kind: str) -> bool:
    """Tell whether an object is of a kind, as quick evaluation requires; None counts as of every kind."""
    return obj is None or (type(obj) is dict and obj.get("kind") == kind and obj.get("apiVersion") == api_version)
