"""Findings: a problem, its place and its object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from webhook.budget import BudgetExceededError, DeadlineExceededError
from webhook.limits import MOST_FINDINGS, MOST_IN_ALL
from webhook.problem import BAD_REQUEST, ERROR, NOTE, SHOWN, Path, Problem, Steps, cut
from webhook.usage import UsageError

if TYPE_CHECKING:
    from webhook.documents import Document, Piece, Unreadable

UNREADABLE = "unreadable"
"""The rule for text that Kubernetes cannot read."""
TOO_MANY_FINDINGS = "too-many-findings"
"""The rule for files that are not judged to their end."""
TEMPLATE = "template"
"""The rule for manifests whose placeholders are not filled in."""
INTERNAL = "internal-error"
"""The rule for objects on which draguard itself failed."""
OWN_FAILURE = 3
"""The exit code if draguard itself failed on an object."""
UNREAD = 2
"""The exit code if a path cannot be opened, such as one that does not exist."""


class Identity(NamedTuple):
    """The identity of an object; missing parts are empty."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


def identity(obj: object) -> Identity:
    """Return the identity of a JSON value; parts that are too long for any object are cut, as each finding has them."""
    if not isinstance(obj, dict):
        return Identity()
    version, kind, metadata = obj.get("apiVersion"), obj.get("kind"), obj.get("metadata")
    namespace, name = (metadata.get("namespace"), metadata.get("name")) if isinstance(metadata, dict) else ("", "")
    parts = (part if isinstance(part, str) else "" for part in (version, kind, namespace, name))
    return Identity(*(part if len(part) <= SHOWN else cut(part, SHOWN) for part in parts))


class Origin(NamedTuple):
    """The expression of a policy that a finding comes from.

    Args:
        binding: The binding's name; empty if the policy itself is at fault.
        params: The parameters of the evaluation, such as ``default/limits``; empty if there are none.
        field: The expression, such as ``spec.validations[0].expression``; empty for the policy as a whole.
        line: The line, from 1; 0 if it is not known.
        column: The column, in characters from 1.
    """

    kind: str
    name: str
    binding: str = ""
    params: str = ""
    field: str = ""
    file: str = ""
    line: int = 0
    column: int = 0
    text: str = ""


class Suppression(NamedTuple):
    """Why a finding is not reported.

    Args:
        kind: ``inline`` (a comment in the file), ``annotation`` (of the object), ``path`` (of the configuration file),
            ``option`` (a rule's level is off, or it is not selected), ``baseline``, or ``revision`` (the finding was
            there before, see ``--new-only``).
        reason: The reason that the user gave; empty if none was given.
    """

    kind: str
    reason: str = ""


class Fingerprint(NamedTuple):
    """Identifies the same finding across runs; without lines, which change with every edit.

    Args:
        rule: The rule; of a policy, ``policy/NAME``.
        file: The file, only for objects without a name.
        path: The field in the manifest, such as ``spec.devices.requests[0].name``.
    """

    rule: str
    kind: str
    namespace: str
    name: str
    file: str
    path: str


class Finding(NamedTuple):
    """A problem, and where it was found.

    Args:
        file: The file's name as it was given, ``<stdin>`` for standard input.
        line: The line, from 1; 0 if it is about the file as a whole.
        column: The column, in characters from 1.
        text: The line itself; empty if it is too long to be shown.
        document: Which document of the file, from 1; 0 if it could not be read.
        kubernetes: The release that was judged by, such as ``1.30``.
        origin: The policy it comes from; None for a rule of the API server.
        brief: A short form for the text format, where the message is long.
        suppression: Why it is not reported; None if it is.
        rendered: Whether a program wrote the text.
        placed: Whether the line is one of a source file: a template, or a resource of a kustomization.
        written: The line in the program's output, if it differs from the file's.
        template: The template, as Helm names it, or kustomization that the object was rendered from; empty if unknown.
        releases: The releases with this finding, where several were judged by.
        key_line: The line of the field's key, if the finding is further down in a text of several lines; else 0.
        within: Where the object is in its document, such as ``("items", 0)``; empty if it is the whole document.
    """

    problem: Problem
    file: str
    line: int
    column: int
    text: str
    document: int = 0
    identity: Identity = Identity()
    kubernetes: str = ""
    origin: Origin | None = None
    brief: str = ""
    suppression: Suppression | None = None
    rendered: bool = False
    placed: bool = False
    written: str = ""
    template: str = ""
    releases: tuple[str, ...] = ()
    key_line: int = 0
    within: Steps = ()

    def __str__(self) -> str:
        """Write the finding on one line, as compilers do, with the hint in parentheses."""
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        problem = self.problem
        said = str(problem._replace(message=self.brief or problem.message)).removeprefix(": ")
        hint = f" ({problem.hint})" if problem.hint else ""
        return " ".join(f"{place}: {problem.level} {problem.rule}: {said}{hint}".splitlines())

    @property
    def is_of_object(self) -> bool:
        """Whether it is about an object or a line; else a file as a whole was not judged."""
        return bool(self.line or self.identity.name)

    @property
    def fingerprint(self) -> Fingerprint:
        """Identifies the same finding in another run."""
        problem, about, origin = self.problem, self.identity, self.origin
        rule = f"{problem.rule}/{origin.name}" if origin else problem.rule
        file = "" if about.name else self.file
        return Fingerprint(rule, about.kind, about.namespace, about.name, file, str(problem.path))


