"""The picture of a cluster's devices: its counts are those of the JSON, and any text in it is text."""

import json
import re
from collections import Counter
from typing import Any
from unittest.mock import patch

import pytest

from tests.command import draguard, usage_error
from tests.report.findings import HOSTILE, finding
from tests.report.test_formats import Page
from tests.rows import each_row
from tests.scan.clusters import (
    HEALTHY,
    claim,
    daemon_set,
    device,
    device_class,
    made,
    node,
    plugin,
    pod,
    request,
    slices,
    taint_rule,
)
from webhook.devices import Row
from webhook.findings import Identity
from webhook.report import picture, simulated
from webhook.report.html import pictured
from webhook.report.picture import Help, Story
from webhook.scan.stored import Stored
from webhook.simulation.answers import Answers

STORY = ("examples/simulate/deployment.yaml", "--cluster", "examples/simulate/cluster.yaml")
SHARE: Any = {"shareID": "57490d4c-9dce-4d24-bb17-ca7ff07a2c22", "consumedCapacity": {"memory": "1Gi"}}


class Picture(Page):
    """Reads a page: its cells, nodes and radio buttons."""

    def __init__(self, text: str) -> None:
        self.cells: list[tuple[str, set[str], str]] = []
        self.nodes: list[set[str]] = []
        self._is_map = False
        super().__init__(text)
        found = re.findall(r'id="l(\d+)".*?<span>(.*?)</span></label>', text)
        self.looks = {label: int(number) for number, label in found}
        self.lit = {
            looks[0]: re.findall(r"\.map (\S+?)(?::not\(\.n\))?[,{]", f"{looks[1]}{{")
            for looks in re.findall(r"^body:has\(#l(\d+):checked\)(.*?)\{--pale:initial;", text, re.MULTILINE)
        }

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        stated = dict(attrs)
        classes = set((stated.get("class") or "").split())
        self._is_map |= "map" in classes
        if self._is_map and tag in {"b", "i"}:
            self.cells.append((tag, classes, stated.get("title") or ""))
        if "n" in classes:
            self.nodes.append(classes)

    def shown(self, label: str) -> int:
        """Count the cells, or nodes, that do not fade with a look."""
        lit = self.lit[str(self.looks[label])]
        cells = [{tag, *(f".{each}" for each in classes)} for tag, classes, _ in self.cells]
        nodes = [{f".{each}" for each in classes} for classes in self.nodes]
        return sum(bool(each & set(lit)) for each in (nodes if lit[0].startswith(".o") else cells))

    def changed(self, label: str) -> tuple[list[str], list[str]]:
        """Return the devices that a pod gets with a change, and those that are released."""
        (place,) = (each[2:] for each in self.lit[str(self.looks[label])] if each.startswith(".o"))
        taken, freed = ([title for _, classes, title in self.cells if f"{mark}{place}" in classes] for mark in "zj")
        return [each.partition(":")[0] for each in taken], [each.partition(":")[0] for each in freed]


def drawn(command: str, *arguments: str, stdin: bytes = b"") -> tuple[str, Picture]:
    """Run a command; return the page, and what is in it."""
    done = draguard(command, *arguments, "--output", "html", "--quiet", stdin=stdin)
    assert done.code in {0, 1}, done.err
    return done.out, Picture(done.out)


def listed(*objects: Any) -> bytes:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}).encode()


def of(*objects: Any) -> tuple[str, Picture]:
    """Draw the devices of a cluster."""
    return drawn("devices", "--cluster", "-", stdin=listed(*objects))


def drawing(size: str) -> Any:
    """What a device consumes of a counter."""
    return [{"counterSet": "whole", "counters": {"memory": {"value": size}}}]


