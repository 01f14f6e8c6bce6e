"""Releases are a type of their own."""

from tests.rows import each_row
from webhook.api import gates
from webhook.api.versions import NEWEST, patch_of, release_of, target
from webhook.problem import Path, too_long, too_many
from webhook.release import Release, releases
from webhook.schema import CREATE, OLDEST


def test_mypy_refuses_a_plain_number_as_a_release() -> None:
    """These are refused by mypy, which would find an ignore that is not needed: nothing here is tested at run time."""
    limit = 32
    too_long(Path(), 1, limit)  # type: ignore[arg-type]
    too_many(Path(), 2, 1, limit)  # type: ignore[arg-type]
    gates.enabled(limit)  # type: ignore[arg-type]
    gates.stage("DRAAdminAccess", limit)  # type: ignore[arg-type]
    target("resource.k8s.io/v1", 34, CREATE)  # type: ignore[arg-type]


@each_row("text", ["1.34", "v1.34.2", "1.34.0-rc.1+a"])
def test_what_is_read_is_a_release(text: str) -> None:
    release: Release = release_of(text)
    assert release == 34


@each_row(("text", "patch"), [("1.34", 0), ("v1.34.2", 2), ("1.34.0-rc.1+a", 0), ("1.36.12", 12), ("1.36-rc.1", 0)])
def test_the_patch_release_is_read(text: str, patch: int) -> None:
    assert patch_of(text) == patch


def test_both_ends_are_among_the_releases() -> None:
    assert releases(34, 36) == [34, 35, 36]
    assert releases(36, 35) == []
    assert releases(OLDEST, NEWEST)[-1] == NEWEST
