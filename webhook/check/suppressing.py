"""Reads the options about suppression, and removes suppressed findings from reports."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from webhook.documents.globs import Globs, PatternError
from webhook.findings import Suppression
from webhook.report.model import Report
from webhook.report.text import counted
from webhook.spelling import did_you_mean
from webhook.suppression import baseline
from webhook.suppression.applying import POLICY, Levels, Suppressions, is_known, levels, names_in, unknown
from webhook.suppression.baseline import Known
from webhook.usage import UsageError, naming

if TYPE_CHECKING:
    from webhook.configuration.reading import Configuration


def suppressions(arguments: Namespace, paths: Sequence[str]) -> Suppressions:
    """Read the suppressions.

    Raises:
        UsageError: A rule does not exist, or the baseline cannot be used.
    """
    if arguments.write_baseline:
        from webhook.documents.writing import check_writable  # needed only to write files

        check_writable(arguments.write_baseline, "--write-baseline", arguments.write_baseline)
    known: list[Known] = []
    if arguments.baseline and not arguments.write_baseline:
        known.append(baseline.read(arguments.baseline))
    configuration: Configuration | None = arguments.settings.configuration
    directories = [each.directory for each in known] + ([configuration.directory] if configuration else [])
    compares = bool(getattr(arguments, "old", ()) or getattr(arguments, "against", ""))
    selects = bool(getattr(arguments, "filter", ()))
    return Suppressions(
        levels=rule_levels(arguments, configuration),
        ignores=configuration.ignores if configuration else (),
        known=known,
        matters=_matters(arguments, paths, compares=compares),
        is_whole=not selects
        and any(all(_is_around(path, directory) for directory in directories) for path in paths or ["."]),
        finds_fewer=compares or selects,
    )


def exclusions(arguments: Namespace) -> list[Callable[[str], bool]]:
    """Return the predicates for excluded paths, of the command line and of the configuration file.

    Raises:
        UsageError: A pattern is malformed.
    """
    found: list[Callable[[str], bool]] = []
    if arguments.exclude:
        with naming("--exclude", PatternError):
            found.append(Globs(arguments.exclude, ".").has)
    configuration: Configuration | None = arguments.settings.configuration
    if configuration and "exclude" in configuration.values:
        found.append(configuration.excluded.has)
    return found


def rule_levels(arguments: Namespace, configuration: Configuration | None) -> Levels:
    """Read the levels of rules.

    Args:
        configuration: The configuration file; None if there is none.

    Raises:
        UsageError: A rule does not exist.
    """
    selected, ignored = _rules(arguments.select, "--select"), _rules(arguments.ignore, "--ignore")
    stated = levels(arguments.level)
    _check(filter(None, stated), "--level")
    configured, file = (configuration.levels, configuration.file) if configuration else ({}, "")
    return Levels(selected=selected, ignored=ignored, stated=stated, configured=configured, file=file)


def _rules(texts: Sequence[str], option: str) -> Sequence[str]:
    names = [name for text in texts for name in names_in(text)]
    if texts and not names:
        raise UsageError("an empty text is most likely a variable that is not set: leave the option out", option)
    _check(names, option)
    return names


def _check(names: Iterable[str], option: str) -> None:
    for name in names:
        if not is_known(name):
            raise UsageError("; ".join(unknown(name)), option)


def check_policies(arguments: Namespace, known: Sequence[str]) -> None:
    """Check the names of policies that the options state.

    Args:
        known: The names of the loaded policies.

    Raises:
        UsageError: A policy does not exist.
    """
    stated = {"--select": arguments.select, "--ignore": arguments.ignore, "--level": arguments.level}
    for option, texts in stated.items():
        for name in (each.partition("=")[0] for text in texts for each in names_in(text)):
            if name.startswith(POLICY) and not any(fnmatchcase(f"{POLICY}{each}", name) for each in known):
                hint = did_you_mean(name.removeprefix(POLICY), known, lead=": ")
                raise UsageError(f"policy {name.removeprefix(POLICY)} not found in --policies{hint}", option)


def _matters(arguments: Namespace, paths: Iterable[str], *, compares: bool) -> Callable[[str], bool]:
    """Return the predicate for rules that this run can check."""
    action = getattr(arguments, "action", "validate")
    given = {
        "policies": bool(getattr(arguments, "policies", ())),
        "old": compares,
        "others": bool(getattr(arguments, "cluster", ())) or any(map(os.path.isdir, paths or ["."])),
        "check": action == "check",
        "test": action == "test" and not arguments.filter,
        "scan": getattr(arguments, "command", "") == "scan",
        "": action != "test",
    }

    def matters(rule: str) -> bool:
        from webhook.explain.names import needs  # only a suppression that is not used asks

        if rule.startswith(POLICY):
            return given["policies"]
        return all(map(given.get, needs(rule)))

    return matters


def _is_around(path: str, directory: str | None) -> bool:
    """Tell whether a path is a directory that holds another one."""
    if directory is None or not os.path.isdir(path):
        return False
    real = os.path.realpath(path)
    return os.path.commonpath([real, os.path.realpath(directory)]) == real


def suppress(report: Report, suppressed: Suppressions, arguments: Namespace) -> None:
    """Remove suppressed findings from a report, and write the baseline if requested.

    Raises:
        OSError: The baseline cannot be written.
    """
    suppressed.apply(report)
    file = arguments.write_baseline
    if not file:
        return
    if cut := next((finding for finding in report.findings if not finding.is_of_object), None):
        report.remarks.append(f"{file} is not written: {cut.file}: {cut.problem.message}")
        return
    from webhook.documents.writing import write  # needed only to write files

    directory = baseline.directory_of(file)
    counts = baseline.counted(report.findings, directory)
    write(file, baseline.lines(counts))
    suppression = Suppression(baseline.BASELINE, file)
    report.suppressed += (finding._replace(suppression=suppression) for finding in report.findings)
    report.findings = []
    report.remarks.append(f"{file} is written, with {counted(sum(counts.values()), 'finding')}")
