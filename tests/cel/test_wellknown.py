"""Literals of protobuf's well-known messages, which cel-go accepts in every environment."""

from __future__ import annotations

from tests.cel.judging import outcome
from tests.rows import each_row


@each_row(
    ("expression", "expected"),
    [
        ("google.protobuf.Timestamp{seconds: 1} == timestamp('1970-01-01T00:00:01Z')", True),
        ("google.protobuf.Timestamp{}.getFullYear()", 1970),
        ("google.protobuf.Duration{seconds: 1, nanos: 5} == duration('1.000000005s')", True),
        ("google.protobuf.Duration{seconds: 90}.getMinutes()", 1),
        ("google.protobuf.Value{}", None),
        ("google.protobuf.Value{number_value: 1.5} == 1.5", True),
        ("google.protobuf.Value{string_value: 'a'} == 'a'", True),
        ("google.protobuf.Value{struct_value: {'a': [1, 2]}}", {"a": [1.0, 2.0]}),
        (
            "google.protobuf.Struct{fields: {'a': dyn(1), 'b': dyn(b'c'), 'd': dyn(duration('2s'))}}",
            {"a": 1.0, "b": "Yw==", "d": "2s"},
        ),
        ("google.protobuf.Struct{fields: {'a': 9007199254740993}}.a", "9007199254740993"),
        ("google.protobuf.Struct{fields: {'a': google.protobuf.Timestamp{}}}.a", "1970-01-01T00:00:00Z"),
        ("google.protobuf.ListValue{values: [1, 2]}", [1.0, 2.0]),
        ("google.protobuf.ListValue{values: [{true: 1}]}", [{"true": 1.0}]),
        ("google.protobuf.BoolValue{value: true} && true", True),
        ("google.protobuf.BytesValue{} == b''", True),
        ("google.protobuf.DoubleValue{value: 1.5} + 1.0", 2.5),
        ("google.protobuf.FloatValue{value: 0.1} == 0.1", False),
        ("google.protobuf.FloatValue{value: -1e300} < 0.0", True),
        ("google.protobuf.Int32Value{value: 5} == 5", True),
        ("google.protobuf.Int64Value{value: 5} == null", False),
        ("google.protobuf.Int64Value{value: 1} in [1, 2]", True),
        ("google.protobuf.StringValue{value: 'a'}.startsWith('a')", True),
        ("google.protobuf.UInt32Value{value: 5u} + 1u == 6u", True),
        ("google.protobuf.UInt64Value{} == 0u", True),
        ("google.protobuf.Empty{} == google.protobuf.Empty{}", True),
        ("type(google.protobuf.Int32Value{}) == int", True),
    ],
)
def test_messages_come_to_what_they_stand_for(expression: str, expected: object) -> None:
    assert outcome(expression) == expected


@each_row(
    ("expression", "error"),
    [
        ("google.protobuf.Timestamp{nope: 1}", "refused: ERROR: <input>:1:31: undefined field 'nope'"),
        (
            "google.protobuf.Timestamp{seconds: 'a'}",
            "refused: ERROR: <input>:1:34: expected type of field 'seconds' is 'int' but provided type is 'string'",
        ),
        (
            "1u == google.protobuf.Int32Value{}",
            "refused: ERROR: <input>:1:4: found no matching overload for '_==_' applied to '(uint, wrapper(int))'",
        ),
        (
            "google.protobuf.Nope{}",
            "refused: ERROR: <input>:1:21: undeclared reference to 'google.protobuf.Nope' (in container '')",
        ),
        ("google.protobuf.Int32Value{value: 3000000000}", "error: integer overflow"),
        ("google.protobuf.UInt32Value{value: 5000000000u}", "error: unsigned integer overflow"),
        ("google.protobuf.Timestamp{nanos: 3000000000}", "error: integer overflow"),
        ("google.protobuf.Timestamp{seconds: 999999999999}", "error: timestamp overflow"),
        ("google.protobuf.Any{}", "error: conversion error: got Any with empty type-url"),
    ],
)
def test_messages_that_there_cannot_be(expression: str, error: str) -> None:
    assert outcome(expression) == error
