"""The files that an answer enters, and its calls from one file into another: python -m benchmarks.traces."""

from __future__ import annotations

import copy
import io
import json
import sys
import tempfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from types import FrameType

from benchmarks.reviews import POLICIES, request
from webhook.admission import Call, ReviewOptions, answer
from webhook.cli import main
from webhook.documents import Document, read
from webhook.optional import install
from webhook.policy.load import load

OFTEN = 17
"""How often an answer is given before it is looked at: functions of policies are made by then."""
ROOT = Path(__file__).parent.parent
OURS = str(ROOT / "webhook")
SIMULATE = ROOT / "examples" / "simulate"
WRONG = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClass: gpu.example.com}}]}}
"""


def traced(run: Callable[[], object]) -> tuple[int, int]:
    """Return the files of draguard that a run enters, and its calls into another file, once it was made often."""
    for _ in range(OFTEN):
        run()
    files: set[str] = set()
    calls = 0

    def look(frame: FrameType, event: str, _: object) -> None:
        nonlocal calls
        entered = frame.f_code.co_filename
        if event == "call" and entered.startswith(OURS):
            files.add(entered)
            calls += frame.f_back is not None and frame.f_back.f_code.co_filename != entered

    sys.setprofile(look)
    try:
        run()
    finally:
        sys.setprofile(None)
    return len(files), calls


def command(*arguments: str) -> Callable[[], object]:
    """Return a function that runs a command without its output."""

    def run() -> int:
        with redirect_stdout(io.StringIO()):
            return main(list(arguments))

    return run


def review(asked: dict[str, object]) -> Callable[[], object]:
    """Return a function that answers a review with all rules and the policies of the library."""
    library = load(each.data for each in read([POLICIES]) if isinstance(each, Document))
    options = ReviewOptions(policies=library)
    body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}).encode()
    return lambda: answer(body, Call("validate"), options)


def print_traces() -> None:
    """Print a line for each answer."""
    install("reviews")
    usual = request()
    wrong = copy.deepcopy(usual)
    wrong["object"]["spec"]["resourceClaims"][0]["resourceClaimName"] = "gpu"
    with tempfile.TemporaryDirectory() as directory:
        manifest = Path(directory) / "claim.yaml"
        manifest.write_text(WRONG, encoding="utf-8")
        answers = {
            "validate, a wrong field": command("validate", str(manifest)),
            "a usual review of a pod": review(usual),
            "a review that is denied": review(wrong),
            "simulate --cluster": command(
                "simulate", "--cluster", str(SIMULATE / "cluster.yaml"), str(SIMULATE / "deployment.yaml")
            ),
        }
        print(f"{'':28}{'files':>6}{'calls':>8}")
        for name, run in answers.items():
            files, calls = traced(run)
            print(f"{name:28}{files:>6}{calls:>8}")


if __name__ == "__main__":
    print_traces()
