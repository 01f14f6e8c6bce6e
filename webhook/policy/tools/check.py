"""Checks policies before they meet an object, for ``draguard policy check``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from webhook.api.versions import DEFAULT
from webhook.cel import CelError, Meter
from webhook.cel.checker.cost import estimate_cost
from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.objects import JSONObject
from webhook.policy.evaluation.policyset import Given, PolicyFinding, PolicySet
from webhook.policy.evaluation.validate import usable_message
from webhook.policy.load import load
from webhook.policy.manifest.expressions import CompiledExpression
from webhook.policy.manifest.model import Policy, policy_of
from webhook.policy.manifest.programs import Programs, compile_policy, with_paths
from webhook.policy.tools.comparisons import comparison_warnings
from webhook.policy.tools.literals import literal_warnings
from webhook.policy.tools.resources import resource_warnings
from webhook.policy.tools.typecheck import type_warnings
from webhook.policy.tools.warnings import warning
from webhook.problem import ERROR, NOT_DECODED, NOTE, WARNING, Path, Problem, value_at
from webhook.records import NamedTuple
from webhook.release import Release


class Cost(NamedTuple):
    """The estimated cost of an expression, without an object.

    Args:
        policy: The policy's name.
        path: Where the expression stands.
        least: The minimum cost.
        most: The maximum cost; a value beyond ``CALL_LIMIT`` means unbounded.
        kind: The policy's kind.
    """

    policy: str
    path: Path
    least: int
    most: int
    kind: str


class CheckResult(NamedTuple):
    """The result of ``policy check``.

    Args:
        policies: The policies that were checked.
        findings: The problems; ``level`` tells refusals by the API server from policies that it accepts
            although they cannot work.
        costs: The estimated costs of the expressions.
        unchecked: How many objects have errors that left no policy to look for warnings in.
    """

    policies: PolicySet
    findings: tuple[PolicyFinding, ...]
    costs: tuple[Cost, ...]
    unchecked: int = 0

    @property
    def passed(self) -> bool:
        """Whether the API server would accept all policies and bindings."""
        return all(finding.problem.level != ERROR for finding in self.findings)


def check_policies(given: Iterable[Given | JSONObject], release: Release = DEFAULT) -> CheckResult:
    """Check policies and bindings; never raises.

    Args:
        given: The objects of manifests: policies, bindings, and the objects that policies read.
        release: The Kubernetes release, as the minor of 1.x.
    """
    policies = load(given, release, by_cluster=True)
    findings = list(policies.findings)
    costs: list[Cost] = []
    checked = set[int]()
    for policy, origin, wrong in _checkable(policies):
        programs = compile_policy(policy, release)
        unused = list(_unused(policy))
        ignored = {each.path for each in unused}  # their types do not matter
        problems = [
            *resource_warnings(policy, policies),
            *_constants(policy, programs),
            *unused,
            *(each for each in type_warnings(policy, policies.kinds, release) if each.path not in ignored),
            *literal_warnings(policy, programs, policies.kinds),
            *comparison_warnings(policy, programs, policies.kinds),
        ]
        checked.add(id(origin))
        for cost in () if wrong else _costs(policy, programs):
            costs.append(cost)
            if cost.least > CALL_LIMIT:
                message = f"costs at least {cost.least}, beyond the limit of {CALL_LIMIT}: it always fails"
                problems.append(warning("over-cost", cost.path, message))
        findings += [PolicyFinding(origin, problem) for problem in problems if problem.path not in wrong]
    unchecked = {id(each.given) for each in policies.findings if each.problem.level == ERROR} - checked
    return CheckResult(policies, tuple(findings), tuple(costs), len(unchecked))


def _checkable(policies: PolicySet) -> Iterator[tuple[Policy, Given, frozenset[Path]]]:
    """Yield the policies that can be checked, each with its manifest and its expressions that are wrong.

    A policy with errors is among them if they are in expressions on which nothing else depends.
    """
    for policy in policies.policies:
        yield policy, policies.origins[policy], frozenset()
    errors: dict[int, list[PolicyFinding]] = {}
    for each in policies.findings:
        if each.problem.level == ERROR:
            errors.setdefault(id(each.given), []).append(each)
    for found in errors.values():
        given = found[0].given
        if all(map(_is_apart, found)):
            yield policy_of(given.object, given.manifest), given, frozenset(each.problem.path for each in found)


def _is_apart(error: PolicyFinding) -> bool:
    """Tell whether an error is in an expression that can be decoded, and that no other one reads."""
    problem, path = error.problem, error.problem.path
    is_text = path[-1:] in _EXPRESSIONS and bool(value_at(error.given.object, path))
    return is_text and path[:2] != ("spec", "variables") and problem.reason not in NOT_DECODED


def _constants(policy: Policy, programs: Programs) -> Iterator[Problem]:
    """Find conditions and validations with the same result for every object."""
    for condition, expression in zip(policy.conditions, programs.conditions, strict=True):
        value = _constant(expression.compiled)
        if value is False:
            yield warning("never-applies", condition.path, "the condition is always false: the policy never applies")
        elif value is True:
            yield warning("no-condition", condition.path, "the condition is always true: it can be left out")
    for validation, expression in zip(policy.validations, programs.validations, strict=True):
        if _constant(expression.compiled) is True:
            path = validation.path / "expression"
            yield warning("never-refuses", path, "the expression is always true: it never refuses anything")
    for validation, message in zip(policy.validations, programs.messages, strict=True):
        value = message and _constant(message.compiled)
        if value is not None and (unused := usable_message(value)[1]):
            path, instead = validation.path / "messageExpression", "message" if validation.message else "expression"
            text = f"is never used, and the {instead} is shown instead: {unused}"
            yield Problem(NOTE if validation.message else WARNING, "fails-on-valid", "", path, text)


def _constant(compiled: object) -> object:
    """Return the value of an expression that uses no variables, else None."""
    if not isinstance(compiled, CompiledExpression) or compiled.program.variables:
        return None
    try:
        return compiled.program.evaluate({}, meter=Meter(CALL_LIMIT))
    except CelError:
        return None


_EXPRESSIONS: Final = (("expression",), ("messageExpression",), ("valueExpression",))
"""The last steps of the paths of expressions."""
_REFERENCE: Final = re.compile(r"\bvariables\s*\.\s*(?:\?\s*)?([A-Za-z_][A-Za-z0-9_]*)")


def _unused(policy: Policy) -> Iterator[Problem]:
    """Find variables that no expression uses."""
    texts = [
        *(each.expression for each in (*policy.variables, *policy.annotations)),
        *(each.expression for each in policy.mutations),
        *(text for each in policy.validations for text in (each.expression, each.message_expression)),
    ]
    used = {name for text in texts for name in _REFERENCE.findall(text)}
    for variable in policy.variables:
        if variable.name not in used:
            message = f"variables.{variable.name} is not used by any expression"
            yield warning("unused-variable", variable.path, message)


def _costs(policy: Policy, programs: Programs) -> Iterator[Cost]:
    for path, expression in with_paths(policy, programs):
        if isinstance(expression.compiled, CompiledExpression):
            estimate = estimate_cost(expression.compiled.checked, expression.compiled.environment)
            yield Cost(policy.name, path, estimate.low, estimate.high, policy.kind)
