"""The limits of a process: Python's own limits, and the memory that untrusted expressions leave behind."""

import json
import subprocess
import sys

import pytest

import webhook
from webhook.admission import answer
from webhook.admission.decisions import ReviewOptions
from webhook.admission.record import Call

pytestmark = pytest.mark.no_cover

MIB = 1 << 20
BEFORE = {
    "nothing": "",
    "CEL": "from webhook.cel.kubernetes.devices import compile_selector; compile_selector('true', 36)",
    "documents": "import webhook.documents",
    "policies": "import webhook.policy.load",
}
NESTED = """
import json
from tests.test_limits import said_of_nested
print(json.dumps([said_of_nested(depth) for depth in (300, 1000, 2000, 6000)]))
"""


def parameters(depth: int) -> str:
    return f'{{"a": {"[" * depth}{"]" * depth}}}'


def claim(parameters: str) -> str:
    return (
        '{"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": {"name": "a", "namespace": "b"},'
        '"spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}],'
        f'"config": [{{"opaque": {{"driver": "d.example.com", "parameters": {parameters}}}}}]}}}}}}'
    )


def said_of_nested(depth: int) -> list[object]:
    """The status of a review of a claim with deep parameters, and whether it is allowed."""
    obj = claim(parameters(depth))
    body = (
        '{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "1", "operation": '
        f'"CREATE", "kind": {{}}, "resource": {{}}, "userInfo": {{}}, "object": {obj}}}}}'
    )
    found = answer(body.encode(), Call("validate"), ReviewOptions())
    return [found.status, found.status == 200 and json.loads(found.body)["response"]["allowed"]]


@pytest.mark.process
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_what_is_deep_is_judged_alike_whatever_was_used_before(before: str) -> None:
    code = f"import sys; sys.setrecursionlimit(1000)\n{before}\n{NESTED}"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == [[200, True], [200, True], [200, True], [400, False]]


def test_offline_what_is_too_deep_is_a_finding() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    obj = json.loads(claim("{}"))
    obj["spec"]["devices"]["config"][0]["opaque"]["parameters"] = {"a": deep}
    assert [problem.rule for problem in webhook.validate(obj)] == ["too-deep"]


@pytest.mark.process
def test_the_environment_does_not_change_how_many_digits_a_number_may_have() -> None:
    code = "import webhook, sys; print(sys.get_int_max_str_digits(), sys.getrecursionlimit())"
    for digits in ("0", "640", "100000"):
        done = subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONINTMAXSTRDIGITS": digits},
        )
        assert done.stdout.split() == ["4300", "5000"]


# -- what is kept

KEPT = """
import gc, json
from tests.test_limits import resident, strangers
from webhook.api.judgement import judge_admitted
from webhook.budget import REVIEW, Budget, limited
from webhook.cel.regex.re2 import matches
from webhook.cel.kubernetes.devices import compile_selector
compile_selector("'a'.matches('a')", 36).evaluate({})
before = resident()
for number in range(200):
    with limited(Budget(REVIEW)):
        judge_admitted(strangers(number))
    matches("a" * 1000, f"(?i)[a-z{number}]{{900}}[0-9]{{90}}")
gc.collect()
print(resident() - before)
"""


def resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  # no file of its own
        return int(file.read().split()[1]) * 4096 // MIB


def strangers(number: int) -> object:
    """A claim with a selector like no other, which is large once its macros are expanded."""
    obj = json.loads(claim("{}"))
    expression = (
        f"optional.of({number}){'.optMap(x, x)' * 30}.hasValue() && ''.matches('(?i)x{{{number}}}\\\\pL{{300}}')"
    )
    obj["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": expression}}]
    return obj


@pytest.mark.process
def test_what_is_kept_of_selectors_and_patterns_is_small() -> None:
    done = subprocess.run([sys.executable, "-c", KEPT], check=True, capture_output=True, text=True, timeout=300)
    assert int(done.stdout) < 60, done.stdout
