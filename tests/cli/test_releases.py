"""The release that judges a manifest: stated, or the newest that serves it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.manifests import CLAIM, CLAIM_V1, CONFIG_MAP, NEW_POD, OLD_POD, rules
from tests.command import ROOT, draguard, findings, reported
from tests.rows import each_row
from webhook.api.versions import DEFAULT

OTHER_V1 = CLAIM_V1.replace("name: claim", "name: other")


class TestReleases:
    @pytest.mark.parametrize(
        ("manifest", "hint"),
        [
            (
                (
                    "kind: ResourceClaimParameters, driverRequests: [{driverName: a.io, requests: "
                    "[{namedResources: {selector: 'attributes.bool[\"b\"]'}}]}]"
                ),
                'write into the claim, as spec.devices: {"requests": [{"name": "request-0", "exactly": ',
            ),
            (
                "kind: ResourceClass, driverName: a.io",
                "1.27 to 1.30; draguard convert --write converts it (give it the same --kubernetes-version)",
            ),
        ],
    )
    def test_it_says_how_an_object_gets_to_a_version_that_is_served(
        self, manifest: str, hint: str, write: Callable[..., Path]
    ) -> None:
        text = f"{{apiVersion: resource.k8s.io/v1alpha2, metadata: {{name: c, namespace: a}}, {manifest}}}"
        (found,) = findings("validate", "--kubernetes-version", "1.34", write(a=text))
        assert found["rule"] == "not-served"
        assert hint in found["hint"]

    @pytest.mark.parametrize(("kind", "release"), [("DeviceClass", "1.30"), ("DeviceTaintRule", "1.31")])
    def test_it_advises_to_convert_only_what_can_be_converted(
        self, kind: str, release: str, write: Callable[..., Path]
    ) -> None:
        version = "v1alpha3" if kind == "DeviceTaintRule" else "v1"
        manifest = write(
            a=f"{{apiVersion: resource.k8s.io/{version}, kind: {kind}, metadata: {{name: a}}, spec: {{}}}}"
        )
        (found,) = findings("validate", "--kubernetes-version", release, manifest)
        assert found["rule"] == "not-served"
        assert "convert" not in found["hint"]
        assert draguard("convert", "--kubernetes-version", release, manifest).code == 1

    def test_objects_that_later_releases_refuse_are_reported(self, write: Callable[..., Path]) -> None:
        old = "{apiVersion: resource.k8s.io/v1alpha2, kind: ResourceClass, metadata: {name: c}, driverName: a.io}"
        folder = write(one=old, two=old.replace("name: c", "name: d"))
        done = draguard("validate", folder)
        said = "judged as Kubernetes 1.30, the newest that serves it: 2 ResourceClass of resource.k8s.io/v1alpha2"
        assert (done.code, done.err) == (0, "")
        assert f"note: {said}; later releases refuse it\n" in done.out
        assert "judged as" not in draguard("validate", "--kubernetes-version", "1.30", folder).out
        assert reported("validate", folder)["remarks"] == [f"{said}; later releases refuse it"]
        (run,) = json.loads(draguard("validate", "-o", "sarif", folder).out)["runs"]
        assert said in run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
        assert f"::notice::{said}" in draguard("validate", "-o", "github", folder).out

    @each_row(("release", "code"), [("1.29", 0), ("v1.30.2", 0), ("1.31", 1)])
    def test_a_stated_release_judges_everything(self, release: str, code: int) -> None:
        assert draguard("validate", "--kubernetes-version", release, "-", stdin=CLAIM.encode()).code == code

    def test_an_unknown_release_is_wrong_use_even_without_documents(self, write: Callable[..., Path]) -> None:
        done = draguard("validate", "--kubernetes-version", "1.26", write(a=""))
        assert (done.code, done.out) == (2, "")
        message = "--kubernetes-version: Kubernetes 1.26 is not known here; 1.27 and later are\n"
        assert done.err == f"draguard validate: error: {message}"

    def test_a_pod_follows_the_claims_of_its_file(self, write: Callable[..., Path]) -> None:
        other = OLD_POD.replace("name: pod", "name: other")
        # Before them and after them, and whatever the other file holds.
        folder = write(a=f"{OLD_POD}---\n{CLAIM}---\n{other}", b=f"{NEW_POD}---\n{CLAIM_V1}")
        assert findings("validate", folder) == []

    def test_a_pod_alone_in_its_file_follows_the_claims_of_its_directory(self, write: Callable[..., Path]) -> None:
        folder = write(old__claim=CLAIM, old__pod=OLD_POD, new__claim=CLAIM_V1, new__pod=NEW_POD)
        assert findings("validate", folder) == []

    @pytest.mark.parametrize("beside", [CONFIG_MAP, f"{CLAIM}---\n{OTHER_V1}"], ids=["no claims", "of no one release"])
    def test_otherwise_a_pod_is_judged_by_the_newest_release(self, beside: str, write: Callable[..., Path]) -> None:
        folder = write(a=f"{beside}---\n{OLD_POD}")
        (found,) = findings("validate", folder)
        assert (found["rule"], found["kubernetes"]) == ("unknown-field", f"1.{DEFAULT}")

    def test_a_stated_release_judges_pods_too(self, write: Callable[..., Path]) -> None:
        folder = write(a=f"{CLAIM}---\n{NEW_POD}")
        (found,) = findings("validate", "--kubernetes-version", "1.29", folder)
        assert (found["rule"], found["kubernetes"]) == ("unknown-field", "1.29")

    def test_findings_of_pods_keep_their_place(self, write: Callable[..., Path]) -> None:
        other = NEW_POD.replace("name: pod", "name: other")
        folder = write(a=f"{NEW_POD}---\n{CLAIM.replace('gpu', 'G')}---\n{other}")
        assert [rule for rule, _ in rules(folder)] == ["unknown-field", "dns-subdomain", "unknown-field"]


CLUSTER = ("--cluster", ROOT / "examples/simulate/cluster.yaml")
SIMULATED = ("simulate", ROOT / "examples/simulate/deployment.yaml", *CLUSTER)
POLICY = ROOT / "policies/deprecated-api-versions"


class TestSummaries:
    """Each command names the release that judged."""

    @pytest.mark.parametrize(
        ("command", "text", "keys"),
        [
            (("validate", ROOT / "examples/v1"), "no problems (Kubernetes {})\n", ("summary", "kubernetes", 0)),
            (("policy", "check", POLICY), "no problems (Kubernetes {})\n", ("summary", "kubernetes", 0)),
            (("policy", "test", POLICY), " passed (Kubernetes {}); ", ("summary", "kubernetes", 0)),
            (SIMULATED, "\nsimulated as Kubernetes {}; not simulated: ", (2, "kubernetes")),
            ((*SIMULATED, "--fit"), "\nsimulated as Kubernetes {}; not simulated: ", ("kubernetes",)),
            (("match", "-e", "true", *CLUSTER), "\nmatched as Kubernetes {}\n", (0, "kubernetes")),
        ],
    )
    @pytest.mark.parametrize("stated", ["", "1.36"])
    def test_in_text_and_json(
        self, command: tuple[str | Path, ...], text: str, keys: tuple[str | int, ...], stated: str
    ) -> None:
        options = ("--kubernetes-version", stated) if stated else ()
        assert text.format(stated or f"1.{DEFAULT}") in draguard(*command, *options).out
        found: Any = json.loads(draguard(*command, *options, "--output", "json").out)
        for key in keys:
            found = found[key]
        assert found == (stated or f"1.{DEFAULT}")

    def test_all_of_several(self) -> None:
        command = ("validate", "--kubernetes-version", "1.36,1.34", ROOT / "examples/v1")
        assert "no problems (Kubernetes 1.34, 1.36)\n" in draguard(*command).out
        assert reported(*command)["summary"]["kubernetes"] == ["1.34", "1.36"]

    def test_suites_of_several(self, write: Callable[..., Path]) -> None:
        suite = "cases: [{object: {apiVersion: v1, kind: Pod, metadata: {name: a}}, expect: {allowed: true}}]\n"
        policy = (POLICY / "policy.yaml").read_text("utf-8")
        folder = write(policy=policy, a=f"kubernetes: '1.36'\n{suite}", b=f"kubernetes: '1.34'\n{suite}")
        assert "2 passed (Kubernetes 1.34, 1.36); " in draguard("policy", "test", folder).out
