"""The allocator on the recorded scenarios, beside the Go allocator's own times: python -m benchmarks.allocation."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import yaml

from benchmarks.timing import interleaved
from tests.allocation.recorded import HERE, scenarios
from webhook.allocation import Allocator, Features

if TYPE_CHECKING:
    from collections.abc import Iterator

Json = dict[str, Any]

FILE = HERE / "timing-1.36.jsonl.gz"
NODES, DEVICES = 10_000, 8
PODS = 1_000
AIMS = {"memory": 200, "loading": 1.5, "pods": 10}


def peak() -> float:
    """Return the peak memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def many_slices() -> Iterator[Json]:
    """Make the slices of many nodes, with attributes that differ from device to device."""
    for node in range(NODES):
        name = f"node-{node}"
        devices = [
            {
                "name": f"gpu-{number}",
                "attributes": {
                    "model": {"string": "a100"},
                    "index": {"int": number},
                    "uuid": {"string": f"GPU-{node:08x}-{number:04x}"},
                },
                "capacity": {"memory": {"value": "80Gi"}},
            }
            for number in range(DEVICES)
        ]
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": "gpu.example.com", "nodeName": name, "pool": pool, "devices": devices}
        yield {"metadata": {"name": f"{name}-gpu"}, "spec": spec}


def measure_memory() -> None:
    """Print the memory of a large cluster."""
    before = peak()
    started = time.perf_counter()
    allocator = Allocator([], many_slices(), features=Features())
    seconds = time.perf_counter() - started
    print(
        f"{NODES} nodes with {DEVICES} devices each, all different: {peak() - before:.0f} MB, {peak():.0f} MB in all"
        f" (aim {AIMS['memory']} MB), loaded in {seconds:.1f} s by {allocator.variant.name}"
    )


def load(scenario: Json) -> Allocator:
    """Make the allocator of a scenario."""
    return Allocator(scenario["classes"], scenario["slices"], features=Features(**scenario["features"]))


def measure_scenario(scenario: Json) -> None:
    """Print the time of a scenario; each round begins with empty caches, except for compiled selectors."""
    best = float("inf")
    for _ in range(5):
        allocator = load(scenario)
        started = time.perf_counter()
        attempt = allocator.attempt(scenario["claims"])
        answers = [attempt.on(node) for node in scenario["nodes"]]
        best = min(best, time.perf_counter() - started)
    fits = sum(each.is_found for each in answers)
    recorded = sum(each["ns"] for each in scenario["outcome"]["nodes"]) / 1e6
    print(
        f"{scenario['id'].removeprefix('timing/'):24} fits {fits:4} of {len(answers):4}:"
        f" {best * 1000:8.2f} ms, Go {recorded:9.2f} ms, {recorded / best / 1000:9.1f} x as fast"
    )


def measure_loading(scenario: Json) -> None:
    """Print the time for reading slices beside the time for preparing them."""
    text = yaml.safe_dump_all(scenario["slices"])
    read, made = interleaved(
        lambda: list(yaml.load_all(text, Loader=yaml.CSafeLoader)), lambda: load(scenario), rounds=2
    )
    print(
        f"loading {len(scenario['slices'])} slices: CSafeLoader {read:.2f} s, and {made:.2f} s for the allocator:"
        f" {(read + made) / read:.2f} x (aim {AIMS['loading']} x)"
    )


def measure_pods(scenario: Json) -> None:
    """Print the time for scheduling many pods, each of which considers all nodes."""
    allocator = load(scenario)
    [claim] = scenario["claims"]
    started = time.perf_counter()
    for number in range(PODS):
        metadata = {**claim["metadata"], "name": f"claim-{number}"}
        attempt = allocator.attempt([{**claim, "metadata": metadata}])
        answers = [attempt.on(node) for node in scenario["nodes"]]
        chosen = next(each for each in answers if each.is_found)
        allocator.usage.add({"metadata": metadata, "status": {"allocation": chosen.allocations[0]}})
    seconds = time.perf_counter() - started
    print(f"{PODS} pods, {len(scenario['nodes'])} nodes looked at for each: {seconds:.2f} s (aim {AIMS['pods']} s)")


def main() -> None:
    """Print the figures."""
    # In a process of its own, so that its memory is measured alone and does not slow down later measurements.
    subprocess.run([sys.executable, "-c", "from benchmarks.allocation import measure_memory as m; m()"], check=True)
    found = list(scenarios(FILE))
    for scenario in found:
        measure_scenario(scenario)
    measure_loading(found[0])
    measure_pods(found[0])


if __name__ == "__main__":
    main()
