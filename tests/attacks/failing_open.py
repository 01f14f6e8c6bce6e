"""Heavy reviews to a webhook that admits what it cannot answer, so that a forbidden pod might slip through."""

import json
import threading

from tests.attacks import Attack
from tests.attacks.selectors import optional_maps, patterns
from tests.attacks.target import JSON, TIMEOUT, Target, padded, pod, repeated

FORBIDDEN = pod({"containers": [{"name": "c"}], "resourceClaims": [{"name": "gpu"}, {"name": "gpu"}]})
"""A pod that names a claim twice."""


def _run(target: Target) -> list[str]:
    bombs = repeated(lambda number: padded((optional_maps, patterns)[number % 2](number), number % 3 * 50_000))
    flood = threading.Thread(target=lambda: target.flood(bombs, connections=6, path="/validate/ignore"))
    flood.start()
    wrong, connection = [], target.connection()
    while not target.is_over:
        connection.request("POST", f"/validate/ignore?{TIMEOUT}", FORBIDDEN, JSON)
        response = connection.getresponse()
        answer = response.read()
        if response.status != 200 or json.loads(answer)["response"]["allowed"]:
            wrong.append(f"a forbidden pod was answered {response.status} {answer[:200]!r}")
    connection.close()
    flood.join()
    return wrong[:1]


ATTACK = Attack("bombs and a forbidden pod to a webhook with failurePolicy Ignore", _run, slices=True)