PARTED: Any = {"sharedCounters": [{"name": "whole", "counters": {"memory": {"value": "80Gi"}}}]}
VARIED = (
    node(labels={"topology.kubernetes.io/zone": "zone-1"}),
    node("n2"),
    slices(
        device("card", allowMultipleAllocations=True, capacity={"memory": {"value": "4Gi"}}),
        *(device(f"part-{each.lower()}", consumesCounters=drawing(each)) for each in ("60Gi", "20Gi", "40Gi")),
        device("ill", {"health": "Broken"}),
        device("tainted", taints=[{"key": "example.com/lost", "effect": "NoSchedule"}]),
        pool={"resourceSliceCount": 2},
    ),
    slices(name="counters", pool={"resourceSliceCount": 2}, **PARTED),
    slices(device("far"), name="far", pool={"name": "far"}, allNodes=True),
    device_class(),
    claim("a", "card", pods=("train",), **SHARE),
    {**claim("b", "card", **SHARE), "metadata": {"name": "b", "namespace": "other"}},
    claim("c", "part-60gi", pods=("train",)),
    pod(claims="abc"),
)
"""A cluster with each state of a device."""


@each_row("given", VARIED, (*HEALTHY, claim("one", "gpu-0")))
def test_its_counts_are_those_of_the_json(given: tuple[Any, ...]) -> None:
    text, page = of(*given)
    done = draguard("devices", "--cluster", "-", "-o", "json", stdin=listed(*given))
    found: Any = json.loads(done.out)
    states, sums = Counter(each["state"] for each in found["devices"]), found["sums"]
    assert f"all {sums['total']}" in page.looks
    for state in ("held", "free"):
        assert page.shown(f"{sums[state]} {state}") == sums[state]
    if sums["stranded"]:
        assert page.shown(f"{sums['stranded']} of the free stranded: no claim can get them") == states["stranded"]
    held = Counter(space for each in found["devices"] for space in {one.partition("/")[0] for one in each["claims"]})
    assert held
    for space, number in held.items():
        assert page.shown(f"{number} {space}") == number
    tainted = sum(bool(each["taints"]) for each in found["devices"])
    assert not tainted or page.shown(f"{tainted} tainted") == tainted
    done = draguard("devices", "--cluster", "-", "--by=class", "-o", "json", stdin=listed(*given))
    for each in json.loads(done.out)["groups"]:
        numbers = "".join(f"<td>{each[key]}" for key in ("total", "held", "free", "stranded"))
        assert f"<tr><td>{each['class'] or '&lt;none&gt;'}{numbers}" in text


def test_each_state_has_a_sign_besides_its_colour() -> None:
    text, page = of(*VARIED)
    by_name = {title.partition(":")[0]: (tag, classes, title) for tag, classes, title in page.cells}
    assert by_name["card"][:2] == ("b", {"A", "B", "l4"})
    assert "held by other/b, default/a (pod train); 2 shares, memory 2Gi/4Gi" in by_name["card"][2]
    assert re.search(r'<b class="B A l4"[^>]*>\+</b>', text)
    assert re.search(r'<i class=u title="ill: [^"]*Broken">!</i>', text)
    assert '<i class="u">!</i> <span>1 unhealthy' in text
    assert by_name["tainted"][1] == {"s", "t"}
    assert by_name["part-40gi"][1] == {"s"}
    assert by_name["part-20gi"][:2] == ("i", set())
    assert by_name["part-60gi"][:2] == ("b", {"A"})
    frame = re.search(r'<span title="whole: memory 20Gi left">(.*?)</span>', text)
    assert frame
    assert re.findall("part-[0-9]+gi", frame[1]) == ["part-60gi", "part-20gi", "part-40gi"]
    assert "zone-1 · 1 node × " in text  # noqa: RUF001 - it multiplies
    assert "1 pool for several nodes" in text
    assert "1 node without devices" in text


def test_many_namespaces_share_the_last_letter() -> None:
    cards = [device(f"d{number}") for number in range(28)]
    claims = [claim(f"c{number}", f"d{number}") for number in range(28)]
    for number, each in enumerate(claims):
        each["metadata"]["namespace"] = f"team-{number:02}"
    _, page = of(node(), slices(*cards), device_class(), *claims)
    assert (page.shown("1 team-24"), page.shown("3 in 3 other namespaces")) == (1, 3)


def waiting(count: int, /, *held: str, **asks: Any) -> bytes:
    """List a cluster with some devices in which the pod late waits, and the pod train holds what is named."""
    return listed(
        *(node(), node("n2"), slices(*(device(f"gpu-{number}") for number in range(count))), device_class()),
        *(claim("held", *held, pods=("train",)), pod("train", claims=["held"])),
        *(claim("wanted", requests=[request(**asks)]), pod("late", ["wanted"], "Pending", "")),
    )


