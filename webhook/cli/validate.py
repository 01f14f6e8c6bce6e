"""``draguard validate``: what the API server would refuse in manifests, and where."""

from __future__ import annotations

import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.api.judgement import judge
from webhook.api.versions import NEWEST, Served, find
from webhook.cli.arguments import UsageError
from webhook.cli.progress import watched
from webhook.cli.release import kubernetes
from webhook.documents import Document, Unreadable, read
from webhook.problem import WARNING, Path, Problem
from webhook.report import Finding, Identity, Report, as_json, as_text, found, identity, summary, unread
from webhook.schema import OLDEST

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Iterator


def run(arguments: Namespace) -> int:
    """Print what is found and a summary."""
    stated = kubernetes(arguments)
    if arguments.subresource and not arguments.old:
        message = f"--subresource {arguments.subresource} judges updates: give the earlier state with --old"
        raise UsageError(message)
    if "-" in arguments.paths and "-" in arguments.old:
        message = "standard input (-) cannot be both the manifests and their --old state: give one of them as files"
        raise UsageError(message)

    report = Report()
    old = _OldState(arguments.old, report)
    documents: Iterable[Document | Unreadable] = read(arguments.paths)
    if sys.stderr.isatty() and not arguments.quiet:
        documents = watched(documents, sys.stderr)
    _judge_all(documents, old, stated, arguments.subresource, report)
    _show(report, arguments)
    if any(finding.line == 0 for finding in report.findings):
        return 2
    return 1 if report.errors or (arguments.strict and report.warnings) else 0


class _Later(NamedTuple):
    """A document that cannot be judged before all others are read, and where its findings belong."""

    document: Document
    served: Served
    at: int


def _judge_all(
    documents: Iterable[Document | Unreadable], old: _OldState, stated: str | None, subresource: str, report: Report
) -> None:
    """Judge documents as they come, but for those that follow others if no release is stated."""
    found_in: list[Iterable[Finding]] = []
    releases, later = _Releases(), list[_Later]()
    for document in documents:
        if isinstance(document, Unreadable):
            if document.line:
                report.files[document.source] = None
            found_in.append([unread(document)])
            continue
        report.files[document.source] = None
        report.documents += 1
        data = document.data
        served = find(data.get("apiVersion"), data.get("kind")) if isinstance(data, dict) else None
        if served is None:
            about = identity(data)
            report.skipped[about.api_version, about.kind] += 1
        elif stated is None and _is_everywhere(served):
            later.append(_Later(document, served, len(found_in)))
            found_in.append(())
        else:
            releases.note(document.source, served)
            findings = _judge(document, old, stated or f"1.{served.until}", subresource)
            if findings:
                found_in.append(findings)
    for document, served, at in later:
        found_in[at] = _judge(document, old, f"1.{releases.beside(document.source, served)}", subresource)
    report.findings += (finding for findings in found_in for finding in findings)


def _judge(document: Document, old: _OldState, release: str, subresource: str) -> list[Finding]:
    before, problems = old.of(document.data)
    problems += judge(document.data, before, kubernetes=release, subresource="" if before is None else subresource)
    findings = [found(problem, document, release) for problem in problems]
    return sorted(findings, key=lambda finding: (finding.line, finding.column))


def _is_everywhere(served: Served) -> bool:
    """Tell whether every release serves a kind, so that the kind does not say which release is meant."""
    return served.since <= OLDEST and served.until >= NEWEST


class _Releases:
    """Which releases serve all objects of a file, and of a directory."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[int, int]] = {}

    def note(self, file: str, served: Served) -> None:
        """Take an object into account."""
        self._files[file] = _common(self._files.get(file), (served.since, served.until))

    def beside(self, file: str, served: Served) -> int:
        """Return the newest release that serves the objects of the same file, or else those of the same directory."""
        for since, until in (self._files.get(file, _NONE), self._directories.get(_directory(file), _NONE)):
            if since <= until:
                return until
        return served.until

    @cached_property
    def _directories(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for file, window in self._files.items():
            directory = _directory(file)
            found[directory] = _common(found.get(directory), window)
        return found


def _directory(file: str) -> str:
    return os.path.dirname(file)  # noqa: PTH120 - pathlib takes longer to import than all this takes


_NONE = (NEWEST, OLDEST)
"""No release at all."""


def _common(window: tuple[int, int] | None, other: tuple[int, int]) -> tuple[int, int]:
    return other if window is None else (max(window[0], other[0]), min(window[1], other[1]))


class _OldState:
    """An earlier state of objects, to be looked up."""

    def __init__(self, paths: Iterable[str], report: Report) -> None:
        self._objects: dict[tuple[str, str, str], dict[str, Any]] = {}
        for document in read(paths):
            if isinstance(document, Unreadable):
                report.findings.append(unread(document))
            elif (about := identity(document.data)).name and about.api_version:
                self._objects.setdefault(_key(about), {})[about.namespace] = document.data

    def of(self, obj: dict[str, Any]) -> tuple[Any, list[Problem]]:
        """Return the old state of an object, None if there is none, and what is to be said of it."""
        if not self._objects:
            return None, []
        about = identity(obj)
        states = self._objects.get(_key(about), {})
        old = next(_matching(states, about.namespace), None)
        if old is None or old["apiVersion"] == about.api_version:
            return old, []
        message = f"the old state is in {old['apiVersion']}, so the two are not compared"
        hint = f"get the old state in {about.api_version}: kubectl get {_resource(about)}"
        return None, [Problem(WARNING, "old-version", "NotCompared", Path(("apiVersion",)), message, hint)]


def _key(about: Identity) -> tuple[str, str, str]:
    """Name an object whatever its version and namespace."""
    return about.api_version.rpartition("/")[0], about.kind, about.name


def _matching(states: dict[str, Any], namespace: str) -> Iterator[Any]:
    """Find the state in a namespace; one that is not stated on either side may be any."""
    if namespace in states:
        yield states[namespace]
    elif "" in states:
        yield states[""]
    elif not namespace and len(states) == 1:
        yield from states.values()


def _resource(about: Identity) -> str:
    """Name a kind in one version as kubectl takes it."""
    group, _, version = about.api_version.rpartition("/")
    return f"{about.kind.lower()}.{version}.{group}"


def _show(report: Report, arguments: Namespace) -> None:
    if arguments.output == "json":
        print(as_json(report))
        return
    color = arguments.color == "always" or (arguments.color == "auto" and _takes_colors())
    for line in as_text(report.findings, color=color):
        print(line)
    if not arguments.quiet:
        print(summary(report))


def _takes_colors() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
