"""Values are validated by structural schemas in the API server's words."""

from time import process_time
from typing import Any

import pytest
import yaml

from tests.rows import each_row, each_row_beside
from webhook.budget import Budget, BudgetExceededError, limited
from webhook.problem import Problem
from webhook.release import Release
from webhook.structural.definition import decoded, defaulted
from webhook.structural.rules import rule_errors
from webhook.structural.schema import ABSENT, Structural
from webhook.structural.validation import by_rules, by_schema, repeated_items

RELEASE = Release(36)


def schema(text: str) -> Structural:
    return Structural(yaml.safe_load(text))


def validate(value: Any, by: Structural, release: Release, old: Any = ABSENT) -> list[Problem]:
    found = [*by_schema(value, by, release, old), *repeated_items(value, by, old)]
    return [*found, *by_rules(value, by, release, found, old)]


def errors(stated: str, value: str, old: str = "", release: Release = RELEASE) -> list[str]:
    earlier = {"old": yaml.safe_load(old)} if old else {}
    found = validate(yaml.safe_load(value), schema(stated), release, **earlier)
    return [("warning: " if each.level == "warning" else "") + str(each) for each in found]


@each_row_beside("stated", "value", "expected")
def test_a_keyword_refuses_what_the_api_server_refuses(stated: str, value: str, expected: str) -> None:
    found = errors(f"{{type: object, properties: {{a: {stated}}}}}", f"{{a: {value}}}")
    assert any(expected in each for each in found) if expected else not found, found


@each_row_beside("name", "good", "bad")
def test_a_format_tells_texts_apart(name: str, good: str, bad: str) -> None:
    stated = schema(f"{{type: string, format: {name}}}")
    assert not validate(good, stated, RELEASE)
    assert [each.reason for each in validate(bad, stated, RELEASE)] == ["FieldValueTypeInvalid"]


def test_older_releases_do_not_check_newer_formats_and_ranges() -> None:
    assert not errors("{type: string, format: k8s-short-name}", "A B", release=Release(33))
    assert not errors("{type: integer, format: int32}", "4294967296", release=Release(35))
    assert errors("{type: integer, format: int32}", "4294967296") == [
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in '
    ]
    assert not validate("3 days", schema("{type: string, format: duration}"), RELEASE)


def test_required_fields_and_closed_objects() -> None:
    stated = "{type: object, additionalProperties: false, required: [a]}"
    assert errors(f"{{properties: {{x: {stated}}}}}", "{x: {b: 1}}") == [
        'x: Invalid value: "b": x.b in body is a forbidden property',
        "x.a: Required value",
    ]


LIST_MAP = "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]}"


@each_row(
    ("stated", "value", "expected"),
    ("{type: array, x-kubernetes-list-type: set}", "[{a: 1}, {a: 1}, {a: 1}]", ['[1]: Duplicate value: {"a":1}']),
    (LIST_MAP, "[{a: 1, b: 1}, {a: 1}, {b: 1}]", ['[1]: Duplicate value: {"a":1}']),
    (LIST_MAP, "[1]", ["[0]: Invalid value: 1: must be an object for an array of list-type map"]),
)
def test_items_that_repeat_others_are_found(stated: str, value: str, expected: list[str]) -> None:
    assert errors(stated, value) == expected


RULED = """
type: object
properties:
  size: {type: integer}
  name: {type: string}
  when: {type: string, format: date-time}
  for-a: {type: string, format: duration}
  tags: {type: array, items: {type: string, x-kubernetes-validations: [{rule: "self != 'bad'"}]}}
  items:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items:
      type: object
      properties: {name: {type: string}, weight: {type: integer}}
      x-kubernetes-validations: [{rule: self.weight >= oldSelf.weight, message: must not shrink}]
  limits:
    type: object
    additionalProperties:
      type: object
      properties: {low: {type: integer}, high: {type: integer}}
      x-kubernetes-validations: [{rule: self.low <= self.high, fieldPath: .low, reason: FieldValueForbidden}]
x-kubernetes-validations:
- {rule: "!has(self.size) || self.size < 10", messageExpression: "'size is ' + string(self.size)"}
- {rule: "!has(self.when) || self.when < timestamp('2027-01-01T00:00:00Z')", message: " too late "}
- {rule: "!has(self.for__dash__a) || self.for__dash__a < duration('1h')"}
- {rule: "oldSelf.orValue(self).?name == self.?name", optionalOldSelf: true, message: name is immutable}
- {rule: "!has(self.name) || self.name.size() < [5][self.size]", message: index}
"""


@each_row_beside("value", "old", "expected")
def test_rules_are_evaluated_wherever_they_stand(value: str, old: str, expected: list[str]) -> None:
    found = errors(RULED, value, old)
    assert len(found) == len(expected)
    assert all(wanted in each for wanted, each in zip(expected, found, strict=True)), found


def test_what_was_there_before_is_accepted_or_warned_of() -> None:
    stated = "{properties: {a: {type: object, x-kubernetes-validations: [{rule: 'false', message: never}]}}}"
    assert errors(stated, "{a: {b: 1}}", old="{a: {b: 1}}") == ["warning: a: Invalid value: never"]
    assert errors(stated, "{a: {b: 1}}", old="{a: {b: 2}}") == ["a: Invalid value: never"]
    assert errors(stated, "{a: {b: 1}}", old="{a: {b: 1}}", release=Release(29)) == ["a: Invalid value: never"]
    assert not errors("{properties: {a: {type: integer}, b: {type: integer}}}", "{a: x, b: 1}", old="{a: x, b: 2}")
    assert not errors("{type: array, x-kubernetes-list-type: set}", "[1, 1]", old="[2, 2]")


