"""Validation rules in CEL (``x-kubernetes-validations``).

Follows apiextensions-apiserver ``pkg/apiserver/schema/cel`` (compilation.go, validation.go). Lists of
``x-kubernetes-list-type`` ``set`` and ``map`` are compared and added as other lists are, in their order.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

from webhook.budget import work
from webhook.cel.checker.declarations import Library, StructType
from webhook.cel.environment import Environment, Program, Refusal
from webhook.cel.errors import CostLimitExceededError, EvaluationError
from webhook.cel.kubernetes.environments import CALL_LIMIT, POLICY_LIMIT, environment
from webhook.cel.runtime.conversions import parse_timestamp
from webhook.cel.runtime.meter import Meter
from webhook.cel.syntax.lexer import KEYWORDS
from webhook.cel.types import base as types
from webhook.cel.types.base import Type
from webhook.cel.types.values import NONE, Optional
from webhook.objects import JSONObject, text
from webhook.patch import equal
from webhook.patterns import Pattern
from webhook.problem import ERROR, WARNING, Key, Path, Problem, duplicate, forbidden, invalid, quoted, required
from webhook.release import Release
from webhook.schema.derive import shape as shapes
from webhook.structural.formats import read_duration
from webhook.structural.schema import ABSENT, Correlated, Structural

_PLAIN: Final = Pattern("[a-zA-Z_][a-zA-Z0-9_]*")
_ESCAPABLE: Final = Pattern("[a-zA-Z_./-][a-zA-Z0-9_./-]*")
_ESCAPED: Final = Pattern("__|[-./]")
_ESCAPES: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
TYPES: Final[Mapping[str, Type]] = {
    shapes.STRING: types.STRING,
    shapes.INTEGER: types.INT,
    shapes.NUMBER: types.DOUBLE,
    shapes.BOOLEAN: types.BOOL,
    shapes.TIMESTAMP: types.TIMESTAMP,
    shapes.DURATION: types.DURATION,
    shapes.BYTES: types.BYTES,
}
"""The types of scalars in expressions."""


def escaped(name: str) -> str:
    """Return the name of a field in expressions; empty if they cannot read it."""
    if name in KEYWORDS:
        return f"__{name}__"
    if "__" not in name and _PLAIN.fullmatch(name):
        return name
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], name) if _ESCAPABLE.fullmatch(name) else ""


def type_of(schema: Structural, name: str, declared: dict[str, StructType]) -> Type | None:
    """Return the type of a schema's values in expressions, None if they cannot read them; declare types with fields."""
    if schema.is_int_or_string:
        return types.DYN
    if schema.is_embedded:
        schema = schema.of_resource
    if schema.type == "array":
        item = None if schema.items is None else type_of(schema.items, f"{name}.@idx", declared)
        return None if item is None else types.list_of(item)
    if schema.type == "object":
        if schema.values is not None:
            value = type_of(schema.values, f"{name}.@elem", declared)
            return None if value is None else types.map_of(types.STRING, value)
        work(1 + len(schema.properties))
        fields = {
            escaped(field): type_of(each, f"{name}.{escaped(field)}", declared)
            for field, each in schema.properties.items()
        }
        type_ = types.struct(name)
        declared[name] = StructType(type_, {field: each for field, each in fields.items() if field and each})
        return type_
    return TYPES.get(schema.scalar)


def value_of(value: Any, schema: Structural) -> Any:
    """Return a value as expressions see it: fields by their names there, texts with a format by their meaning."""
    if value is None or schema.is_int_or_string:
        return value
    if schema.is_embedded:
        schema = schema.of_resource
    if isinstance(value, dict) and schema.type == "object":
        work(1 + len(value))
        if schema.values is not None and not schema.properties:
            return {key: value_of(each, schema.values) for key, each in value.items()}
        return {
            escaped(name): value_of(each, schema.properties[name])
            for name, each in value.items()
            if each is not None and name in schema.properties
        }
    if isinstance(value, list) and schema.items is not None:
        work(1 + len(value))
        return [value_of(each, schema.items) for each in value]
    return _scalar(value, schema)


def _scalar(value: Any, schema: Structural) -> Any:
    if isinstance(value, str) and schema.type == "string":
        read = _READ.get(text(schema.stated, "format"))
        return value if read is None else read(value)
    if schema.type == "number" and isinstance(value, int | float):
        return float(value)
    return int(value) if isinstance(value, float) and schema.type == "integer" else value


