"""How the chart gets a certificate to draguard and lets the API server trust it, and what draguard may do for that."""

from __future__ import annotations

import pytest

from tests.chart.rendering import CA, NAMESPACE, VALUES, Manifest, rendered, with_values

MANAGED = "draguard-certificates"
GIVEN = [name for name, values in VALUES.items() if "certificates" in values]
SELF_MANAGED = [name for name in VALUES if name not in GIVEN]
CONFIGURATIONS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


@pytest.fixture(params=SELF_MANAGED)
def managed(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=GIVEN)
def given(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def path(manifest: Manifest) -> tuple[str, str]:
    return manifest["metadata"]["namespace"], manifest["metadata"]["name"]


class TestSelfManaged:
    def test_the_secret_and_the_lease_are_there_and_hold_nothing_of_helm_s(self, managed: str) -> None:
        secret, lease = (rendered(managed).one(kind) for kind in ("Secret", "Lease"))
        assert path(secret) == path(lease) == (NAMESPACE, MANAGED)
        assert secret.keys() == {"apiVersion", "kind", "metadata", "type"}
        assert secret["type"] == "Opaque"  # others demand what only draguard can give
        assert lease["spec"] == {}

    def test_draguard_is_told_where_they_are_and_whom_to_tell(self, managed: str) -> None:
        release = rendered(managed)
        options = {name: value for name, value in release.options.items() if name.startswith("manage-")}
        assert options == {
            "manage-certificate": "",
            "manage-namespace": NAMESPACE,
            "manage-secret": MANAGED,
            "manage-lease": MANAGED,
            "manage-webhooks": "draguard",
            "manage-name": f"draguard.{NAMESPACE}.svc.cluster.local",
            "manage-directory": "/etc/draguard/tls",
        }
        assert release.repeated("manage-name")[0] == f"{release.one('Service')['metadata']['name']}.{NAMESPACE}.svc"
        assert {release.one(kind)["metadata"]["name"] for kind in CONFIGURATIONS} == {"draguard"}
        assert "tls-cert" not in release.options

    def test_no_authority_is_rendered_that_an_upgrade_could_put_back(self, managed: str) -> None:
        assert all("caBundle" not in webhook["clientConfig"] for webhook in rendered(managed).webhooks.values())

    def test_the_pair_is_kept_in_memory_and_bounded(self, managed: str) -> None:
        release = rendered(managed)
        assert release.volumes["tls"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "1Mi"}
        assert release.mounts["tls"] == {"name": "tls", "mountPath": release.options["manage-directory"]}

    def test_the_pods_may_read_and_change_exactly_these_objects(self, managed: str) -> None:
        release = rendered(managed)
        verbs = ["get", "patch"]
        assert release.one("Role")["rules"] == [
            {"apiGroups": [""], "resources": ["secrets"], "resourceNames": [MANAGED], "verbs": verbs},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "resourceNames": [MANAGED], "verbs": verbs},
        ]
        assert release.one("ClusterRole")["rules"] == [
            {
                "apiGroups": ["admissionregistration.k8s.io"],
                "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
                "resourceNames": ["draguard"],
                "verbs": verbs,
            }
        ]
        account = {
            "kind": "ServiceAccount",
            "name": release.pod["spec"]["serviceAccountName"],
            "namespace": NAMESPACE,
        }
        for role in ("Role", "ClusterRole"):
            binding = release.one(f"{role}Binding")
            assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": MANAGED}
            assert binding["subjects"] == [account]

    def test_only_draguard_s_pods_have_the_token(self, managed: str) -> None:
        release = rendered(managed)
        assert release.pod["spec"]["automountServiceAccountToken"] is True
        assert [each["automountServiceAccountToken"] for each in release.all("ServiceAccount")] == [False]

    def test_holders_of_the_lease_are_called_as_their_pods(self, managed: str) -> None:
        (variable,) = rendered(managed).container["env"]
        assert variable == {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}

    def test_they_reach_api_servers_and_nothing_else(self, managed: str) -> None:
        stated = VALUES[managed].get("networkPolicy", {}).get("apiServer", {})
        spec = rendered(managed).one("NetworkPolicy")["spec"]
        (out,) = spec["egress"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        assert out["ports"] == [
            {"port": port, "protocol": "TCP"} for port in stated.get("ports", [443, 6443, 8443, 16443])
        ]
        assert out.get("to", []) == stated.get("to", [])

    def test_a_pod_that_waits_for_its_certificate_is_not_ended_before_it_gives_up_itself(self) -> None:
        from webhook.cluster.manager import OBTAIN_SECONDS  # noqa: PLC0415 - what manages is only needed here

        probe = rendered().container["startupProbe"]
        assert probe["periodSeconds"] * probe["failureThreshold"] > OBTAIN_SECONDS

    def test_the_notes_say_what_happens_until_the_api_server_trusts_it(self) -> None:
        assert "fail closed (resources, prescheduled)" in rendered().notes
        ignoring = with_values(webhooks={name: {"failurePolicy": "Ignore"} for name in ("resources", "prescheduled")})
        assert "fail closed" not in ignoring.notes
        assert "caBundle" in ignoring.notes
        assert "caBundle" not in rendered("a given Secret").notes


class TestGiven:
    def test_the_certificate_is_where_draguard_looks(self, given: str) -> None:
        release = rendered(given)
        mount = release.mounts["tls"]
        paths = {f"{mount['mountPath']}/{item['path']}" for item in release.volumes["tls"]["secret"]["items"]}
        assert mount["readOnly"]
        assert paths == {release.options["tls-cert"], release.options["tls-key"]}
        assert not any(option.startswith("manage-") for option in release.options)

    def test_pods_can_read_their_key_and_nothing_of_the_api_server(self, given: str) -> None:
        release = rendered(given)
        pod = release.pod["spec"]
        assert pod["securityContext"]["fsGroup"]
        assert release.volumes["tls"]["secret"]["defaultMode"] == 0o440
        assert pod["automountServiceAccountToken"] is False
        assert all(each["automountServiceAccountToken"] is False for each in release.all("ServiceAccount"))
        assert not any("Role" in each["kind"] or each["kind"] in {"Secret", "Lease"} for each in release.manifests)

    def test_nothing_goes_out(self, given: str) -> None:
        for policy in rendered(given).all("NetworkPolicy"):
            assert (policy["spec"]["policyTypes"], policy["spec"]["egress"]) == (["Ingress", "Egress"], [])

    def test_a_given_secret_is_mounted_and_its_authority_trusted(self) -> None:
        release = rendered("a given Secret")
        assert release.volumes["tls"]["secret"]["secretName"] == "given"
        assert release.ca_bundles() == {CA}

    def test_cert_manager_makes_the_secret_and_announces_the_authority(self) -> None:
        release = rendered("cert-manager")
        by_name = {each["metadata"]["name"]: each["spec"] for each in release.all("Certificate")}
        issuers = {each["metadata"]["name"]: each["spec"] for each in release.all("Issuer")}
        serving, authority = by_name["draguard"], by_name["draguard-ca"]
        assert release.volumes["tls"]["secret"]["secretName"] == serving["secretName"] != MANAGED
        assert f"draguard.{NAMESPACE}.svc" in serving["dnsNames"]
        assert issuers[serving["issuerRef"]["name"]] == {"ca": {"secretName": authority["secretName"]}}
        assert issuers[authority["issuerRef"]["name"]] == {"selfSigned": {}}
        assert release.ca_bundles() == {""}
        for kind in CONFIGURATIONS:
            announced = release.one(kind)["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
            assert announced == f"{NAMESPACE}/draguard"

    def test_an_issuer_of_one_s_own_is_all_that_is_used(self) -> None:
        release = rendered("cert-manager with an issuer of one's own")
        assert release.all("Issuer") == []
        assert release.one("Certificate")["spec"]["issuerRef"]["name"] == "internal"
