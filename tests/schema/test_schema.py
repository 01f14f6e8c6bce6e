"""The engine, on types of its own: it knows nothing of DRA."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import pytest

from tests.rows import each_row
from webhook.problem import Problem, forbidden, invalid
from webhook.release import Release
from webhook.schema import (
    CREATE,
    MAIN,
    STATUS,
    UPDATE,
    UPDATE_STATUS,
    Anything,
    Array,
    Bool,
    CompiledStruct,
    Int,
    Map,
    Nested,
    Parsed,
    Struct,
    Target,
    Text,
    View,
    check,
    compile_struct,
    transition,
)
from webhook.schema.declarations import NOTHING
from webhook.schema.decoding import Misfit, apart


def lower_case(text: str, _release: int) -> tuple[str, ...]:
    """Lower-case letters."""
    return () if text.islower() else ("must be lower case",)


class Wheel(Struct):
    """A wheel."""

    name = Text("Its name.", format=lower_case, always=True)
    inches = Int("Its size.", go="int32", minimum=(1, "must be positive"))


class Plate(Struct):
    """A licence plate."""

    package = "v1"
    go_name = "LicencePlate"

    text = Text("What it says.", required=True, max_bytes=8, immutable=True)


class BicycleSpec(Struct):
    """The desired properties of a bicycle."""

    embedded: ClassVar = {"plate": "Parts.Fittings"}
    opaque: ClassVar = {"frame": Anything()}

    colour = Text("Its colour.", one_of=("Red", "Blue"), default="Red", go="Colour")
    wheels = Array(Nested(Wheel), "Its wheels.", max_items=2, unique="name")
    gears = Array(Int(), "Its gears.")
    bells = Array(Text(), "Its bells.", unique="", required=True, required_detail="a bicycle must be heard")
    plate = Nested(Plate, "Its plate.", pointer=True)
    lock = Nested(Plate, "Its lock.", pointer=True, required=True, required_detail="thieves")
    weight = Parsed(float, "Its weight.", rule="weight", go="Weight", pointer=True)
    stickers = Map(Text(max_length=4), "Its stickers.")
    electric = Bool("Whether it has a motor.", since=30)
    dynamo = Bool("Whether it has a dynamo.", until=29, spelled="generator")
    extra = Anything("Whatever else.")


class BicycleStatus(Struct):
    """The state of a bicycle."""

    flat = Text("The flat wheel.")


class Bicycle(Struct):
    """A bicycle."""

    spec = Nested(BicycleSpec, "What it is like.", subresource=MAIN)
    status = Nested(BicycleStatus, "How it is.", subresource=STATUS)


class Tandem(BicycleSpec):
    """A bicycle for two."""

    seats = Int("Its seats.")


@check(BicycleSpec, since=31)
def no_wheels(spec: View) -> Iterator[Problem]:
    """A bicycle has wheels."""
    if not spec.wheels:
        yield forbidden(spec / "wheels", "must have wheels")


@check(Bicycle, on=[UPDATE_STATUS])
def flat_wheel(bicycle: View) -> Iterator[Problem]:
    """Only a wheel can be flat."""
    if bicycle.status.flat not in {wheel.name for wheel in bicycle.spec.wheels}:
        yield invalid(bicycle.status / "flat", bicycle.status.flat, "no such wheel")


@transition(BicycleSpec)
def gears_lost(spec: View, old: View) -> Iterator[Problem]:
    """Gears are not taken off."""
    if len(spec.gears) < len(old.gears):
        yield forbidden(spec / "gears", "must not become fewer")


GOOD: dict[str, Any] = {"bells": ["ring"], "lock": {"text": "u"}}


def target(operation: str = CREATE, release: int = 30, **replaced: Any) -> Target:
    return Target("v2", Release(release), operation, replaced=replaced.get("replaced", {}))


def decoded(spec: Any, release: int = 30) -> list[tuple[str, str]]:
    struct = compile_struct(Bicycle, target(release=release))
    found = [misfit.problem() for misfit in misfits(struct, {"spec": spec})]
    return [(problem.field, problem.message) for problem in found]


def checked(
    release: int = 30, operation: str = CREATE, type_: type[Struct] = BicycleSpec, **spec: Any
) -> list[Problem]:
    struct = compile_struct(type_, target(operation, release))
    value = {**GOOD, **spec}
    assert not misfits(struct, value)
    return list(problems(struct, value))


def misfits(struct: CompiledStruct, value: dict[str, Any]) -> Sequence[Misfit]:
    return apart(struct.walk(value))[0]


def problems(struct: CompiledStruct, value: dict[str, Any]) -> Sequence[Problem]:
    return apart(struct.walk(value))[1]


def said(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in problems]


def changed(new: dict[str, Any], old: dict[str, Any]) -> list[str]:
    struct = compile_struct(BicycleSpec, target(UPDATE))
    assert struct.change is not None
    return said(list(struct.change(GOOD | new, GOOD | old)))


def test_a_good_object_is_fine_and_nothing_is_made_of_it() -> None:
    assert decoded(GOOD) == []
    assert checked() == []
    assert compile_struct(Bicycle, target()).walk({"spec": GOOD}) is NOTHING
    spec = {name: None for name in BicycleSpec.fields if name != "dynamo"}
    assert decoded(spec) == []
    assert decoded({"wheels": [None], "gears": [None], "stickers": {"a": None}}) == []


@each_row(
    ("spec", "says"),
    ([], ("spec", "array into Go struct field Bicycle.spec of type v2.BicycleSpec")),
    ({"colour": 3}, ("spec.colour", "number into Go struct field BicycleSpec.spec.colour of type v2.Colour")),
    ({"wheels": {}}, ("spec.wheels", "object into Go struct field BicycleSpec.spec.wheels of type []v2.Wheel")),
    ({"wheels": [1]}, ("spec.wheels[0]", "number into Go struct field BicycleSpec.spec.wheels of type v2.Wheel")),
    (
        {"wheels": [{"inches": 1.5}]},
        ("spec.wheels[0].inches", "number 1.5 into Go struct field Wheel.spec.wheels.inches of type int32"),
    ),
    (
        {"wheels": [{"inches": 1 << 31}]},
        ("spec.wheels[0].inches", "number 2147483648 into Go struct field Wheel.spec.wheels.inches of type int32"),
    ),
    ({"gears": [True]}, ("spec.gears[0]", "bool into Go struct field BicycleSpec.spec.gears of type int64")),
    ({"plate": "x"}, ("spec.plate", "string into Go struct field BicycleSpec.spec.plate of type v1.LicencePlate")),
    (
        {"stickers": {"a": 1}},
        ("spec.stickers[a]", "number into Go struct field BicycleSpec.spec.stickers of type string"),
    ),
    (
        {"stickers": []},
        ("spec.stickers", "array into Go struct field BicycleSpec.spec.stickers of type map[string]string"),
    ),
)
def test_a_wrong_type_has_the_decoders_message(spec: Any, says: tuple[str, str]) -> None:
    assert decoded(spec) == [(says[0], f"json: cannot unmarshal {says[1]}")]


def test_from_1_35_on_the_decoder_names_embedded_structs() -> None:
    field = "json: cannot unmarshal string into Go struct field BicycleSpec.spec"
    assert [decoded({"plate": "x"}, release)[0][1] for release in (34, 35)] == [
        f"{field}.plate of type v1.LicencePlate",
        f"{field}.Parts.Fittings.plate of type v1.LicencePlate",
    ]
    assert decoded({"plate": {"x": 1}}, 35) == [("spec.plate.x", 'strict decoding error: unknown field "spec.plate.x"')]


def test_what_is_well_formed_is_judged_beside_what_is_not() -> None:
    wheels = [{"name": "A", "inches": "large"}, {"name": "a", "inches": 0}, {"name": "a", "inches": 20}]
    struct = compile_struct(BicycleSpec, target(release=31))
    value = GOOD | {"colour": "Green", "wheels": wheels, "saddle": 1}
    assert [str(misfit.path) for misfit in misfits(struct, value)] == ["wheels[0].inches", "saddle"]
    # Rules about several fields do not run where one of them is malformed.
    assert [problem.field for problem in problems(struct, value)] == [
        "colour",
        "wheels",
        "wheels[0].name",
        "wheels[1].inches",
    ]


def test_a_target_can_be_limited_to_decoding_and_ignore_fields_that_there_are_not() -> None:
    struct = compile_struct(Bicycle, target(release=31)).decoding
    assert struct.walk({"spec": {"colour": "Green", "wheels": []}}) == ()
    assert [str(misfit.path) for misfit in misfits(struct, {"spec": {"colour": 1}})] == ["spec.colour"]
    assert struct.decoding is struct
    lenient = compile_struct(Bicycle, Target("v2", Release(30), CREATE, strict=False))
    assert not lenient.walk({"spec": GOOD | {"saddle": 1}})


def test_an_unknown_field_is_found_and_what_cannot_be_parsed_says_so() -> None:
    assert decoded({"color": "Red", "frame": {"x": 1}}) == [
        ("spec.color", 'strict decoding error: unknown field "spec.color"'),
    ]
    assert decoded({"weight": "heavy"}) == [("spec.weight", "could not convert string to float: 'heavy'")]


def test_a_field_is_known_in_its_releases_only() -> None:
    assert decoded({"electric": True}, release=29) == [
        ("spec.electric", 'strict decoding error: unknown field "spec.electric"')
    ]
    assert decoded({"electric": True}, release=30) == []
    assert decoded({"dynamo": True}, release=29) == []
    assert [field for field, _ in decoded({"dynamo": True}, release=30)] == ["spec.dynamo"]


def test_each_constraint_of_a_field_is_checked() -> None:
    found = checked(
        colour="Green",
        wheels=[{"name": "Front", "inches": 0}, {"inches": 20}, {"name": "Front", "inches": 20}],
        bells=["a", "b", "a"],
        plate={},
        lock=None,
        stickers={"a": "éé", "b": "ééé"},
    )
    assert said(found) == [
        'colour: Unsupported value: "Green": supported values: "Red", "Blue"',
        "wheels: Too long: may not be longer than 2",
        'wheels[0].name: Invalid value: "Front": must be lower case',
        "wheels[0].inches: Invalid value: 0: must be positive",
        'wheels[1].name: Invalid value: "": must be lower case',
        'wheels[2].name: Invalid value: "Front": must be lower case',
        'wheels[2].name: Duplicate value: "Front"',
        'bells[2]: Duplicate value: "a"',
        "plate.text: Required value",
        "lock: Required value: thieves",
        "stickers[b]: Too long: may not be longer than 4",
    ]


def test_rules_have_names() -> None:
    found = checked(colour="Green", wheels=[{"name": "A"}], bells=[])
    assert [problem.rule for problem in found] == ["enum", "lower-case", "minimum", "required"]


def test_wording_follows_the_release() -> None:
    wheels = [{"name": "a", "inches": 1}, {"name": "a", "inches": 1}, {"name": "B", "inches": 1}]
    lock = {"text": "x" * 9}
    assert said(checked(31, wheels=wheels, lock=lock)) == [
        "wheels: Too long: may not be longer than 2",
        'wheels[2].name: Invalid value: "B": must be lower case',
        'wheels[1].name: Duplicate value: "a"',
        "lock.text: Too long: must have at most 8 bytes",
    ]
    assert said(checked(32, wheels=wheels, lock=lock))[0] == "wheels: Too many: 3: must have at most 2 items"
    assert said(checked(35, wheels=wheels, lock=lock)) == [
        "wheels: Too many: 3: must have at most 2 items",
        "lock.text: Too long: may not be more than 8 bytes",
    ]
    assert said(checked(35, wheels=wheels[:2])) == ['wheels[1]: Duplicate value: "a"']


def test_a_rule_holds_in_its_releases_and_operations_only() -> None:
    assert [problem.rule for problem in checked(31)] == ["no-wheels"]
    assert checked(30) == []
    bicycle = {"spec": GOOD, "status": {"flat": "front"}}
    for operation, found in {CREATE: [], UPDATE: [], UPDATE_STATUS: ["status.flat"]}.items():
        struct = compile_struct(Bicycle, target(operation))
        assert [problem.field for problem in problems(struct, bicycle)] == found


def test_a_subresource_is_checked_by_its_own_updates() -> None:
    main, status = (compile_struct(Bicycle, target(operation)) for operation in (CREATE, UPDATE_STATUS))
    assert [problem.field for problem in problems(main, {})] == ["spec.bells", "spec.lock"]
    assert [problem.field for problem in problems(status, {"status": {"flat": "x"}})] == ["status.flat"]


def test_a_subclass_has_the_fields_and_rules_of_its_base_and_a_version_may_replace_it() -> None:
    found = checked(31, type_=Tandem, seats=2)
    assert [problem.rule for problem in found] == ["no-wheels"]
    assert list(Tandem.fields)[-1] == "seats"
    other = target(replaced={BicycleSpec: Tandem})
    assert not misfits(compile_struct(Bicycle, other), {"spec": {"seats": 2}})
    assert misfits(compile_struct(Bicycle, target()), {"spec": {"seats": 2}})


def test_a_change_of_what_is_immutable_is_refused_and_a_transition_sees_both_states() -> None:
    assert changed({"plate": {"text": "b"}}, {"plate": {"text": "a"}}) == [
        'plate.text: Invalid value: "b": field is immutable'
    ]
    assert changed({"plate": {"text": "b"}}, {}) == []
    assert changed({"plate": None}, {"plate": {"text": "b"}}) == []
    assert changed({"gears": [1]}, {"gears": [1, 2]}) == ["gears: Forbidden: must not become fewer"]
    assert changed({"gears": [1, 2, 3]}, {"gears": [1, 2]}) == []


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
    struct = compile_struct(BicycleSpec, target())
    assert struct.view(one) == struct.view(other)


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
    struct = compile_struct(BicycleSpec, target())
    assert struct.view(one) != struct.view(other)
    assert struct.view(one) != struct.view(None)
    assert struct.view(one) != one


def test_a_view_gives_fields_by_name_absent_ones_empty() -> None:
    view = compile_struct(BicycleSpec, target()).view({"wheels": [{"name": "a"}], "plate": {}})
    assert (view.colour, view.gears, view.electric, view.extra, view.stickers) == ("Red", [], False, None, {})
    assert (view.wheels[0].name, view.wheels[0].inches, str(view.wheels[0] / "name")) == ("a", 0, "wheels[0].name")
    assert (bool(view.plate), bool(view.lock), view.lock.text) == (True, False, "")
    assert ("plate" in view, "lock" in view) == (True, False)
    assert view.dynamo is None
    assert (view.release, view.operation, view.submitted) == (30, CREATE, {"wheels": [{"name": "a"}], "plate": {}})
    with pytest.raises(AttributeError):
        _ = view.saddle


def test_a_field_may_be_spelled_differently_by_the_server() -> None:
    class Lamp(Struct):
        """A lamp."""

        dynamo = Nested(Plate, "What drives it.", spelled="generator")

    struct = compile_struct(Lamp, target())
    (problem,) = problems(struct, {})
    assert (str(struct.spell(problem.path)), str(problem.path)) == ("generator.text", "dynamo.text")


def test_a_field_says_what_is_declared_about_it() -> None:
    assert [*BicycleSpec.fields["colour"].limits().values()] == ["one of Red, Blue", "default Red"]
    assert [*BicycleSpec.fields["wheels"].limits().values()] == ["2 items at most", "unique name"]
    assert [*Plate.fields["text"].limits().values()] == ["required", "immutable", "8 bytes at most"]
    assert [*Wheel.fields["name"].limits().values()] == ["lower-case"]


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