RELEASED = "once claim default/held with 2 devices is released (pod train) (1 node)"
CORRECTED = "with deviceClassName: gpu.example.com in place of gpu.exmple.com in request gpu (1 node)"


class TestPods:
    def test_the_stages_of_a_pending_pod_are_those_of_the_simulation(self) -> None:
        _, page = drawn("simulate", *STORY)
        answers: Any = json.loads(draguard("simulate", *STORY, "-o", "json").out)
        why = answers[1]["why"]
        for stage, label in (
            ("seen", "on nodes that fit the pod, devices aside"),
            ("ofClass", "of the class"),
            ("selected", "with memory &gt;= 80Gi"),
            ("free", "free"),
        ):
            total = sum(group["count"] * group["requests"][0][stage] for group in why["nodes"])
            assert total == 4 or stage != "selected"
            assert page.shown(f"{total} {label}") == total

    def test_what_would_help_shows_the_nodes_that_it_opens(self) -> None:
        text, page = drawn("simulate", *STORY)
        answers: Any = json.loads(draguard("simulate", *STORY, "-o", "json").out)
        helps = answers[1]["why"]["help"]
        assert len(helps) > 2
        for each in helps:
            label = f"{each['change'].replace('>', '&gt;')} ({each['nodes']} node{'s' * (each['nodes'] != 1)})"
            assert page.shown(label) == each["nodes"]
        assert answers[1]["why"]["reason"].replace(">", "&gt;") in text

    @each_row(
        ("asked", "label", "options", "better", "freed"),
        ({"count": 3}, "with count 2 in request gpu (1 node)", (), {"count": 2}, []),
        ({"count": 3}, RELEASED, ("--release=held",), {"count": 3}, ["gpu-2", "gpu-3"]),
        ({"deviceClassName": "gpu.exmple.com"}, CORRECTED, (), {}, []),
    )
    def test_a_change_shows_the_devices_that_the_pod_gets_with_it(
        self, asked: Any, label: str, options: tuple[str, ...], better: Any, freed: list[str]
    ) -> None:
        text, page = drawn("simulate", "--cluster", "-", stdin=waiting(4, "gpu-2", "gpu-3", **asked))
        given = waiting(4, "gpu-2", "gpu-3", **better)
        done = draguard("simulate", "--cluster", "-", "-o", "json", *options, stdin=given)
        (answer,) = json.loads(done.out)
        devices = [each["device"] for each in answer["claims"]["wanted"]["devices"]["results"]]
        assert page.changed(label) == (sorted(devices), freed)
        assert f'then → <a href="#n0">{answer["node"]}</a>: {", ".join(devices)}<' in text

    def test_pods_that_fit_are_listed_with_their_devices_marked(self) -> None:
        text, page = drawn("simulate", *STORY)
        assert page.shown("1 allocated in this simulation") == 1
        assert "3 pods: 1 scheduled, 2 pending" in text.partition("</header>")[0]
        assert 'team-y/inference-XXXXX-0 → <a href="#n1">node-b</a>' in text
        (given,) = [title for _, classes, title in page.cells if "g" in classes]
        assert given == "gpu-1: free; allocated to team-y/inference-XXXXX-0 in this simulation"

    def test_pods_alike_are_one_story(self) -> None:
        text, page = drawn("simulate", *STORY)
        assert "team-y/inference-XXXXX-1 … inference-XXXXX-2 (2 pods)" in text
        assert page.tags.count("article") == 2

    def test_stories_beyond_the_most_are_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(picture, "_STORIES_MAX", 2)
        stories = [Story(f"pod-{number}", f"reason {number}") for number in range(5)]
        text = "\n".join(picture.Picture([], Stored(), stories=stories).lines())
        assert (text.count("<article"), text.count("… and 3 more that are pending for other reasons")) == (2, 1)

    def test_a_device_of_several_pods_names_all(self) -> None:
        shared = slices(device("card", allowMultipleAllocations=True, capacity={"memory": {"value": "4Gi"}}))
        names = ["one", "other"]
        asked = request(capacity={"requests": {"memory": "1Gi"}})
        made = [each for name in names for each in (claim(name, requests=[asked]), pod(name, [name], "Pending", ""))]
        objects = listed(node(), shared, device_class(), *made)
        text, _ = drawn("simulate", "--cluster", "-", "--kubernetes-version=1.36", stdin=objects)
        assert "allocated to default/one, default/other in this simulation" in text

    def test_pods_that_are_pending_for_other_reasons_are_drawn_while_letters_are_left(self) -> None:
        made = [
            each
            for number in range(2, 12)
            for each in (
                claim(f"c{number}", requests=[request(count=number)]),
                pod(f"p{number:02}", [f"c{number}"], "Pending", ""),
            )
        ]
        objects = listed(node(), slices(device()), device_class(), *made)
        with (
            patch.object(Answers, "overlay", autospec=True, side_effect=Answers.overlay) as overlay,
            patch.object(simulated, "_likeness", wraps=vars(simulated)["_likeness"]) as likeness,
        ):
            text, page = drawn("simulate", "--cluster", "-", stdin=objects)
        assert page.tags.count("article") == likeness.call_count == 10
        assert text.count('<fieldset class="funnel">') == overlay.call_count == len(picture.DRAWN)

    def test_a_node_opens_to_a_table_that_tells_how_far_each_device_comes(self) -> None:
        text, _ = drawn("simulate", *STORY)
        (table,) = re.findall(r"<details class=[^>]* id=n2>.*?<table>(.*?)</table>", text)
        assert "<th>request gpu" in table
        assert table.count("<td>not with memory &gt;= 80Gi") == 2

    def test_why_tells_the_cause_the_cure_and_the_evidence(self) -> None:
        given = waiting(1, "gpu-0")
        text, page = drawn("why", "late", "--cluster", "-", stdin=given)
        answer: Any = json.loads(draguard("why", "late", "--cluster", "-", "-o", "json", stdin=given).out)
        assert answer["cause"].partition(": ")[2] in text
        assert page.shown("0 free") == 0
        helped = "once claim default/held is released (pod train) (1 node)"
        assert helped.rpartition(" (")[0] in answer["helps"]
        assert page.shown(helped) == 1
        assert "<h2>Evidence</h2><ul><li>" in text

    def test_why_marks_what_the_answer_is_about(self) -> None:
        objects = (node(), slices(device(), device("gpu-1")), device_class(), claim("gpu", "gpu-1"))
        text, page = drawn("why", "claim/gpu", "--cluster", "-", stdin=listed(*objects))
        assert page.shown("1 that the answer is about") == 1
        assert "<h3>pending</h3>" in text


