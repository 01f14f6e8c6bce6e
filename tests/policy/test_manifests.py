"""Raw manifests under policies get the answers that a real API server gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.policy.manifests import cases, differences

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.policy.manifests import Case

DIFFERING: Final[Mapping[str, str]] = {
    "null/env-item": "the environment of containers is not judged",
    "scalar/data-infinity": "the server shows the first bytes of the request, too",
    "admission/sa-unknown": "a ServiceAccount that is not among the files may be there",
    "admission/priority-unknown": "a PriorityClass that is not among the files may be there",
    "admission/mutation-service-account": "the copy in serviceAccount is taken for a default",
    "mutation/patch-unknown-field": "the server finds it when the patch is applied, draguard before",
    "mutation/namespace-escaped": "the server finds it when the patch is applied, draguard before",
    "mutation/patch-map-of-objects": "the server panics",
    "mutation/claim-all-mode": "the result is judged without the default count that was set before",
    "mutation/secret-string-data": "the change is shown in stringData",
    "mutation/service-port": "a patched port is shown with its defaults",
    "mutation/resource-limits": "quantities are shown as policies wrote them",
}
"""The cases that differ, and why; `docs/trust.md` sums them up."""


@pytest.mark.parametrize("case", [pytest.param(each, id=each["id"]) for each in cases()])
def test_answers_are_those_of_the_server(case: Case) -> None:
    found = {what: texts for what, texts in differences(case).items() if texts}
    assert bool(found) == (case["id"] in DIFFERING), found
