"""How the chart gives draguard a certificate that the API server trusts, and the permissions that this takes."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.chart.rendering import CA, NAMESPACE, VALUES, Manifest, Rendered, component_of, rendered, with_values
from webhook.cli.parser import make_parser

pytestmark = [pytest.mark.tools, pytest.mark.no_cover]

MANAGED = "draguard-certificates"
GIVEN = [name for name, values in VALUES.items() if "source" in values.get("certificates", {})]
EMBEDDED = ["embedded"]
SEPARATE = [name for name in VALUES if name not in GIVEN + EMBEDDED]
CONFIGURATIONS = ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")


@pytest.fixture(params=[*SEPARATE, *EMBEDDED])
def managed(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=SEPARATE)
def separate(request: pytest.FixtureRequest) -> str:
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
        assert secret["type"] == "Opaque"  # others require values that only draguard has
        assert lease["spec"] == {}

    def test_no_authority_is_rendered_that_an_upgrade_could_put_back(self, managed: str) -> None:
        assert all("caBundle" not in webhook["clientConfig"] for webhook in rendered(managed).webhooks.values())

    def test_the_manager_may_read_and_change_exactly_these_objects(self, managed: str) -> None:
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
            "name": (release.pod if managed in EMBEDDED else release.manager)["spec"]["serviceAccountName"],
            "namespace": NAMESPACE,
        }
        for role in ("Role", "ClusterRole"):
            binding = release.one(f"{role}Binding")
            assert binding["roleRef"] == {"apiGroup": "rbac.authorization.k8s.io", "kind": role, "name": MANAGED}
            assert binding["subjects"] == [account]

    def test_no_account_gives_its_token_to_pods_by_default(self, managed: str) -> None:
        accounts = rendered(managed).all("ServiceAccount")
        assert all(each["automountServiceAccountToken"] is False for each in accounts)


def egress(release: Rendered, component: str) -> tuple[list[str], object]:
    spec = release.network_policy(component)["spec"]
    return spec["policyTypes"], spec["egress"]


def to_api_servers(stated: Mapping[str, Any]) -> list[Manifest]:
    ports = [{"port": port, "protocol": "TCP"} for port in stated.get("ports", [443, 6443, 8443, 16443])]
    return [{"ports": ports, **({"to": stated["to"]} if "to" in stated else {})}]


class TestSeparate:
    """The manager is a Deployment of its own; the pods that parse untrusted input have no permissions."""

    def test_the_manager_arguments_name_the_cluster_objects(self, separate: str) -> None:
        release = rendered(separate)
        (container,) = release.manager["spec"]["containers"]
        options = [argument for argument in container["args"] if not argument.startswith("--log-")]
        names = [f"draguard.{NAMESPACE}.svc", f"draguard.{NAMESPACE}.svc.cluster.local"]
        assert options == [
            "manage-certificate",
            f"--namespace={NAMESPACE}",
            f"--secret={MANAGED}",
            f"--lease={MANAGED}",
            "--webhooks=draguard",
            *(f"--name={name}" for name in names),
        ]
        assert names[0] == f"{release.one('Service')['metadata']['name']}.{NAMESPACE}.svc"
        assert {release.one(kind)["metadata"]["name"] for kind in CONFIGURATIONS} == {"draguard"}
        parsed = make_parser().parse_args(container["args"])
        assert (parsed.command, parsed.manage_name) == ("manage-certificate", names)
        (variable,) = container["env"]
        assert variable == {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}

    def test_the_manager_has_the_token_and_no_port_and_the_webhook_has_neither_token_nor_rights(
        self, separate: str
    ) -> None:
        release = rendered(separate)
        manager, webhook = release.manager["spec"], release.pod["spec"]
        assert (manager["automountServiceAccountToken"], webhook["automountServiceAccountToken"]) == (True, False)
        assert manager["serviceAccountName"] != webhook["serviceAccountName"]
        assert not any("ports" in container for container in manager["containers"])
        assert not any(option.startswith("manage-") for option in release.options)
        stated = VALUES[separate].get("networkPolicy", {}).get("apiServer", {})
        types = ["Ingress", "Egress"]
        assert egress(release, "certificate-manager") == (types, to_api_servers(stated))
        assert release.network_policy("certificate-manager")["spec"]["ingress"] == []
        assert egress(release, "admission-webhook") == (types, [])

    def test_the_webhook_has_the_pair_and_not_the_authority_s_key(self, separate: str) -> None:
        release = rendered(separate)
        projected = release.volumes["tls"]["projected"]
        given, version = (source["secret"] for source in projected["sources"])
        assert [item["key"] for item in given["items"]] == ["tls.crt", "tls.key"]
        assert "optional" not in given, "a pod without certificate waits, and one that has it keeps it"
        assert (version["optional"], version["items"][0]["key"]) == (True, "kubernetes.version")
        assert given["name"] == version["name"] == MANAGED
        assert projected["defaultMode"] == 0o440
        paths = {f"{release.mounts['tls']['mountPath']}/{item['path']}" for item in given["items"]}
        assert paths == {release.options["tls-cert"], release.options["tls-key"]}

    def test_the_manager_s_pods_are_none_of_the_service_nor_of_the_webhook_s_deployment(self, separate: str) -> None:
        release = rendered(separate)
        labels = release.manager["metadata"]["labels"]
        for selector in (
            release.one("Service")["spec"]["selector"],
            release.deployment["spec"]["selector"]["matchLabels"],
        ):
            assert not selector.items() <= labels.items()

    def test_the_manager_is_as_confined_as_the_webhook(self, separate: str) -> None:
        release = rendered(separate)
        (container,) = release.manager["spec"]["containers"]
        assert container["securityContext"] == release.container["securityContext"]
        assert release.manager["spec"]["securityContext"] == release.pod["spec"]["securityContext"]
        assert container["image"] == release.container["image"]
        assert container["resources"]["limits"]["memory"] == "128Mi"

    def test_the_chart_makes_its_account_unless_one_is_named(self) -> None:
        for values, account in (("defaults", MANAGED), ("account of one's own", "mine")):
            release = rendered(values)
            assert release.manager["spec"]["serviceAccountName"] == account
            assert release.one("RoleBinding")["subjects"][0]["name"] == account
            made = {each["metadata"]["name"] for each in release.all("ServiceAccount")}
            assert (account in made) == (account == MANAGED)

    def test_pods_follow_the_cluster_s_version_unless_one_is_given(self) -> None:
        path = "/etc/draguard/tls/kubernetes.version"
        assert rendered().options["kubernetes-version-file"] == path
        assert "kubernetes-version" not in rendered().options
        given = with_values(kubernetesVersion="1.34").options
        assert (given["kubernetes-version"], "kubernetes-version-file" in given) == ("1.34", False)
        assert "kubernetes-version-file" not in with_values(kubernetesVersion="newest").options
        for values in ("embedded", "cert-manager", "a given Secret"):
            options = rendered(values, "1.33").options
            assert (options["kubernetes-version"], "kubernetes-version-file" in options) == ("1.33", False)


class TestEmbedded:
    def test_the_arguments_name_the_cluster_objects(self) -> None:
        release = rendered("embedded")
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
        assert "tls-cert" not in release.options

    def test_the_pair_is_kept_in_memory_and_bounded(self) -> None:
        release = rendered("embedded")
        assert release.volumes["tls"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "1Mi"}
        assert release.mounts["tls"] == {"name": "tls", "mountPath": release.options["manage-directory"]}

    def test_its_pods_have_the_token_and_reach_api_servers(self) -> None:
        release = rendered("embedded")
        assert release.pod["spec"]["automountServiceAccountToken"] is True
        assert egress(release, "admission-webhook") == (["Ingress", "Egress"], to_api_servers({}))
        assert len(release.all("Deployment")) == len(release.all("NetworkPolicy")) == 1
        (variable,) = release.container["env"]
        assert variable == {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}

    def test_a_pod_that_waits_for_its_certificate_is_not_ended_before_it_gives_up_itself(self) -> None:
        from webhook.cluster.manager import OBTAIN_SECONDS  # noqa: PLC0415 - what manages is only needed here

        probe = rendered("embedded").container["startupProbe"]
        assert probe["periodSeconds"] * probe["failureThreshold"] > OBTAIN_SECONDS


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
        kinds = {each["kind"] for each in release.manifests if component_of(each) != "scan"}
        assert not any("Role" in kind or kind in {"Secret", "Lease"} for kind in kinds)

    def test_nothing_goes_out(self, given: str) -> None:
        for policy in filter(lambda each: component_of(each) != "scan", rendered(given).all("NetworkPolicy")):
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
