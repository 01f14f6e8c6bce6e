"""Names that were probably meant are searched for while the budget has work left."""

from webhook.budget import Budget, limited
from webhook.hints.names import in_expression, in_place, instead

NAMES = [f"gpu{number}.example.com" for number in range(1000)]


def test_a_name_is_sought_among_any_number_without_a_budget() -> None:
    assert instead("gpu7.exmaple.com", NAMES, "classes") == 'did you mean "gpu7.example.com"?'


def test_a_name_takes_half_of_what_is_left_at_most() -> None:
    with limited(Budget(100_000)) as budget:
        result = [in_place("gpu7.exmaple.com", NAMES, "classes").fix is not None for _ in range(30)]
        assert budget.left > 7_000
    assert result == sorted(result, reverse=True)
    assert (result[0], result[-1]) == (True, False)


def test_names_are_listed_where_none_is_sought() -> None:
    with limited(Budget(100)):
        hint = instead("gpu7.exmaple.com", NAMES, "classes")
    assert hint.startswith("classes: gpu0.example.com, ")
    assert hint.endswith(" and 995 more")


def test_names_that_are_equally_near_are_all_suggested_and_none_is_written() -> None:
    assert in_place("gpuu", ["gpux", "gpu", "nic"], "requests") == ('did you mean "gpux" or "gpu"?', None)
    assert in_place("my-gpu", ["my_gpu"], "requests") == ("requests: my_gpu", None)  # my_gpu is an error itself
    assert in_expression("has(a.gpuu)", "gpuu", ["gpux", "gpu"], "names") == ('did you mean "gpux" or "gpu"?', None)
    hint, fix = in_expression("has(a.gpuu) && a.gpuu > 1", "gpuu", ["gpux", "nic"], "names")
    assert (hint, fix and fix.value) == ('did you mean "gpux"?', "has(a.gpux) && a.gpux > 1")
