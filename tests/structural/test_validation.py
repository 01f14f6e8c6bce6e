"""Values are validated by structural schemas in the API server's words."""

from time import process_time
from typing import Any

import pytest
import yaml

from tests.rows import each_row
from webhook.budget import Budget, BudgetExceededError, limited
from webhook.release import Release
from webhook.structural.definition import decoded, defaulted
from webhook.structural.rules import rule_errors
from webhook.structural.schema import Structural
from webhook.structural.validation import validate

RELEASE = Release(36)
UNCHECKED = (
    "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
    "existing errors to complete validation"
)


def schema(text: str) -> Structural:
    return Structural(yaml.safe_load(text))


def errors(stated: str, value: str, old: str = "", release: Release = RELEASE) -> list[str]:
    earlier = {"old": yaml.safe_load(old)} if old else {}
    found = validate(yaml.safe_load(value), schema(stated), release, **earlier)
    return [("warning: " if each.level == "warning" else "") + str(each) for each in found]


KEYWORDS = [
    ("{type: integer}", "x", 'Invalid value: "string": a in body must be of type integer: "string"'),
    ("{type: integer}", "1.0", ""),
    ("{type: number}", "1", ""),
    ("{type: integer, nullable: true}", "null", ""),
    ("{type: string}", "null", 'Invalid value: "null": a in body must be of type string: "null"'),
    ("{type: string}", "true", 'Invalid value: "boolean": a in body must be of type string: "boolean"'),
    ("{type: array}", "{}", 'Invalid value: "object": a in body must be of type array: "object"'),
    (
        "{x-kubernetes-int-or-string: true}",
        "[]",
        'Invalid value: "array": a in body must be of type integer,string: "array"',
    ),
    ("{x-kubernetes-int-or-string: true}", "5", ""),
    ("{type: string, enum: [x, y]}", "z", 'Unsupported value: "z": supported values: "x", "y"'),
    ("{type: integer, enum: [1, 2]}", "3", 'Unsupported value: 3: supported values: "1", "2"'),
    ("{type: integer, enum: [1, 2]}", "2", ""),
    ("{type: integer, minimum: 2}", "1", "Invalid value: 1: a in body should be greater than or equal to 2"),
    ("{type: integer, maximum: 2}", "3", "Invalid value: 3: a in body should be less than or equal to 2"),
    ("{type: integer, maximum: 2, exclusiveMaximum: true}", "2", "Invalid value: 2: a in body should be less than 2"),
    ("{type: number, minimum: 0.5}", "0.25", "Invalid value: 0.25: a in body should be greater than or equal to 0.5"),
    ("{type: integer, multipleOf: 4}", "6", "Invalid value: 6: a in body should be a multiple of 4"),
    ("{type: number, multipleOf: 0.5}", "1.5", ""),
    ("{type: string, maxLength: 2}", "abc", "Too long: may not be more than 2 bytes"),
    ("{type: string, minLength: 2}", "a", 'Invalid value: "a": a in body should be at least 2 chars long'),
    ("{type: string, pattern: ^a$}", "b", "Invalid value: \"b\": a in body should match '^a$'"),
    ("{type: string, pattern: '('}", "b", "pattern is invalid: error parsing regexp: missing closing ): `(`'"),
    ("{type: array, maxItems: 1}", "[1, 2]", "Too many: 2: must have at most 1 item"),
    ("{type: array, minItems: 1}", "[]", "Invalid value: 0: a in body should have at least 1 items"),
    ("{type: array, uniqueItems: true}", "[1, 1]", 'Invalid value: "": a in body shouldn\'t contain duplicates'),
    ("{type: object, minProperties: 1}", "{}", "Invalid value: 0: a in body should have at least 1 properties"),
    ("{type: object, maxProperties: 1}", "{b: 1, c: 2}", "Too many: 2: must have at most 1 item"),
    ("{type: string, format: date-time}", "x", 'Invalid value: "x": a in body must be of type date-time: "x"'),
    ("{type: string, format: date-time}", "'2026-01-02T03:04:05Z'", ""),
    ("{type: string, format: unheard-of}", "x", ""),
    ("{anyOf: [{minimum: 2}, {maximum: 0}]}", "1", '"a" must validate at least one schema (anyOf)'),
    ("{oneOf: [{minimum: 0}, {maximum: 2}]}", "1", "and only one schema (oneOf). Found 2 valid alternatives"),
    ("{allOf: [{minimum: 2}]}", "1", '"a" must validate all the schemas (allOf). None validated'),
    ("{not: {minimum: 0}}", "1", '"a" must not validate the schema (not)'),
]


