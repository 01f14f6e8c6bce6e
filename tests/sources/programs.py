"""Charts, kustomizations, and stand-ins for the programs that render them."""

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.structured import claim_manifest

CLAIM = claim_manifest("NAME", namespace="team-a")
BAD = CLAIM + "        allocationMod: All\n"
KUSTOMIZE = """
import os
def build(directory):
    with open(f"{directory}/kustomization.yaml") as file:
        listed = next(line for line in file if line.startswith("resources: "))[len("resources: ["):].strip()[:-1]
    for path in listed.split(", "):
        full = os.path.normpath(f"{directory}/{path}")
        print("---")
        build(full) if os.path.isdir(full) else print(open(full).read())
build(sys.argv[-1])
"""


def chart(directory: Path, **templates: str) -> Path:
    """Write a chart with these templates."""
    files = {
        "Chart.yaml": "apiVersion: v2\nname: driver\nversion: 0.1.0\n",
        "values.yaml": "name: gpu\ngpu: {count: 1, enabled: true}\n",
        "templates/NOTES.txt": "Thank you: {{ .Release.Name }}\n",
    }
    return write(directory, files | {f"templates/{name}.yaml": text for name, text in templates.items()})


def write(top: Path, files: Mapping[str, str]) -> Path:
    """Write files, and the directories that they are in, below a directory; return it."""
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text, encoding="utf-8")
    return top


def program(directory: Path, name: str, body: str) -> None:
    """Put a program into a directory; Python runs its body."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!{sys.executable} -S\nimport sys\n{body}\n", encoding="utf-8")
    (directory / name).chmod(0o755)
