"""Recorded verdicts of real kube-apiservers, and the comparison with ours.

A file holds base objects and cases, one JSON value a line; a case is a JSON Patch of a base object, sent as a create,
an update or a status update by a cluster admin with strict field validation and all feature gates on.
"""

import gzip
import json
import marshal
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nsmallest
from itertools import takewhile
from pathlib import Path
from typing import Any
from zlib import crc32

from webhook import Problem, validate
from webhook.engine.manifests import review
from webhook.schema.decoding import STRICT

Cause = tuple[str, str, str]
"""Reason, field and text."""
Judge = Callable[..., list[Problem]]

FILES = sorted(Path(__file__).parent.glob("*.jsonl.gz"))
PUBLISHED = Path(__file__).parent / "published" / "v1-1.37.0-rc.0.jsonl.gz"
NAMESPACE_LABELS = {"resource.kubernetes.io/admin-access": "true", "resource.k8s.io/admin-access": "true"}

UNDECODABLE = 400
CUT = " […] "
"""Stands for the middle of a recorded text of more than 320 characters."""
_DUMP = re.compile(r"(?s)^(Invalid value: )[\w.*\[\]()]+\{.*\}(: [^}]*)$|^(Forbidden: pod updates may not change).*$")
"""A Go struct printed into a message, and the difference of two pods."""
_ID = re.compile(rb'\{"id": ?"([^"]+)"')
"""How the line of a case begins; that of a base object does not."""
_JSON_DUMP = re.compile(r"^(Invalid value: )[{\[].*[}\]](: [^}\]]*)$")


@dataclass
class Case:
    """One recorded request."""

    line: dict[str, Any]
    base: dict[str, Any]
    judge: Judge

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
    def is_reproducible(self) -> bool:
        """Whether the patch reproduces the request.

        Some do not: they had 1 in place of true, which the comparison that made the patches treats as equal.
        """
        return bool(self.line["patch"]) or self.expected.get("code") != UNDECODABLE

    @property
    def sent(self) -> Any:
        """What was sent: the base object, patched."""
        copied = marshal.loads(marshal.dumps(self.base["object"]))  # noqa: S302 - our own; deepcopy takes much longer
        return patched(copied, self.line["patch"])

    @cached_property
    def problems(self) -> list[Problem]:
        """Our problems of the object."""
        old = self.base["stored"][self.line["old"]] if "old" in self.line else None
        return self.judge(
            self.sent,
            old,
            kubernetes=self.base["kubernetes"],
            subresource=self.line["op"].partition("/")[2],
            feature_gates={"AllAlpha": True, "AllBeta": True},
            namespace_labels=NAMESPACE_LABELS,
        )

    @cached_property
    def errors(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.level == "error"]

    @property
    def same_verdict(self) -> bool:
        """Whether the object is allowed or refused, as recorded, and refused at the same stage."""
        if self.expected["allowed"] or not self.errors:
            return bool(self.expected["allowed"]) == (not self.errors)
        undecodable = any(problem.reason == "BadRequest" for problem in self.errors)
        return bool(undecodable == (self.expected["code"] == UNDECODABLE))

    @cached_property
    def causes(self) -> tuple[set[Cause], set[Cause]]:
        """The recorded causes and ours, each once, without Go's dumps in their texts."""
        if self.expected.get("code") == UNDECODABLE:
            recorded_text = self.expected["message"].partition(" cannot be handled as a ")[2].partition(": ")[2]
            return {("BadRequest", "", recorded_text or self.expected["message"])}, self._misfits
        recorded = {(reason, where, _plain(text)) for reason, where, text in self.expected.get("causes", ())}
        found = {
            (problem.reason, problem.field, _plain(problem.message))
            for problem in self.errors
            if problem.reason != "BadRequest"
        }
        return recorded, found

    @property
    def _misfits(self) -> set[Cause]:
        """The text of the decoder: the first wrong type, else all unknown fields."""
        texts = [problem.message for problem in self.errors if problem.reason == "BadRequest"]
        unknown = [text.removeprefix(STRICT) for text in texts if text.startswith(STRICT)]
        wrong = next((text for text in texts if not text.startswith(STRICT)), STRICT + ", ".join(unknown))
        return {("BadRequest", "", wrong)}

    @property
    def same_causes(self) -> bool:
        """Whether reasons and fields are the same."""
        recorded, found = self.causes
        return {cause[:2] for cause in recorded} == {cause[:2] for cause in found}

    @property
    def different(self) -> tuple[list[Cause], list[Cause]]:
        """The recorded causes that we do not find, and those that we find besides."""
        recorded, found = self.causes
        missing = [cause for cause in recorded - found if not any(_is_same(cause, ours) for ours in found)]
        surplus = [ours for ours in found - recorded if not any(_is_same(cause, ours) for cause in recorded)]
        return sorted(missing), sorted(surplus)


