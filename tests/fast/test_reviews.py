# ruff: noqa: SLF001 - what is kept is looked at
"""Reviews with parts that were read before are answered as if these were read, and walked, anew."""

import json
import marshal
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.reviews import POLICIES, reviews
from tests.objects import paths, with_value
from tests.policy.examples import PODS, binding, policy
from tests.reviews import recorded
from tests.rows import each_row
from webhook.admission import Call, Endpoint, ReviewOptions, answer
from webhook.admission.requests import First
from webhook.documents import Document, read
from webhook.fast.reviews import LONGEST, MOST, ROOM, Reader
from webhook.policy.load import load
from webhook.schema.fields import KEPT

LIBRARY = [document.data for document in read([POLICIES]) if isinstance(document, Document)]
IMAGES = [
    policy(
        "images",
        [PODS],
        variables=[{"name": "all", "expression": "object.spec.containers + object.spec.?initContainers.orValue([])"}],
        validations=[
            {"expression": "variables.all.all(c, c.image.startsWith('registry.example.com/'))"},
            {"expression": "variables.all.all(c, !c.?env.orValue([]).exists(e, e.name == 'DEBUG'))"},
        ],
    ),
    binding("images"),
]
RULES, POLICED = ReviewOptions(), ReviewOptions(policies=load([*LIBRARY, *IMAGES]))
POD = reviews()["pods"]
BODY = json.dumps(POD).encode()
RECORDED = [each.review for each in recorded()]
USUAL = [*reviews().values(), *RECORDED]
ENDPOINTS: tuple[Endpoint, ...] = ("validate", "mutate")
LOGGED = ("decision", "cost", "found", "patched", "warnings", "message", "uid", "kind", "resource", "namespace", "name")
UNREAD = ("request", "object", "spec", "containers", 0, "env", 0, "value")
OBJECTS: tuple[Any, ...] = None, [], {}, 5, {"kind": []}, {"kind": "ConfigMap"}
VALUES: tuple[Any, ...] = None, 5, -1, True, 1.5, "", "x", "No_Name", [], {}, [None], [{}], {"a": 5}, {"name": "DEBUG"}


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> Iterator[Reader]:
    made = Reader()
    KEPT.clear()
    monkeypatch.setattr(First, "parse", made.parse)
    yield made
    KEPT.clear()


def bytes_of(review: Any) -> bytes:
    return json.dumps(review).encode()


def changed(*path: Any, to: Any) -> bytes:
    return bytes_of(with_value(POD, path, to))


def answered(body: bytes, endpoint: Endpoint, options: ReviewOptions) -> tuple[Any, ...]:
    got = answer(body, Call(endpoint), options)
    return got.status, got.body, got.content_type, *(getattr(got.record, name) for name in LOGGED)


def compare(body: bytes, options: ReviewOptions, times: int = 3) -> None:
    """Answer a review several times, and without what is there for speed."""
    whole = replace(options)
    vars(whole)["passes"] = {}
    for endpoint in ENDPOINTS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(First, "parse", None)
            expected = answered(body, endpoint, whole)
        for _ in range(times):
            assert answered(body, endpoint, options) == expected


def test_parts_that_are_met_again_are_kept_and_valid_ones_not_walked_again(reader: Reader) -> None:
    for kept in (0, 4, 4):
        compare(BODY, RULES, 0)
        assert answered(BODY, "validate", RULES)[0] == 200
        assert len(reader._kept) == len(KEPT) == kept
    spec = reader._kept[json.dumps(POD["request"]["object"]["spec"]).encode()]
    assert spec == POD["request"]["object"]["spec"]
    _, passed = KEPT[id(spec)]
    assert len(passed) == 1, "the walk of new pods"
    spec["containers"] = []
    assert json.loads(answered(BODY, "validate", RULES)[1])["response"]["allowed"], "the part is not walked again"


def test_an_invalid_part_is_refused_each_time() -> None:
    body = changed("request", "object", "spec", "containers", 0, "name", to="No_Name")
    for _ in range(4):
        assert not json.loads(answered(body, "validate", RULES)[1])["response"]["allowed"]


def test_a_part_that_is_valid_for_one_release_may_not_be_for_another() -> None:
    body = changed("request", "object", "spec", "resourceClaims", 0, "source", to={"resourceClaimName": "x"})
    for _ in range(3):
        for kubernetes in "1.30", "1.36":
            compare(body, ReviewOptions(kubernetes=kubernetes), 1)


