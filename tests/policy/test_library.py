"""The library under ``policies/``: every policy checks without a finding in each of its releases."""

from pathlib import Path

import pytest
import yaml

from tests.policy.examples import BETA, evaluate
from tests.rows import each_row
from webhook.api.versions import NEWEST
from webhook.policy.load import load
from webhook.policy.manifest.model import Given
from webhook.policy.tools.check import check_policies
from webhook.release import Release

LIBRARY = Path(__file__).parents[2] / "policies"
SINCE = {"claims-inherit-team": 36, "prescheduled-pods-rewritten": 36, "deprecated-api-versions": 34}
"""The first release that a policy is for, where that is not 1.32."""
NAMES = sorted(path.parent.name for path in LIBRARY.glob("*/policy.yaml"))


def manifests(name: str) -> list[Given]:
    return [Given(each) for each in yaml.safe_load_all((LIBRARY / name / "policy.yaml").read_text())]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_policy_checks_without_a_finding_in_every_release_that_it_is_for(name: str) -> None:
    for release in range(SINCE.get(name, 32), NEWEST + 1):
        findings = check_policies(manifests(name), Release(release)).findings
        assert [(release, str(each.problem)) for each in findings] == []


@each_row("name", *NAMES)
def test_its_policy_and_binding_are_named_after_it_and_described(name: str) -> None:
    objects = [each.object for each in manifests(name)]
    named = [each["metadata"]["name"] for each in objects if each["kind"].endswith(("Policy", "PolicyBinding"))]
    assert set(named) == {f"{name}.dra.example.com"}
    assert f"[{name}]({name})" in (LIBRARY / "README.md").read_text()


@each_row("release", 32, 33, 34, 36)
def test_releases_with_flat_requests_are_guarded_too(release: int) -> None:
    request = {"name": "gpu", "deviceClassName": "gpu.example.com", "adminAccess": True, "count": 9}
    claim = BETA | {"spec": {"devices": {"requests": [request]}}}
    for name in ("admin-access", "claim-device-limit"):
        assert not evaluate(claim, policies=load(manifests(name), Release(release))).allowed