@each_row(("stated", "value", "expected"), KEYWORDS)
def test_a_keyword_refuses_what_the_api_server_refuses(stated: str, value: str, expected: str) -> None:
    found = errors(f"{{type: object, properties: {{a: {stated}}}}}", f"{{a: {value}}}")
    assert any(expected in each for each in found) if expected else not found, found


FORMATS = {
    "uuid": ("123e4567-e89b-12d3-a456-426614174000", "123e4567"),
    "uuid4": ("123e4567-e89b-42d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
    "date": ("2026-02-28", "2026-02-30"),
    "duration": ("1h30m", "soon"),
    "ipv4": ("010.1.2.3", "10.1.2"),
    "ipv6": ("fd00::1", "10.1.2.3"),
    "cidr": ("10.0.0.0/8", "10.0.0.0/33"),
    "mac": ("01:23:45:67:89:ab", "01:23:45-67:89:ab"),
    "hostname": ("a.example", "-a.example"),
    "email": ("a@example", "a@"),
    "uri": ("https://example", "example"),
    "byte": ("YQ==", "YQ="),
    "hexcolor": ("#ffAA00", "#ffAA0"),
    "rgbcolor": ("rgb(0, 255,3)", "rgb(0,256,3)"),
    "ssn": ("123-45-6789", "12345-6789"),
    "isbn10": ("0321751043", "0321751044"),
    "isbn": ("978-0321751041", "978-0321751042"),
    "creditcard": ("4111 1111 1111 1111", "4111 1111 1111 1112"),
    "bsonobjectid": ("507f1f77bcf86cd799439011", "507f"),
    "k8s-short-name": ("a-b", "A"),
    "k8s-long-name": ("a.b", "a..b"),
}


@each_row("name", FORMATS)
def test_a_format_tells_texts_apart(name: str) -> None:
    stated = schema(f"{{type: string, format: {name}}}")
    good, bad = FORMATS[name]
    assert not validate(good, stated, RELEASE)
    assert [each.reason for each in validate(bad, stated, RELEASE)] == ["FieldValueTypeInvalid"]


def test_durations_may_be_written_as_in_scala() -> None:
    assert not validate("3 days", schema("{type: string, format: duration}"), RELEASE)


def test_older_releases_do_not_check_newer_formats_and_ranges() -> None:
    assert not errors("{type: string, format: k8s-short-name}", "A B", release=Release(33))
    assert not errors("{type: integer, format: int32}", "4294967296", release=Release(35))
    assert errors("{type: integer, format: int32}", "4294967296") == [
        '<nil>: Invalid value: "": Checked value must be of type integer with format int32 in '
    ]


def test_required_fields_and_closed_objects() -> None:
    stated = "{type: object, additionalProperties: false, required: [a]}"
    assert errors(f"{{properties: {{x: {stated}}}}}", "{x: {b: 1}}") == [
        'x: Invalid value: "b": x.b in body is a forbidden property',
        "x.a: Required value",
    ]


LISTS = [
    ("{type: array, x-kubernetes-list-type: set}", "[{a: 1}, {a: 1}, {a: 1}]", ['[1]: Duplicate value: {"a":1}']),
    (
        "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]}",
        "[{a: 1, b: 1}, {a: 1}, {b: 1}]",
        ['[1]: Duplicate value: {"a":1}'],
    ),
    (
        "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [a]}",
        "[1]",
        ["[0]: Invalid value: 1: must be an object for an array of list-type map"],
    ),
]


@each_row(("stated", "value", "expected"), LISTS)
def test_items_that_repeat_others_are_found(stated: str, value: str, expected: list[str]) -> None:
    assert errors(stated, value) == expected


def test_repeated_items_that_were_there_before_are_accepted() -> None:
    assert not errors("{type: array, x-kubernetes-list-type: set}", "[1, 1]", old="[2, 2]")


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
RULES = [
    ("{size: 11}", "", ["Invalid value: size is 11"]),
    ("{when: '2028-01-01T00:00:00Z'}", "", ["Invalid value: too late"]),
    ("{for-a: 2h}", "", ["failed rule: !has(self.for__dash__a) || self.for__dash__a < duration('1h')"]),
    ("{tags: [good, bad]}", "", ["tags[1]: Invalid value: \"bad\": failed rule: self != 'bad'"]),
    ("{limits: {cpu: {low: 2, high: 1}}}", "", ["limits[cpu].low: Forbidden: failed rule: self.low <= self.high"]),
    ("{items: [{name: a, weight: 1}]}", "{items: [{name: b, weight: 3}, {name: a, weight: 2}]}", ["must not shrink"]),
    ("{items: [{name: a, weight: 1}]}", "{items: [{name: b, weight: 3}]}", []),
    ("{name: a, size: 0}", "{size: 0}", ["name is immutable"]),
    ("{name: a, size: 0}", "", []),
    ("{name: a, size: 1}", "", ['Invalid value: "object": index out of bounds: 1 evaluating rule: index']),
    ("{size: x}", "", ["must be of type integer", UNCHECKED]),
]


@each_row(("value", "old", "expected"), RULES)
def test_rules_are_evaluated_wherever_they_stand(value: str, old: str, expected: list[str]) -> None:
    found = errors(RULED, value, old)
    assert len(found) == len(expected)
    assert all(wanted in each for wanted, each in zip(expected, found, strict=True)), found


def test_a_rule_about_what_is_as_it_was_only_warns() -> None:
    stated = "{properties: {a: {type: object, x-kubernetes-validations: [{rule: 'false', message: never}]}}}"
    assert errors(stated, "{a: {b: 1}}", old="{a: {b: 1}}") == ["warning: a: Invalid value: never"]
    assert errors(stated, "{a: {b: 1}}", old="{a: {b: 2}}") == ["a: Invalid value: never"]
    assert errors(stated, "{a: {b: 1}}", old="{a: {b: 1}}", release=Release(29)) == ["a: Invalid value: never"]


def test_an_error_in_what_is_as_it_was_is_accepted() -> None:
    assert not errors("{properties: {a: {type: integer}, b: {type: integer}}}", "{a: x, b: 1}", old="{a: x, b: 2}")


BROKEN = [
    ("self.nope > 1", "rule compile error: compilation failed: ERROR: <input>:1:5: undefined field 'nope'"),
    ("self.a", "rule compile error: cel expression must evaluate to a bool"),
    ("int('x') == 1", "rule compile error: program instantiation failed: "),
    ("", ""),
]


@each_row(("rule", "expected"), BROKEN)
def test_a_rule_that_does_not_compile_is_an_error(rule: str, expected: str) -> None:
    stated = {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": rule}]}
    found = [str(each) for each in validate({"a": 1}, Structural(stated), RELEASE)]
    assert (len(found) == 1 and expected in found[0]) if expected else not found
    told = list(rule_errors(Structural({"items": {"additionalProperties": stated}}), RELEASE))
    places = [str(path) for path, _ in told]
    assert places == (["items.additionalProperties.x-kubernetes-validations[0]"] if expected else [])


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
DECODED: list[tuple[str, dict[str, Any], list[str]]] = [
    ("{}", {"spec": {"size": 3}}, []),
    ("{spec: {size: null, note: null, name: null}}", {"spec": {"size": 3, "note": None}}, []),
    ("{spec: {items: [{}, {weight: 2}]}}", {"spec": {"size": 3, "items": [{"weight": 1}, {"weight": 2}]}}, []),
    ("{spec: {labels: {a: null, b: c}}}", {"spec": {"size": 3, "labels": {"b": "c"}}}, []),
    ("{metadata: {x: 1}, extra: 1}", {"metadata": {"x": 1}, "spec": {"size": 3}}, ["extra"]),
    (
        "{spec: {z: 1, items: [{b: 1}], a: 1}}",
        {"spec": {"size": 3, "items": [{"weight": 1}]}},
        ["spec.a", "spec.items[0].b", "spec.z"],
    ),
    (
        "{spec: {free: {x: {y: null}, a: {b: 1}}}}",
        {"spec": {"size": 3, "free": {"x": {"y": None}, "a": {}}}},
        ["spec.free.a.b"],
    ),
    (
        "{spec: {pod: {kind: Pod, metadata: {x: 1}, spec: {}, status: {}}}}",
        {"spec": {"size": 3, "pod": {"kind": "Pod", "metadata": {"x": 1}, "spec": {}}}},
        ["spec.pod.status"],
    ),
]


@each_row(("submitted", "stored", "unknown"), DECODED)
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
