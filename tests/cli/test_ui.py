"""The page of ``draguard ui``: what it answers, to whom, and that each answer is the simulation's."""

import json
import re
import signal
import socket
import subprocess
import sys
from argparse import Namespace
from html import escape, unescape
from http.client import HTTPConnection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from werkzeug.test import Client, TestResponse

from tests.command import ROOT, SCRIPT, draguard, usage_error
from tests.report.test_picture import Picture, listed
from tests.rows import each_row
from tests.scan.clusters import claim, device, device_class, made, node, pod, request, slices, template
from webhook.cli.parser import make_parser
from webhook.cli.ui import Pages
from webhook.cli.ui.trial import FormInput, Snapshot
from webhook.cluster.live import ObjectsOfKind
from webhook.usage import UsageError

CLUSTER = ROOT / "examples/simulate/cluster.yaml"
STORY = (ROOT / "examples/simulate/deployment.yaml").read_text()
ADDRESS = "127.0.0.1:8080"
FAR = slices(device("far"), name="far", allNodes=True, pool={"name": "far"})
TAINT = {"key": "a", "effect": "NoSchedule"}
OF_DRIVER = 'device.driver == "gpu.example.com"'
LARGE = 'device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0'


def parsed(*options: str) -> Namespace:
    return make_parser(["ui"]).parse_args(["ui", "--quiet", *options])


class Ui:
    """A page that is open."""

    def __init__(self, *options: str) -> None:
        pages = Pages(parsed(*options), "secret")
        pages.address = ADDRESS
        self.client = Client(pages.app)

    def send(self, path: str = "/secret/", **more: Any) -> TestResponse:
        more.setdefault("method", "POST" if "data" in more else "GET")
        return self.client.open(path, base_url=f"http://{ADDRESS}", **more)

    def show(self, **fields: Any) -> tuple[str, Picture]:
        """Fill the form in; return the page."""
        answer = self.send(data=fields)
        assert answer.status_code == 200
        before, script, after = answer.text.partition('<script src="ui.js" defer></script>')
        assert script
        return answer.text, Picture(before + after)

    def match(self, selector: str, **more: str) -> Any:
        return self.send("/secret/match", data={"selector": selector, **more}).json


def manifest_of(text: str) -> str:
    """Return what the form's manifest is."""
    (found,) = re.findall(r'<textarea id="manifest".*?>\n(.*?)</textarea>', text, re.DOTALL)
    return unescape(found)


def title_of(text: str) -> str:
    return unescape(text.partition("</span> ")[2].partition("</h1>")[0])


def told(text: str) -> str:
    """Return what the page says besides, its commands included."""
    return unescape("\n".join(re.findall(r"<pre.*?>(.*?)</pre>", text, re.DOTALL)))


@pytest.fixture(scope="module")
def ui() -> Ui:
    return Ui("--cluster", str(CLUSTER))


def simulated(*options: str) -> Any:
    done = draguard("simulate", "-", "--cluster", CLUSTER, "-o", "json", *options, stdin=STORY.encode())
    return json.loads(done.out)


def opened(directory: Path, *objects: Any) -> Ui:
    """Open a page of a cluster with some objects."""
    file = directory / "cluster.json"
    file.write_bytes(listed(*objects))
    return Ui("--cluster", str(file))


