"""The chart's output for every set of values: manifests that API servers accept, and that fit together."""

import json
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from subprocess import run
from typing import Any

import helm_python
import pytest
import yaml

import webhook
from charts.generate import generated
from charts.render import CHART, KUBERNETES, main, render
from tests.chart.rendering import CA, NAMESPACE, VALUES, Manifest, Rendered, rendered, with_values
from tests.rows import each_row, each_row_beside
from webhook.admission import Enforcement
from webhook.api.versions import DEFAULT, NEWEST
from webhook.check.reviews import enforcement
from webhook.check.target import feature_gates
from webhook.cli.parser import make_parser

pytestmark = [pytest.mark.tools, pytest.mark.no_cover]

RELEASES = ("1.28", f"1.{DEFAULT}")


def test_charts_are_rendered_for_the_release_that_commands_judge_by() -> None:
    assert f"1.{DEFAULT}" == KUBERNETES


@pytest.fixture(params=VALUES)
def values(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@cache  # most manifests are the same for many sets of values
def check(manifest: str, kubernetes: str) -> None:
    """Check a manifest against the schemas of a release."""
    import kubernetes_validate  # type: ignore[import-untyped]  # noqa: PLC0415 - no quick test needs it

    kubernetes_validate.validate(json.loads(manifest), kubernetes, strict=True)


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


def written(values: Any, path: str = "") -> Iterator[str]:
    """Find every value that is written, by its path."""
    for key, value in values.items():
        yield f"{path}{key}"
        if isinstance(value, dict):
            yield from written(value, f"{path}{key}.")


def defined(schema: Any, root: Any, path: str = "") -> Iterator[str]:
    """Find every value that a schema defines by its name."""
    definition = root["definitions"][schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema
    for key, value in definition.get("properties", {}).items():
        yield f"{path}{key}"
        yield from defined(value, root, f"{path}{key}.")


class TestManifests:
    def test_helm_finds_nothing_wrong_with_the_chart(self, values: str) -> None:
        report = helm_python.lint(str(CHART), dict(VALUES[values]), strict=True, kube_version="v1.36.0")
        assert [each for each in report["messages"] if each["severity"] > 1] == []
        assert report["errors"] == []

    @pytest.mark.parametrize("kubernetes", RELEASES)
    def test_manifests_fit_the_schemas_of_kubernetes(self, values: str, kubernetes: str) -> None:
        for manifest in rendered(values, kubernetes).manifests:
            if not manifest["apiVersion"].startswith(("cert-manager.io/", "monitoring.coreos.com/")):
                check(json.dumps(manifest), kubernetes)
        check(json.dumps(rendered(values, kubernetes).test), kubernetes)

    def test_draguard_finds_nothing_wrong_with_them(self, values: str) -> None:
        for manifest in rendered(values).manifests:
            assert webhook.validate(manifest, kubernetes="1.36") == []

    def test_each_object_is_named_once_is_in_the_release_s_namespace_and_says_whose_it_is(self, values: str) -> None:
        manifests = rendered(values).manifests
        own = {"app.kubernetes.io/name": "draguard", "app.kubernetes.io/instance": "draguard"}
        names = [(each["kind"], each["metadata"]["name"]) for each in manifests]
        assert {name.partition("-")[0] for _, name in names} <= {"draguard", "guard", "guardian"}
        assert len(set(names)) == len(names)
        for manifest in manifests:
            of_cluster = manifest["kind"].startswith("Cluster") or manifest["kind"].endswith("WebhookConfiguration")
            assert manifest["metadata"].get("namespace") == (None if of_cluster else NAMESPACE)
            assert own.items() <= labels_of(manifest).items()

    def test_selectors_match_the_pods(self, values: str) -> None:
        release = rendered(values)
        pods = [labels_of(each["spec"]["template"]) for each in release.all("Deployment")]
        pods.append(labels_of(release.test))
        found = [selector for manifest in release.manifests for selector in selectors(manifest)]
        assert release.one("Service")["spec"]["selector"].items() <= labels_of(release.pod).items()
        assert found
        for selector in found:
            assert sum(selector.items() <= labels.items() for labels in pods) == 1

    def test_the_plain_manifests_are_the_same_behind_their_namespace(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "ca.crt").write_text(CA, encoding="utf-8")
        file = tmp_path / "values.yaml"
        file.write_text("certificates: {source: secret, secret: {name: given}}", encoding="utf-8")
        given = [f"--values={file}", f"--set-file=certificates.secret.caBundle={tmp_path / 'ca.crt'}"]
        scaled = ["--set=autoscaling.enabled=true,autoscaling.minReplicas=3"]
        for values, options in (("defaults", []), ("a given Secret", given), ("autoscaled", scaled)):
            assert main(options) == 0
            namespace, *manifests = yaml.safe_load_all(capsys.readouterr().out)
            check(json.dumps(namespace), "1.36")
            assert (namespace["kind"], namespace["metadata"]["name"]) == ("Namespace", NAMESPACE)
            assert sorted(map(json.dumps, manifests)) == sorted(map(json.dumps, rendered(values).manifests))
            kinds = [manifest["kind"] for manifest in manifests]
            assert kinds[-2:] == ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]

    def test_each_rendering_is_the_same_and_no_line_ends_with_blanks(self, values: str) -> None:
        texts = render(VALUES[values], namespace=NAMESPACE)
        assert Rendered(texts).manifests == rendered(values).manifests
        lines = [(name, line) for name, text in texts.items() for line in text.splitlines()]
        assert [(name, line) for name, line in lines if line != line.rstrip()] == []

    def test_their_namespace_lets_the_pods_in(self, capsys: pytest.CaptureFixture[str]) -> None:
        for option, standard in (("hostNetwork=false", "restricted"), ("hostNetwork=true", "privileged")):
            assert main(["--set", option]) == 0
            namespace, *_ = yaml.safe_load_all(capsys.readouterr().out)
            assert labels_of(namespace)["pod-security.kubernetes.io/enforce"] == standard

    def test_a_rendering_error_is_reported_in_one_line(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["--kubernetes-version", "1.27"]) == 1
        out, err = capsys.readouterr()
        assert (out, "draguard needs Kubernetes 1.28 or later" in err) == ("", True)


class TestServing:
    """The options of ``draguard serve``."""

    @each_row(
        ("cluster", "stated", "option"),
        ("v1.34.2-gke.100", "", "1.34"),
        ("1.28", "", "1.28"),
        ("v1.36.0", "1.30", "1.30"),
        (f"1.{NEWEST}", "", f"1.{NEWEST}"),
        (f"1.{NEWEST + 1}", "", None),  # it would refuse to start
        ("1.34", "newest", None),
    )
    def test_rules_are_those_of_the_cluster_s_release(self, cluster: str, stated: str, option: str | None) -> None:
        release = with_values(cluster, kubernetesVersion=stated, certificates={"manager": "embedded"})
        assert release.options.get("kubernetes-version") == option

    def test_the_notes_tell_of_a_cluster_that_is_too_new(self) -> None:
        assert "WARNING: this cluster" in with_values(f"1.{NEWEST + 1}").notes
        assert "WARNING" not in with_values(f"1.{NEWEST}").notes

    @each_row_beside("values", "told", "untold")
    def test_the_notes_tell_what_to_heed(self, values: str, told: list[str], untold: list[str]) -> None:
        notes = " ".join(rendered(values).notes.split())
        assert [each for each in told if each not in notes] == []
        assert [each for each in untold if each in notes] == []

    def test_values_become_options(self) -> None:
        options = rendered("everything differs").options
        assert options == {
            "host": "::",
            "port": "9443",
            "connections-per-address": "50",
            "shutdown-delay": "20",
            "tls-cert": "/etc/draguard/tls/tls.crt",
            "tls-key": "/etc/draguard/tls/tls.key",
            "monitoring-port": "8080",
            "log-format": "json",
            "log-level": "info",
            "feature-gates": "AllBeta=false,DRAListTypeAttributes=true",
            "enforce": "warn",
            "select-node-by": "name",
            "pods": "all",
            "body-limit": "3145728",
        }
        assert with_values(serve={"extraArgs": ["--a=b c: d"]}).container["args"][-1] == "--a=b c: d"

    def test_modes_and_exemptions_are_those_that_draguard_takes(self) -> None:
        stated = enforcement(make_parser().parse_args(rendered("modes").container["args"]))
        assert stated == Enforcement(
            mode="audit",
            workloads="deny",
            rules={"attribute-values": "warn", "admin-access": "deny"},
            policies={"named.example.com": "warn"},
            exempt_namespaces=["team-*", "*"],
            exempt_users=["system:serviceaccount:kube-system:*"],
            exempt_groups=["system:nodes"],
        )

    def test_a_first_install_refuses_nothing_and_exempts_nothing(self) -> None:
        stated = enforcement(make_parser().parse_args(rendered().container["args"]))
        assert stated == Enforcement(mode="warn", exempt_namespaces=[], exempt_users=[], exempt_groups=[])
        stated = enforcement(make_parser().parse_args(rendered("denying").container["args"]))
        assert stated == Enforcement(exempt_namespaces=[], exempt_users=[], exempt_groups=[])

    def test_the_form_and_number_of_log_lines_can_be_chosen(self) -> None:
        options = rendered("monitored").options
        assert (options["log-format"], options["log-level"], options["log-allowed"]) == ("text", "debug", "1/50")
        assert "log-allowed" not in rendered().options

    def test_feature_gates_are_those_that_draguard_takes(self) -> None:
        release = rendered("everything differs")
        arguments = make_parser().parse_args(release.container["args"])
        assert feature_gates(arguments, None) == {"AllBeta": False, "DRAListTypeAttributes": True}
        assert "feature-gates" not in rendered().options

    def test_draguard_takes_the_options_and_ports_agree(self, values: str) -> None:
        release = rendered(values)
        assert make_parser().parse_args(release.container["args"]).command == "serve"
        ports = {port["name"]: port["containerPort"] for port in release.container["ports"]}
        served = {port["name"]: port for port in release.one("Service")["spec"]["ports"]}
        assert {name: port["targetPort"] for name, port in served.items()} == {name: name for name in ports}
        assert str(ports["https"]) == release.options["port"]
        assert release.options.get("monitoring-port") == (str(ports["monitoring"]) if values in PORTED else None)
        assert len(set(ports.values())) == len(ports)
        for policy in [release.network_policy()] if release.all("NetworkPolicy") else []:
            admitted = [each["port"] for rule in policy["spec"]["ingress"] for each in rule["ports"]]
            assert admitted == list(ports.values())
        for each in release.webhooks.values():
            service, name = each["clientConfig"]["service"], release.one("Service")["metadata"]["name"]
            reached = (service["name"], service["namespace"], service["port"])
            assert reached == (name, NAMESPACE, served["https"]["port"])

    def test_authorities_of_clients_are_where_draguard_looks(self) -> None:
        for values, kind, key, name in (
            ("known clients", "configMap", "name", "ca.crt"),
            ("known clients by a Secret", "secret", "secretName", "clients.pem"),
        ):
            release = rendered(values)
            volume = release.volumes["clients"][kind]
            assert (volume[key], volume["items"]) == ("api-servers", [{"key": name, "path": name}])
            assert release.options["client-ca"] == f"{release.mounts['clients']['mountPath']}/{name}"
        assert rendered("known clients").repeated("client-name") == ["kube-apiserver", "system:apiserver"]
        assert "client-ca" not in rendered().options


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
        kinds = {"name", "secret", "configMap", "emptyDir", "projected"}
        assert {key for volume in pod["volumes"] for key in volume} <= kinds

    def test_who_a_pod_runs_as_can_be_left_to_the_cluster(self) -> None:
        left = with_values(podSecurityContext=dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup")))
        wanted = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
        assert left.pod["spec"]["securityContext"] == wanted

    def test_the_service_account_exists_or_is_the_namespace_s_and_memory_alone_is_limited(self, values: str) -> None:
        release = rendered(values)
        names = {each["metadata"]["name"] for each in release.all("ServiceAccount")}
        own = {each["spec"]["template"]["spec"]["serviceAccountName"] for each in release.all("Deployment")}
        assert own - {"mine"} == (names or {"default"})
        assert release.container["resources"].keys() == {"requests", "limits"}
        assert release.container["resources"]["limits"].keys() == {"memory"}

    def test_a_pod_is_given_the_time_that_it_takes_to_stop(self) -> None:
        from webhook.server import SHUTDOWN_DELAY, Limits  # noqa: PLC0415 - what serves is only needed here

        assert rendered().options["shutdown-delay"] == f"{SHUTDOWN_DELAY:g}"
        for values in ("defaults", "everything differs"):
            release, limits = rendered(values), Limits()
            needed = limits.grace_seconds + limits.handshake_seconds + limits.closing_seconds
            needed += float(release.options["shutdown-delay"])
            assert release.pod["spec"]["terminationGracePeriodSeconds"] > needed

    def test_replicas_are_apart(self, values: str) -> None:
        pod = rendered(values).pod["spec"]
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        assert (required in pod["affinity"]["podAntiAffinity"]) == (values == "everything differs")
        assert pod["topologySpreadConstraints"]

    def test_an_image_is_named_by_its_digest_if_there_is_one(self) -> None:
        version = re.escape(webhook.__version__)
        assert re.fullmatch(rf"ghcr\.io/draguard/draguard:{version}", rendered().container["image"])
        digest = f"registry.example.com/draguard:{webhook.__version__}@sha256:{'0' * 64}"
        assert rendered("everything differs").container["image"] == digest

    def test_rollouts_leave_fewer_replicas_only_if_each_needs_a_node_or_its_port(self) -> None:
        on_ports_of_nodes = with_values(hostNetwork=True)
        for release, unavailable in ((rendered(), 0), (rendered("everything differs"), 1), (on_ports_of_nodes, 1)):
            assert release.deployment["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == unavailable


class TestHouseRules:
    """Labels, annotations and images that an organisation wants everywhere."""

    def test_common_labels_and_annotations_are_on_every_object(self) -> None:
        release = rendered("house rules")
        for manifest in [*release.manifests, release.test, release.pod]:
            assert labels_of(manifest)["team"] == "platform"
        for manifest in [*release.manifests, release.test]:
            assert manifest["metadata"]["annotations"]["owner"].endswith("@example.com")

    def test_an_object_s_own_labels_win_but_for_those_that_find_it(self) -> None:
        own = {"team": "guards"}
        release = with_values(
            commonLabels={"team": "platform"},
            podLabels=own,
            certificates={"podLabels": own, "podAnnotations": {"linkerd.io/inject": "disabled"}},
            webhooks={"labels": own},
        )
        for manifest in (release.pod, release.manager, release.one("ValidatingWebhookConfiguration")):
            assert labels_of(manifest)["team"] == "guards"
        assert labels_of(release.deployment)["team"] == "platform"
        assert release.manager["metadata"]["annotations"] == {"linkerd.io/inject": "disabled"}
        with pytest.raises(helm_python.HelmError, match=r"app\.kubernetes\.io/name"):
            render({"podLabels": {"app.kubernetes.io/name": "other"}})

    def test_null_leaves_a_value_out(self) -> None:
        names = ("commonLabels", "commonAnnotations", "podLabels", "podAnnotations", "priorityClassName", "hostNetwork")
        webhooks = dict.fromkeys(("labels", "annotations", "exemptNamespaces", "namespaceMatchExpressions"))
        values: dict[str, Any] = dict.fromkeys(names)
        release = with_values("1.36", **values, webhooks=webhooks)
        assert "priorityClassName" not in release.pod["spec"]
        assert release.all("ResourceQuota") == []
        (namespaces,) = release.webhooks["resources"]["namespaceSelector"]["matchExpressions"]
        assert namespaces["values"] == [NAMESPACE]

    def test_an_object_s_own_annotation_wins_and_webhook_configurations_have_their_own(self) -> None:
        account = rendered("house rules").one("ServiceAccount")
        assert account["metadata"]["annotations"] == {"owner": "security@example.com"}
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
            configuration = rendered("house rules").one(kind)
            assert labels_of(configuration)["audit"] == "yes"
            assert configuration["metadata"]["annotations"] == {
                "admissions.enforcer/disabled": "true",
                "cert-manager.io/inject-ca-from": f"{NAMESPACE}/draguard",
                "owner": "platform@example.com",
            }

    def test_images_come_from_the_registry_of_all_charts_and_environment_volumes_and_budget_are_one_s_own(self) -> None:
        release = rendered("house rules")
        assert release.container["image"] == f"mirror.example.com:5000/draguard/draguard:{webhook.__version__}"
        assert release.test["spec"]["containers"][0]["image"] == release.container["image"]
        assert {"name": "TZ", "value": "UTC"} in release.container["env"]
        assert release.volumes["scratch"] == {"name": "scratch", "emptyDir": {}}
        assert release.mounts["scratch"]["mountPath"] == "/scratch"
        embedded = with_values(certificates={"manager": "embedded"}, extraEnv=[{"name": "TZ", "value": "UTC"}])
        assert [each["name"] for each in embedded.container["env"]] == ["POD_NAME", "TZ"]
        budget = release.one("PodDisruptionBudget")["spec"]
        assert (budget["minAvailable"], "maxUnavailable" in budget) == ("50%", False)


class TestHelmTest:
    """The pod that ``helm test`` runs."""

    def test_it_sends_a_review_to_the_service(self) -> None:
        (container,) = rendered().test["spec"]["containers"]
        script, url = container["args"]
        assert url == f"https://draguard.{NAMESPACE}.svc:443/validate/fail"
        done = run([sys.executable, "-c", script, "https://127.0.0.1:1/"], capture_output=True, text=True, check=False)
        assert (done.returncode, "Connection refused" in done.stderr) == (1, True)

    def test_it_asks_for_readiness_where_only_known_clients_send_reviews(self) -> None:
        (container,) = rendered("known clients").test["spec"]["containers"]
        assert container["args"][1] == f"http://draguard.{NAMESPACE}.svc:8080/readyz"

    def test_the_network_policy_admits_it(self) -> None:
        label = rendered("everything differs").test["metadata"]["labels"]["app.kubernetes.io/name"]
        reviews, _ = rendered("everything differs").network_policy()["spec"]["ingress"]
        assert reviews["from"][-1]["podSelector"]["matchLabels"]["app.kubernetes.io/name"] == label

    def test_the_plain_manifests_leave_it_out(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert main([]) == 0
        assert "helm.sh/hook" not in capsys.readouterr().out


class TestPolicies:
    def test_policies_are_where_draguard_looks(self) -> None:
        release = rendered("policies")
        configs = {config["metadata"]["name"]: config["data"] for config in release.all("ConfigMap")}
        mounted = {
            mount["mountPath"]: configs[release.volumes[name]["configMap"]["name"]]
            for name, mount in release.mounts.items()
            if name != "tls" and mount["readOnly"]
        }
        directory, name = release.options["authorizer"].rsplit("/", 1)
        assert mounted[release.options["policies"]] == VALUES["policies"]["policies"]
        assert yaml.safe_load(mounted[directory][name]) == {"rules": VALUES["policies"]["authorizer"]}

    def test_pods_run_on_when_policies_change(self) -> None:
        one, other = (with_values(policies={"a.yaml": text}, authorizer=[{"verbs": [text]}]) for text in "ab")
        assert one.pod == other.pod
        assert one.all("ConfigMap") != other.all("ConfigMap")

    def test_what_happens_when_they_cannot_be_used_can_be_chosen(self) -> None:
        assert rendered("policies").options["on-broken-policies"] == "keep"
        broken = with_values(policies={"a.yaml": "a: 1"}, serve={"onBrokenPolicies": "unready"})
        assert broken.options["on-broken-policies"] == "unready"

    def test_without_policies_none_are_read(self) -> None:
        assert "policies" not in rendered().options
        assert not {"ConfigMap", *KINDS} & {manifest["kind"] for manifest in rendered().manifests}
        assert "annotations" not in rendered().pod["metadata"]

    def test_mutating_policies_apply_to_judged_objects(self) -> None:
        webhooks = rendered("policies").webhooks
        assert webhooks["mutation"]["rules"] == webhooks["resources"]["rules"]
        assert "mutation" not in rendered().webhooks


class TestSwitches:
    def test_two_replicas_are_guarded_and_one_is_not_and_a_system_priority_class_brings_its_quota(self) -> None:
        assert rendered().deployment["spec"]["replicas"] == 2
        assert rendered().one("PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
        assert rendered("one replica").all("PodDisruptionBudget") == []
        (scope,) = rendered().one("ResourceQuota")["spec"]["scopeSelector"]["matchExpressions"]
        assert scope["values"] == [rendered().pod["spec"]["priorityClassName"]]
        assert rendered("one replica").all("ResourceQuota") == []

    def test_who_scales_is_either_the_deployment_or_the_autoscaler(self) -> None:
        release = rendered("autoscaled")
        target = release.one("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
        assert "replicas" not in release.deployment["spec"]
        assert target["name"] == release.deployment["metadata"]["name"]
        assert release.all("PodDisruptionBudget")

    def test_what_is_switched_off_is_not_there(self) -> None:
        release = rendered("little")
        kinds = {manifest["kind"] for manifest in release.manifests}
        assert kinds == {"Service", "Deployment", "ValidatingWebhookConfiguration"}
        assert release.webhooks.keys() == {"resources"}

    @each_row_beside("wrong", "complaint")
    def test_values_that_cannot_be_meant_are_refused(self, wrong: dict[str, Any], complaint: str) -> None:
        with pytest.raises(helm_python.HelmError, match=re.escape(complaint)):
            render(wrong)

    def test_every_value_that_the_schema_names_is_explained(self) -> None:
        defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
        unwritten = set(defined(schema, schema)) - set(written(defaults))
        issuer = {f"certificates.certManager.issuerRef.{part}" for part in ("group", "kind", "name")}
        assert unwritten == {"global", "global.imageRegistry", "resources.claims", *issuer}

    def test_what_is_generated_is_current_and_the_chart_of_this_release(self) -> None:
        for path, text in generated().items():
            assert path.read_text(encoding="utf-8") == text, "run: python charts/generate.py"
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
        assert chart["appVersion"] == webhook.__version__


PORTED = [name for name, values in VALUES.items() if values.get("monitoring", {}).get("enabled", True)]
PROBES = {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}
KINDS = {"ServiceMonitor", "PrometheusRule"}


def probed(values: str) -> dict[str, dict[str, Any]]:
    container = rendered(values).container
    return {name: container[name]["httpGet"] for name in container if name.endswith("Probe")}


class TestPort:
    def test_probes_need_no_certificate_and_ask_where_reviews_go_without_the_port(self, values: str) -> None:
        port, scheme = ("monitoring", "HTTP") if values in PORTED else ("https", "HTTPS")
        assert probed(values) == {name: {"path": path, "port": port, "scheme": scheme} for name, path in PROBES.items()}
        assert values in PORTED or not KINDS & {manifest["kind"] for manifest in rendered(values).manifests}

    def test_who_may_read_metrics_can_be_said(self) -> None:
        reviews, metrics = rendered("monitored").network_policy()["spec"]["ingress"]
        assert "from" not in reviews
        assert metrics["from"] == VALUES["monitored"]["networkPolicy"]["monitoringFrom"]
        assert metrics["ports"] == [{"port": 9090, "protocol": "TCP"}]


class TestExtras:
    def test_the_operator_finds_the_port_by_its_service(self) -> None:
        release = rendered("monitored")
        monitor, service = release.one("ServiceMonitor"), release.one("Service")
        (endpoint,) = monitor["spec"]["endpoints"]
        assert monitor["apiVersion"] == "monitoring.coreos.com/v1"
        assert monitor["metadata"]["labels"]["release"] == "stack"
        assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
        assert endpoint == {"port": "monitoring", "path": "/metrics", "interval": "1m", "scrapeTimeout": "5s"}
        assert endpoint["port"] in {port["name"] for port in service["spec"]["ports"]}

    def test_alerts_are_those_of_the_file(self) -> None:
        rule = rendered("monitored").one("PrometheusRule")
        assert rule["apiVersion"] == "monitoring.coreos.com/v1"
        assert rule["metadata"]["labels"]["release"] == "stack"
        assert rule["spec"] == yaml.safe_load((CHART / "files" / "alerts.yaml").read_text(encoding="utf-8"))

    def test_the_dashboard_is_that_of_the_file_and_labelled_for_grafana(self) -> None:
        config = rendered("monitored").one("ConfigMap")
        assert config["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert config["metadata"]["annotations"] == {"grafana_folder": "DRA"}
        dashboard = json.loads(config["data"]["draguard.json"])
        assert dashboard == json.loads((CHART / "files" / "dashboard.json").read_text(encoding="utf-8"))
        assert dashboard["panels"]
