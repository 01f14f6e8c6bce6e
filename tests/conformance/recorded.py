"""Recorded verdicts of real kube-apiservers, and the comparison with ours.

A file holds base objects and cases, one JSON value a line; a case is a JSON Patch of a base object, sent as a create,
an update or a status update by a cluster admin with strict field validation and all feature gates on.
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonpatch

from webhook import validate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook import Problem

FILES = sorted(Path(__file__).parent.glob("*.jsonl.gz"))
NAMESPACE_LABELS = {"resource.kubernetes.io/admin-access": "true", "resource.k8s.io/admin-access": "true"}

CUT = " […] "
"""Stands for the middle of a recorded text of more than 320 characters."""
GO_DUMP = re.compile(r"(?s)^(Invalid value: )[\w.*\[\]()]+\{.*\}(: [^}]*)$|^(Forbidden: pod updates may not change).*$")
"""A Go struct printed into a message, and the difference of two pods."""


@dataclass
class Case:
    """One recorded request."""

    file: str
    line: dict[str, Any]
    base: dict[str, Any]

    @property
    def id(self) -> str:
        return str(self.line["id"])

    @property
    def kind(self) -> str:
        return str(self.base["object"]["kind"])

    @property
    def expected(self) -> dict[str, Any]:
        return dict(self.line["verdict"])

    @property
    def counts(self) -> bool:
        """Whether the case can be told from its patch, and for a pod, whether it is about claims or the name."""
        paths = [step["path"] for step in self.line["patch"]]
        if not paths and self.expected.get("code") == 400:
            # The request had 1 in the place of true; the patch was made by a comparison that takes them for equal.
            return False
        if self.kind == "Pod":
            return all(re.search(r"^/spec/resourceClaims|/resources/claims|^/metadata/name", path) for path in paths)
        return True

    @cached_property
    def problems(self) -> list[Problem]:
        """What we say of the object."""
        obj = jsonpatch.apply_patch(self.base["object"], self.line["patch"])
        old = self.base["stored"][self.line["old"]] if "old" in self.line else None
        return validate(
            obj,
            old,
            kubernetes=self.base["kubernetes"],
            subresource=self.line["op"].partition("/")[2],
            feature_gates={"AllAlpha": True, "AllBeta": True},
            namespace_labels=NAMESPACE_LABELS,
        )

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.level == "error"]

    @property
    def agrees(self) -> bool:
        """Whether the object is allowed or refused, as recorded, and refused at the same stage."""
        if self.expected["allowed"] or not self.errors:
            return bool(self.expected["allowed"]) == (not self.errors)
        undecodable = any(problem.reason == "BadRequest" for problem in self.errors)
        return bool(undecodable == (self.expected["code"] == 400))

    @property
    def missing(self) -> set[tuple[str, str]]:
        return self._expected_causes - self._found_causes

    @property
    def surplus(self) -> set[tuple[str, str]]:
        return self._found_causes - self._expected_causes

    @property
    def _expected_causes(self) -> set[tuple[str, str]]:
        return {(reason, where) for reason, where, _ in self.expected.get("causes", ())}

    @property
    def _found_causes(self) -> set[tuple[str, str]]:
        return {(problem.reason, problem.field) for problem in self.errors if problem.reason != "BadRequest"}

    @property
    def texts(self) -> Iterator[tuple[str, bool]]:
        """Each recorded cause, and whether we say the same of the same field."""
        found = {(problem.reason, problem.field, plain(problem.message)) for problem in self.errors}
        for reason, where, message in self.expected.get("causes", ()):
            text = plain(message)
            yield (
                f"{where}: {text}",
                any((reason, where) == (cause, at) and same_text(text, ours) for cause, at, ours in found),
            )


def plain(message: str) -> str:
    """Leave Go's dumps out of a message."""
    if match := GO_DUMP.match(message):
        return f"{match[1]}{{…}}{match[2]}" if match[1] else str(match[3])
    return re.sub(r"^(Invalid value: )[{\[].*[}\]](: [^}\]]*)$", r"\1{…}\2", message)


def same_text(recorded: str, ours: str) -> bool:
    """Compare texts, of which the recorded one may be cut in the middle."""
    if CUT not in recorded:
        return recorded == ours
    head, tail = recorded.split(CUT, 1)
    return ours.startswith(head) and ours.endswith(tail)


def cases(file: Path) -> Iterator[Case]:
    """Read the cases of a file that count."""
    bases = {}
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        for text in lines:
            line = json.loads(text)
            if "op" not in line:
                bases[line["base"]] = line
                continue
            case = Case(file.name.removesuffix(".jsonl.gz"), line, bases[line["base"]])
            if case.counts:
                yield case


@dataclass
class Agreement:
    """How far we agree with the recorded verdicts."""

    cases: int = 0
    verdicts: int = 0
    causes: int = 0
    texts: int = 0
    same_texts: int = 0
    disagreements: list[str] = field(default_factory=list)

    def add(self, case: Case) -> None:
        """Count one case."""
        self.cases += 1
        self.verdicts += case.agrees
        same_causes = not case.missing and not case.surplus
        self.causes += same_causes
        different = []
        for text, same in case.texts:
            self.texts += 1
            self.same_texts += same
            different += [] if same else [text]
        if not case.agrees or not same_causes or different:
            self.disagreements.append(describe(case, different))


def describe(case: Case, different: list[str]) -> str:
    """Show one disagreement."""
    lines = [f"{case.file} {case.id} {case.kind} {case.line['op']} {json.dumps(case.line['patch'])[:160]}"]
    if not case.agrees:
        lines.append(f"  recorded: {json.dumps(case.expected)[:300]}")
    lines += [f"  missing: {cause}" for cause in sorted(case.missing)]
    lines += [f"  surplus: {cause}" for cause in sorted(case.surplus)]
    lines += [f"  text: {text[:300]}" for text in different[:3]]
    lines += [f"  ours: {problem}"[:300] for problem in case.errors[:4]]
    return "\n".join(lines)