@each_row(
    ("rule", "expected"),
    ("self.nope > 1", "rule compile error: compilation failed: ERROR: <input>:1:5: undefined field 'nope'"),
    ("self.a", "rule compile error: cel expression must evaluate to a bool"),
    ("int('x') == 1", "rule compile error: program instantiation failed: "),
    ("", ""),
)
def test_a_rule_that_does_not_compile_is_an_error(rule: str, expected: str) -> None:
    stated = {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": rule}]}
    found = [str(each) for each in validate({"a": 1}, Structural(stated), RELEASE)]
    assert (len(found) == 1 and expected in found[0]) if expected else not found
    told = list(rule_errors(Structural({"items": {"additionalProperties": stated}}), RELEASE))
    places = [str(path) for path, _ in told]
    assert places == (["items.additionalProperties.x-kubernetes-validations[0]"] if expected else [])


@pytest.mark.no_cover
def test_rules_that_cost_too_much_end_the_evaluation() -> None:
    rule = "self.all(a, self.all(b, self.all(c, self.exists(d, d == a + b + c - 3000 || d > 0))))"
    stated = {
        "type": "array",
        "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": rule, "message": "slow"}, {"rule": "false"}],
    }
    (found,) = validate(list(range(1000)), Structural(stated), RELEASE)
    assert found.message == (
        "Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will "
        "be run due to call cost exceeds limit for rule: slow"
    )


@pytest.mark.slow
def test_the_budget_of_an_object_counts_before_that_of_a_rule() -> None:
    cheap, dear = "self.all(a, self.all(b, a + b < 3000))", "self.all(a, self.all(b, self.all(c, a + b + c < 3000)))"
    rules = [*({"rule": cheap} for _ in range(15)), {"rule": dear}]
    stated = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": rules}
    (found,) = validate(list(range(300)), Structural(stated), RELEASE)
    assert "validation failed due to running out of cost budget" in found.message


@pytest.mark.slow
@each_row(
    ("costs", "said"),
    (
        "self.all(a, self.all(b, self.all(c, a + b + c < 3000))) ? '' : 'a'",
        "for messageExpression: \"self.all(a, self.all(b, self.all(c, a + b + c < 3000))) ? '' : 'a'\"",
    ),
    # An expression that fails has its cost, too.
    (
        "self.all(a, self.all(b, a + b < 3000)) ? string(1 / self[0]) : ''",
        "evaluation failed due to running out of cost budget, no further validation rules will be run",
    ),
)
def test_a_message_that_costs_too_much_ends_the_evaluation(costs: str, said: str) -> None:
    rule = {"rule": "false", "message": "m", "messageExpression": costs}
    stated = {"type": "array", "items": {"type": "integer"}, "x-kubernetes-validations": [rule] * 30}
    *failed, last = validate(list(range(300)), Structural(stated), RELEASE)
    assert {each.message for each in failed} <= {"Invalid value: m"}
    assert last.message.endswith(said)


STORED = """
type: object
properties:
  spec:
    type: object
    default: {}
    properties:
      size: {type: integer, default: 3}
      note: {type: string, nullable: true}
      name: {type: string}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: object}}}
      labels: {type: object, additionalProperties: {type: string}}
      items: {type: array, items: {type: object, properties: {weight: {type: integer, default: 1}}}}
      pod: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
"""


@each_row_beside("submitted", "stored", "unknown")
def test_an_object_is_pruned_and_completed(submitted: str, stored: dict[str, Any], unknown: list[str]) -> None:
    stated, value = schema(STORED), yaml.safe_load(submitted)
    kept, paths = decoded(value, stated)
    assert defaulted(kept, stated) == stored
    assert list(map(str, paths)) == unknown
    assert value == yaml.safe_load(submitted)


def test_a_schema_of_wrong_types_allows_everything() -> None:
    stated = "{type: 1, properties: [], items: 3, enum: x, rules: {}, maximum: x, required: {a: 1}, anyOf: 1}"
    assert not errors(stated, "{b: [1, x]}")


def test_defaults_required_fields_and_supported_values_are_charged_to_the_budget() -> None:
    fields = {f"f{at}": {"type": "string", "default": "a"} for at in range(100)}
    defaults = Structural({"items": {"type": "object", "properties": fields}})
    large = Structural({"items": {"type": "object", "default": {"a": list(range(1000))}}})
    required = Structural({"items": {"type": "object", "required": [*fields]}})
    supported = Structural({"items": {"type": "string", "enum": ["a" * 100] * 100}})
    for judge in (
        lambda: defaulted([{}] * 1000, defaults),
        lambda: defaulted([None] * 1000, large),
        lambda: validate([{}] * 1000, required, RELEASE),
        lambda: validate(["b"] * 1000, supported, RELEASE),
    ):
        with limited(Budget(50_000)), pytest.raises(BudgetExceededError):
            judge()


def test_an_address_of_mail_is_told_in_linear_time() -> None:
    started = process_time()
    assert validate(" " * 50_000 + "a" * 50_000, schema("{type: string, format: email}"), RELEASE)
    assert process_time() - started < 1
