"""Reads the Containerfile as far as tests need it."""

import json
import re
from typing import NamedTuple

from tests.command import ROOT


class Instruction(NamedTuple):
    """An instruction, its continued lines joined."""

    name: str
    text: str


def instructions() -> list[Instruction]:
    text = (ROOT / "Containerfile").read_text(encoding="utf-8")
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", lines)
    return [Instruction(*line.split(" ", 1)) for line in joined.splitlines() if line]


def final_stage() -> list[Instruction]:
    read = instructions()
    start = max(index for index, each in enumerate(read) if each.name == "FROM")
    return read[start:]


def last(name: str) -> str:
    """Return the text of the final stage's last instruction of a name."""
    return [each.text for each in final_stage() if each.name == name][-1]


def environment() -> dict[str, str]:
    """Return the variables of the final stage."""
    pairs = (pair.split("=", 1) for each in final_stage() if each.name == "ENV" for pair in each.text.split())
    return dict(pairs)


def entry_point() -> list[str]:
    command: list[str] = json.loads(last("ENTRYPOINT"))
    return command