@pytest.mark.no_cover
def test_what_is_kept_has_its_room(reader: Reader) -> None:
    for number in range(3 * ROOM // LONGEST):
        for _ in range(3):
            reader.parse(changed("request", "object", "metadata", to={"name": f"{number}" * 700}))
    assert 0 < sum(map(len, reader._kept)) <= ROOM - reader._room <= ROOM
    assert len(KEPT) == len(reader._kept)
    kept = len(KEPT)
    for number in range(2 * MOST):
        reader.parse(changed("request", "object", "metadata", to={"name": f"{number}", "labels": {"a": "b"}}))
    assert len(KEPT) == kept, "what is met once is not kept"
    assert len(reader._met) <= MOST
    long = changed("request", "object", "metadata", to={"name": "x" * LONGEST})
    for _ in range(3):
        reader.parse(long)
    assert max(map(len, reader._kept)) <= LONGEST


def test_of_a_deep_part_no_part_is_written_again_and_again(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []

    def noted(*arguments: Any) -> bytes:
        written.append(marshal.dumps(*arguments))
        return written[-1]

    monkeypatch.setattr("webhook.fast.reviews.dumps", noted)
    deep: Any = "x" * (LONGEST // 2)
    for _ in range(LONGEST // 16):
        deep = [deep]
    for _ in range(2):
        reader.parse(changed("request", "object", to={"metadata": deep}))
    assert LONGEST // 2 < sum(map(len, written)) < 2 * LONGEST


@each_row(
    "body",
    changed("request", "operation", to="UPDATE"),
    changed("request", "subResource", to="status"),
    changed("request", "oldObject", to=POD["request"]["object"]),
    changed("request", "kind", "kind", to="PodTemplate"),
    changed("request", "requestKind", to={"group": "", "version": "v2", "kind": "Pod"}),
    changed("request", "namespace", to=""),
    changed("request", "uid", to=""),
    changed("request", "userInfo", to=3),
    *(changed("request", "object", to=value) for value in OBJECTS),
    bytes_of(POD | {"request": {name: each for name, each in POD["request"].items() if name != "object"}}),
    *(changed("request", "object", "spec", "nodeName", to=node) for node in ("node-1", "No_Node", 5)),
    changed("request", "object", "spec", "containers", 1, "env", to=[{"name": "DEBUG"}]),
    changed("request", "object", "spec", "containers", 0, "madeUp", to=[5]),
    changed("request", "madeUp", to={"a": [5]}),
    *(
        changed(*where, to="@").replace(b'"@"', written)
        for where in (UNREAD, ("request", "madeUp"))
        for written in (b'"\xff"', b'"\\ud800"', b'"\x01"', b"01", b"[" * 100_000)
    ),
    changed(*UNREAD, to="@").replace(b'"@"', b"1e999"),
    BODY.replace(b'"containers"', b'"c\\u006fntainers"'),
    BODY.replace(b'"name": "container-0"', b'"name": "x", "name": "container-0"'),
    BODY.replace(b'"name": "container-0"', b'"name": "container-0", "name": "No_Name"'),
    BODY.replace(b'"spec"', b'"spec": {}, "spec"'),
    *(BODY[:-1], BODY + b"{}", b"", b"[]", b"{}", b'{"request": {"object": {}}}'),
)
def test_other_reviews_are_answered_as_they_are_read_as_a_whole(body: bytes) -> None:
    for options in RULES, POLICED:
        compare(BODY, options)
        compare(body, options)


def test_answers_do_not_change_what_is_kept(reader: Reader) -> None:
    for review in USUAL:
        for endpoint in ENDPOINTS:
            for options in (RULES, POLICED) * 2:
                answer(bytes_of(review), Call(endpoint), options)
    assert len(reader._kept) > 100
    for written, part in reader._kept.items():
        assert part == json.loads(written)


@given(data=st.data())
def test_any_change_has_the_same_answer(data: st.DataObject) -> None:
    review = data.draw(st.sampled_from(USUAL))
    for _ in range(data.draw(st.integers(0, 3))):
        path = data.draw(st.sampled_from(paths(review)))
        review = with_value(review, path, data.draw(st.sampled_from(VALUES)))
    compare(bytes_of(review), data.draw(st.sampled_from([RULES, POLICED])))
