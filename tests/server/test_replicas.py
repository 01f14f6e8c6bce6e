"""A rolling restart of replicas loses no review: every review is counted."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.processes import certificate, loading, serving

pytestmark = pytest.mark.process


def test_two_are_restarted_one_after_the_other(tmp_path: Path) -> None:
    trust = certificate(tmp_path)
    with ExitStack() as stack:
        first, second = (stack.enter_context(ExitStack()) for _ in range(2))
        ports = [each.enter_context(serving(tmp_path)).port for each in (first, second)]
        with loading(ports, trust) as load:
            for replica, port in zip((first, second), ports, strict=True):
                replica.close()
                assert load.goes_on()
                replica.enter_context(serving(tmp_path, port=port))
                assert load.goes_on()
    assert load.failures == []
    assert set(load.answers) == {(200, True)}
