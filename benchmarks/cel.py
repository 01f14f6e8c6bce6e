"""CEL compiled and evaluated, beside cel-python and other installed engines: python -m benchmarks.cel.

cel-expr-python and common-expression-language (module `cel`) take part if they can be imported; their time includes
the conversion of the object, which this engine does not need. Each figure is shown with its ratio to ours.
"""

from __future__ import annotations

import importlib
import json
import math
import time
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks.timing import interleaved
from webhook.cel.checker.declarations import EnvironmentOptions
from webhook.cel.environment import Environment
from webhook.cel.ext.comprehensions import TWO_VARIABLE_COMPREHENSIONS
from webhook.cel.ext.lists import LISTS, SETS
from webhook.cel.ext.optionals import OPTIONALS
from webhook.cel.ext.strings import FORMATS, STRINGS
from webhook.cel.runtime.meter import Meter
from webhook.cel.types.base import DYN

if TYPE_CHECKING:
    from collections.abc import Callable

    Engine = tuple[Callable[[str], Any], Callable[[Any], object]]

LIMIT = 1_000_000
EVALUATIONS = 300
COMPILATIONS = 30

EXPRESSIONS = (
    'object.metadata.name == "probe"',
    '!has(object.spec.nodeName) || object.spec.nodeName.startsWith("node-")',
    'object.spec.containers.all(c, c.image.contains("/") || c.name == "c1")',
    (
        "object.spec.resourceClaims.all(c, object.spec.containers.exists(k, has(k.resources.claims) && "
        'k.resources.claims.exists(x, x.name == c.name)) || c.name == "nic")'
    ),
)
# The times of the API server's own engine for the same expressions on one core: compile, evaluate, in microseconds.
API_SERVER = ((34, 3.5), (66, 4.7), (104, 7.4), (213, 19.5))


def container(name: str, image: str, **more: Any) -> dict[str, Any]:
    """Make a container as in an admission request, with its defaults."""
    return {
        "name": name,
        "image": image,
        "args": ["--config=/etc/app/config.yaml", "--listen=:8080"],
        "env": [{"name": f"SETTING_{number}", "value": f"value-{number}"} for number in range(6)],
        "resources": {"limits": {"memory": "1Gi", "cpu": "500m"}, "requests": {"memory": "512Mi", "cpu": "250m"}},
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "livenessProbe": {
            "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "runAsNonRoot": True},
        "volumeMounts": [
            {"name": "config", "mountPath": "/etc/app", "readOnly": True},
            {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True},
        ],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
        **more,
    }


CLAIMED = {"claims": [{"name": "gpu"}], "limits": {"memory": "1Gi", "cpu": "500m"}}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "probe",
        "generateName": "probe-",
        "namespace": "cel",
        "labels": {"app": "inference", "tier": "gpu", "pod-template-hash": "5d8c6b9f7c"},
        "annotations": {"example.com/owner": "team-a", "example.com/description": "serves a model to other teams"},
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "probe",
                "uid": "0a2c1e7e-3e2f-4b5a-9a52-0d7a2d3a8f11",
                "controller": True,
            }
        ],
    },
    "spec": {
        "nodeName": "node-1",
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "serviceAccountName": "default",
        "enableServiceLinks": True,
        "priority": 0,
        "preemptionPolicy": "PreemptLowerPriority",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "nodeSelector": {"kubernetes.io/hostname": "node-1", "zone": "a"},
        "containers": [
            container("c0", "registry.example.com/team/app:1.2.3", resources=CLAIMED),
            container("c1", "sidecar"),
        ],
        "resourceClaims": [
            {"name": "gpu", "resourceClaimTemplateName": "gpu"},
            {"name": "nic", "resourceClaimName": "nic"},
        ],
        "tolerations": [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ],
        "volumes": [
            {"name": "config", "configMap": {"name": "app", "defaultMode": 420}},
            {
                "name": "token",
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    ],
                },
            },
        ],
    },
}


def ours() -> Engine:
    """This engine: a type checker, cost tracking."""
    environment = Environment(
        (OPTIONALS, TWO_VARIABLE_COMPREHENSIONS, LISTS, SETS, STRINGS, FORMATS),
        variables={"object": DYN},
        options=EnvironmentOptions(presence_test_cost=0),
    )
    meter = Meter(LIMIT)
    return environment.compile, lambda program: program.evaluate({"object": POD}, meter=meter)


def cel_python() -> Engine:
    """Module celpy: no type checker, no cost tracking."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        celpy = importlib.import_module("celpy")
    environment = celpy.Environment()
    return (
        lambda text: environment.program(environment.compile(text)),
        lambda program: program.evaluate({"object": celpy.json_to_cel(POD)}),
    )


def cel_expr_python() -> Engine:
    """cel-cpp in Python: a type checker, no cost tracking."""
    engine = importlib.import_module("cel_expr_python.cel")
    environment = engine.NewEnv(variables={"object": engine.Type.DYN})
    return environment.compile, lambda program: program.eval(data={"object": POD}).value()


def common_expression_language() -> Engine:
    """A Rust engine: no type checker, no cost tracking."""
    engine = importlib.import_module("cel")
    return engine.compile, lambda program: program.execute({"object": POD})


def available() -> dict[str, Engine]:
    """The engines that can be imported, ours first."""
    engines = {}
    for make in (ours, cel_python, cel_expr_python, common_expression_language):
        try:
            engines[make.__name__] = make()
        except ImportError:
            print(f"{make.__name__} is not installed")
    return engines


def first_evaluation(compile_text: Callable[[str], Any], text: str) -> float:
    """Measure the microseconds in which our program becomes a Python function, before its first evaluation."""
    best = math.inf
    for _ in range(COMPILATIONS):
        program = compile_text(text)
        began = time.perf_counter()
        program.prepare()
        best = min(best, time.perf_counter() - began)
    return best * 1e6


def repeat(function: Callable[[], object], times: int) -> Callable[[], None]:
    """Return a function that calls another one several times."""

    def run() -> None:
        for _ in range(times):
            function()

    return run


def compare(title: str, functions: dict[str, Callable[[], object]], times: int, api_server: float) -> None:
    """Print the time of each function, in microseconds and as a ratio to the first."""
    seconds = interleaved(*(repeat(function, times) for function in functions.values()))
    micros = {name: each / times * 1e6 for name, each in zip(functions, seconds, strict=True)}
    base = micros["ours"]
    figures = ", ".join(f"{name} {each:.1f} µs ({each / base:.1f} x)" for name, each in micros.items())
    print(f"  {title}: {figures}; API server {api_server} µs ({api_server / base:.1f} x)")


def main() -> None:
    """Print the figures."""
    engines = available()
    print(f"a pod of {len(json.dumps(POD))} bytes")
    for text, (compile_time, evaluate_time) in zip(EXPRESSIONS, API_SERVER, strict=True):
        print(text)
        compilers: dict[str, Callable[[], object]] = {}
        evaluators: dict[str, Callable[[], object]] = {}
        for name, (compile_text, evaluate) in engines.items():
            program = compile_text(text)
            if bool(evaluate(program)) is not True:
                print(f"  {name} says otherwise")
            compilers[name] = partial(compile_text, text)
            evaluators[name] = partial(evaluate, program)
        compare("compile", compilers, COMPILATIONS, compile_time)
        print(f"  before the first evaluation: ours {first_evaluation(engines['ours'][0], text):.0f} µs more")
        compare("evaluate", evaluators, EVALUATIONS, evaluate_time)


if __name__ == "__main__":
    main()
