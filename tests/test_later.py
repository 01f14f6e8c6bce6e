"""What is computed on first use does not make threads wait for each other."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from webhook.later import cached_property

SECONDS = 10
"""How long threads may wait for each other."""


def test_properties_of_several_values_are_computed_at_the_same_time() -> None:
    class Value:
        both = Barrier(2)

        @cached_property
        def made(self) -> bool:
            return self.both.wait(SECONDS) >= 0

    values = Value(), Value()
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(lambda value: value.made, values)) == [True, True]


def test_all_threads_get_the_first_result() -> None:
    class Value:
        both = Barrier(2)

        @cached_property
        def made(self) -> object:
            self.both.wait(SECONDS)
            return object()

    value = Value()
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(lambda _: value.made, range(2))
    assert one is other is value.made
