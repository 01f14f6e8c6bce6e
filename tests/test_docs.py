"""The documentation is correct: its commands run, and its generated parts are current."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from docs.generate import built, committed
from tests.cli.manifests import review
from tests.command import ROOT, draguard
from tests.kubectl import kubectl
from tests.sources.programs import CLAIM, chart, program
from webhook.cli.parser import make_parser

pytestmark = pytest.mark.no_cover

PAGES = sorted([ROOT / "README.md", ROOT / "policies/README.md", *(ROOT / "docs").glob("*.md")])
SERVES = ("serve", "ui", "--watch", "--write-reports")
"""Commands that do not end, or need a pod: only their options are checked."""
REFUSAL = b'The ResourceClaim "gpu" is invalid: spec.devices.requests: Too many: 33: must have at most 32 items'
SNAPSHOT = ROOT / "examples/simulate/cluster.yaml"
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  nodeName: worker-1
  containers:
  - {name: main, image: registry.example.com/train:1, resources: {claims: [{name: gpu}]}}
  resourceClaims:
  - {name: gpu, resourceClaimName: gpu}
"""


def commands(page: Path) -> Iterator[str]:
    """List the draguard commands in the code blocks of a page, with the commands that they are piped into."""
    language: str | None = None
    for line in page.read_text(encoding="utf-8").replace("\\\n", " ").splitlines():
        if line.startswith("```"):
            language = line.removeprefix("```") if language is None else None
        elif language in {"", "console", "sh"}:
            yield from (part for part in line.removeprefix("$ ").split(" | ") if part.startswith("draguard "))


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a repository with all files that the pages name."""
    monkeypatch.chdir(tmp_path)
    claim = CLAIM.replace("NAME", "gpu")
    for directory in ("manifests", "deployed", "overlays/prod"):
        (tmp_path / directory).mkdir(parents=True)
        (tmp_path / directory / "claim.yaml").write_text(claim, encoding="utf-8")
    chart(tmp_path / "charts/driver", claim=claim)
    shutil.copytree(ROOT / "policies", tmp_path / "policies")
    shutil.copytree(ROOT / "policies/claim-device-limit", tmp_path / "policies/few-devices")
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    files = {
        "claim.yaml": claim,
        "pod.yaml": POD,
        "cluster.yaml": f"{SNAPSHOT.read_text(encoding='utf-8')}---\n{POD.replace('nodeName', 'schedulerName')}",
        "review.json": json.dumps(review("a")),
        "smaller.yaml": (ROOT / "examples/simulate/deployment.yaml").read_text().replace("80Gi", "40Gi"),
        "overlays/prod/kustomization.yaml": "resources: [claim.yaml]\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    program(tmp_path / "bin", "kustomize", f"print('''{claim}''')")
    kubectl(tmp_path, monkeypatch, yaml.safe_load(SNAPSHOT.read_text(encoding="utf-8"))["items"])
    run = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    for arguments in ("init -q", "add manifests", "commit -qm first", "update-ref refs/remotes/origin/main HEAD"):
        subprocess.run([*run, *arguments.split()], check=True, cwd=tmp_path)
    return tmp_path


@pytest.mark.process
@pytest.mark.parametrize("page", [each for each in PAGES if any(commands(each))], ids=lambda page: page.name)
def test_each_command_of_a_page_runs(page: Path, place: Path) -> None:
    for command in commands(page):
        words = shlex.split(command.replace(" & ", " "), comments=True)[1:]
        file = words[words.index(">") + 1] if ">" in words else ""
        words = words[: words.index(">")] if file else words
        if any(each in words for each in SERVES):
            make_parser().parse_args(words)
            continue
        piped = REFUSAL if words[0] == "explain" else (place / "claim.yaml").read_bytes()
        done = draguard(*words, stdin=piped)
        assert done.code in {0, 1}, (command, done.err)
        assert "error: " not in done.err, (command, done.err)
        if file:
            (place / file).write_text(done.out, encoding="utf-8")


def test_the_policy_of_the_page_does_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (ROOT / "docs/policies.md").read_text(encoding="utf-8")
    policy, suite, *_ = re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    limits = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: limits, namespace: default}\ndata: {most: '2'}\n"
    claim = CLAIM.replace("NAME", "gpu").replace("team-a", "default") + "        count: 3\n"
    texts = {
        "policies/few-devices/policy.yaml": policy,
        "policies/few-devices/tests.yaml": suite,
        "policies/few-devices/limits.yaml": limits,
        "manifests/claim.yaml": claim,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert draguard("policy", "test", "--strict", "policies").code == 0
    refused = draguard("validate", "--policies", "policies/", "manifests/").out
    assert refused.split("\n\n")[0] in page
    (tmp_path / "policies/few-devices/policy.yaml").write_text(
        policy.replace("requests)", "request)"), encoding="utf-8"
    )
    assert draguard("policy", "check", "policies").out.split("\n\n")[0] in page


def test_generated_pages_are_current() -> None:
    stale = [str(path) for path, text in committed().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python docs/generate.py"


def test_the_index_has_a_line_for_every_rule_and_leads_to_its_example() -> None:
    index = ROOT / "docs" / "rules" / "README.md"
    text = index.read_text(encoding="utf-8")
    pages = {path.stem: page for path, page in built().items()}
    assert re.findall(r'<a id="([\w-]+)">', text) == list(pages)
    examples = dict(re.findall(r"</a>\[([\w-]+)\]\((.*?)\)", text))
    assert examples.keys() == {name for name, page in pages.items() if "## Fails" in page}
    assert all((index.parent / path).is_file() for path in examples.values())
