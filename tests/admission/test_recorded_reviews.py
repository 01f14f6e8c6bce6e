"""Reviews that real API servers sent, answered over HTTPS by several clients at a time."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

from tests.reviews import Recorded, recorded
from tests.serving import Served, serving
from webhook.admission import ReviewOptions, answer
from webhook.server import Reviews

REVIEWS = recorded()
CLIENTS = 2


@pytest.fixture(scope="module")
def responses() -> Iterator[list[tuple[Recorded, int, dict[str, Any]]]]:
    """Post each review once, each client over one connection."""
    with serving(Reviews(partial(answer, options=ReviewOptions()))) as served, ThreadPoolExecutor(CLIENTS) as clients:
        shares = [clients.submit(_post, served, REVIEWS[share::CLIENTS]) for share in range(CLIENTS)]
        yield [each for share in shares for each in share.result()]


def _post(served: Served, reviews: Sequence[Recorded]) -> list[tuple[Recorded, int, dict[str, Any]]]:
    connection = served.connect()
    answered = []
    for each in reviews:
        body = json.dumps(each.review).encode()
        connection.request("POST", each.path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answered.append((each, response.status, json.loads(response.read())))
    connection.close()
    return answered


Responses = list[tuple[Recorded, int, dict[str, Any]]]


def test_every_review_is_answered_under_its_uid(responses: Responses) -> None:
    assert len(responses) == 258
    assert {status for _, status, _ in responses} == {200}
    assert [each.uid for each, _, _ in responses] == [answered["response"]["uid"] for _, _, answered in responses]


def test_pods_and_v1alpha2_are_decided_as_the_api_server_did(responses: Responses) -> None:
    decided = [(each, answered["response"]) for each, _, answered in responses if each.is_judged]
    assert len(decided) > 80
    assert [response["status"]["message"] for _, response in decided if not response["allowed"]] == []


def test_only_new_pods_with_a_node_are_patched(responses: Responses) -> None:
    for each, _, answered in responses:
        request = each.review["request"]
        spec = (request["object"] or {}).get("spec", {})
        pre_scheduled = bool(spec.get("nodeName") and spec.get("resourceClaims"))
        new_pod = (request["operation"], request["kind"]["kind"], each.endpoint) == ("CREATE", "Pod", "mutate")
        assert ("patch" in answered["response"]) == (new_pod and pre_scheduled)