def patched(obj: Any, patch: list[dict[str, Any]]) -> Any:
    """Apply a JSON Patch of additions, removals and replacements in place, in a fifth of the time of ``jsonpatch``."""
    whole = {"": obj}
    for each in patch:
        *path, last = (name.replace("~1", "/").replace("~0", "~") for name in each["path"].split("/"))
        parent: Any = whole
        for name in path:
            parent = parent[int(name) if isinstance(parent, list) else name]
        at = int(last) if isinstance(parent, list) and last != "-" else last
        if each["op"] == "remove":
            del parent[at]
        elif isinstance(parent, list) and each["op"] == "add":
            parent.insert(len(parent) if at == "-" else at, each["value"])
        else:
            parent[at] = each["value"]
    return whole[""]


def _plain(message: str) -> str:
    """Leave Go's dumps out of a message."""
    if match := _DUMP.match(message):
        return f"{match[1]}{{…}}{match[2]}" if match[1] else str(match[3])
    return _JSON_DUMP.sub(r"\1{…}\2", message)


def _is_same(recorded: Cause, ours: Cause) -> bool:
    """Compare causes; the recorded text may be cut in the middle."""
    if recorded[:2] != ours[:2] or CUT not in recorded[2]:
        return recorded == ours
    head, tail = recorded[2].split(CUT, 1)
    return ours[2].startswith(head) and ours[2].endswith(tail)


def _without_hints(*args: Any, **options: Any) -> list[Problem]:
    return review(*args, **options).problems


def cases(file: Path, *, one_of: int = 1) -> Iterator[Case]:
    """Read the cases of a file; their problems have no hints, which would take a third of the time.

    Args:
        file: The recording.
        one_of: Read one of this many cases: the same ones in every run, chosen by a hash of their identifiers.
    """
    return _cases(file, _lines(file), lambda number: number % one_of == 0, _without_hints)


def sample(file: Path, number: int = 100) -> Iterator[Case]:
    """Read some cases of a file, the same ones in every run: those whose identifiers have the least hashes."""
    texts = _lines(file)
    most = nsmallest(number, (_hash(file, match) for text in texts if (match := _ID.match(text))))[-1]
    return _cases(file, texts, lambda number: number <= most, validate)


def _lines(file: Path) -> list[bytes]:
    return gzip.decompress(file.read_bytes()).splitlines()


def _cases(file: Path, texts: Iterable[bytes], wanted: Callable[[int], bool], judge: Judge) -> Iterator[Case]:
    bases: dict[str, Any] = {}
    for text in texts:
        match = _ID.match(text)
        if match and not wanted(_hash(file, match)):
            continue
        line = json.loads(text)
        if not match:
            bases[line["base"]] = line
        elif (case := Case(line, bases[line["base"]], judge)).is_reproducible:
            yield case


def _hash(file: Path, match: re.Match[bytes]) -> int:
    return crc32(match[1], crc32(f"{file.name} ".encode()))


def published() -> Iterator[tuple[dict[str, Any], set[Cause]]]:
    """Read objects, and what the declarative rules of 1.37.0-rc.0 say of their creation (``k8s.io/api``)."""
    for line in map(json.loads, _lines(PUBLISHED)):
        yield line["object"], {(each["type"], each["field"], each["text"]) for each in line["declared"]}


def bases(file: Path) -> Iterator[dict[str, Any]]:
    """Read what the cases of a file are made of: objects, as sent and as stored, which come first."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from takewhile(lambda each: "object" in each, map(json.loads, lines))


def kinds(file: Path) -> Iterator[tuple[str, str]]:
    """Read the versions and kinds of the objects that the cases of a file are made of."""
    for each in bases(file):
        yield each["object"]["apiVersion"], each["object"]["kind"]


@dataclass
class Agreement:
    """How far we agree with recorded verdicts: the numbers of cases, and the differences, for people.

    Args:
        verdicts: The cases in which the object is allowed or refused as recorded.
        causes: The cases in which it is refused for the same reasons and fields.
        texts: The cases in which it is refused in exactly the same words.
    """

    cases: int = 0
    verdicts: int = 0
    causes: int = 0
    texts: int = 0
    disagreements: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, cases: Iterable[Case]) -> "Agreement":
        agreement = cls()
        for case in cases:
            agreement.add(case)
        return agreement

    def add(self, case: Case) -> None:
        """Count one case."""
        missing, surplus = case.different
        same_texts = not missing and not surplus
        self.cases += 1
        self.verdicts += case.same_verdict
        self.causes += case.same_causes
        self.texts += same_texts
        if not case.same_verdict or not same_texts:
            self.disagreements.append(_described(case, missing, surplus))


def _described(case: Case, missing: list[Cause], surplus: list[Cause]) -> str:
    """Show one disagreement."""
    lines = [f"{case.base['kubernetes']} {case.id} {case.line['op']} {json.dumps(case.line['patch'])[:160]}"]
    if not case.same_verdict:
        lines.append(f"  recorded: {json.dumps(case.expected)[:300]}")
    lines += [f"  missing: {' '.join(cause)[:300]}" for cause in missing[:4]]
    lines += [f"  surplus: {' '.join(cause)[:300]}" for cause in surplus[:4]]
    return "\n".join(lines)
