"""Charts as input of the commands beside ``validate``, rendered by Helm's library."""

import json
from pathlib import Path

import pytest

from tests.command import ROOT, draguard
from tests.sources.programs import chart

pytestmark = pytest.mark.tools

CLUSTER = ROOT / "examples" / "simulate" / "cluster.yaml"
INFERENCE = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus, namespace: "{{ .Release.Namespace }}"}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: "{{ .Values.class }}"}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: inference, namespace: "{{ .Release.Namespace }}"}
spec:
  replicas: {{ .Values.gpu.count }}
  selector: {matchLabels: {app: inference}}
  template:
    metadata: {labels: {app: inference}}
    spec:
      {{- with .Values.node }}
      nodeName: {{ . }}
      {{- end }}
      containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpus}]
"""


@pytest.fixture
def inference(tmp_path: Path) -> Path:
    return chart(tmp_path / "inference", inference=INFERENCE)


SET = ("--helm-set", "class=gpu.example.com,gpu.count=2")


def test_simulate_schedules_what_a_chart_makes(inference: Path) -> None:
    done = draguard("simulate", inference, "--cluster", CLUSTER, *SET, "-n", "team-y", "-o", "json")
    found = json.loads(done.out)
    assert [each["node"] for each in found] == ["node-b", "node-c"], done.err
    assert {each["namespace"] for each in found} == {"team-y"}


def test_match_matches_what_a_chart_asks_for(inference: Path, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("class: gpu.example.com\n", encoding="utf-8")
    done = draguard("match", inference, "--cluster", CLUSTER, "--helm-values", values)
    title = "ResourceClaimTemplate default/gpus, request gpu (class gpu.example.com): 8 of 8 devices match\n"
    assert done.out.startswith(title), done.err


def test_mutate_rewrites_what_a_chart_makes(inference: Path) -> None:
    done = draguard("mutate", inference, *SET, "--helm-set", "node=node-a", "-n", "ops")
    assert "kubernetes.io/hostname: node-a" in done.out, done.err
    assert "nodeName" not in done.out
    assert 'namespace: "ops"' in done.out


@pytest.mark.parametrize("command", ["simulate", "match", "mutate"])
def test_values_need_a_chart(command: str, tmp_path: Path) -> None:
    (tmp_path / "pod.yaml").write_text("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: []}}")
    done = draguard(command, tmp_path / "pod.yaml", "--helm-set", "a=b")
    assert done.code == 2
    assert "--helm-values and --helm-set: no path is the directory of a Helm chart" in done.err