def test_findings_of_scan_are_marked_at_their_devices_and_nodes() -> None:
    text, page = drawn("scan", "--cluster", "examples/scan/cluster.yaml")
    assert page.shown("1 with findings") == 1
    assert {f"#{each}" for each in page.ids} >= {link for link in page.links if link.startswith("#")}
    assert 'in the picture: <a href="#n0">node-a</a>' in text
    (number,) = re.findall(r'<td><a class="warning" href="#finding-(\d)">warning</a>', text)
    assert "claim-zombie" in text.partition(f'id="finding-{number}"')[2].partition("</article>")[0]


def test_findings_of_scan_about_other_objects_lead_to_the_devices_that_they_touch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = [{"opaque": {"driver": "nic.example.com", "parameters": {}}}]
    objects = (
        *(*HEALTHY, node("n2"), device_class("foreign", "true", config=config), taint_rule()),
        *(daemon_set(), plugin(), plugin("n2"), claim("odd", requests=[request("gone")])),
    )
    text, page = drawn("scan", "--cluster", "-", stdin=listed(*objects))
    listed_ = re.findall(r"<span>(.*?) <a class=\"warning\" href=\"#finding-(\d)\">warning</a>, (.*?)</span>", text)
    found = [(what, devices) for what, _, devices in listed_]
    assert sorted(found) == [("DeviceClass foreign", "2 devices"), ("DeviceTaintRule rule", "2 devices")]
    assert re.search(r"<p>ResourceClaim default/odd <a class=\"warning\" href=\"#finding-\d\">warning</a></p>", text)
    for what, number, _ in listed_:
        (label,) = (each for each in page.looks if each.startswith(what))
        assert page.shown(label) == 2
        article = text.partition(f'id="finding-{number}"')[2].partition("</article>")[0]
        assert 'in the picture: <a href="#n0">n1</a>' in article
    assert '<bdi>n2</bdi></p></summary><a class="warning"' in text  # where the driver of the DaemonSet is silent
    monkeypatch.setattr(picture, "_LISTED_MAX", 1)
    assert "… and 2 more objects" in drawn("scan", "--cluster", "-", stdin=listed(*objects))[0]


