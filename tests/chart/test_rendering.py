"""What the chart renders, for every set of values: manifests that API servers take, and that fit together."""

from __future__ import annotations

import base64
import json
import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Any

import helm_python
import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import yaml
from cryptography import x509

import webhook
from charts.render import CHART, main, render
from tests.chart.rendering import CA, NAMESPACE, VALUES, Manifest, rendered, with_values
from webhook.api.versions import NEWEST
from webhook.cli.arguments import make_parser
from webhook.cli.release import feature_gates

if TYPE_CHECKING:
    from collections.abc import Iterator

RELEASES = ("1.28", f"1.{NEWEST}")


@pytest.fixture(params=VALUES)
def values(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def labels_of(manifest: Manifest) -> dict[str, str]:
    return dict(manifest["metadata"]["labels"])


def selectors(manifest: object) -> Iterator[dict[str, str]]:
    """Find every selector that is meant for draguard's own pods."""
    if isinstance(manifest, dict):
        for key, value in manifest.items():
            if key == "matchLabels" and isinstance(value, dict):
                yield value
            yield from selectors(value)
    elif isinstance(manifest, list):
        for each in manifest:
            yield from selectors(each)


class TestManifests:
    def test_helm_finds_nothing_wrong_with_the_chart(self, values: str) -> None:
        report = helm_python.lint(str(CHART), dict(VALUES[values]), strict=True, kube_version="v1.36.0")
        assert [each for each in report["messages"] if each["severity"] > 1] == []
        assert report["errors"] == []

    @pytest.mark.parametrize("kubernetes", RELEASES)
    def test_manifests_fit_the_schemas_of_kubernetes(self, values: str, kubernetes: str) -> None:
        for manifest in rendered(values, kubernetes).manifests:
            if not manifest["apiVersion"].startswith("cert-manager.io/"):
                kubernetes_validate.validate(manifest, kubernetes, strict=True)

    def test_draguard_finds_nothing_wrong_with_them(self, values: str) -> None:
        for manifest in rendered(values).manifests:
            assert webhook.validate(manifest, kubernetes="1.36") == []

    def test_each_object_is_named_once_and_is_in_the_release_s_namespace(self, values: str) -> None:
        manifests = rendered(values).manifests
        names = [(each["kind"], each["metadata"]["name"]) for each in manifests]
        assert len(set(names)) == len(names)
        for manifest in manifests:
            of_cluster = manifest["kind"].endswith("WebhookConfiguration")
            assert manifest["metadata"].get("namespace") == (None if of_cluster else NAMESPACE)

    def test_every_object_says_whose_it_is(self, values: str) -> None:
        for manifest in rendered(values).manifests:
            own = {"app.kubernetes.io/name": "draguard", "app.kubernetes.io/instance": "draguard"}
            assert own.items() <= labels_of(manifest).items()

    def test_selectors_match_the_pods(self, values: str) -> None:
        release = rendered(values)
        labels = labels_of(release.pod)
        found = [selector for manifest in release.manifests for selector in selectors(manifest)]
        assert release.one("Service")["spec"]["selector"].items() <= labels.items()
        assert found
        for selector in found:
            assert selector
            assert selector.items() <= labels.items()

    def test_the_plain_manifests_are_the_same_behind_their_namespace(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "ca.crt").write_text(CA, encoding="utf-8")
        (tmp_path / "values.yaml").write_text("certificates: {source: secret, secret: {name: given}}", encoding="utf-8")
        code = main(
            [
                f"--values={tmp_path / 'values.yaml'}",
                f"--set-file=certificates.secret.caBundle={tmp_path / 'ca.crt'}",
                "--set=autoscaling.enabled=true,autoscaling.minReplicas=3",
            ]
        )
        namespace, *manifests = yaml.safe_load_all(capsys.readouterr().out)
        assert code == 0
        kubernetes_validate.validate(namespace, "1.36", strict=True)
        assert (namespace["kind"], namespace["metadata"]["name"]) == ("Namespace", NAMESPACE)
        assert sorted(map(json.dumps, manifests)) == sorted(map(json.dumps, rendered("autoscaled").manifests))
        kinds = [manifest["kind"] for manifest in manifests]
        assert kinds[-2:] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]

    def test_their_namespace_lets_the_pods_in(self, capsys: pytest.CaptureFixture[str]) -> None:
        for option, standard in (("hostNetwork=false", "restricted"), ("hostNetwork=true", "privileged")):
            assert main(["--set", option]) == 0
            namespace, *_ = yaml.safe_load_all(capsys.readouterr().out)
            assert labels_of(namespace)["pod-security.kubernetes.io/enforce"] == standard

    def test_what_cannot_be_rendered_is_told_in_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--kubernetes-version", "1.27"]) == 1
        out, err = capsys.readouterr()
        assert (out, "draguard needs Kubernetes 1.28 or later" in err) == ("", True)


