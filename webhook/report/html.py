"""A self-contained HTML page: no scripts, fonts, images or external resources.

All text from manifests is escaped, and a content security policy blocks anything that would slip through. The
stylesheet is ``html.css`` beside this module.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from webhook.explain.names import page, texts
from webhook.findings import Finding
from webhook.grouping import by_key
from webhook.report import Style
from webhook.report.model import Report, Tested
from webhook.report.text import (
    LEVELS,
    as_markup,
    by_level,
    cells,
    closing,
    counted,
    escaped,
    excerpt,
    help_of,
    helps_of,
    object_of,
    place_of,
    policy_of,
    rendered_as,
    stated,
)

if TYPE_CHECKING:
    from webhook.report.picture import Picture

_FILES_MAX: Final = 20
"""The list of more files is folded."""
MAX_FINDINGS: Final = 5_000
"""The most findings to show: each takes a kilobyte, and browsers take long for pages of tens of megabytes."""


def framed(title: str, body: Iterable[str], more: str = "", script: str = "") -> Iterator[str]:
    """Return a page that holds its own style, and may hold nothing else but text.

    Args:
        more: The rules of its stylesheet beside those of all pages.
        script: The address of a script beside it, which may send its form; empty for a page without.
    """
    style = Path(__file__).with_suffix(".css").read_text(encoding="utf-8") + more
    digest = b64encode(sha256(style.encode()).digest()).decode()
    served = "script-src 'self'; connect-src 'self'; form-action 'self'" if script else "form-action 'none'"
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; {served}"
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>draguard: {escaped(title)}</title>"
    yield f"<style>{style}</style>"
    if script:
        yield f'<script src="{script}" defer></script>'
    yield "</head>"
    yield "<body>"
    yield from body
    yield "</body>"
    yield "</html>"


def pictured(
    picture: Picture,
    title: str,
    level: str,
    told: Iterable[str],
    lists: Mapping[str, Iterable[str]] | None = None,
    *,
    form: Iterable[str] = (),
    script: str = "",
) -> Iterator[str]:
    """Return a page with a picture of the devices.

    Args:
        level: How bad it is, for the colour of the heading.
        told: Sentences below the heading.
        lists: Texts below the picture, by heading.
        form: Fields to show beside the picture.
        script: The address of a script beside the page.
    """
    body = [
        f'<header class="{level}"><h1><span>draguard</span> {escaped(title)}</h1>',
        *(f"<p>{escaped(each)}</p>" for each in told),
        "</header>",
        *picture.lines(form),
        *(
            f"<section><h2>{heading}</h2><ul>{''.join(f'<li>{escaped(each)}' for each in texts)}</ul></section>"
            for heading, texts in (lists or {}).items()
        ),
    ]
    return framed(title, body, picture.style, script)


def lines(report: Report, style: Style) -> Iterator[str]:
    """Write a page of findings, by file and by rule."""
    body = [*_body(report, style)]  # the style of a picture depends on what it has drawn
    yield from framed(by_level(report.findings), body, report.picture.style if report.picture else "")


def _body(report: Report, style: Style) -> Iterator[str]:
    worst = min((finding.problem.level for finding in report.findings), key=LEVELS.index, default="fine")
    yield f'<header class="{worst}"><h1><span>draguard</span> {by_level(report.findings)}</h1>'
    if not style.quiet:
        yield from (f"<p>{escaped(line)}</p>" for line in closing(report, ()))
    yield "</header>"
    shown = report.findings[:MAX_FINDINGS]
    numbers = {id(finding): number for number, finding in enumerate(shown, 1)}
    if report.findings:
        yield from _filters(report)
    if report.picture:
        yield '<p><a href="#picture">the devices as a picture</a></p>'
    yield "<main>"
    if report.tested:
        yield from _tests(report.tested)
    if report.findings:
        yield from _contents(report, numbers)
    if report.findings and report.releases[1:]:
        yield from _matrix(shown, report.releases, numbers)
    yield from _files(report, shown, numbers)
    yield from _more(report.findings)
    if report.suppressed:
        yield f"<section><details><summary>{counted(len(report.suppressed), 'suppressed finding')}</summary>"
        for finding in report.suppressed[:MAX_FINDINGS]:
            yield from _finding(finding)
        yield from _more(report.suppressed)
        yield "</details></section>"
    yield "</main>"
    if report.picture:
        yield from report.picture.lines()


def _files(report: Report, shown: Sequence[Finding], numbers: Mapping[int, int]) -> Iterator[str]:
    """Show findings by file."""
    for number, (file, findings) in enumerate(by_key((each.file, each) for each in shown).items(), 1):
        yield f'<section id="file-{number}"><h2>{escaped(file)}</h2>'
        for finding in findings:
            at = report.picture.links(numbers[id(finding)]) if report.picture else ()
            yield from _finding(finding, f"finding-{numbers[id(finding)]}", at)
        yield "</section>"


def _filters(report: Report) -> Iterator[str]:
    """Add controls that hide levels, through the stylesheet."""
    counts = Counter(finding.problem.level for finding in report.findings)
    if len(counts) > 1:
        yield '<fieldset class="filters"><legend>Show</legend>'
        for level in LEVELS:
            if counts[level]:
                yield (
                    f'<label><input type="checkbox" id="show-{level}" checked> {counted(counts[level], level)}</label>'
                )
        yield "</fieldset>"


def _contents(report: Report, numbers: Mapping[int, int]) -> Iterator[str]:
    """List files and rules, with their numbers of findings."""
    files = by_key((each.file, each) for each in report.findings)
    is_open = " open" if len(files) <= _FILES_MAX else ""
    yield f"<nav><details{is_open}><summary>{counted(len(files), 'file')} with findings</summary>"
    yield "<table><tr><th>File<th>Errors<th>Warnings<th>Notes"
    for number, (file, findings) in enumerate(files.items(), 1):
        name = f'<a href="#file-{number}">{escaped(file)}</a>' if id(findings[0]) in numbers else escaped(file)
        yield f"<tr><td>{name}{_counts(findings)}"
    clean = len(set(report.files) - {finding.file for finding in report.findings})
    if clean:
        yield f'<tr><td class="quiet">{counted(clean, "file")} without findings{_counts([])}'
    yield "</table></details></nav>"
    by_rule = by_key((each.problem.rule, each) for each in report.findings)
    meanings = texts(by_rule)
    yield f'<nav class="rules"><details><summary>{counted(len(by_rule), "rule")}</summary>'
    yield "<table><tr><th>Rule<th>What it is about"
    for rule, findings in sorted(by_rule.items(), key=lambda item: (-len(item[1]), item[0])):
        first = " ".join(meanings[rule].partition("\n\n")[0].replace("`", "").split())
        yield f"<tr><td>{_rule(rule)}<td>{escaped(first)}"
        yield f"<details><summary>{counted(len(findings), 'finding')}</summary><ul>"
        yield from (f"<li>{_linked(each, numbers)}" for each in findings if id(each) in numbers)
        yield "</ul></details>"
    yield "</table></details></nav>"


def _matrix(shown: Iterable[Finding], releases: Sequence[str], numbers: Mapping[int, int]) -> Iterator[str]:
    """List findings by release."""
    yield f'<nav class="releases"><details><summary>{counted(len(releases), "release")}</summary>'
    yield f"<table><tr><th>Finding<th>Rule{''.join(f'<th>{escaped(each)}' for each in releases)}"
    for each in shown:
        levels = "".join(f'<td class="{level}">{level}' for level in cells(each, releases))
        yield f"<tr><td>{_linked(each, numbers)}<td>{_rule(each.problem.rule)}{levels}"
    yield "</table></details></nav>"


def _linked(finding: Finding, numbers: Mapping[int, int]) -> str:
    return f'<a href="#finding-{numbers[id(finding)]}">{escaped(place_of(finding).removesuffix(":"))}</a>'


def _more(findings: Sequence[Finding]) -> Iterator[str]:
    """Count the findings that are not shown."""
    if len(findings) > MAX_FINDINGS:
        left = counted(len(findings) - MAX_FINDINGS, "more finding")
        yield f'<p class="quiet">… and {left}; --output json has all</p>'


def _counts(findings: Sequence[Finding]) -> str:
    counts = Counter(finding.problem.level for finding in findings)
    return "".join(f'<td class="{level if counts[level] else "quiet"}">{counts[level]}' for level in LEVELS)


def _finding(finding: Finding, anchor: str = "", more: Iterable[str] = ()) -> Iterator[str]:
    problem = finding.problem
    place = f"{finding.line}:{finding.column}" if finding.line else ""
    link = f'<a class="place" href="#{anchor}">{place}</a>' if anchor else f'<span class="place">{place}</span>'
    yield f'<article class="{problem.level}"{f" id={chr(34)}{anchor}{chr(34)}" if anchor else ""}>'
    yield (
        f"<h3>{link} <strong>{problem.level}</strong> {_rule(problem.rule)} "
        f'<span class="object">{escaped(rendered_as(finding) or object_of(finding))}</span></h3>'
    )
    yield f"<p>{escaped(stated(finding))}</p>"
    if policy := policy_of(finding):
        yield f"<p>policy: {escaped(policy)}</p>"
    if shown := excerpt(finding):
        gutter, before, marked, after, below, carets = map(as_markup, shown)
        yield (
            f'<pre><span class="gutter">{gutter}</span> {before}<mark>{marked}</mark>{after}\n'
            f'<span class="gutter">{below}</span> <span class="caret">{carets}</span></pre>'
        )
    if finding.releases:
        yield f'<p class="quiet">releases: {escaped(", ".join(finding.releases))}</p>'
    for label, text in helps_of(finding, help_of(finding)):
        yield f'<p class="help"><strong>{label}:</strong> {escaped(text)}</p>'
    if finding.suppression:
        kind, reason = finding.suppression
        yield f'<p class="quiet">suppressed ({escaped(kind)}): {escaped(reason)}</p>'
    yield from more
    yield "</article>"


def _tests(tested: Tested) -> Iterator[str]:
    for ran in tested.runs:
        yield f"<section><h2>{escaped(ran.suite.source)}</h2><table><tr><th>Case<th>Result"
        for case in ran.result.cases:
            result, level = ("passed", "fine") if case.passed else ("failed", "error")
            yield f'<tr><td>{escaped(case.name)}<td class="{level}">{result}'
        yield "</table></section>"
    if tested.coverage:
        yield "<section><h2>Coverage</h2><table><tr><th>Policy<th>Expression<th>Never seen"
        for each, _ in tested.coverage:
            missing = f'<td class="warning">{" or ".join(each.missing)}' if each.missing else '<td class="fine">nothing'
            name = f"{each.policy.kind} {each.policy.name}"
            yield f"<tr><td>{escaped(name)}<td>{escaped(str(each.path))}{missing}"
        yield "</table></section>"


def _rule(name: str) -> str:
    return f'<a href="{as_markup(page(name))}"><code>{escaped(name)}</code></a>'