def _bytes(encoded: str) -> Any:
    try:
        return base64.b64decode(encoded, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return encoded


_READ: Final[Mapping[str, Callable[[str], Any]]] = {
    "byte": _bytes,
    "duration": read_duration,
    "date": lambda date: parse_timestamp(f"{date}T00:00:00Z"),
    "date-time": lambda time: parse_timestamp(time) or parse_timestamp(f"{time}Z"),
}

_OUT_OF_BUDGET: Final = "failed due to running out of cost budget, no further validation rules will be run"
_LONGEST_MESSAGE: Final = 5 * 1024
"""The most bytes of a text that a ``messageExpression`` makes."""
_MISMATCH: Final = "call arguments did not match a supported operator, function or macro signature for rule: "
_STEP: Final = Pattern(r"\.([^.\[\]]+)|\['((?:[^'\\]|\\.)*)'\]")
_FIELDS: Final = Pattern(r"(?<![.\w])self\.\??(\w+)")
_QUOTED: Final = Pattern(r"\\(.)")


class ValidationRule(NamedTuple):
    """A rule, ready to be evaluated.

    Args:
        message: The expression that makes its message.
        has_old: Whether the expression reads the earlier value.
        path: The field that it is about, below the value.
        error: Why it cannot be evaluated.
        message_error: Why there is no expression that makes its message, though one is stated.
    """

    stated: JSONObject
    program: Program | None = None
    message: Program | None = None
    has_old: bool = False
    path: Path = Path()
    error: str = ""
    message_error: str = ""

    @property
    def is_optional(self) -> bool:
        """Whether the earlier value is an optional, and the rule is for new values, too."""
        return self.stated.get("optionalOldSelf") is True

    @property
    def fields(self) -> Sequence[str]:
        """The fields of the value that it reads."""
        found: Sequence[str] = _FIELDS.findall(text(self.stated, "rule"))
        return found

    @property
    def name(self) -> str:
        """How errors name the rule."""
        return (text(self.stated, "message") or text(self.stated, "rule")).strip()


class _Place(NamedTuple):
    """A place in a value.

    Args:
        source: The holder of the rules: the schema, or one that it combines by ``allOf``.
        schema: The schema, which tells the types.
        old: The value as it was; ``ABSENT`` if it is new, or cannot be told from others.
        before: The nearest value around that is known from before, and what it was.
    """

    source: Structural
    schema: Structural
    path: Path
    old: Any
    before: tuple[Any, Any] | None = None


def check_rules(
    value: Any,
    schema: Structural,
    release: Release,
    old: Any = ABSENT,
    *,
    ratchets: bool = False,
    misfits: Collection[Path] = (),
) -> list[Problem]:
    """Evaluate the rules for a value and all below it, and list those that do not hold.

    Args:
        value: The value, which fits the schema otherwise.
        old: The value that it replaces; ``ABSENT`` for a new one.
        ratchets: Whether rules about values that are as they were only warn.
        misfits: The values that do not fit the schema, where one may not: rules that read them are left out, and errors
            of others are not reported.

    Raises:
        BudgetExceededError: They take more work than may be done.
    """
    walk = _Walk(release, ratchets=ratchets, misfits=misfits)
    with suppress(Stopped):
        walk.check(value, _Place(schema, schema, Path(), old))
    return walk.found


def rule_errors(schema: Structural, release: Release) -> Iterator[tuple[Path, str]]:
    """List the rules of a schema that cannot be compiled: their paths in the schema, and why."""
    parts = {("properties", name): each for name, each in schema.properties.items()}
    others = {"items": schema.items, "additionalProperties": schema.values}
    for name, part in (*parts.items(), *(((name,), each) for name, each in others.items() if each)):
        for path, error in rule_errors(part, release):
            yield Path((*name, *path)), error
    for index, rule in enumerate(_rules(schema, schema, release)):
        if rule.error:
            yield Path(("x-kubernetes-validations", index)), rule.error
        if rule.message_error:
            yield Path(("x-kubernetes-validations", index, "messageExpression")), rule.message_error


class Evaluation:
    """Evaluates rules, at the cost that an API server allows for an object; errors may be findings."""

    def __init__(self, *, reports_errors: bool = True) -> None:
        self._meter, self._reports_errors = Meter(CALL_LIMIT), reports_errors
        self.found: list[Problem] = []

    def judge(self, rule: ValidationRule, bindings: Mapping[str, Any], path: Path, type_: str = "object") -> str:
        """Return why a rule does not hold; empty if it holds. An error is a finding, and no reason.

        Raises:
            Stopped: The rules have cost too much.
        """
        if rule.program is None:
            return ""
        refuse = partial(invalid, path, type_)
        holds = self._value(rule.program, bindings, refuse, f"rule: {rule.name}")
        if isinstance(holds, EvaluationError) and self._reports_errors:
            why = f"{holds} evaluating rule: " if holds.has_overload else f"'{holds}': {_MISMATCH}"
            self.found.append(refuse(why + rule.name))
        if holds is True or isinstance(holds, EvaluationError):
            return ""
        message = None
        if rule.message is not None:
            stated = f"messageExpression: {quoted(text(rule.stated, 'messageExpression'))}"
            message = self._value(rule.message, bindings, refuse, stated, of_message=True)
        made = message.strip() if isinstance(message, str) else ""
        if made and "\n" not in made and len(made.encode()) <= _LONGEST_MESSAGE:
            return made
        return text(rule.stated, "message").strip() or f"failed rule: {rule.name}"

    def _value(
        self,
        program: Program,
        bindings: Mapping[str, Any],
        refuse: Callable[[str], Problem],
        stated: str,
        *,
        of_message: bool = False,
    ) -> object:
        """Return the value of an expression, which may be an error.

        Args:
            refuse: Makes the finding that the rules have cost too much.
            stated: The expression, in that finding.
            of_message: Whether it makes a message; such a finding has other words.
        """
        value: object
        try:
            value = program.evaluate(bindings, meter=self._meter)
        except (EvaluationError, CostLimitExceededError) as error:
            value = error
        if self._meter.cost > POLICY_LIMIT:
            what = "messageExpression evaluation" if of_message else "validation"
            self._stop(refuse(f"{what} {_OUT_OF_BUDGET}"))
        if isinstance(value, CostLimitExceededError):
            why = "" if of_message else f"'{value}': "
            why += f"no further validation rules will be run due to call cost exceeds limit for {stated}"
            self._stop(refuse(why))
        return value

    def _stop(self, problem: Problem) -> None:
        self.found.append(problem)
        raise Stopped


class Stopped(Exception):  # noqa: N818 - it ends the walk, and is not an error
    """The rules cost too much: no further ones are evaluated."""


class _Walk(Evaluation):
    """Walks through a value, and evaluates the rules on its way."""

    def __init__(self, release: Release, *, ratchets: bool, misfits: Collection[Path]) -> None:
        super().__init__(reports_errors=not misfits)
        self._release, self._ratchets, self._misfits = release, ratchets, frozenset(misfits)

    def check(self, value: Any, place: _Place) -> None:
        """Check the value in a place and all below it."""
        source, schema, path, old, before = place
        if value is None or not source.has_rules:
            return
        work(1)
        before = before if old is ABSENT else (value, old)
        if source.rules:
            self._evaluate(value, place._replace(before=before))
        for each in source.alternatives["allOf"]:
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
            if self._misfits and (path in self._misfits or any(path / name in self._misfits for name in rule.fields)):
                continue
            seen = bindings
            if rule.is_optional:
                seen = bindings | {"oldSelf": Optional(bindings["oldSelf"]) if "oldSelf" in bindings else NONE}
            if not (detail := self.judge(rule, seen, path, schema.type)):
                continue
            problem = _refusal(rule, path, value, detail)
            if self._ratchets and not rule.has_old and before is not None and equal(*before):
                problem = problem._replace(level=WARNING)
            self.found.append(problem)


def _refusal(rule: ValidationRule, path: Path, value: Any, detail: str) -> Problem:
    path = Path((*path, *rule.path))
    if (reason := rule.stated.get("reason")) == "FieldValueForbidden":
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


def _rules(source: Structural, schema: Structural, release: Release) -> Sequence[ValidationRule]:
    """Return the compiled rules of a schema, without those of its parts."""
    rules: Sequence[ValidationRule] = source.programs.get(release, ())
    if source.rules and not rules:
        rules = source.programs[release] = list(_compiled(source, schema, release))
    return rules


def _compiled(source: Structural, schema: Structural, release: Release) -> Iterator[ValidationRule]:
    declared: dict[str, StructType] = {}
    type_ = type_of(schema, "selfType", declared) or types.DYN  # as there: `self.name` is a field, not a type
    plain = environment(release, stored=True).extend(
        Library(structs=tuple(declared.values())), variables={"self": type_, "oldSelf": type_}
    )
    optional = plain.extend(variables={"oldSelf": types.optional_of(type_)})
    for stated in source.rules:
        own = optional if stated.get("optionalOldSelf") is True else plain
        yield compile_rule(stated, own, _field_path(stated, schema))


def compile_rule(stated: JSONObject, known: Environment, path: Path) -> ValidationRule:
    """Compile a rule about a field below the value."""
    expression, message = text(stated, "rule"), text(stated, "messageExpression")
    if not expression.strip():
        return ValidationRule(stated)
    program = known.attempt(expression, _unless(types.BOOL, "cel expression must evaluate to a bool"))
    if isinstance(program, Refusal):
        return ValidationRule(stated, error=program.text)
    wrong = "messageExpression must evaluate to a string"
    made = known.attempt(message, _unless(types.STRING, wrong)) if message else None
    error, made = (made.text, None) if isinstance(made, Refusal) else ("", made)
    return ValidationRule(stated, program, made, "oldSelf" in program.variables, path, message_error=error)


def _unless(wanted: Type, wrong: str) -> Callable[[Type], Refusal | None]:
    return lambda type_: None if type_ is wanted else Refusal(wrong)


def _field_path(stated: JSONObject, schema: Structural) -> Path:
    """Return the path of a rule's ``fieldPath``; an empty one if it has none, or that names no field."""
    path, part = Path(), schema
    for name in field_steps(text(stated, "fieldPath")):
        if (field := part.field(name)) is None:
            return Path()
        path = path / (name if name in part.properties else Key(name))
        part = field
    return path


def field_steps(written: str) -> Sequence[str]:
    """Return the fields that a ``fieldPath`` names; none if it is malformed."""
    steps: list[str] = []
    while written:
        if (step := _STEP.match(written)) is None:
            return ()
        steps.append(step[1] or _QUOTED.sub(lambda found: found[1], step[2]))
        written = written[step.end() :]
    return steps