def found(problem: Problem, document: Document, kubernetes: str = "") -> Finding:
    """Locate a document's problem in its file."""
    place = document.position(problem.path)
    about = identity(document.data)
    text = document.file.excerpt(place.line)
    finding = Finding(problem, document.source, place.line, place.column, text, document.index + 1, about, kubernetes)
    finding = finding._replace(within=document.within) if document.within else finding
    return finding._replace(rendered=True, template=document.template) if document.file.rendered else finding


def code_of(findings: Iterable[Finding]) -> int:
    """Return the exit code for findings: that of the gravest error, 0 without errors."""
    errors = [finding for finding in findings if finding.problem.level == ERROR]
    if any(finding.problem.rule == INTERNAL for finding in errors):
        return OWN_FAILURE
    if any(finding.problem.rule == UNREADABLE and not finding.line for finding in errors):
        return UNREAD
    return 1 if errors else 0


def unread(what: Unreadable) -> Finding:
    """Turn an unreadable file or document into a finding; its line is 0 for a whole file."""
    then = (
        "; kubectl apply -k and kustomize refuse it, kubectl apply -f silently takes the last one, and the API server "
        "refuses it in YAML that is sent with fieldValidation=Strict"
    )
    hint = f"{what.hint}{then}" if what.is_repeated else what.hint
    problem = Problem(ERROR, UNREADABLE, BAD_REQUEST, Path(), what.message, hint, fix=what.fix)
    return Finding(problem, what.source, what.line, what.column, what.excerpt)


def readable(documents: Iterable[Piece], findings: list[Finding]) -> Iterator[Document]:
    """Yield documents; report those that cannot be read."""
    from webhook.documents import Unreadable  # reviews have none

    for each in documents:
        if isinstance(each, Unreadable):
            findings.append(unread(each))
        else:
            yield each


def unfilled(what: Unreadable) -> Finding:
    """Turn a template that is not YAML into a finding."""
    message = f"a template: it cannot be read until it is filled in, so it is not judged: {what.message}"
    problem = Problem(NOTE, TEMPLATE, "Template", Path(), message, what.hint)
    return Finding(problem, what.source, what.line, what.column, what.excerpt)


def too_many(file: str) -> Finding:
    """Report that a file is not judged to its end, in place of the findings that are not looked for."""
    message = (
        f"more than {MOST_FINDINGS:,} findings, or {MOST_IN_ALL:,} in all files: the rest of this file is not judged"
    )
    hint = "fix what is found and run again, or leave the file out with --exclude"
    return Finding(Problem(ERROR, TOO_MANY_FINDINGS, BAD_REQUEST, Path(), message, hint), file, 0, 0, "")


_ROOT: Final = Path()
_LONGEST = 300


def by_place(findings: Iterable[Finding], files: Iterable[str]) -> list[Finding]:
    """Sort findings by file, line and column.

    Args:
        files: The files in their order. Others, such as those of policies, come first, each where its first finding is.
    """
    unsorted = list(findings)
    known = dict.fromkeys(files)
    others = dict.fromkeys(each.file for each in unsorted if each.file not in known)
    order = {file: index for index, file in enumerate((*others, *known))}
    return sorted(unsorted, key=lambda each: (order[each.file], each.line, each.column))


def own_failure(error: Exception) -> str:
    """Describe an unexpected error, with the places in draguard's code."""
    from traceback import extract_tb  # needed for draguard's own mistakes only

    frames = reversed(extract_tb(error.__traceback__))
    places = [f"{each.filename.rpartition('/webhook/')[2]}:{each.lineno}" for each in frames]
    text = str(error).partition("\n")[0][:_LONGEST]
    what = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"draguard itself failed on this object: {what} (at {', '.join(places[:3])})"


GRAVE: Final = (UsageError, OSError, MemoryError, BudgetExceededError, DeadlineExceededError)
"""Errors that concern a command as a whole, not one object."""


@contextmanager
def guarded(document: Document, findings: list[Finding], path: Path = _ROOT) -> Iterator[None]:
    """Report an unexpected error on an object, so that the others still get their results.

    Args:
        path: The part of the object that is worked on.
    """
    try:
        yield
    except GRAVE:
        raise
    except Exception as error:  # noqa: BLE001 - the report must not lose the other objects
        hint = "please report it, with the object; this says nothing about other objects"
        findings.append(found(Problem(ERROR, INTERNAL, "InternalError", path, own_failure(error), hint), document))
