"""Charts, kustomizations, and stand-ins for the programs that render them."""

import sys
from pathlib import Path

from tests.structured import claim_manifest

CLAIM = claim_manifest("NAME", namespace="team-a")
BAD = CLAIM + "        allocationMod: All\n"


def chart(directory: Path, **templates: str) -> Path:
    """Write a chart with these templates."""
    (directory / "templates").mkdir(parents=True)
    (directory / "Chart.yaml").write_text("apiVersion: v2\nname: driver\nversion: 0.1.0\n", encoding="utf-8")
    (directory / "values.yaml").write_text("name: gpu\ngpu: {count: 1, enabled: true}\n", encoding="utf-8")
    (directory / "templates/NOTES.txt").write_text("Thank you: {{ .Release.Name }}\n", encoding="utf-8")
    for name, text in templates.items():
        (directory / "templates" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return directory


def program(directory: Path, name: str, body: str) -> None:
    """Put a program into a directory; Python runs its body."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!{sys.executable} -S\nimport sys\n{body}\n", encoding="utf-8")
    (directory / name).chmod(0o755)
