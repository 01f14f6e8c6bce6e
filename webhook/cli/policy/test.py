"""``draguard policy test``: runs the test suites of policies."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress as passed_over
from functools import partial
from time import sleep
from typing import Final, NamedTuple, NoReturn

from webhook.check.expressions import located
from webhook.check.policies import is_suite, placed, release
from webhook.check.progress import counting
from webhook.check.suppressing import suppress, suppressions
from webhook.check.target import kubernetes
from webhook.cli.console import check_outputs, paths_of, show
from webhook.documents import STDIN, STDIN_NAME, Document, Selection, Unreadable, find, read
from webhook.documents.search import SUFFIXES, Trees
from webhook.engine.suites import SuiteError, run_suite
from webhook.findings import Finding, found, guarded, readable
from webhook.policy.manifest.model import Given
from webhook.policy.manifest.policies import is_policy
from webhook.policy.tools.coverage import Covered
from webhook.problem import ERROR, WARNING, Path, Problem, quoted
from webhook.report.model import Report, SuiteRun, Tested
from webhook.usage import UsageError

_EVERY: Final = 0.3
"""Seconds between checks of the files."""


def watch(do: Callable[[], object], paths: Iterable[str], *, quiet: bool) -> NoReturn:
    """Call a function now, and again whenever a file is changed, added or removed, until interrupted.

    Args:
        paths: The files and directories; files beside a named one are watched, too.
        quiet: Whether to print nothing while waiting.

    Raises:
        KeyboardInterrupt: The user ends it.
    """
    named = [each for each in paths if each != STDIN]
    beside = [os.path.dirname(each) or "." for each in named if os.path.isfile(each)]
    while True:
        before = _state([*named, *beside])
        do()
        if not quiet:
            print("waiting for changes; Ctrl-C ends this", file=sys.stderr)
        sys.stdout.flush()
        while _state([*named, *beside]) == before:
            sleep(_EVERY)


def _state(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the modification times and sizes of the files."""
    found = {}
    for file in find(paths):
        with passed_over(OSError):  # gone meanwhile
            status = os.stat(file)
            found[file] = (status.st_mtime_ns, status.st_size)
    return found


def _read(directory: str, name: str, where: Path) -> list[Given]:
    """Read the objects of a file, or of the files of a directory, that a suite in a directory names at a path.

    Raises:
        SuiteError: A file does not exist, or cannot be read.
    """
    if os.path.isabs(name):
        raise SuiteError(where, f"{name}: give a name relative to the suite")
    file, found = os.path.normpath(os.path.join(directory, name)), list[Given]()
    if not os.path.isfile(file) and not os.path.isdir(file):
        raise SuiteError(where, f"file {file} does not exist")
    for document in read([file]):
        if isinstance(document, Unreadable):
            place = f"{document.source}:{document.line}" if document.line else document.source
            raise SuiteError(where, f"{place}: {document.message}")
        found.append(Given(document.data, document))
    return found


def run(arguments: Namespace) -> int:
    """Run the suites, and print failures, missing coverage, and a summary."""
    check_outputs(arguments)
    paths = paths_of(arguments) or [os.curdir]
    if not arguments.watch:
        return _run(arguments, paths)
    return watch(lambda: _run(arguments, paths), paths, quiet=arguments.quiet)


def _run(arguments: Namespace, paths: Sequence[str]) -> int:
    report, suppressed = Report(), suppressions(arguments, paths)
    report.selection, report.renders = Selection(allow_empty=arguments.allow_empty, also=is_suite), False
    with counting("cases", sys.stderr, quiet=arguments.quiet) as progress:
        report.tested = tested = _tested(arguments, paths, report, suppressed.note, progress)
    if not (tested.runs or report.findings or arguments.allow_empty):
        raise UsageError(f"no suites found in {', '.join(paths)}; a suite is a document with cases")
    if arguments.filter and not tested.cases and not report.findings:
        raise UsageError(f"no case has a name with {' or '.join(map(repr, arguments.filter))}", "--filter")
    if not tested.runs and any(not each.line for each in report.findings):
        report.tested = None  # the named files cannot be read
    if arguments.verbose:
        report.remarks += _lines(tested)
    suppress(report, suppressed, arguments)
    return show(report, arguments)


def _lines(tested: Tested) -> Iterator[str]:
    """List the result of each case."""
    for ran in tested.runs:
        for case in ran.result.cases:
            line = ran.suite.position(("cases", case.place)).line
            outcome = "passed" if case.passed else "failed"
            yield f"{outcome}: {ran.suite.source}:{line}: {case.name} (Kubernetes {ran.kubernetes})"
            for each in case.verdict.decisions if case.verdict else ():
                if why := each.unused_message:
                    yield f"  {each.policy.name} shows {quoted(each.message)}, not its messageExpression: {why}"


