"""What is said of the devices that selectors are about: their values, types and versions."""

import pytest

from tests.references.manifests import claim_of, device_class, found_in, resource_slice
from tests.rows import each_row


@each_row(
    ("condition", "hint"),
    [
        ('.index == "0"', "index is not a string: compare it with a value without quotes"),
        (".model == 7", "model is a string: put what it is compared with in quotes"),
        ('.model == "B"', ""),
        ('.model == "a"', 'did you mean "A"?'),
        ('.model in ["B", "C"]', ""),
        ('.index == 0 && !(device.attributes["g.example.com"].model in ["A"])', ""),
        (".model in [1, 2]", "model is a string: put what it is compared with in quotes"),
    ],
)
def test_a_value_of_another_type_is_never_equal(condition: str, hint: str) -> None:
    selector = f"""cel: {{expression: 'device.attributes["g.example.com"]{condition}'}}"""
    claim = claim_of(f"requests: [{{name: r, exactly: {{deviceClassName: gpu, selectors: [{selector}]}}}}]")
    devices = resource_slice("{name: d, attributes: {model: {string: A}, index: {int: 0}}}")
    found = found_in(device_class() + devices + claim)
    assert [(each["rule"], each["hint"]) for each in found] == [("selects-nothing", hint)]


@each_row(
    ("condition", "message", "hint"),
    [
        ('attributes["g.example.com"].model == "C"', 'model is "A", wanted "C"', 'model of the devices: "A", "B"'),
        (
            'attributes["g.example.com"].memory >= 40',
            'the attribute "g.example.com/memory"',
            'memory is a capacity: device.capacity["g.example.com"].memory.compareTo(quantity("40Gi")) >= 0',
        ),
        (
            'attributes["g.example.com"].memory == "1Gi"',
            'the attribute "g.example.com/memory"',
            'memory is a capacity: device.capacity["g.example.com"].memory.compareTo(quantity("1Gi")) == 0',
        ),
        (
            'capacity["g.example.com"].model.compareTo(quantity("1")) == 0',
            'the capacity "g.example.com/model"',
            'model is an attribute: device.attributes["g.example.com"].model',
        ),
        (
            'attributes["g.example.com"].version.compareTo(semver("2.0.0")) >= 0',
            "version is 1.2.3-rc.1, wanted >= 2.0.0",
            "",
        ),
    ],
)
def test_the_values_of_devices_are_shown(condition: str, message: str, hint: str) -> None:
    rest = "version: {version: 1.2.3-rc.1+b}}, capacity: {memory: {value: 1Gi}}"
    devices = [f"{{name: {model.lower()}, attributes: {{model: {{string: {model}}}, {rest}}}" for model in "AB"]
    (found,) = found_in(device_class(f"device.{condition}") + resource_slice(*devices))
    assert message in found["message"]
    assert found["hint"] == hint


@each_row(
    ("values", "is_found"),
    [
        (("A", "B"), True),
        (("A", "redacted"), False),
        (("<REDACTED>",), False),
        (("xxx", "x"), False),
        (("x", "**"), True),
    ],
)
def test_nothing_is_concluded_from_values_that_were_taken_out_of_slices(
    values: tuple[str, ...], *, is_found: bool
) -> None:
    devices = [
        f"{{name: d{index}, attributes: {{model: {{string: '{value}'}}}}}}" for index, value in enumerate(values)
    ]
    found = found_in(device_class('device.attributes["g.example.com"].model == "C"') + resource_slice(*devices))
    assert [each["rule"] for each in found] == ["selects-nothing"] * is_found


@pytest.mark.parametrize(
    ("comparison", "hint"),
    [
        ('V >= "1.2.0"', '.compareTo(semver("1.2.0")) >= 0'),
        ('V < "1.2"', '.compareTo(semver("1.2.0")) < 0'),
        ('"1.2.0" <= V', '.compareTo(semver("1.2.0")) >= 0'),
        ('V == "1.2.3"', '.compareTo(semver("1.2.3")) == 0'),
        ('V == "newest"', '.compareTo(semver("1.2.3")) == 0'),
    ],
)
def test_a_version_is_compared_by_the_operator_that_is_written(comparison: str, hint: str) -> None:
    expression = comparison.replace("V", 'device.attributes["g.example.com"].v')
    manifests = device_class(expression)
    (found,) = found_in(manifests + resource_slice("{name: d, attributes: {v: {version: 1.2.3}}}"))
    assert (found["rule"], found["hint"]) == ("selector-fails", f"v is of type version: compare it as in {hint}")
    hints = [each["hint"] for each in found_in(manifests) if each["rule"] != "driver-not-tested"]
    assert set(hints) <= {f"compare a version as in {hint}, a number without quotes"}


def test_a_selector_that_takes_too_much_work_is_not_said_to_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = list(range(40))
    selector = f"{numbers}.all(x, {numbers}.all(y, {numbers}.all(z, x + y + z >= 0)))"
    monkeypatch.setattr("webhook.check.references._WORK", 10_000)
    assert found_in(device_class(selector)) == []
    assert [each["rule"] for each in found_in(device_class("1 / 0 == 1"))] == ["selector-constant"]


def test_a_selector_whose_type_doubles_again_and_again_ends_its_own_check_only() -> None:
    names = [f"v{number}" for number in range(70)]
    bound = (f"cel.bind({name}, {{{before}: {before}}}, " for before, name in zip(["1", *names], names, strict=False))
    found = found_in(device_class(f"{''.join(bound)}v69 + 1{')' * 70}"))
    assert [each["rule"] for each in found] == ["cel-selector"]
