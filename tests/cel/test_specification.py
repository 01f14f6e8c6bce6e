"""The conformance suite of the CEL specification, its tests that need no protobuf messages.

The suite is not part of this repository. It is found through the environment variable `CEL_SPEC` or beside the
checkout; where it is missing, only the samples are checked.
"""

from typing import Any

import pytest

from tests.cel.specification import SAMPLES, disagreement, is_explained, suite
from tests.rows import each_row


@each_row("case", *SAMPLES)
def test_the_samples_agree(case: dict[str, Any]) -> None:
    assert disagreement(case) == ""


@pytest.mark.no_cover
def test_the_suite_agrees_but_for_the_few_that_have_a_reason() -> None:
    differing = [(case, found) for case in suite() if bool(found := disagreement(case)) != is_explained(case)]
    assert [(case["name"], case["expr"], found) for case, found in differing] == []