def test_devices_are_gone_through_once_for_all_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    known: Any = {"state": "free", "why": "", "claims": [], "pods": [], "shares": 0}
    known |= {"capacity": {}, "counters": {}, "taints": [], "health": "", "attributes": {}}
    rows = [Row(f"n{each}", "gpu.example.com", f"n{each}", "gpu-0", "", [], **known) for each in range(50)]
    findings = [finding("said", identity=Identity("v1", "Node", "", f"n{each}")) for each in range(50)]
    detailed = picture.Picture(rows, Stored(), findings=findings)
    monkeypatch.setattr(picture, "DETAILED_MAX", 2)
    brief = picture.Picture(rows, Stored(), findings=findings)
    with patch.object(picture, "_id", wraps=vars(picture)["_id"]) as id_:
        assert [*map("".join, map(detailed.links, range(1, 51)))][7].count(">n7</a>") == 1
        assert not any([*brief.links(each)] for each in range(1, 51))
    assert id_.call_count == len(rows)


def test_a_capacity_of_zero_has_no_bar() -> None:
    shared = slices(device("card", allowMultipleAllocations=True, capacity={"memory": {"value": "0"}}))
    text, page = of(node(), shared, device_class(), claim("a", "card", **SHARE))
    assert page.shown("1 held") == 1
    assert "the bar is what is left" not in text


def test_a_node_without_devices_is_drawn_if_a_finding_is_about_it() -> None:
    found = finding("said", identity=Identity("v1", "Node", "", "bare"))
    cluster = Stored()
    cluster.inventory.hold(made("Node", "bare"))
    drawn = picture.Picture([], cluster, findings=[found])
    assert '<a href="#n0">bare</a>' in "".join(drawn.links(1))
    assert 'id=n0><summary><p title="bare"><bdi>bare</bdi></p></summary><a class' in "".join(drawn.lines())


def test_findings_come_before_the_picture() -> None:
    text, _ = drawn("scan", "--cluster", "examples/scan/cluster.yaml")
    assert 0 < text.index('href="#picture"') < text.index('id="finding-1"') < text.index('id="picture"')


def test_what_the_api_server_would_refuse_today_is_told() -> None:
    refused = claim("held", "gpu-0", requests=[{**request(), "name": "R_r"}])
    objects = listed(node(), slices(device()), device_class(), refused)
    done = draguard("devices", "--cluster", "-", "--output=html", stdin=objects)
    assert done.code == 0
    for told in (done.err, done.out.partition("</header>")[0]):
        assert "note: not read: ResourceClaim held: spec.devices.requests[0].name" in told
    assert "has no ResourceClaims" not in done.err
    assert Picture(done.out).shown("1 held") == 1
    broken = {**refused, "status": {"allocation": {"devices": {"results": "gpu-0"}}}}
    objects = listed(node(), slices(device()), device_class(), broken)
    assert "1 device: 0 held, 1 free" in draguard("devices", "--cluster", "-", stdin=objects).err


def test_a_scan_without_slices_has_findings_only() -> None:
    text, _ = drawn("scan", "--cluster", "-", stdin=listed(node(), claim(), pod(claims=["gone"])))
    assert 'class="picture"' not in text


