"""The engine, on types of its own: it knows nothing of DRA. Recordings tell the messages, releases and operations."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest

from tests.rows import each_row
from webhook.problem import Problem, forbidden
from webhook.release import Release
from webhook.schema.declarations import NOTHING, Struct, check
from webhook.schema.decoding import Misfit, apart
from webhook.schema.fields import (
    Anything,
    Array,
    Bool,
    CompiledStruct,
    Int,
    Map,
    Nested,
    Parsed,
    Text,
    View,
    compile_struct,
)
from webhook.schema.target import CREATE, Target


def lower_case(text: str, _release: int) -> tuple[str, ...]:
    """Lower-case letters."""
    return () if text.islower() else ("must be lower case",)


class Wheel(Struct):
    """A wheel."""

    name = Text("Its name.", format=lower_case, always=True)
    inches = Int("Its size.", go="int32", minimum=(1, "must be positive"))


class Plate(Struct):
    """A licence plate."""

    text = Text("What it says.", required=True)


class BicycleSpec(Struct):
    """The desired properties of a bicycle."""

    opaque: ClassVar = {"frame": Anything()}

    colour = Text("Its colour.", one_of=("Red", "Blue"), default="Red", go="Colour")
    wheels = Array(Nested(Wheel), "Its wheels.", max_items=2, unique="name")
    gears = Array(Int(), "Its gears.")
    plate = Nested(Plate, "Its plate.", pointer=True)
    lock = Nested(Plate, "Its lock.", pointer=True)
    weight = Parsed(float, "Its weight.", rule="weight", go="Weight", pointer=True)
    stickers = Map(Text(max_length=4), "Its stickers.")
    electric = Bool("Whether it has a motor.", since=30)
    dynamo = Bool("Whether it has a dynamo.", until=29)
    extra = Anything("Whatever else.")


class Bicycle(Struct):
    """A bicycle."""

    spec = Nested(BicycleSpec, "What it is like.")


@check(BicycleSpec, since=31)
def no_wheels(spec: View) -> Iterator[Problem]:
    """A bicycle has wheels."""
    if not spec.wheels:
        yield forbidden(spec / "wheels", "must have wheels")


def bicycle(release: int = 30, *, strict: bool = True) -> CompiledStruct:
    return compile_struct(Bicycle, Target("v2", Release(release), CREATE, strict=strict))


def misfits(struct: CompiledStruct, spec: Any) -> Sequence[Misfit]:
    return apart(struct.walk({"spec": spec}))[0]


def test_a_good_object_is_fine_and_nothing_is_made_of_it() -> None:
    spec = dict.fromkeys(BicycleSpec.fields.keys() - {"dynamo"})
    for fine in ({}, spec, {"wheels": [None], "gears": [None]}, {"stickers": {"a": None}, "frame": 1}):
        assert not misfits(bicycle(), fine)
    assert bicycle().walk({"spec": {}}) is NOTHING
    (misfit,) = misfits(bicycle(), {"weight": "heavy"})
    assert misfit.problem().message == "could not convert string to float: 'heavy'"


def test_what_is_well_formed_is_judged_beside_what_is_not() -> None:
    wheels = [{"name": "A", "inches": "large"}, {"name": "a", "inches": 0}, {"name": "a", "inches": 20}]
    value = {"spec": {"colour": "Green", "wheels": wheels, "saddle": 1}}
    found, problems = apart(bicycle(31).walk(value))
    assert [str(misfit.path) for misfit in found] == ["spec.wheels[0].inches", "spec.saddle"]
    # Rules about several fields do not run where one of them is malformed.
    assert [problem.field for problem in problems] == [
        *("spec.colour", "spec.wheels", "spec.wheels[0].name", "spec.wheels[1].inches")
    ]


def test_what_a_struct_lacks_is_said_and_texts_in_maps_are_measured_in_bytes() -> None:
    class Chain(Struct):
        """A chain."""

        lock = Nested(Plate, "Its lock.", pointer=True, required=True, required_detail="thieves")
        stickers = Map(Text(max_length=4), "Its stickers.")

    found = compile_struct(Chain, Target("v2", Release(30), CREATE)).walk({"stickers": {"a": "éé", "b": "ééé"}})
    assert list(map(str, apart(found)[1])) == [
        "lock: Required value: thieves",
        "stickers[b]: Too long: may not be longer than 4",
    ]


def test_a_target_can_be_limited_to_decoding_and_ignore_fields_that_there_are_not() -> None:
    struct = bicycle(31).decoding
    assert struct.walk({"spec": {"colour": "Green", "wheels": []}}) == ()
    assert [str(misfit.path) for misfit in misfits(struct, {"colour": 1})] == ["spec.colour"]
    assert struct.decoding is struct
    assert not bicycle(strict=False).walk({"spec": {"saddle": 1}})


SPEC = compile_struct(BicycleSpec, Target("v2", Release(30), CREATE))


@each_row(
    ("one", "other"),
    ({}, {"colour": "Red"}),
    ({"colour": ""}, {"colour": None}),
    ({"wheels": []}, {"wheels": None}),
    ({"wheels": [{"name": "a"}]}, {"wheels": [{"name": "a", "inches": 0}]}),
    ({"stickers": {}}, {}),
    ({"weight": "1.0"}, {"weight": "1"}),
    ({"electric": False}, {}),
)
def test_what_means_the_same_is_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert SPEC.view(one) == SPEC.view(other)


@each_row(
    ("one", "other"),
    ({"colour": "Blue"}, {}),
    ({"plate": {}}, {}),
    ({"weight": "0"}, {}),
    ({"stickers": {"a": ""}}, {}),
    ({"extra": []}, {}),
    ({"frame": "steel"}, {"frame": "wood"}),
)
def test_what_means_something_else_is_not_equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    for each in (SPEC.view(other), SPEC.view(None), one):
        assert SPEC.view(one) != each


def test_a_view_gives_fields_by_name_absent_ones_empty() -> None:
    view = SPEC.view({"wheels": [{"name": "a"}], "plate": {}})
    assert (view.colour, view.gears, view.electric, view.extra, view.stickers) == ("Red", [], False, None, {})
    assert (view.wheels[0].name, view.wheels[0].inches, str(view.wheels[0] / "name")) == ("a", 0, "wheels[0].name")
    assert (bool(view.plate), bool(view.lock), view.lock.text) == (True, False, "")
    assert ("plate" in view, "lock" in view) == (True, False)
    assert view.dynamo is None
    assert (view.release, view.operation, view.submitted) == (30, CREATE, {"wheels": [{"name": "a"}], "plate": {}})
    with pytest.raises(AttributeError):
        _ = view.saddle


def test_what_a_field_does_not_have_cannot_be_stated() -> None:
    with pytest.raises(AttributeError, match="requird"):
        Text("Its name.", requird=True)
    with pytest.raises(AttributeError, match="max_itms"):
        BicycleSpec.wheels.but(max_itms=3)


def test_only_short_texts_are_remembered_and_no_more_of_them_than_it_has_room_for() -> None:
    read: list[str] = []

    def parse(text: str) -> int:
        read.append(text)
        return len(text)

    field = Parsed(parse, rule="length")
    for text in ("a" * 32, "a" * 32, "a" * 33, "a" * 33):
        assert field.parse(text) == len(text)
    assert read == ["a" * 32, "a" * 33, "a" * 33]
    for number in range(600):
        field.parse(str(number))
    read.clear()
    field.parse("a" * 32)
    assert read == ["a" * 32]