class TestWhoIsAnswered:
    def test_the_page_comes_with_headers_that_keep_others_out(self, ui: Ui) -> None:
        answer = ui.send()
        assert answer.status_code == 200
        headers = {"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "same-origin"}
        assert {name: answer.headers[name] for name in headers} == headers
        assert "script-src 'self'; connect-src 'self'; form-action 'self'" in answer.text
        assert ui.send("/secret/ui.js").mimetype == "text/javascript"
        assert {ui.send(method=each).status_code for each in ("PUT", "DELETE", "PATCH")} == {404}

    @each_row("path", "/", "/other/", "/other/match", "/other/ui.js", "/secret", "/secret/../etc", "/%ff/")
    @each_row("method", "GET", "POST")
    def test_requests_without_the_token_are_refused(self, ui: Ui, path: str, method: str) -> None:
        answer = ui.send(path, method=method)
        assert answer.status_code in {404, 405} if path != "/secret" else answer.status_code in {308, 404, 405}
        assert "open the address that the command printed" in answer.text
        assert "gpu" not in answer.text

    @each_row("host", "example.com", "127.0.0.1", "localhost:8080", "127.0.0.1:8081", "[::1]:8080", "")
    def test_other_names_of_this_machine_are_refused(self, ui: Ui, host: str) -> None:
        answer = ui.send(headers={"Host": host})
        assert answer.status_code in {400, 403}
        assert answer.status_code == 400 or "open the address that the command printed" in answer.text

    @each_row("origin", "http://example.com", "https://127.0.0.1:8080", "http://127.0.0.1:81", "null")
    @each_row("path", "/secret/", "/secret/match")
    def test_what_another_site_sends_is_refused(self, ui: Ui, path: str, origin: str) -> None:
        assert ui.send(path, data={"selector": "true"}, headers={"Origin": origin}).status_code == 403
        assert ui.send(path, data={"selector": "true"}, headers={"Origin": f"http://{ADDRESS}"}).status_code == 200

    def test_a_body_that_is_too_long_is_refused(self, ui: Ui) -> None:
        assert ui.send(data={"manifest": "a" * (1 << 20)}).status_code == 413
        assert ui.send(data={"release": [str(number) for number in range(101)]}).status_code == 422
        assert ui.send(data=b"\xff\x00" * 99, content_type="multipart/form-data; boundary=x").status_code == 200

    def test_the_port_of_http_is_left_out_as_browsers_do(self) -> None:
        pages = Pages(parsed("--cluster", str(CLUSTER)), "secret")
        pages.address = "127.0.0.1:80"
        client = Client(pages.app)
        for origin, status in (("http://127.0.0.1", 200), ("http://127.0.0.1:8080", 403)):
            for host in ("127.0.0.1", "127.0.0.1:80"):
                answer = client.get("/secret/", headers={"Host": host, "Origin": origin})
                assert answer.status_code == status


class TestSelectors:
    def test_devices_that_match_are_told_with_the_reason_for_each_other(self, ui: Ui) -> None:
        answer = ui.match(LARGE)
        assert answer["reasons"] == ["", "memory is 40Gi, wanted >= 80Gi"]
        text, _ = ui.show()
        places = dict(re.findall(r'data-i=(\d+) title="(.*?): ', text))
        assert sorted(map(int, places)) == list(range(8))
        assert answer["cells"] == [0, 0, 0, 0, 1, 1, 1, 1]
        rows: Any = json.loads(draguard("match", "-e", LARGE, "--cluster", CLUSTER, "-o", "json").out)
        assert rows[0]["matching"] == answer["cells"].count(0)

    def test_an_error_of_the_compiler_is_told_at_its_place(self, ui: Ui) -> None:
        answer = ui.match("device.driver == 'a' &&\n  device.drivr == 'b'")
        assert (answer["line"], answer["column"]) == (2, 9)
        assert answer["error"] == "undefined field 'drivr'"
        assert ui.match("1")["error"]
        assert ui.match(" ") == {"cells": []}  # nothing typed matches all

    def test_a_selector_that_fails_on_a_device_says_so(self, ui: Ui) -> None:
        answer = ui.match('device.attributes["gpu.example.com"].absent == "x"')
        assert set(answer["cells"]) == {1}
        assert "no such key: absent" in answer["reasons"][1]

    @each_row(
        ("read", "advice"),
        ('attributes["gpu.example.com"].modle', 'did you mean "model"?'),
        ('attributes["gpu.example.com"].memory', 'memory is a capacity: device.capacity["gpu.example.com"].memory'),
    )
    def test_an_error_has_the_advice_that_match_gives_and_what_it_ends(self, ui: Ui, read: str, advice: str) -> None:
        reason = ui.match(f'device.{read} == "x"')["reasons"][1]
        assert f": {advice}" in reason
        assert reason.endswith("); an error ends scheduling on all nodes")

    def test_what_another_tab_has_read_again_is_not_mixed_in(self, tmp_path: Path) -> None:
        ui = opened(tmp_path, node(), slices(device()), device_class())
        (number,) = re.findall(r'name="read" value="(\d+)"', ui.show()[0])
        assert ui.match("false", read=number)["cells"] == [1]
        ui.show(again="")
        assert ui.match("false", read=number)["error"].startswith("the cluster was read again")

    def test_what_devices_have_completes_it(self, ui: Ui) -> None:
        text, _ = ui.show(selector=LARGE)
        assert "hidden>device.capacity[&quot;gpu.example.com&quot;].memory<" in text
        assert LARGE.replace('"', "&quot;").replace(">", "&gt;") in text

    def test_work_without_end_is_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("webhook.cli.ui._WORK", 10)
        answer = Ui("--cluster", str(CLUSTER)).match(" && ".join([LARGE] * 50))
        assert answer["error"].startswith("the selector takes more work")


class TestPods:
    def test_pods_that_are_pasted_go_where_the_simulation_puts_them(self, ui: Ui) -> None:
        text, page = ui.show(manifest=STORY)
        answers = simulated("--kubernetes-version", "1.36")
        assert "3 pods: 1 scheduled, 2 pending" in text
        assert f'→ <a href="#n1">{answers[0]["node"]}</a>' in text
        assert answers[1]["why"]["reason"].replace(">", "&gt;") in text
        assert page.shown("1 allocated in this simulation") == 1
        for each in answers[1]["why"]["help"]:
            assert each["change"].replace(">", "&gt;") in text
        assert "image: inference:1" in text

    def test_how_many_fit_is_counted(self, ui: Ui) -> None:
        text, page = ui.show(manifest=STORY, fit="1")
        assert simulated("--fit")["pods"] == 1
        assert "1 pod like team-y/inference-XXXXX-0 fits" in text
        assert page.shown("1 allocated in this simulation") == 1
        assert "team-y/inference-XXXXX-0 → " in text
        assert "<h3>team-y/inference-XXXXX-1</h3>" in text
        (sent,) = re.findall(r'<button name="make" value="(.*?)">', text)
        text, _ = ui.show(manifest=STORY, fit="1", make=unescape(sent))
        assert "5 pods like team-y/inference-XXXXX-0 fit, with memory >= 40Gi in request gpu" in title_of(text)
        assert page.shown("3 held") == 3

    def test_a_pod_of_the_cluster_is_chosen(self, tmp_path: Path) -> None:
        late = claim(requests=[request()]), pod("late", phase="Pending", on="")
        with_pod = opened(tmp_path, node(), slices(device()), device_class(), *late)
        for fields in ({"pods": "default/late"}, {"pods": "late"}, {"pending": "1"}):
            text, _ = with_pod.show(**fields)
            assert "1 pod: 1 scheduled" in text
            assert text.count("<label>a pod, workload or claim of the cluster<") == 1
            assert ("<label>a pod, workload or claim of the cluster (2)<" in text) == ("pods" in fields)
        assert "<option>default/late" in with_pod.show()[0]

    def test_a_workload_of_the_cluster_is_chosen(self, tmp_path: Path) -> None:
        own = {"kind": "Deployment", "name": "web", "controller": True, "apiVersion": "apps/v1", "uid": "1"}
        deployment = {**made("Deployment", "web", "default", "apps/v1"), "spec": {"replicas": 3}}
        using = [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]
        deployment["spec"]["template"] = {"spec": pod(claims=using, on="")["spec"]}
        running = pod("web-1", [], metadata={"ownerReferences": [own]})
        objects = (node(), slices(device(), device("gpu-1")), device_class(), template(), deployment, running)
        text, _ = opened(tmp_path, *objects).show(pods="Deployment/default/web")
        assert title_of(text) == "3 pods: 1 already scheduled, 2 scheduled"
        assert "<option>Deployment/default/web" in text
        deployment["spec"]["template"]["spec"]["nodeSelector"] = {"a": "b"}
        change = "without the pod's nodeSelector"
        text, _ = opened(tmp_path, *objects).show(pods="Deployment/default/web", make=f"default/web-XXXXX-0: {change}")
        assert title_of(text) == (
            f"3 pods: 1 already scheduled, 2 scheduled, {change}, if Deployment default/web is changed"
        )
        path = "/spec/template/spec/nodeSelector"
        assert f"""-n default --type json -p '[{{"op": "remove", "path": "{path}"}}]'""" in told(text)

    @each_row("chosen", "ResourceClaim/default/gpu", "ResourceClaimTemplate/default/gpu")
    def test_a_claim_is_asked_about_with_a_pod_that_uses_it(self, chosen: str, tmp_path: Path) -> None:
        objects = node(), slices(device()), device_class(), claim(requests=[request(count=2)]), template()
        ui, is_claim = opened(tmp_path, *objects), "Template" not in chosen
        pasted = json.dumps(next(each for each in objects if each["kind"] == chosen.partition("/")[0]))
        for fields in ({"pods": chosen}, {"manifest": pasted}, {"load": chosen}):
            text, _ = ui.show(**fields)
            assert title_of(text) == ("1 pod: 1 pending" if is_claim else "1 pod: 1 scheduled")
            assert "Pod default/user-of-gpu is made up, to ask about its claim" in told(text)
        text, _ = ui.show(pods=chosen, fit="1")
        assert title_of(text).startswith(("no pod", "1 pod")[not is_claim])

    def test_what_cannot_be_simulated_is_told(self, ui: Ui) -> None:
        none = "no pods to schedule: paste pods, workloads or claims, or choose some of the cluster"
        for fields, said in (
            ({"manifest": "a: [b"}, "the manifest:1:6: error unreadable"),
            ({"manifest": STORY.replace("exactly", "exact")}, "error unknown-field"),
            ({"pods": "gone"}, "gone: the cluster has no pod gone"),
            ({"manifest": "hello"}, none),
            ({"manifest": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}"}, none),
            ({"fit": "1"}, "“how many of these fit”: paste pods, workloads or claims"),
            ({"fit": "1", "pending": "1"}, "“how many of these fit” takes one pod or workload"),
        ):
            text, page = ui.show(**fields)
            assert said in text
            assert len(page.cells) == 8

    def test_what_takes_too_long_is_told(self) -> None:
        ui = Ui("--cluster", str(CLUSTER), "--timeout=0.000001")
        many = STORY.replace("replicas: 3", "replicas: 3000")
        for fields, said in (
            ({"manifest": many}, r"\d+ of 3000 pods are not simulated: 1e-06"),
            ({"manifest": STORY, "fit": "1"}, "more may fit: 1e-06 seconds have passed"),
        ):
            text, page = ui.show(**fields)
            assert re.search(said, text)
            assert len(page.cells) == 8


class TestFields:
    def test_a_change_that_would_help_is_made_in_the_manifest(self, ui: Ui) -> None:
        text, _ = ui.show(manifest=STORY)
        sent = dict(re.findall(r'<button name="(make|release)" value="(.*?)">', text))
        change = "with memory >= 40Gi in request gpu"
        assert unescape(sent["make"]) == f"team-y/inference-XXXXX-1: {change}"
        text, _ = ui.show(manifest=STORY.replace("\n", "\r\n"), make=unescape(sent["make"]))
        assert title_of(text) == f"3 pods: 3 scheduled, {change}"
        assert [each["spec"] for each in yaml.safe_load_all(manifest_of(text))][1]["replicas"] == 3
        assert manifest_of(text).replace('"device', "device").replace('>= 0"', ">= 0").replace("\\", "") == (
            STORY.replace("80Gi", "40Gi")
        )
        assert f"{change}\n-  " in told(text)
        text, _ = ui.show(manifest=STORY, release=unescape(sent["release"]))
        assert "3 scheduled, if claim team-x/train-" in title_of(text) or "2 scheduled" in title_of(text)

    @each_row(
        ("asked", "more", "change", "wanted"),
        ({"count": 3}, {}, "with count 2 in request gpu", "count: 2"),
        (
            {"deviceClassName": "gpu.exmple.com"},
            {},
            "with deviceClassName: gpu.example.com in place of gpu.exmple.com in request gpu",
            "deviceClassName: gpu.example.com",
        ),
        ({}, {"nodeSelector": {"a": "b"}}, "without the pod's nodeSelector", "spec:\n  containers:\n"),
        ({}, {"cpu": "64"}, "with cpu 8 in place of 64", 'cpu: "8"'),
        ({}, {"taints": [TAINT]}, "if the pod tolerates a:NoSchedule", "tolerations:\n  - "),
    )
    def test_a_change_of_what_the_cluster_has_is_added_to_the_manifest(
        self, asked: Any, more: Any, change: str, wanted: str, tmp_path: Path
    ) -> None:
        late = pod("late", ["wanted"], "Pending", "")
        late["spec"] |= {"nodeSelector": more["nodeSelector"]} if "nodeSelector" in more else {}
        late["spec"]["containers"][0]["resources"] = {"requests": {"cpu": more.get("cpu", "1")}}
        home = node(**({"taints": more["taints"]} if "taints" in more else {}))
        wanting = claim("wanted", requests=[request(**asked)])
        cluster = opened(tmp_path, home, slices(device(), device("gpu-1")), device_class(), wanting, late)
        text, _ = cluster.show(pods="late")
        assert f'<button name="make" value="default/late: {escape(change)}">' in text
        text, _ = cluster.show(pods="late", make=f"default/late: {change}")
        assert title_of(text).startswith(f"1 pod: 1 scheduled, {change}")
        kind = "ResourceClaim" if asked else "Pod"
        assert f"kind: {kind}\n" in manifest_of(text)
        own = f"{kind} default/{'wanted' if asked else 'late'}"
        assert title_of(text) == f"1 pod: 1 scheduled, {change}, if {own} is created anew"
        assert f"kubectl delete {kind.lower()} {own.rpartition('/')[2]} -n default\nprintf %s '{{" in told(text)
        if change.startswith("with count"):
            assert [each.split() for each in told(text).splitlines() if each[:1] in {"-", "+"}] == [
                ["-", "count:", "3"],
                ["+", "count:", "2"],
            ]
        assert wanted in manifest_of(text)
        assert "nodeSelector" not in manifest_of(text)

    def test_a_change_of_a_pod_is_made_in_the_template_of_its_workload(self, ui: Ui) -> None:
        story = STORY.replace("      containers:", "      nodeSelector: {gpu: 'yes'}\n      containers:")
        text, _ = ui.show(manifest=story, make="team-y/inference-XXXXX-0: without the pod's nodeSelector")
        assert title_of(text) == "3 pods: 1 scheduled, 2 pending, without the pod's nodeSelector"
        assert manifest_of(text) == STORY

    def test_a_change_that_is_not_clear_in_a_manifest_is_told(self, ui: Ui) -> None:
        more = "\n      - {name: other, image: other:1, resources: {requests: {cpu: 4}}}\n      resourceClaims:"
        story = STORY.replace("{cpu: 4}", "{cpu: 60}").replace("\n      resourceClaims:", more)
        text, _ = ui.show(manifest=story)
        (change,) = re.findall(r'name="make" value="(team-y/inference-XXXXX-0: with cpu .*?)"', text)
        text, _ = ui.show(manifest=story, make=change)
        assert "several containers request cpu: make this change by hand" in text
        assert title_of(text) == "3 pods: 3 pending"

    def test_a_change_of_a_class_is_loaded_with_its_command(self, tmp_path: Path) -> None:
        late = claim(requests=[request()]), pod("late", phase="Pending", on="")
        near = device_class(selector='device.driver == "gpu.exmple.com"')
        text, _ = opened(tmp_path, node(), slices(device()), near, *late).show(
            pods="late", make="default/late: if DeviceClass gpu.example.com selects driver gpu.example.com"
        )
        assert title_of(text).startswith("1 pod: 1 scheduled, if DeviceClass gpu.example.com selects driver gpu")
        assert "kubectl patch deviceclass gpu.example.com --type json -p '[{" in told(text)

    def test_a_change_that_is_not_there_any_more_is_told(self, ui: Ui) -> None:
        text, _ = ui.show(manifest=STORY, make="team-y/gone: with count 1")
        assert "team-y/gone: with count 1: this would not help any more" in text
        assert title_of(text) == "3 pods: 1 scheduled, 2 pending"

    @each_row(
        ("name", "old", "new", "path", "outcome"),
        ("ResourceSlice/node-c-gpu.example.com", "40Gi", "80Gi", "/spec/devices/0/capacity/memory/value", "scheduled"),
        ("Node/node-b", '"32"', '"3"', "/status/allocatable/cpu", "pending"),
        ("DeviceClass/gpu.example.com", OF_DRIVER, '"false"', "/spec/selectors/0/cel/expression", "pending"),
    )
    def test_fields_of_objects_are_changed_with_the_command(
        self, ui: Ui, *, name: str, old: str, new: str, path: str, outcome: str
    ) -> None:
        text, _ = ui.show(load=name, manifest=STORY)
        assert manifest_of(text).startswith(STORY)
        loaded, (kind, _, own) = manifest_of(text).removeprefix(STORY), name.partition("/")
        changed = loaded.replace(old, new)
        assert changed != loaded
        text, _ = ui.show(manifest=STORY + changed)
        assert title_of(text) == f"3 pods: 3 {outcome}, if {kind} {own} is changed"
        (command,) = (each for each in told(text).splitlines() if each.startswith("kubectl"))
        start, _, patch = command.partition(" -p ")
        options = "--subresource status " if path.startswith("/status") else ""
        assert start == f"kubectl patch {kind.lower()} {own} {options}--type json"
        assert {"op": "replace", "path": path, "value": new.strip('"')} in json.loads(patch.strip("'"))
        text, page = ui.show(manifest=changed)  # without a pod
        assert title_of(text).startswith("8 devices: 3 held, 5 free")
        assert title_of(text).endswith(" is changed")
        assert page.shown("3 held") == 3

    def test_an_object_whose_fields_are_fixed_is_created_anew(self, ui: Ui) -> None:
        loaded = manifest_of(ui.show(load="ResourceClaim/team-x/train-1")[0])
        text, _ = ui.show(manifest=loaded.replace("count: 2", "count: 1"))
        assert title_of(text) == "1 pod: 1 scheduled, if ResourceClaim team-x/train-1 is created anew"
        *deletions, creation = (each for each in told(text).splitlines() if "kubectl" in each)
        assert deletions == ["kubectl delete pod -n team-x train-1-0", "kubectl delete resourceclaim train-1 -n team-x"]
        created = json.loads(creation.removeprefix("printf %s '").removesuffix("' | kubectl create -f -"))
        assert created["spec"]["devices"]["requests"][0]["exactly"]["count"] == 1
        assert created.keys() == {"apiVersion", "kind", "metadata", "spec"}
        assert created["metadata"] == {"name": "train-1", "namespace": "team-x"}

    def test_a_change_that_can_never_be_made_is_an_error_alone(self, ui: Ui) -> None:
        loaded = manifest_of(ui.show(load="ResourceClaim/team-x/train-1")[0])
        text, _ = ui.show(manifest=loaded.replace("count: 2", "cuont: 2"))
        assert title_of(text) == "8 devices: 3 held, 5 free"
        assert '<header class="error">' in text
        assert "error unknown-field" in told(text)
        assert "anew" not in text

    @each_row("name", "ResourceClaim/team-x/train-1", "Node/node-a")
    @each_row("version", "resource.k8s.io/v9", "resource.k8s.io/v1alpha2", "apps/v1", "[]", "3")
    def test_manifests_of_versions_that_do_not_exist_are_not_changes(self, ui: Ui, name: str, version: str) -> None:
        loaded = manifest_of(ui.show(load=name)[0])
        text, _ = ui.show(manifest=re.sub("apiVersion: .*", f"apiVersion: {version}", loaded))
        assert "is changed" not in title_of(text)
        assert "kubectl" not in told(text)

    def test_manifests_of_other_objects_are_not_changes_of_those_of_the_cluster(self, ui: Ui) -> None:
        loaded = manifest_of(ui.show(load="ResourceClaim/team-x/train-1")[0])
        own = re.sub("  uid: .*\n", "", loaded).replace("count: 2", "count: 1")
        assert "is changed" not in title_of(ui.show(manifest=own)[0])

    def test_older_releases_get_manifests_in_their_versions(self) -> None:
        ui = Ui("--cluster", str(CLUSTER), "--kubernetes-version=1.33")
        assert "resource.k8s.io/v1beta2" in manifest_of(ui.show(load="DeviceClass/gpu.example.com")[0])
        older = STORY.replace("resource.k8s.io/v1", "resource.k8s.io/v1beta2")
        text, _ = ui.show(manifest=older, make="team-y/inference-XXXXX-1: with memory >= 40Gi in request gpu")
        assert title_of(text).startswith("3 pods: 3 scheduled")
        assert manifest_of(text).startswith("apiVersion: resource.k8s.io/v1beta2\n")


class TestChanges:
    def test_a_node_is_drained_and_its_pods_look_for_another(self, tmp_path: Path) -> None:
        owner = {"kind": "ReplicaSet", "name": "a", "uid": "1", "controller": True}
        owned = pod("owned", ["gpu"], metadata={"ownerReferences": [owner]})
        held = claim("gpu", "gpu-0", pods=("owned",))
        objects = (*(node(each) for each in ("n1", "n2")), slices(device()), slices(device(), on="n2"), device_class())
        text, page = opened(tmp_path, *objects, held, owned).show(drain="n1")
        assert "kubectl drain n1 --ignore-daemonsets --delete-emptydir-data<" in text
        assert "1 pod: 1 scheduled, if node n1 is drained" in text
        assert "default/owned → " in text
        assert "all 1" in page.looks
        assert 'name="drain" value="n1" checked' in text

    def test_pods_without_a_controller_do_not_outlive_a_drain(self, ui: Ui) -> None:
        text, page = ui.show(drain="node-b")
        assert "--delete-emptydir-data --force<" in text
        assert "--force, which deletes pods without a controller for good: team-x/train-2-0" in text
        assert "scheduled" not in text
        assert "all 6" in page.looks

    def test_nodes_are_added(self, ui: Ui) -> None:
        text, page = ui.show(add="node-b*2", manifest=STORY)
        assert "all 12" in page.looks
        assert "3 pods: 3 scheduled, if 2 more nodes like node-b are added" in text
        assert "Devices, before this simulation allocates some" in text
        numbers = re.findall(r"data-i=(\d+)", text)
        assert len(numbers) == 12
        assert sorted({each for each in numbers if numbers.count(each) == 3}) == ["2", "3"]
        assert "→ <a" in text.partition("inference-XXXXX-2")[2]
        assert "node-b-copy-2" in text

    def test_copies_have_names_that_nothing_has(self, tmp_path: Path) -> None:
        objects = (node(), node("n1-copy-1"), slices(device()), slices(device(), on="n1-copy-1"), device_class())
        added = opened(tmp_path, *objects)
        for fields, devices, copies in (
            ({"add": ["n1", "n1*2"]}, 5, ["2", "3", "4"]),
            ({"drain": "n1", "add": "n1"}, 2, ["2"]),
            ({"drain": ["n1", "n1-copy-1"], "add": "n1*2"}, 2, ["1", "2"]),
        ):
            text, page = added.show(**fields)
            assert f"all {devices}" in page.looks
            for each in copies:
                assert f'title="n1-copy-{each}"' in text
        for total in ("n1*99", "n1*100"):
            text, _ = added.show(add=["n1", total])
            assert ("add 1 to 100 nodes in all" in text) == (total == "n1*100")

    def test_a_claim_that_pods_elsewhere_use_stays_when_a_node_is_drained(self, tmp_path: Path) -> None:
        pods = pod("one", ["both", "own"]), pod("other", ["both"], on="n2")
        held = claim("both", "far", pool="far", pods=("one", "other")), claim("own", "gpu-0", pods=("one",))
        cluster = opened(tmp_path, node(), node("n2"), slices(device()), FAR, device_class(), *pods, *held)
        text, page = cluster.show(drain="n1")
        assert page.shown("1 held") == 1
        assert 'title="far: held by default/both (pod other)"' in text
        both = Snapshot(parsed("--cluster", str(tmp_path / "cluster.json"))).changed(FormInput(drain=["n1", "n2"]))
        assert not any(each.get("status") for each in both.inventory.all("ResourceClaim"))

    def test_a_claim_is_released_as_by_the_simulation(self, ui: Ui) -> None:
        text, _ = ui.show(release="team-x/train-1", manifest=STORY)
        expected = sum(each["node"] is not None for each in simulated("--release", "team-x/train-1"))
        assert f"3 pods: {expected} scheduled" in text
        assert "kubectl delete pod -n team-x train-1-0" in text

    def test_a_device_is_tainted(self, ui: Ui) -> None:
        text, page = ui.show(taint="gpu.example.com/node-b/gpu-1", manifest=STORY)
        assert "kind: DeviceTaintRule" in text
        assert page.shown("1 tainted") == 1
        assert "3 pods: 3 pending" in text

    def test_changes_come_together_and_go_one_by_one(self, ui: Ui) -> None:
        text, page = ui.show(drain=["node-c", "node-d", ""], release=["team-x/train-1", "team-x/train-2"])
        assert "all 4" in page.looks
        assert page.shown("4 free") == 4
        assert text.count(" checked> <span>") == 4

    def test_a_wrong_entry_leaves_the_others(self, ui: Ui) -> None:
        text, page = ui.show(drain=["node-c", "nope"], release="team-x/train-1")
        assert "if node node-c is drained; claim team-x/train-1 is released" in title_of(text)
        assert '<header class="error">' in text
        assert text.count(" checked> <span>") == 2
        assert 'name="drain" value="nope" aria-invalid="true"' in text
        assert "node nope not found" in told(text)
        assert "all 6" in page.looks
        for wrong in ({"pods": "gone"}, {"load": "Node/gone"}, {"manifest": "hello"}):
            text, _ = ui.show(release="team-x/train-1", **wrong)
            assert title_of(text) == "8 devices: 1 held, 7 free, if claim team-x/train-1 is released"
            assert '<header class="error">' in text

    @each_row(
        ("field", "value", "said"),
        ("drain", "node-x", "node node-x not found: there is node-a, node-b, node-c, node-d"),
        ("add", "node-x*2", "node node-x not found: there is"),
        *(("add", f"node-a*{each}", f"node-a*{each}: add 1 to 100 nodes") for each in ("x", "-1", "0", "9999", "")),
        ("release", "train-9", "claim default/train-9 not found: there is team-x/train-1"),
        ("taint", "gpu-0", "device gpu-0 not found: name it as driver/pool/device"),
        ("load", "Nope/a", "Nope/a: name it as KIND/NAME or KIND/NAMESPACE/NAME; kinds are Node, "),
        ("load", "Node/x", "node x not found: there is node-a"),
        ("load", "ResourceClaim/gone", "claim default/gone not found: there is team-x/train-1"),
    )
    def test_what_is_not_there_is_told_and_stays_in_its_field(self, ui: Ui, field: str, value: str, said: str) -> None:
        text, page = ui.show(**{field: value})
        assert said in text
        assert f'name="{field}" value="{value}"' in text
        assert len(page.cells) == 8

    def test_a_rule_that_the_api_server_does_not_serve_by_default_is_told(self) -> None:
        said = "# DeviceTaintRule is served only with the feature gate DRADeviceTaintRules\n"
        for gates, is_served in (((), False), (("--feature-gates=DRADeviceTaintRules=true",), True)):
            ui = Ui("--cluster", str(CLUSTER), "--kubernetes-version=1.36", *gates)
            shown = told(ui.show(taint="gpu.example.com/node-b/gpu-1")[0])
            assert (said in shown) != is_served
            assert "# resource.k8s.io/v1beta2 is served only with --runtime-config" in shown

    def test_a_release_without_taint_rules_has_none(self) -> None:
        text, _ = Ui("--cluster", str(CLUSTER), "--kubernetes-version=1.32").show(taint="gpu.example.com/node-b/gpu-1")
        assert "Kubernetes 1.32 has no DeviceTaintRules" in text

    def test_pods_of_daemon_sets_go_and_shared_slices_stay(self, tmp_path: Path) -> None:
        owner = {"kind": "DaemonSet", "name": "agent", "uid": "1", "controller": True}
        owned = pod("agent", [], metadata={"ownerReferences": [owner]})
        objects = (node(), node("n2"), slices(device()), FAR, device_class(), owned)
        text, page = opened(tmp_path, *objects).show(drain="n1")
        assert "default/agent" not in text.partition("<datalist")[0]
        assert "all 1" in page.looks


def test_the_cluster_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    ui = opened(tmp_path, node(), slices(device()), device_class())
    file.write_bytes(listed(node(), slices(device(), device("gpu-1")), device_class()))
    assert "all 1" in ui.show()[1].looks
    assert "all 2" in ui.show(again="")[1].looks
    for broken in (b'{"apiVersion": "v1", "kind": "List", "items": [', None):
        file.write_bytes(broken) if broken else file.unlink()
        text, page = ui.show(again="")
        assert "not read again, this is what was read before: " in text.partition("</header>")[0]
        assert "all 2" in page.looks
    assert "not read again" not in ui.show()[0]


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    refused = claim("held", "gpu-0", requests=[{**request(), "name": "R_r"}])
    text, page = opened(tmp_path, node(), slices(device()), device_class(), refused).show()
    assert page.shown("1 held") == 1
    assert "note: not read: ResourceClaim held: spec.devices.requests[0].name" in text.partition("</header>")[0]
    (tmp_path / "cut.json").write_text("{")
    for file, said in (("gone.json", "no such file"), ("cut.json", "error unreadable")):
        options = ("--cluster", str(tmp_path / "cluster.json"), "--cluster", str(tmp_path / file))
        with pytest.raises(UsageError, match=said):
            Pages(parsed(*options), "secret")


def test_slices_that_are_not_read_are_remembered(tmp_path: Path) -> None:
    malformed = slices({**device(), "name": "GPU_0"}, name="s2")
    (tmp_path / "cluster.json").write_bytes(listed(node(), slices(device()), device_class(), malformed))
    snapshot = Snapshot(parsed("--cluster", str(tmp_path / "cluster.json")))
    assert snapshot.inventory.has_unread("ResourceSlice")
    assert "note: not read: ResourceSlice s2: spec.devices[0].name" in snapshot.notes[0]


def test_commands_name_the_context_of_the_cluster() -> None:
    arguments = parsed("--cluster", str(CLUSTER))
    server = SimpleNamespace(context="my prod", parts=lambda *_: [ObjectsOfKind("Node")], name="context my prod")
    arguments.cluster.append(server)
    snapshot = Snapshot(arguments)
    for trial, command in (
        (FormInput(drain=["node-b"]), "kubectl --context 'my prod' drain node-b"),
        (FormInput(release=["team-x/train-1"]), "kubectl --context 'my prod' delete pod -n team-x train-1-0"),
    ):
        assert snapshot.changed(trial).changes[0].command.startswith(command)


@pytest.mark.process
def test_it_needs_no_more_than_flask() -> None:
    lacking = "uvloop", "httptools", "prometheus_client", "cryptography"
    code = f"import sys; sys.modules.update(dict.fromkeys({lacking})); import webhook.cli.ui"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@each_row("port", "-1", "99999", "9" * 30)
def test_a_port_that_is_none_is_refused(port: str) -> None:
    assert "give --port 1 to 65535, or 0 for a free one" in usage_error("ui", "--cluster", CLUSTER, "--port", port)


def test_a_port_in_use_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = draguard("ui", "--cluster", CLUSTER, "--port", str(other.getsockname()[1]))
    assert done.code == 2
    assert "Address already in use" in done.err
    assert done.err.endswith("give another --port\n")


def test_without_slices_there_is_nothing_to_show(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no ResourceSlices found"):
        Pages(parsed(), "secret")
    file = tmp_path / "cluster.json"
    file.write_bytes(listed(node()))
    assert draguard("ui", "--cluster", file).code == 2


@pytest.mark.process
@each_row("end", signal.SIGINT, signal.SIGTERM)
def test_it_serves_on_loopback_until_it_is_interrupted(end: signal.Signals) -> None:
    command = [str(SCRIPT), "ui", "--quiet", "--cluster", str(CLUSTER)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout
        address = process.stdout.readline().strip()
        found = re.fullmatch(r"http://(127\.0\.0\.1:\d+)(/[\w-]{40,}/)", address)
        assert found
        for path, status in ((found[2], 200), (found[2][:-2] + "/", 404)):
            connection = HTTPConnection(found[1])
            connection.request("GET", path)
            answer = connection.getresponse()
            assert answer.status == status
            assert (b"8 devices: 3 held, 5 free" in answer.read()) == (status == 200)
            connection.close()
        process.send_signal(end)
        assert process.communicate(timeout=20) == ("", "")
        assert process.returncode == 0