def page_of(text: str) -> str:
    """Draw a page with a text in the place of each that others may write."""
    cluster = Stored()
    cluster.inventory.hold(made("Node", text, metadata={"labels": {"topology.kubernetes.io/zone": text}}))
    held: Any = {"state": "held", "why": "", "claims": [f"{text}/{text}"], "pods": [f"{text}/{text}"], "shares": 1}
    known: Any = {"capacity": {text: ("1", "2")}, "counters": {text: {text: "1"}}, "taints": [text], "health": text}
    row = Row(text, text, text, text, text, [text], **held, **known, attributes={text: text})
    key = (text, text, text)
    asked = dict.fromkeys(("claim", "request", "for", "selecting", "short", "constraint"), text)
    asks = {**asked, "wanted": 1, "constrained": 1, "together": 1}
    stories = [
        Story(
            text,
            text,
            "",
            [asks],
            {(text, text): {key: 3}},
            [Help(text, {text}, text, [key], {f"{text}/{text}"}, ("make", text)), Help(text)],
            [text],
        ),
        Story(text, "", text, notes=[text]),
    ]
    found = finding(text, identity=Identity("v1", "Node", "", text))
    drawn = picture.Picture(
        [row], cluster, stories=stories, given={key: text}, findings=[found], refs=[("Pod", text, text)]
    )
    return "\n".join([*pictured(drawn, text, "error", [text], {"Evidence": [text]}, form=[""]), *drawn.links(1)])


@each_row("text", HOSTILE, "</style></title><script>x()</script>", "\u202e\x85\x9b31m", "'\"><b x=")
def test_hostile_texts_stay_text(text: str) -> None:
    calm, wild = page_of("a"), page_of(text)
    assert Page(calm).tags == Page(wild).tags
    assert not {"script", "link", "img", "iframe", "object"} & set(Page(wild).tags)
    assert not {"\u202e", "\x85", "\x9b", "\x1b", "\ud800"} & set(wild)
    assert wild.count("</style>") == wild.count("</title>") == 1


def test_a_page_of_many_devices_is_short_and_says_where_the_rest_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "DETAILED_MAX", 2)
    text, page = drawn("simulate", *STORY)
    assert len(page.cells) == 8
    assert "<table>" not in text.partition('class="map"')[2]
    assert {title for _, _, title in page.cells} >= {"gpu-0 team-x/train-1", "gpu-1"}
    assert "for attributes, pods and more: draguard devices --node NAME --output html" in text
    assert "#n" not in "".join(page.links)


def test_nodes_that_differ_too_much_are_grouped_by_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "_GROUPS_MAX", 1)
    objects = (slices(device(f"gpu-{number}", {"model": str(number)}), on=f"n{number}") for number in range(3))
    text, _ = of(*(node(f"n{number}") for number in range(3)), *objects, device_class())
    assert re.findall("<h2>(.*?)\n", text) == ["3 nodes"]


@each_row(
    ("names", "shown", "said"),
    (["gpu-a-1.example.com", "gpu-a-2.example.com"], ["1", "2"], "all nodes are named gpu-a-*.example.com"),
    (["one", "two"], ["one", "two"], ""),
    (["gpu-1", "gpu-1-spare"], ["1", "1-spare"], "all nodes are named gpu-*"),
    (["lone.example.com"], ["lone.example.com"], ""),
)
def test_what_all_nodes_are_named_is_left_out(names: list[str], shown: list[str], said: str) -> None:
    text, _ = of(*(slices(device(), on=each) for each in names), *map(node, names), device_class())
    assert re.findall("<bdi>(.*?)</bdi>", text) == shown
    assert re.findall("all nodes are named [^<]*", text) == [each for each in [said] if each]


@each_row(
    ("arguments", "said"),
    (["devices", "--by=node"], "a page has all sums, and is drawn once: leave out --by and --watch"),
    (["devices", "--watch"], "a page has all sums"),
    (["simulate", "--fit", "gone.yaml"], "--fit counts pods, and --output html draws where they go"),
)
def test_what_is_not_a_picture_is_refused(arguments: list[str], said: str) -> None:
    assert said in usage_error(*arguments, *STORY[1:], "--output=html")


def test_it_needs_nothing_from_elsewhere() -> None:
    text, page = drawn("devices", *STORY[1:])
    assert "default-src 'none'; style-src 'sha256-" in text
    assert not {"script", "link", "img"} & set(page.tags)
    assert not any(each in text for each in (" style=", "url(", "@import"))
