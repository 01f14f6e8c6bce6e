"""Unknown fields are reported with the field that was probably meant."""

from typing import Any

import pytest

from tests.structured import changed, claim, resource_slice
from webhook import validate
from webhook.api.judgement import SOUGHT
from webhook.limits import MOST_FINDINGS
from webhook.problem import Fix

CONTAINER = {"name": "train", "image": "trainer:1"}


def pod(*claims: dict[str, Any]) -> dict[str, Any]:
    """Make a pod with claims."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "train"},
        "spec": {"containers": [CONTAINER], "resourceClaims": list(claims)},
    }


def test_a_map_or_list_in_the_place_of_one_value_has_no_fix() -> None:
    (found,) = validate(pod({"name": "gpu", "resourceClaimTemplate": {"spec": {}}}))
    assert (found.fix, found.hint) == (None, 'did you mean "resourceClaimTemplateName"? It takes one value, not a map')
    (found,) = validate(pod({"name": "gpu", "resourceClaimTemplate": "gpu"}))
    assert (found.fix, found.hint) == (
        Fix("rename", "resourceClaimTemplateName"),
        'did you mean "resourceClaimTemplateName"?',
    )


@pytest.mark.parametrize(("others", "suggested"), [(SOUGHT - 1, 'did you mean "spec"?'), (SOUGHT, "")])
def test_only_the_first_of_very_many_fields_have_suggestions(others: int, suggested: str) -> None:
    unknown: dict[str, Any] = {f"field{index}": {} for index in range(others)} | {"specs": {}}
    assert validate(claim() | unknown)[others].hint == suggested


def test_of_more_fields_than_a_report_has_findings_the_rest_is_not_looked_at() -> None:
    found = validate(claim() | {f"field{index}": {} for index in range(MOST_FINDINGS + 100)})
    assert len(found) == MOST_FINDINGS + 1


def test_of_very_many_fields_only_the_first_are_looked_for_elsewhere() -> None:
    devices = [{"name": f"gpu-{index}", "driver": "gpu.example.com"} for index in range(SOUGHT + 1)]
    hints = [problem.hint for problem in validate(resource_slice(*devices))]
    assert hints == ['did you mean "spec.driver"?'] * SOUGHT + [""]


def test_control_characters_of_unknown_fields_are_escaped() -> None:
    (problem,) = validate(changed(claim(), **{'spec__a"\n\u2028é': 1}))
    assert problem.message == r'''strict decoding error: unknown field "spec.a\"\n\u2028é"'''
