"""The line that ends a report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from shlex import quote

from webhook.documents.search import spelled
from webhook.documents.selection import (
    BROKEN_LINK,
    EMPTY,
    EXCLUDED,
    HELM,
    IGNORED,
    NO_OBJECT,
    PATCH,
    TEMPLATE,
    VENDORED,
)
from webhook.findings import Finding
from webhook.problem import ERROR
from webhook.report.excerpt import counted, fix_of, printable
from webhook.report.model import Report, Tested

_NOTE = "note: "
_DIRECTORIES = 3
"""How many directories with errors are named."""
_TEMPLATES = 3
"""How many of the templates that are not read are named."""
MAX_KINDS = 8
"""How many of the skipped kinds are named."""


def closing(report: Report, shown: Sequence[Finding]) -> list[str]:
    """Return the lines that end a report: remarks, findings by release, and the summary.

    Args:
        shown: The findings that the table of releases lists.
    """
    table = map(printable, by_release(report, shown))
    remarks, asides = map(printable, report.remarks), map(printable, report.asides)
    return [*_files(report), *remarks, *table, *asides, *summary(report).splitlines()]


def _files(report: Report) -> Iterable[str]:
    """List what was read and what was not, if that is requested."""
    if not report.lists_files:
        return []
    texts = _LEFT_OUT if report.renders else {**_LEFT_OUT, HELM: _NEVER_RENDERED}
    reasons = {reason: text[0].format(1).removeprefix("1 ") for reason, text in texts.items()}
    unread = (f"not read: {spelled(path)}: {reasons[reason]}" for path, reason in report.unread)
    return map(printable, (*(f"read: {file}" for file in report.files), *unread))


def by_release(report: Report, shown: Sequence[Finding]) -> Iterable[str]:
    """Return a table of findings by release, nothing for one release; the arguments are those of :func:`closing`."""
    if not report.releases[1:]:
        return ()
    from webhook.report.matrix import table  # few runs judge by several releases

    return table(shown, report.releases)


def noted(report: Report) -> list[str]:
    """Return the remarks on a run besides its findings, such as objects judged by an earlier release."""
    return [line.removeprefix(_NOTE) for line in (*report.remarks, *report.asides) if line.startswith(_NOTE)]


def summary(report: Report) -> str:
    """Summarize in a line the objects read, found and left out, or the results of tests."""
    suppressed = f"; {len(report.suppressed)} suppressed ({_suppressed(report)})" if report.suppressed else ""
    left_out = f"\n{not_read(report.left_out, report.unread, renders=report.renders)}" if report.left_out else ""
    if report.tested:
        return _tested(report.tested) + suppressed + left_out
    levels = ((report.errors, "error"), (report.warnings, "warning"), (report.notes, "note"))
    found = [counted(number, noun) for number, noun in levels if number]
    text = f"{counted(report.documents, 'document')} in {counted(len(report.files), 'file')}: "
    text += (", ".join(found) or "no problems") + _judged_by(report.releases) + suppressed
    if report.skipped:
        shown = Counter[str]()
        for kind, documents in by_number(report):
            shown[printable(_kind(*kind))] += documents
        kinds = shown.most_common()
        names = [f"{documents} {kind}" for kind, documents in kinds[:MAX_KINDS]]
        names += ["…"] if len(kinds) > MAX_KINDS else []
        text += f"; {sum(report.skipped.values())} skipped (of other kinds: {', '.join(names)})"
    if report.without_claims:
        text += f"; {report.without_claims} without claims "
        text += "(of pods and workloads only extended resources are looked up; --all-pods judges them)"
    if report.has_fixes and not report.is_fixed and (fixable := _fixable(report)):
        text += f"\n{fixable}"
    return text + left_out


def directories(report: Report) -> str:
    """Name the directories of a tree that errors are in, and how to leave them out; empty if all files are in one."""
    errors = [each.file for each in report.findings if each.problem.level == ERROR]
    every = {os.path.dirname(os.path.abspath(file)) for file in report.files}
    if not errors or not every or len(every) == 1:
        return ""
    top = os.path.commonpath(every)
    below = [os.path.relpath(os.path.dirname(os.path.abspath(file)), top).split("/") for file in errors]
    depth = max(map(len, below))
    while len(found := Counter("/".join(each[:depth]) for each in below)) > _DIRECTORIES and depth > 1:
        depth -= 1
    named = {os.path.relpath(f"{top}/{each}"): count for each, count in found.most_common(_DIRECTORIES)}
    asked = [f"{os.path.relpath(each)}/" for each in (top, *report.paths)]
    beside = {each for each in named if not any(path.startswith(f"{each}/") for path in asked)}
    more = f" and {len(found) - _DIRECTORIES} more" if len(found) > _DIRECTORIES else ""
    text = f"errors in: {', '.join(f'{printable(each)} ({count})' for each, count in named.items())}{more}"
    example = next((each for each in named if each in beside and each.partition("/")[0] not in {".", ".."}), "")
    how = f"; --exclude {quote(printable(example))} or exclude: in .draguard.yaml leaves a directory out"
    return text + how if example else text


def _fixable(report: Report) -> str:
    """Count the findings that --fix fixes, and those that only --unsafe-fixes does; empty if none."""
    fixes = [fix for each in report.findings if (fix := fix_of(each))]
    safe = sum(fix.safe for fix in fixes)
    unsafe = "with --fix --unsafe-fixes"
    counts = ((safe, "with --fix"), (len(fixes) - safe, f"more {unsafe}" if safe else unsafe))
    found = ", ".join(f"{count} {option}" for count, option in counts if count)
    return f"fixable: {found}" if found else ""


def not_read(left_out: Mapping[str, int], unread: Iterable[tuple[str, str]], *, renders: bool) -> str:
    """Count the files of directories that were not read, by reason, and name the first templates.

    Args:
        left_out: Their number, by reason.
        unread: Their paths, each with the reason.
        renders: Whether named charts are rendered.
    """
    texts = _LEFT_OUT if renders else {**_LEFT_OUT, HELM: _NEVER_RENDERED}
    reasons = {reason: texts[reason][count > 1].format(count) for reason, count in left_out.items()}
    if TEMPLATE in reasons:
        names = [printable(each) for each in dict.fromkeys(spelled(path) for path, why in unread if why == TEMPLATE)]
        reasons[TEMPLATE] += f" ({', '.join([*names[:_TEMPLATES], *['…'] * (len(names) > _TEMPLATES)])})"
    return f"not read: {', '.join(reasons.values())}"


def _suppressed(report: Report) -> str:
    kinds = Counter(each.suppression.kind for each in report.suppressed if each.suppression)
    return ", ".join(f"{kinds[kind]} {said}" for kind, said in _SUPPRESSED.items() if kinds[kind])


_SUPPRESSED = {
    "inline": "by comments",
    "annotation": "by annotations",
    "path": "by their path",
    "option": "by the level of their rule",
    "baseline": "in the baseline",
    "revision": "not new",
}
"""The names of the kinds of suppressions in reports."""


def _judged_by(releases: Sequence[str]) -> str:
    return f" (Kubernetes {', '.join(releases)})" if releases else ""


def _tested(tested: Tested) -> str:
    text = f"{counted(tested.cases, 'case')} in {counted(len(tested.runs), 'suite')}: "
    text += f"{tested.cases - tested.failed} passed"
    text += f", {tested.failed} failed" if tested.failed else ""
    text += _judged_by(tested.releases)
    return f"{text}; {tested.covered} of {counted(len(tested.coverage), 'expression')} covered"


_LEFT_OUT = {
    HELM: ("{} Helm template (name its chart to render it)", "{} Helm templates (name their charts to render them)"),
    TEMPLATE: ("{} template that is not filled in yet", "{} templates that are not filled in yet"),
    PATCH: ("{} patch of a kustomization", "{} patches of kustomizations"),
    IGNORED: ("{} path that git ignores", "{} paths that git ignores"),
    VENDORED: ("{} vendored directory", "{} vendored directories"),
    EXCLUDED: ("{} path that is excluded", "{} paths that are excluded"),
    BROKEN_LINK: ("{} symbolic link that leads nowhere", "{} symbolic links that lead nowhere"),
    EMPTY: ("{} file without a manifest", "{} files without a manifest"),
    NO_OBJECT: ("{} file that is not YAML and has no apiVersion", "{} files that are not YAML and have no apiVersion"),
}
"""The names of files that were not read, by reason: singular and plural."""
_NEVER_RENDERED = (
    "{} Helm template (charts are not rendered here)",
    "{} Helm templates (charts are not rendered here)",
)


def by_number(report: Report) -> list[tuple[tuple[str, str], int]]:
    """List the skipped kinds with their numbers of documents, the most frequent first."""
    return sorted(report.skipped.items(), key=lambda item: (-item[1], item[0]))


def _kind(api_version: str, kind: str) -> str:
    if not kind:
        return "without kind" if api_version else "plain data"
    if not api_version:
        return f"{kind} without apiVersion"
    return kind if api_version == "v1" else f"{kind} of {api_version}"
