"""The walk through an object finds the same decoding errors whether it validates or only decodes."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.objects import OBJECTS, mutated
from webhook.api import gates
from webhook.api.versions import find, target
from webhook.schema.decoding import apart
from webhook.schema.fields import CompiledStruct, compile_struct
from webhook.schema.target import CREATE, UPDATE, UPDATE_STATUS

pytestmark = pytest.mark.slow

EXAMPLES = settings(max_examples=400)
JUDGED = [each for each in OBJECTS if find(each["apiVersion"], each["kind"])]


def compiled(obj: Any, operation: str, *, enough: int = 1000) -> CompiledStruct | None:
    kind = find(obj.get("apiVersion"), obj.get("kind")) if isinstance(obj, dict) else None
    if kind is None:
        return None
    on = gates.enabled(kind.until, None)
    return compile_struct(kind.type, target(obj["apiVersion"], kind.until, operation, on, enough=enough))


@EXAMPLES
@given(mutated(JUDGED), st.sampled_from([CREATE, UPDATE, UPDATE_STATUS]))
def test_decoding_alone_finds_the_same_misfits(obj: Any, operation: str) -> None:
    if struct := compiled(obj, operation):
        misfits, _ = apart(struct.walk(obj))
        decoded, problems = apart(struct.decoding.walk(obj))
        assert [(each.path, each.rule) for each in misfits] == [(each.path, each.rule) for each in decoded]
        assert not problems


@EXAMPLES
@given(mutated(JUDGED), st.sampled_from([1, 2]))
def test_a_bound_hides_no_refusal(obj: Any, enough: int) -> None:
    all_, some = compiled(obj, CREATE), compiled(obj, CREATE, enough=enough)
    if all_ and some:
        misfits, problems = apart(all_.walk(obj))
        bounded, first = apart(some.walk(obj))
        assert any(each.refuses for each in bounded) == any(each.refuses for each in misfits)
        assert bool(bounded or first) == bool(misfits or problems)
