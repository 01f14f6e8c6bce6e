"""Which names are slips of others, and which are other names."""

import pytest

from tests.rows import each_row, each_row_beside
from tests.steps import counting
from webhook.spelling import certain, did_you_mean, mistyped, near, nearest


@each_row_beside("written", "meant")
def test_a_slip_is_recognized(written: str, meant: str) -> None:
    assert nearest(written, ["else", meant]) == meant


@each_row_beside("written", "other")
def test_another_name_is_not_a_slip(written: str, other: str) -> None:
    assert not nearest(written, [other])


def test_of_several_the_nearest_are_meant() -> None:
    assert near("requestss", ["requests", "request"]) == ["requests"]
    assert near("nics", ["nicb", "nica"]) == ["nicb", "nica"]
    known = {f"nic{letter}" for letter in "abcdefgh"}
    assert near("nics", known) == sorted(known)


def test_what_begins_a_name_is_rather_meant_than_a_slip_of_several_letters_unless_it_begins_several() -> None:
    assert near("resourceClass", ["resourceClaims", "resourceClassName"]) == ["resourceClassName"]
    assert not nearest("resource", ["resourceClaims", "resourceName"])


@pytest.mark.slow
def test_long_names_and_many_of_them_take_bounded_steps() -> None:
    known = [f"{'a' * 250}{number:03}" for number in range(100)]
    with counting() as steps:
        near("b" + "a" * 252, known)
    assert steps() < 1_000_000
    assert near("a" * 254, ["a" * 254]) == []
    many = [f"gpu-{'abcdefghij'[number % 10] * 8}-{number:05}" for number in range(20_000)]
    with counting() as steps:
        assert near("gpu-ccccccc-00012", many) == ["gpu-cccccccc-00012"]
    assert steps() < 1_000_000


@each_row("written", "gpu.nvdia.com", "gpu.nvidiaa.com", "gpu.nvvidia.com", "gpu.nvidai.com")
def test_a_slip_of_the_fingers_in_a_long_word_is_hardly_another_name(written: str) -> None:
    assert mistyped(written, ["gpu.intel.com", "gpu.nvidia.com"]) == "gpu.nvidia.com"


OTHERS = "gpu.nvidia.com", "gup.nvidia.com", "gpus.nvidia.com", "gpu.nvidea.com", "gpu.nvidia.co", "gpu.vidi.com"


@each_row("written", *OTHERS, "x" * 300)
def test_any_other_name_may_be_a_driver_of_its_own(written: str) -> None:
    assert not mistyped(written, ["gpu.nvidia.com"])


@each_row(
    ("written", "meant"),
    *((written, "ExactCount") for written in ("exactcount", "exact-count", "ExctCont")),
    *(("all", "All"), ("not in", "NotIn"), ("exsits", "Exists"), ("readwriteonce", "ReadWriteOnce")),
)
def test_a_value_of_an_enumeration_is_certain_with_one_slip_in_five_letters(written: str, meant: str) -> None:
    assert certain(written, ["All", "ExactCount", "NotIn", "Exists", "ReadWriteOnce", "ReadWriteOncePod"]) == meant


@each_row("written", "Al", "Alll", "Exact", "ExtCt", "!Exists", "AlwaysB", "", "x" * 300)
def test_any_other_value_may_mean_another_one(written: str) -> None:
    assert not certain(written, ["All", "ExactCount", "Exists", "AlwaysA", "AlwaysC"])


def test_the_nearest_name_is_asked_for() -> None:
    assert did_you_mean("cuont", ["count", "mode"]) == "did you mean count?"
    assert did_you_mean("cuont", ["count", "mode"], quotes='"') == 'did you mean "count"?'
    assert did_you_mean("xyz", ["count", "mode"], "choose from count, mode") == "choose from count, mode"