def _tested(
    arguments: Namespace,
    paths: Sequence[str],
    report: Report,
    note: Callable[[Document], None],
    progress: Callable[[int], None],
) -> Tested:
    """Run the suites among the paths, and those beside policies among the paths.

    Args:
        report: Receives the findings.
        note: Called with each document.
        progress: Called with the number of cases so far.
    """
    stated, runs, findings = kubernetes(arguments), list[SuiteRun](), list[Finding]()
    coverage: dict[tuple[str, int, Path], tuple[Covered, Document]] = {}
    wanted = [each.casefold() for each in arguments.filter]

    def is_wanted(case: str) -> bool:
        return not wanted or any(each in case.casefold() for each in wanted)

    for directory in _directories(paths, report.selection, findings):
        for document in (*directory.suites, *directory.manifests):
            note(document)
        for suite in directory.suites:
            report.files[suite.source] = None
            ran = _ran(suite, directory, stated, is_wanted, findings)
            if ran is None:
                continue
            runs.append(ran)
            progress(sum(len(each.result.cases) for each in runs))
            if not ran.result.cases and any(each.problem.level == ERROR for each in ran.result.findings):
                report.remarks.append(f"note: not run: {suite.source}, as the API server refuses what it tests")
            if not wanted:  # coverage is that of all cases
                _add(coverage, directory.relevant(ran.result.coverage), suite)
        if not directory.suites:
            findings += _untested(each for each in directory.manifests if _real(each.source) in directory.named)
    findings += _uncovered(coverage.values())
    report.findings += dict.fromkeys(findings)
    return Tested(runs, list(coverage.values()), arguments.strict)


def _ran(
    suite: Document,
    directory: _Directory,
    stated: str | None,
    is_wanted: Callable[[str], bool],
    findings: list[Finding],
) -> SuiteRun | None:
    """Run a suite; None if it is malformed, or draguard itself failed, which is a finding."""
    with guarded(suite, findings):
        try:
            beside = (Given(each.data, each) for each in directory.manifests)
            minor, guard = release(stated) if stated else None, partial(guarded, suite, findings)
            files = partial(_read, os.path.dirname(suite.source))
            result = run_suite(suite.data, beside, minor, is_wanted, guard, read=files)
        except SuiteError as error:
            findings += (found(Problem(ERROR, "suite", "", *each), suite) for each in error.found)
            return None
        minor = release(stated or str(suite.data.get("kubernetes") or "") or None)
        ran = SuiteRun(suite, f"1.{minor}", result)
        about = (each for each in placed(result.findings, minor, suite) if directory.reports(each))
        findings += (*about, *ran.failures())
        return ran
    return None


class _Directory(NamedTuple):
    """The suites to run in one directory, and the manifests that they test.

    Args:
        manifests: All other manifests of the directory.
        named: The real paths of files that the user has named, or whose directory; warnings are about them.
    """

    suites: list[Document]
    manifests: list[Document]
    named: set[str]

    def reports(self, finding: Finding) -> bool:
        """Tell whether a finding is reported: of a neighbour, only an error is, as it keeps suites from running."""
        return finding.problem.level == ERROR or _real(finding.file) in self.named

    def relevant(self, coverage: Sequence[Covered]) -> Iterator[Covered]:
        """Return the coverage of the named policies, and of those that the suites evaluate."""
        evaluated = {id(each.policy) for each in coverage if each.passed or each.failed}
        for each in coverage:
            manifest = each.policy.given.manifest
            if manifest is None or _real(manifest.source) in self.named or id(each.policy) in evaluated:
                yield each


def _directories(paths: Iterable[str], selection: Selection, findings: list[Finding]) -> Iterator[_Directory]:
    """Read the directories of the named suites and policies; unreadable files become findings."""
    named: dict[str, list[Document]] = {}
    spelt: dict[str, str] = {}
    paths = list(paths)
    for document in readable(read(paths, selection=selection), findings):
        if is_suite(document.data) or is_policy(document.data) or document.source == STDIN_NAME:
            where = STDIN_NAME if document.source == STDIN_NAME else os.path.dirname(document.source)
            where = spelt.setdefault(_real(where or "."), where)  # a directory may be named in several ways
            named.setdefault(where, []).append(document)
    for where, documents in named.items():
        beside = documents if where == STDIN_NAME else [*readable(read(_manifests(where, paths)), findings)]
        suites = [each for each in documents if is_suite(each.data)]
        yield _Directory(
            suites or [each for each in beside if is_suite(each.data)],
            [each for each in beside if not is_suite(each.data)],
            {_real(each.source) for each in documents},
        )


_real = os.path.realpath


def _manifests(directory: str, paths: Iterable[str]) -> list[str]:
    """List the manifests of a directory, without subdirectories, and without links that leave the named paths."""
    try:
        names = sorted(os.listdir(directory or "."))
    except OSError:  # gone since it was read, or its name is not text
        return []
    found = (os.path.join(directory, name) for name in names if name.endswith(SUFFIXES))
    trees = Trees([*paths, directory or "."])
    return [path for path in found if os.path.isfile(path) and trees.real(path)]


def _add(
    coverage: dict[tuple[str, int, Path], tuple[Covered, Document]], seen: Iterable[Covered], suite: Document
) -> None:
    """Add the coverage of one suite."""
    for each in seen:
        manifest: Document = each.policy.given.manifest or suite
        path = Path((*each.policy.given.at, *each.path))
        key = (_real(manifest.source), manifest.index, path)
        before = coverage[key][0] if key in coverage else each
        union = each._replace(path=path, passed=each.passed or before.passed, failed=each.failed or before.failed)
        coverage[key] = (union, manifest)


def _untested(manifests: Iterable[Document]) -> Iterator[Finding]:
    for document in manifests:
        if is_policy(document.data) and not document.data["kind"].endswith("Binding"):
            message = "this policy has no suite beside it"
            hint = "write one, such as tests.yaml in the same directory"
            yield found(Problem(WARNING, "not-tested", "", Path(), message, hint), document)


def _uncovered(coverage: Iterable[tuple[Covered, Document]]) -> Iterator[Finding]:
    for each, manifest in coverage:
        if each.missing:
            yield located(Problem(WARNING, "not-covered", "", each.path, each.complaint), manifest)