class TestServing:
    """The options of ``draguard serve``."""

    def test_draguard_takes_the_options(self, values: str) -> None:
        arguments = make_parser().parse_args(rendered(values).container["args"])
        assert arguments.command == "serve"

    @pytest.mark.parametrize(
        ("cluster", "stated", "option"),
        [
            ("v1.34.2-gke.100", "", "1.34"),
            ("1.28", "", "1.28"),
            ("v1.36.0", "1.30", "1.30"),
            (f"1.{NEWEST}", "", f"1.{NEWEST}"),
            (f"1.{NEWEST + 1}", "", None),  # it would refuse to start
            ("1.34", "newest", None),
        ],
    )
    def test_rules_are_those_of_the_cluster_s_release(self, cluster: str, stated: str, option: str | None) -> None:
        assert with_values(cluster, kubernetesVersion=stated).options.get("kubernetes-version") == option

    def test_the_notes_tell_of_a_cluster_that_is_too_new(self) -> None:
        assert "WARNING: this cluster" in with_values(f"1.{NEWEST + 1}").notes
        assert "WARNING" not in with_values(f"1.{NEWEST}").notes

    def test_values_become_options(self) -> None:
        options = rendered("everything differs").options
        assert options == {
            "host": "::",
            "port": "9443",
            "tls-cert": "/etc/draguard/tls/tls.crt",
            "tls-key": "/etc/draguard/tls/tls.key",
            "feature-gates": "AllBeta=false,DRAListTypeAttributes=true",
            "failure-policy": "ignore",
            "select-node-by": "name",
            "pods": "all",
            "body-limit": "3145728",
        }
        assert with_values(serve={"extraArgs": ["--a=b c: d"]}).container["args"][-1] == "--a=b c: d"

    def test_feature_gates_are_those_that_draguard_takes(self) -> None:
        release = rendered("everything differs")
        arguments = make_parser().parse_args(release.container["args"])
        assert feature_gates(arguments, None) == {"AllBeta": False, "DRAListTypeAttributes": True}
        assert "feature-gates" not in rendered().options

    def test_ports_agree(self, values: str) -> None:
        release = rendered(values)
        (port,) = release.container["ports"]
        (served,) = release.one("Service")["spec"]["ports"]
        assert str(port["containerPort"]) == release.options["port"]
        assert served["targetPort"] == port["name"]
        probes = [value for key, value in release.container.items() if key.endswith("Probe")]
        assert [(probe["httpGet"]["port"], probe["httpGet"]["scheme"]) for probe in probes] == [("https", "HTTPS")] * 3
        for policy in release.all("NetworkPolicy"):
            assert [each["port"] for rule in policy["spec"]["ingress"] for each in rule["ports"]] == [
                port["containerPort"]
            ]
        for each in release.webhooks.values():
            service = each["clientConfig"]["service"]
            assert (service["name"], service["namespace"], service["port"]) == (
                release.one("Service")["metadata"]["name"],
                NAMESPACE,
                served["port"],
            )

    def test_the_certificate_is_where_draguard_looks(self, values: str) -> None:
        release = rendered(values)
        mount, volume = release.container["volumeMounts"][0], release.pod["spec"]["volumes"][0]
        paths = {f"{mount['mountPath']}/{item['path']}" for item in volume["secret"]["items"]}
        assert mount["name"] == volume["name"]
        assert mount["readOnly"]
        assert paths == {release.options["tls-cert"], release.options["tls-key"]}


