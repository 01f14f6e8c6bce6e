"""Fixtures of the tests of the self-managed certificate."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import apiserver
from tests.apiserver import ApiServer
from tests.cluster.replicas import LEASE, MUTATING, SECRET, VALIDATING, configuration, documented_roles


@pytest.fixture
def api(tmp_path: Path) -> Iterator[ApiServer]:
    """Run an API server with the chart's objects: all of them empty, and only the documented permissions."""
    account = tmp_path / "account"
    account.mkdir()
    with apiserver.running(account, documented_roles()) as server:
        server.put(SECRET, {"type": "Opaque"})
        server.put(LEASE, {"spec": {}})
        server.put(VALIDATING, configuration())
        server.put(MUTATING, configuration(1))
        yield server
        assert not server.refused, "the documented roles suffice"
