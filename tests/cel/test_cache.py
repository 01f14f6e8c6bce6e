"""Caches that are bounded by bytes."""

from webhook.cel.cache import Cache


def test_the_oldest_goes_first() -> None:
    cache: Cache[int] = Cache(80)
    for number in range(8):
        cache.put(number, number, 10)
    assert cache.get(0) == 0
    cache.put("new", 8, 10)
    assert [cache.get(0), cache.get(1), cache.get("new")] == [None, 1, 8]
    assert cache.size == 80


def test_a_value_that_is_put_again_counts_once() -> None:
    cache: Cache[str] = Cache(80)
    cache.put("a", "b", 10)
    cache.put("a", "c", 5)
    assert cache.get("a") == "c"
    assert (cache.size, len(cache)) == (5, 1)


def test_what_is_large_is_not_kept() -> None:
    cache: Cache[str] = Cache(80)
    cache.put("a", "b", 11)
    assert cache.get("a") is None
    assert len(cache) == 0
