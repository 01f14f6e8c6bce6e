"""``draguard policy check``: checks policies before they are applied."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from webhook.cel.kubernetes.environments import CALL_LIMIT
from webhook.check.expressions import position
from webhook.check.files import check_charts, render_options
from webhook.check.policies import is_suite, placed, release
from webhook.check.suppressing import suppress, suppressions
from webhook.check.target import kubernetes
from webhook.cli.console import check_outputs, paths_of, show, tell
from webhook.documents import Selection, Unreadable
from webhook.engine.manifests import misspelt
from webhook.engine.trial import try_policies
from webhook.findings import Finding, found, guarded, identity, unread
from webhook.objects import JSONObject
from webhook.policy.manifest.model import Given
from webhook.policy.manifest.policies import is_policy
from webhook.policy.tools.check import CheckResult, Cost, check_policies
from webhook.problem import NOTE
from webhook.release import Release
from webhook.report.model import Judged, Report
from webhook.report.text import counted
from webhook.sources import read
from webhook.spelling import some_of
from webhook.usage import UsageError

_LACKING: Final = frozenset({"binding-without-policy", "policy-without-binding"})
"""Rules about missing policies or bindings."""
_NAMED: Final = 5
"""How many policies a note names."""
_UNBOUNDED: Final = (
    "without bound: with the largest objects that a request can hold, more than {:,}, the most that an evaluation may "
    "cost. The API server accepts the policy anyway; an evaluation that costs more ends with an error, and "
    "failurePolicy decides."
)


def run(arguments: Namespace) -> int:
    """Print the problems of policies, and a summary."""
    check_outputs(arguments)
    stated = kubernetes(arguments)
    minor = release(stated)
    paths = paths_of(arguments) or [os.curdir]
    check_charts(arguments, paths)
    suppressed = suppressions(arguments, paths)
    report, given = Report(), list[Given]()
    selection = Selection(allow_empty=arguments.allow_empty, also=is_suite)
    options = render_options(arguments, stated, arguments.namespace)._replace(note=tell)
    for document in read(paths, selection=selection, options=options):
        if isinstance(document, Unreadable):
            report.findings.append(unread(document))
            if document.line:
                report.files[document.source] = None
        elif not is_suite(document.data):
            suppressed.note(document)
            report.files[document.source] = None
            report.documents += 1
            given.append(Given(document.data, document))
            about = identity(document.data)
            if is_policy(document.data):
                report.judged.append(Judged(document.source, document.index + 1, about))
            elif slip := misspelt(document.data):
                report.findings += (found(each, document) for each in slip)
            else:
                report.skipped[about.api_version, about.kind] += 1
    if not (report.findings or arguments.allow_empty or any(is_policy(each.object) for each in given)):
        raise UsageError(f"no policies found in {', '.join(paths)}")
    report.selection, report.has_fixes, report.releases = selection, False, [f"1.{minor}"]
    result = _checked(given, minor, options.runtime_config, report)
    # A document that cannot be read may be a missing policy or binding.
    unsure = _LACKING if report.findings else frozenset()
    explained = {(id(each.given), each.problem.path) for each in result.findings if each.problem.level != NOTE}
    trial = try_policies(result.policies, explained)
    findings = (*result.findings, *trial.findings)
    report.findings += placed((each for each in findings if each.problem.rule not in unsure), minor)
    report.sort(report.findings)
    suppress(report, suppressed, arguments)
    report.costs = [_cost_of(cost) for cost in result.costs]
    report.remarks += _remarks(report.costs if arguments.costs else (), result, [each.name for each in trial.untried])
    return show(report, arguments)


def _remarks(costs: Sequence[JSONObject], result: CheckResult, untried: Sequence[str]) -> Iterator[str]:
    """List costs; say how many objects have only their errors reported, and which policies were not tried."""
    for each in costs:
        most = "without bound" if each["unbounded"] else f"at most {each['most']}"
        least = f"{each['field']} of {each['policy']} costs at least {each['least']}"
        yield f"{each['file']}:{each['line']}: {least}, {most}"
    if any(each["unbounded"] for each in costs):
        yield _UNBOUNDED.format(CALL_LIMIT)
    if result.unchecked:
        yield f"note: warnings are not checked for {counted(result.unchecked, 'object')} with errors"
    if untried:
        named = ", ".join(some_of(untried, _NAMED, "and {} more"))
        yield f"note: not tried on small objects, as other policies took too much work: {named}"


def _checked(given: Sequence[Given], minor: Release, stated: Mapping[str, bool] | None, report: Report) -> CheckResult:
    """Check policies; if draguard itself fails, report on which of them, and check the others."""
    faults: list[Finding] = []
    try:
        return check_policies(given, minor, stated)
    except Exception:  # noqa: BLE001 - what concerns no single object is raised again below
        sound: list[Given] = []
        for each in given:
            with guarded(each.manifest, faults):
                check_policies([each], minor, stated)
                sound.append(each)
    report.findings += faults
    return check_policies(sound, minor, stated)


def _cost_of(cost: Cost) -> JSONObject:
    policy, manifest = cost.policy, cost.policy.given.manifest
    return {
        "kind": policy.kind,
        "policy": policy.name,
        "field": str(cost.path),
        "file": manifest.source,
        "line": position(manifest, cost.path).line,
        "least": cost.least,
        "most": cost.most,
        "unbounded": cost.most > CALL_LIMIT,
    }