class TestPods:
    def test_pods_keep_the_restricted_standard(self, values: str) -> None:
        release = rendered(values)
        pod, container = release.pod["spec"], release.container
        assert pod["securityContext"]["runAsNonRoot"]
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod.get("hostNetwork", False) == VALUES[values].get("hostNetwork", False)
        assert {key for volume in pod["volumes"] for key in volume} <= {"name", "secret", "configMap"}

    def test_who_a_pod_runs_as_can_be_left_to_the_cluster(self) -> None:
        left = with_values(podSecurityContext=dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup")))
        assert left.pod["spec"]["securityContext"] == {
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        }

    def test_pods_can_read_their_key_and_nothing_of_the_api_server(self, values: str) -> None:
        release = rendered(values)
        pod = release.pod["spec"]
        assert pod["securityContext"]["fsGroup"]
        assert pod["volumes"][0]["secret"]["defaultMode"] == 0o440
        assert pod["automountServiceAccountToken"] is False
        assert all(each["automountServiceAccountToken"] is False for each in release.all("ServiceAccount"))
        assert not any("Role" in manifest["kind"] for manifest in release.manifests)

    def test_the_service_account_exists_or_is_the_namespace_s(self, values: str) -> None:
        release = rendered(values)
        names = {each["metadata"]["name"] for each in release.all("ServiceAccount")}
        assert {release.pod["spec"]["serviceAccountName"]} == (names or {"default"})

    def test_resources_are_bounded_but_the_processor_s_time(self, values: str) -> None:
        assert rendered(values).container["resources"].keys() == {"requests", "limits"}
        assert rendered(values).container["resources"]["limits"].keys() == {"memory"}

    def test_a_pod_is_given_the_time_that_it_takes_to_stop(self) -> None:
        from webhook.server import SHUTDOWN_DELAY  # noqa: PLC0415 - what serves is only needed here
        from webhook.server.connection import Limits  # noqa: PLC0415

        limits = Limits()
        needed = SHUTDOWN_DELAY + limits.grace_seconds + limits.closing_seconds
        assert rendered().pod["spec"]["terminationGracePeriodSeconds"] > needed

    def test_replicas_are_apart(self, values: str) -> None:
        pod = rendered(values).pod["spec"]
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        assert (required in pod["affinity"]["podAntiAffinity"]) == (values == "everything differs")
        assert pod["topologySpreadConstraints"]

    def test_an_image_is_named_by_its_digest_if_there_is_one(self) -> None:
        version = re.escape(webhook_version())
        assert re.fullmatch(rf"ghcr\.io/draguard/draguard:{version}", rendered().container["image"])
        digest = f"registry.example.com/draguard:{webhook_version()}@sha256:{'0' * 64}"
        assert rendered("everything differs").container["image"] == digest

    def test_rollouts_never_leave_fewer_replicas_unless_each_needs_a_node(self) -> None:
        unavailable = [
            rendered(name).deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"]
            for name in ("defaults", "everything differs")
        ]
        assert unavailable == [0, 1]


class TestPolicies:
    def test_policies_are_where_draguard_looks(self) -> None:
        release = rendered("policies")
        configs = {config["metadata"]["name"]: config["data"] for config in release.all("ConfigMap")}
        volumes = {volume["name"]: volume["configMap"] for volume in release.pod["spec"]["volumes"][1:]}
        mounted = {
            mount["mountPath"]: configs[volumes[mount["name"]]["name"]]
            for mount in release.container["volumeMounts"][1:]
            if mount["readOnly"]
        }
        directory, name = release.options["authorizer"].rsplit("/", 1)
        assert mounted[release.options["policies"]] == VALUES["policies"]["policies"]
        assert yaml.safe_load(mounted[directory][name]) == {"rules": VALUES["policies"]["authorizer"]}

    def test_other_policies_make_other_pods(self) -> None:
        pods = [with_values(policies={"a.yaml": text}).pod["metadata"]["annotations"] for text in ("a: 1", "a: 2")]
        assert pods[0] != pods[1]

    def test_without_policies_none_are_read(self) -> None:
        assert "policies" not in rendered().options
        assert rendered().all("ConfigMap") == []
        assert "annotations" not in rendered().pod["metadata"]

    def test_mutating_policies_are_asked_about_what_is_judged(self) -> None:
        webhooks = rendered("policies").webhooks
        assert webhooks["mutation"]["rules"] == webhooks["resources"]["rules"]
        assert "mutation" not in rendered().webhooks


class TestSwitches:
    def test_two_replicas_are_guarded_and_one_is_not(self) -> None:
        assert rendered().deployment["spec"]["replicas"] == 2
        assert rendered().one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
        assert rendered("one replica").all("PodDisruptionBudget") == []

    def test_who_scales_is_either_the_deployment_or_the_autoscaler(self) -> None:
        release = rendered("autoscaled")
        target = release.one("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
        assert "replicas" not in release.deployment["spec"]
        assert target["name"] == release.deployment["metadata"]["name"]
        assert release.all("PodDisruptionBudget")

    def test_a_system_priority_class_brings_its_quota(self) -> None:
        (scope,) = rendered().one("ResourceQuota")["spec"]["scopeSelector"]["matchExpressions"]
        assert scope["values"] == [rendered().pod["spec"]["priorityClassName"]]
        assert rendered("one replica").all("ResourceQuota") == []

    def test_nothing_goes_out(self) -> None:
        spec = rendered().one("NetworkPolicy")["spec"]
        assert (spec["policyTypes"], spec["egress"]) == (["Ingress", "Egress"], [])

    def test_what_is_switched_off_is_not_there(self) -> None:
        release = rendered("little")
        kinds = {manifest["kind"] for manifest in release.manifests}
        assert kinds == {"Service", "Deployment", "ValidatingWebhookConfiguration"}
        assert release.webhooks.keys() == {"resources"}

    @pytest.mark.parametrize(
        ("wrong", "complaint"),
        [
            ({"replica": 2}, "replica"),
            ({"replicas": 0}, "/replicas"),
            ({"kubernetesVersion": 1.3}, "/kubernetesVersion"),
            ({"featureGates": {"DRADeviceTaints": "on"}}, "/featureGates/DRADeviceTaints"),
            ({"featureGates": {"A=b,C": True}}, "propertyName 'A=b,C'"),
            ({"serve": {"pods": "none"}}, "/serve/pods"),
            ({"webhooks": {"pods": {"failurePolicy": "fail"}}}, "/webhooks/pods/failurePolicy"),
            ({"webhooks": {"timeoutSeconds": 31}}, "/webhooks/timeoutSeconds"),
            ({"certificates": {"secret": {"caBundle": "bWlpYg=="}}}, "/certificates/secret/caBundle"),
            ({"policies": {"quota": "a: 1"}}, "at '/policies'"),
            ({"image": {"digest": "sha256:1"}}, "/image/digest"),
            ({"certificates": {"source": "secret"}}, "certificates.secret."),
        ],
    )
    def test_values_that_cannot_be_meant_are_refused(self, wrong: dict[str, Any], complaint: str) -> None:
        with pytest.raises(helm_python.HelmError, match=re.escape(complaint)):
            render(wrong)

    def test_the_schema_knows_every_value(self) -> None:
        defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
        assert schema["properties"].keys() - {"global"} == defaults.keys()

    def test_the_chart_is_of_this_release(self) -> None:
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
        assert chart["appVersion"] == webhook_version()


class TestCertificates:
    def test_a_generated_certificate_is_that_of_the_service_and_trusted_by_all_webhooks(self) -> None:
        release = rendered()
        data = {key: base64.b64decode(value) for key, value in release.one("Secret")["data"].items()}
        serving = x509.load_pem_x509_certificate(data["tls.crt"])
        authority = x509.load_pem_x509_certificate(data["ca.crt"])
        names = serving.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        serving.verify_directly_issued_by(authority)
        assert f"draguard.{NAMESPACE}.svc" in names.get_values_for_type(x509.DNSName)
        assert release.ca_bundles() == {data["ca.crt"].decode()}
        ssl.create_default_context(cadata=data["ca.crt"].decode())

    def test_each_rendering_makes_its_own(self) -> None:
        assert rendered("defaults", "1.28").ca_bundles() != rendered("defaults", "1.36").ca_bundles()

    def test_a_given_secret_is_mounted_and_its_authority_trusted(self) -> None:
        release = rendered("a given Secret")
        assert release.all("Secret") == []
        assert release.pod["spec"]["volumes"][0]["secret"]["secretName"] == "given"
        assert release.ca_bundles() == {CA}

    def test_cert_manager_makes_the_secret_and_announces_the_authority(self) -> None:
        release = rendered("cert-manager")
        by_name = {each["metadata"]["name"]: each["spec"] for each in release.all("Certificate")}
        issuers = {each["metadata"]["name"]: each["spec"] for each in release.all("Issuer")}
        serving, authority = by_name["draguard"], by_name["draguard-ca"]
        assert release.pod["spec"]["volumes"][0]["secret"]["secretName"] == serving["secretName"]
        assert f"draguard.{NAMESPACE}.svc" in serving["dnsNames"]
        assert issuers[serving["issuerRef"]["name"]] == {"ca": {"secretName": authority["secretName"]}}
        assert issuers[authority["issuerRef"]["name"]] == {"selfSigned": {}}
        assert release.ca_bundles() == {""}
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
            announced = release.one(kind)["metadata"]["annotations"]["cert-manager.io/inject-ca-from"]
            assert announced == f"{NAMESPACE}/draguard"

    def test_an_issuer_of_one_s_own_is_all_that_is_used(self) -> None:
        release = rendered("cert-manager with an issuer of one's own")
        assert release.all("Issuer") == []
        assert release.one("Certificate")["spec"]["issuerRef"]["name"] == "internal"


def webhook_version() -> str:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    match = re.search(r'^version = "(.+)"$', text, re.MULTILINE)
    assert match
    return match[1]
