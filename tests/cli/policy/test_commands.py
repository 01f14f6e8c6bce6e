"""What all commands do with policies."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cli.policy.manifests import LIMITED
from tests.command import ROOT, draguard
from tests.policy.examples import mutating
from webhook.documents.dump import dump


def test_the_documentation_does_what_it_says(tmp_path: Path) -> None:
    text = (ROOT / "docs/policies.md").read_text(encoding="utf-8")
    policies, suite, rules = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    for name, content in {"policy": policies, "tests": suite, "rules": rules}.items():
        (tmp_path / f"{name}.yaml").write_text(content, encoding="utf-8")
    assert draguard("policy", "test", "--strict", tmp_path / "tests.yaml").code == 0
    options: list[str | Path] = ["--policies", tmp_path / "policy.yaml", "--authorizer", tmp_path / "rules.yaml"]
    done = draguard("validate", *options, tmp_path / "policy.yaml")
    assert (done.code, done.err) == (0, "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda children: (
        st.lists(children, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["cases", "object", "expect", "allowed", "kind", "metadata", "name", "spec", "patch", "context"]
            ),
            children,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    suite=st.fixed_dictionaries(
        {"cases": st.lists(JSON, max_size=3) | JSON}, optional={"objects": JSON, "context": JSON}
    ),
    obj=st.fixed_dictionaries(
        {"apiVersion": st.sampled_from(["v1", "apps/v1"]), "kind": st.just("Pod")},
        optional={"metadata": JSON, "spec": JSON},
    ),
    policies=st.sampled_from([LIMITED, dump(mutating("m", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}"))]),
)
def test_nothing_makes_a_command_raise(suite: Any, obj: Any, policies: str, tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(policies, encoding="utf-8")
    (tmp_path / "tests.yaml").write_text(json.dumps(suite), encoding="utf-8")
    (tmp_path / "object.json").write_text(json.dumps(obj), encoding="utf-8")
    commands: tuple[list[str | Path], ...] = (
        ["policy", "test"],
        ["policy", "check"],
        ["validate", "--policies", tmp_path],
        ["mutate", "--policies", tmp_path],
    )
    for command in commands:
        assert draguard(*command, tmp_path).code in {0, 1, 2}
