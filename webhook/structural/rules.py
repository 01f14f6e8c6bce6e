"""Validation rules in CEL (``x-kubernetes-validations``).

Follows apiextensions-apiserver ``pkg/apiserver/schema/cel`` (compilation.go, validation.go). Lists of
``x-kubernetes-list-type`` ``set`` and ``map`` are compared and added as other lists are, in their order.
"""

from __future__ import annotations

from contextlib import suppress

from webhook.budget import work
from webhook.cel import CompileError, CostLimitExceededError, EvaluationError, Library, Meter, ProgramError
from webhook.cel.kubernetes.environments import CALL_LIMIT, POLICY_LIMIT, environment
from webhook.cel.types import base as types
from webhook.cel.types.values import NONE, Optional
from webhook.objects import text
from webhook.patterns import Pattern
from webhook.problem import ERROR, WARNING, Key, Path, Problem, duplicate, forbidden, invalid, required
from webhook.records import NamedTuple
from webhook.structural.comparison import ABSENT, Correlated, equal
from webhook.structural.declarations import type_of, value_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any, Final

    from webhook.cel import Environment, Program, StructType
    from webhook.objects import JSONObject
    from webhook.release import Release
    from webhook.structural.schema import Structural

_OUT_OF_BUDGET: Final = "failed due to running out of cost budget, no further validation rules will be run"
_LONGEST_MESSAGE: Final = 5 * 1024
"""The most bytes of a text that a ``messageExpression`` makes."""
_MISMATCH: Final = "call arguments did not match a supported operator, function or macro signature for rule: "
_NO_OVERLOAD: Final = "no such overload"
_STEP: Final = Pattern(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")
_QUOTED: Final = Pattern(r"\\(.)")


class _Rule(NamedTuple):
    """A rule, ready to be evaluated.

    Args:
        stated: The rule, as the schema states it.
        program: Its expression.
        message: The expression that makes its message.
        has_old: Whether the expression reads the earlier value.
        path: The field that it is about, below the value.
        error: Why it cannot be evaluated.
    """

    stated: JSONObject
    program: Program | None = None
    message: Program | None = None
    has_old: bool = False
    path: Path = Path()
    error: str = ""

    @property
    def is_optional(self) -> bool:
        """Whether the earlier value is an optional, and the rule is for new values, too."""
        return self.stated.get("optionalOldSelf") is True

    @property
    def name(self) -> str:
        """How errors name the rule."""
        return (text(self.stated, "message") or text(self.stated, "rule")).strip()


class _Place(NamedTuple):
    """A place in a value.

    Args:
        source: What has the rules: the schema, or one that it combines by ``allOf``.
        schema: The schema, which tells the types.
        path: The path.
        old: The value as it was; ``ABSENT`` if it is new, or cannot be told from others.
        before: The nearest value around that is known from before, and what it was.
    """

    source: Structural
    schema: Structural
    path: Path
    old: Any
    before: tuple[Any, Any] | None = None


class _Stopped(Exception):  # noqa: N818 - it ends the walk, and is no error
    """The rules cost too much: no further ones are evaluated."""


def check_rules(value: Any, schema: Structural, release: Release, old: Any, *, ratchets: bool) -> list[Problem]:
    """Evaluate the rules for a value and all below it, and list those that do not hold.

    Args:
        value: The value, which fits the schema otherwise.
        schema: The schema.
        release: The Kubernetes release.
        old: The value that it replaces; ``ABSENT`` for a new one.
        ratchets: Whether rules about values that are as they were only warn.

    Raises:
        BudgetExceededError: They take more work than may be done.
    """
    walk = _Walk(release, ratchets=ratchets)
    with suppress(_Stopped):
        walk.check(value, _Place(schema, schema, Path(), old))
    return walk.found


def rule_errors(schema: Structural, release: Release) -> Iterator[tuple[Path, str]]:
    """List the rules of a schema that cannot be compiled: their paths in the schema, and why."""
    for name, part in _parts(schema):
        for path, error in rule_errors(part, release):
            yield Path((*name, *path)), error
    for index, rule in enumerate(_rules(schema, schema, release)):
        if rule.error:
            yield Path(("x-kubernetes-validations", index)), rule.error


def _parts(schema: Structural) -> Iterator[tuple[tuple[str, ...], Structural]]:
    for name, each in schema.properties.items():
        yield ("properties", name), each
    if schema.items:
        yield ("items",), schema.items
    if schema.values:
        yield ("additionalProperties",), schema.values


class _Walk:
    """Walks through a value, and evaluates the rules on its way.

    Args:
        release: The Kubernetes release.
        ratchets: Whether rules about values that are as they were only warn.

    Attributes:
        found: The findings.
    """

    def __init__(self, release: Release, *, ratchets: bool) -> None:
        self._release, self._ratchets = release, ratchets
        self._meter = Meter(CALL_LIMIT)
        self.found: list[Problem] = []

    def check(self, value: Any, place: _Place) -> None:
        """Check the value in a place and all below it."""
        source, schema, path, old, before = place
        if value is None or not source.has_rules:
            return
        work(1)
        before = before if old is ABSENT else (value, old)
        if source.rules:
            self._evaluate(value, place._replace(before=before))
        for each in source.alternatives("allOf"):
            self.check(value, place._replace(source=each))
        if isinstance(value, list) and source.items and schema.items:
            earlier = Correlated(schema, old)
            for index, each in enumerate(value):
                self.check(each, _Place(source.items, schema.items, path / index, earlier.of(each), before))
        elif isinstance(value, dict):
            olds = old if isinstance(old, dict) else {}
            for name, each in value.items():
                if name in source.properties and name in schema.properties:
                    parts, step = (source.properties[name], schema.properties[name]), name
                elif source.values and schema.values:
                    parts, step = (source.values, schema.values), Key(name)
                else:
                    continue
                self.check(each, _Place(*parts, path / step, olds.get(name, ABSENT), before))

    def _evaluate(self, value: Any, place: _Place) -> None:
        source, schema, path, old, before = place
        rules = _rules(source, schema, self._release)
        if self._meter.cost >= POLICY_LIMIT:
            self._stop(invalid(path, schema.type, f"validation {_OUT_OF_BUDGET}"))
        bindings: dict[str, Any] = {"self": value_of(value, schema)}
        was_there = old is not ABSENT and old is not None
        if was_there and any(each.has_old for each in rules):
            bindings["oldSelf"] = value_of(old, schema)
        for rule in rules:
            if rule.error:
                self.found.append(invalid(path, schema.type, f"rule compile error: {rule.error}"))
            if rule.program is None or (rule.has_old and not was_there and not rule.is_optional):
                continue
            seen = bindings
            if rule.is_optional:
                seen = bindings | {"oldSelf": Optional(bindings["oldSelf"]) if "oldSelf" in bindings else NONE}
            if self._holds(rule, rule.program, seen, path, schema):
                continue
            detail = self._message(rule, bindings, path, schema) or _default_message(rule)
            problem = _refusal(rule, path, value, detail)
            if self._ratchets and not rule.has_old and before is not None and equal(*before):
                problem = problem._replace(level=WARNING)
            self.found.append(problem)

    def _holds(
        self, rule: _Rule, program: Program, bindings: Mapping[str, Any], path: Path, schema: Structural
    ) -> bool:
        """Tell whether a rule holds; an error is reported, and counts as if it did."""
        error = ""
        try:
            holds = program.evaluate(bindings, meter=self._meter) is True
        except EvaluationError as failure:
            holds, error = True, str(failure)
        except CostLimitExceededError as failure:
            detail = f"'{failure}': no further validation rules will be run due to call cost exceeds limit for rule: "
            self._stop(invalid(path, schema.type, detail + rule.name))
        if self._meter.cost > POLICY_LIMIT:
            self._stop(invalid(path, schema.type, f"validation {_OUT_OF_BUDGET}"))
        if error.startswith(_NO_OVERLOAD):
            detail = f"'{error}': {_MISMATCH}"
            self.found.append(invalid(path, schema.type, detail + rule.name))
        elif error:
            self.found.append(invalid(path, schema.type, f"{error} evaluating rule: {rule.name}"))
        return holds

    def _message(self, rule: _Rule, bindings: Mapping[str, Any], path: Path, schema: Structural) -> str:
        """Return the text of a rule's ``messageExpression``; empty if it has none, or it fails."""
        if rule.message is None:
            return ""
        try:
            message = rule.message.evaluate(bindings, meter=self._meter)
        except EvaluationError:
            return ""
        except CostLimitExceededError:
            stated = text(rule.stated, "messageExpression")
            detail = (
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: "
                f"{stated}"
            )
            self._stop(invalid(path, schema.type, detail))
        if self._meter.cost > POLICY_LIMIT:
            self._stop(invalid(path, schema.type, f"messageExpression evaluation {_OUT_OF_BUDGET}"))
        message = message.strip() if isinstance(message, str) else ""
        return "" if "\n" in message or len(message.encode()) > _LONGEST_MESSAGE else message

    def _stop(self, problem: Problem) -> None:
        self.found.append(problem)
        raise _Stopped


def _default_message(rule: _Rule) -> str:
    return text(rule.stated, "message").strip() or f"failed rule: {rule.name}"


def _refusal(rule: _Rule, path: Path, value: Any, detail: str) -> Problem:
    path = Path((*path, *rule.path))
    reason = rule.stated.get("reason")
    if reason == "FieldValueForbidden":
        return forbidden(path, detail)
    if reason == "FieldValueRequired":
        return required(path, detail)
    is_omitted = isinstance(value, dict | list)
    if reason == "FieldValueDuplicate":
        problem = duplicate(path, value)
        return problem._replace(message="Duplicate value") if is_omitted else problem
    if is_omitted:
        return Problem(ERROR, "", "FieldValueInvalid", path, f"Invalid value: {detail}")
    return invalid(path, value, detail)


def _rules(source: Structural, schema: Structural, release: Release) -> Sequence[_Rule]:
    """Return the compiled rules of a schema, without those of its parts."""
    if (known := source.programs.get(release)) is None:
        known = source.programs[release] = list(_compiled(source, schema, release)) if source.rules else []
    rules: Sequence[_Rule] = known
    return rules


def _compiled(source: Structural, schema: Structural, release: Release) -> Iterator[_Rule]:
    declared: dict[str, StructType] = {}
    type_ = type_of(schema, "self", declared) or types.DYN
    plain = environment(release, stored=True).extend(
        Library("self", structs=tuple(declared.values())), variables={"self": type_, "oldSelf": type_}
    )
    optional = plain.extend(variables={"oldSelf": types.optional_of(type_)})
    for stated in source.rules:
        own = optional if stated.get("optionalOldSelf") is True else plain
        yield _compile(stated, own, schema)


def _compile(stated: JSONObject, known: Environment, schema: Structural) -> _Rule:
    expression, message = text(stated, "rule"), text(stated, "messageExpression")
    if not expression.strip():
        return _Rule(stated)
    try:
        checked = known.check(expression)
        if checked.type is not types.BOOL:
            return _Rule(stated, error="cel expression must evaluate to a bool")
        program = known.program(checked)
    except CompileError as error:
        return _Rule(stated, error=f"compilation failed: {error}")
    except ProgramError as error:
        return _Rule(stated, error=f"program instantiation failed: {error}")
    has_old = "oldSelf" in program.variables
    return _Rule(stated, program, _compiled_message(message, known), has_old, _field_path(stated, schema))


def _compiled_message(message: str, known: Environment) -> Program | None:
    if not message:
        return None
    try:
        return known.compile(message)
    except (CompileError, ProgramError):
        return None


def _field_path(stated: JSONObject, schema: Structural) -> Path:
    """Return the path of a rule's ``fieldPath``; an empty one if it has none, or that names no field."""
    path, rest, part = Path(), text(stated, "fieldPath"), schema
    while rest:
        step = _STEP.match(rest)
        if step is None:
            return Path()
        name = step[1] or _QUOTED.sub(lambda found: found[1], step[2])
        if (field := part.field(name)) is None:
            return Path()
        path = path / (name if name in part.properties else Key(name))
        part, rest = field, rest[step.end() :]
    return path
