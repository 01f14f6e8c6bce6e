"""Fixtures of the tests of the self-managed certificate."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver import ApiServer
from tests.cluster.replicas import managed


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    with managed(tmp_path) as server:
        yield server
        assert not server.refused, "the documented roles suffice"
