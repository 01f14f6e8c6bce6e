"""Documents that no rule looks into: they are counted, but not parsed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.manifests import CLAIM
from tests.command import draguard, reported
from tests.policies import POLICY

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations: {a: b}
  name: things.example.com
spec: [
"""
DASHBOARD = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  a: [\n" + "  # a comment\n" * 6000
OTHER = "apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\nspec:\n" + "  a: b\n" * 1000


def skipped(folder: Path) -> tuple[int, list[tuple[str, int]]]:
    report = reported("validate", folder)
    summary = report["summary"]
    return summary["documents"], [(each["kind"], each["documents"]) for each in summary["skipped"]]


def test_definitions_of_custom_resources_are_counted_and_not_parsed(write: Callable[..., Path]) -> None:
    folder = write(a=f"---\n{DEFINITION}---\n{CLAIM}---\r\n{DEFINITION}", b=DEFINITION.replace("\n", "\r\n"))
    assert skipped(folder) == (4, [("CustomResourceDefinition", 3)])
    assert skipped(folder / "b.yaml") == (1, [("CustomResourceDefinition", 1)])


def test_large_documents_of_other_kinds_are_not_parsed_unless_they_may_be_about_devices(
    write: Callable[..., Path],
) -> None:
    folder = write(a=DASHBOARD)
    assert skipped(folder) == (1, [("ConfigMap", 1)])
    for word in ("resourceClaims", "initContainers", "resource.k8s.io", "DeviceClass"):
        (folder / "a.yaml").write_text(f"{DASHBOARD}# {word}\n", encoding="utf-8")
        assert [each["rule"] for each in reported("validate", folder)["findings"]] == ["unreadable"]


@pytest.mark.parametrize(
    "text",
    [
        DASHBOARD[:200],  # small
        DASHBOARD.replace("ConfigMap", "Namespace"),
        DASHBOARD.replace("ConfigMap", "Pod"),
        DASHBOARD.replace("ConfigMap", "PodList"),
        DASHBOARD.replace("  name: a\n", "  labels: {}\n"),
        DASHBOARD.replace("  name: a\n", "  name: {{ .Name }}\n"),
        DASHBOARD + "kind: ConfigMap\n",
        DEFINITION.replace("kind:", "kind: |\n "),
        DEFINITION.replace("metadata", '"metadata"'),
    ],
)
def test_documents_that_may_matter_or_are_written_otherwise_are_parsed(text: str, write: Callable[..., Path]) -> None:
    folder = write(a=text)
    assert [each["rule"] for each in reported("validate", folder / "a.yaml")["findings"]] == ["unreadable"]


CLAIM_IN_QUOTES = """\
"apiVersion": resource.k8s.io/v1
"kind": ResourceClaim
"metadata": {name: a}
spec: {devices: {requests: [{name: BAD, exactly: {deviceClassName: a}}]}}
"""
HIDING = "kind: CustomResourceDefinition\napiVersion: v1\nmetadata:\n  name: a\n"


@pytest.mark.parametrize(
    "text",
    [
        HIDING + CLAIM_IN_QUOTES,  # the last of several keys counts
        f'{CLAIM_IN_QUOTES}x: "\n{HIDING}"\n',
        f'  {CLAIM_IN_QUOTES.replace(chr(10), chr(10) + "  ")}x: "\n{HIDING}  "\n',
        HIDING + CLAIM_IN_QUOTES.replace('"metadata": {name: a}\n', "").replace('"', "? ").replace("? :", "\n:"),
        *(
            f"apiVersion: v1 # a{end}{CLAIM_IN_QUOTES.replace(chr(10), end, 2)}kind: CustomResourceDefinition\n"
            "metadata:\n  name: a\n"
            for end in ("\r", "\x85", "\u2028", "\u2029")
        ),
    ],
)
def test_a_claim_that_looks_like_a_definition_is_judged(text: str, write: Callable[..., Path]) -> None:
    rules = {each["rule"] for each in reported("validate", write(a=text) / "a.yaml")["findings"]}
    assert rules & {"dns-label", "duplicate-key", "unreadable"}


@pytest.mark.parametrize(
    "field",
    [
        r'"resourceCl\x61ims": [{name: BAD}]',
        r'"resourceCl\u0061ims": [{name: BAD}]',
        '"resourceC\\\n      laims": [{name: BAD}]',
        "? !!binary cmVzb3VyY2VDbGFpbXM=\n      : [{name: BAD}]",
    ],
)
def test_escaped_names_of_fields_are_read_in_large_documents(field: str, write: Callable[..., Path]) -> None:
    containers = r'"cont\x61iners": [{name: a, image: a}]' if "!!" not in field else "other: a"
    text = f"{OTHER}  template:\n    spec:\n      {containers}\n      {field}\n" + "  # a comment\n" * 6000
    folder = write(a=text)
    assert reported("validate", folder / "a.yaml")["findings"]


def test_with_policies_everything_is_parsed(write: Callable[..., Path]) -> None:
    folder = write(a=DEFINITION, policies__p=POLICY)
    done = draguard("validate", "--policies", folder / "policies", folder / "a.yaml")
    assert done.code == 1
    assert ":7:1: error unreadable" in done.out
