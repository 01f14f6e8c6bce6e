"""What is told to be fine in one pass has no findings in two."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.test_properties import OBJECTS, mutated
from webhook.api import gates
from webhook.api.versions import find, target
from webhook.schema import CREATE, UPDATE, UPDATE_STATUS, CompiledStruct, compile_struct

pytestmark = pytest.mark.slow

EXAMPLES = settings(max_examples=800, deadline=None, suppress_health_check=[HealthCheck.too_slow])
OPERATIONS = [CREATE, UPDATE, UPDATE_STATUS]
JUDGED = [each for each in OBJECTS if find(each["apiVersion"], each["kind"])]


def compiled(obj: Any, operation: str, *, newest: bool = True) -> CompiledStruct | None:
    kind = find(obj.get("apiVersion"), obj.get("kind")) if isinstance(obj, dict) else None
    if kind is None:
        return None
    release = kind.until if newest else kind.since
    return compile_struct(
        kind.type, target(obj["apiVersion"], release, operation, gates.every(release), admin_namespace=True)
    )


@EXAMPLES
@given(mutated(JUDGED), st.sampled_from(OPERATIONS), st.booleans())
def test_what_is_fine_has_no_findings(obj: Any, operation: str, newest: bool) -> None:  # noqa: FBT001 - drawn
    struct = compiled(obj, operation, newest=newest)
    if struct and struct.fine(obj):
        assert not struct.decode(obj)
        assert struct.check is None or not struct.check(obj)


@pytest.mark.parametrize("obj", JUDGED, ids=lambda obj: obj["kind"])
def test_what_has_no_findings_is_told_to_be_fine(obj: dict[str, Any]) -> None:
    struct = compiled(obj, CREATE)
    assert struct is not None
    nothing_found = not struct.decode(obj) and (struct.check is None or not struct.check(obj))
    assert struct.fine(obj) == nothing_found
