"""``draguard match``: which devices a claim selects, and why not the others."""

from __future__ import annotations

import os
import re
import shlex
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final

from webhook.allocation.devices import Catalog
from webhook.api.judgement import stored
from webhook.api.templates import pod_template
from webhook.budget import DOCUMENT, Budget, BudgetExceededError, limited
from webhook.cel.environment import Refusal
from webhook.cel.kubernetes.devices import compile_selector
from webhook.check.cluster import not_found, read_cluster, take_each
from webhook.check.expressions import located_in_option
from webhook.check.files import piped_twice
from webhook.check.judge import Refusals, refusing
from webhook.check.target import kubernetes, settings_of
from webhook.cli.console import (
    leave_out_malformed,
    print_findings,
    read_sources,
    show_refusals,
    show_result,
    tell,
)
from webhook.deviceselectors.fleet import ERROR, FALSE, DeviceGroup, Fleet, Query, absent_nodes, rows
from webhook.documents import STDIN, Document, Piece, Unreadable
from webhook.documents.search import SUFFIXES, top_of
from webhook.findings import GRAVE, OWN_FAILURE, UNREAD, Finding, own_failure
from webhook.hints.fields import hint_of
from webhook.hints.names import instead, listed
from webhook.inventory import CLAIMS, Inventory
from webhook.inventory.claims import requests_of
from webhook.objects import JSONObject, items, name_of, namespace_of, text
from webhook.problem import Path, invalid
from webhook.references.lookup import every_rule
from webhook.references.rules import Context
from webhook.report.matched import Question, as_json, is_fine, results_as_text, title
from webhook.report.model import Report
from webhook.usage import UsageError

_WORK: Final = 2 * DOCUMENT
"""The work that all selectors together may take: some twenty seconds."""

_GIVE: Final = "give manifests of claims, templates or classes, or -e with a selector"
_SELECTOR: Final = re.compile(r"device\.|[=!]=|&&|\|\|")


def run(arguments: Namespace) -> int:
    """Print the matching devices of each request; return 1 if none match, or if a selector or manifest is refused."""
    _check(arguments)
    release, report = kubernetes(arguments), Report()
    inventory = read_cluster(arguments.cluster, report, quiet=arguments.quiet, tell=tell)
    leave_out_malformed(report)
    settings = settings_of(release, arguments, inventory)
    stated, gates = str(settings), dict(settings.stated) or None
    texts: dict[str, list[str]] = {}
    documents = read_sources(arguments, arguments.paths, stated, texts=texts)
    keep = partial(stored, kubernetes=stated, feature_gates=gates)
    given = _objects(documents, refusing(documents, inventory, stated, gates), keep, inventory, report)
    refusals = show_refusals(report, texts)
    slices = inventory.all("ResourceSlice")
    if not slices and not refusals:
        raise UsageError(not_found("ResourceSlices", arguments.cluster))
    try:
        fleet = Fleet(Catalog(slices), settings.release, settings.gates)
    except ValueError as error:
        raise UsageError(f"Kubernetes {stated}: {error}") from error
    if wrong := [each for expression in arguments.expression for each in refused(expression, fleet)]:
        print_findings(wrong)
        return UNREAD
    if inventory.knows("Node"):
        named = {text(each, "spec", "nodeName") for each in slices} - {""}
        absent = sorted(named - {name for _, name in inventory.names("Node")})
        if absent:
            tell(f"note: {absent_nodes(absent)}")
    tell(*_published_twice(slices, Context(inventory, settings.release, settings.gates)))
    about = {"file": "", "kind": "", "namespace": "", "name": "", "request": "", "deviceClass": ""}
    query = [
        Question({**about, "name": each}, Query((), [{"cel": {"expression": each}}])) for each in arguments.expression
    ]
    query += _requests(given, inventory)
    return max(refusals, _match(arguments, query, fleet)) if slices and (query or not refusals) else refusals


def _check(arguments: Namespace) -> None:
    """Check the paths; one that is evidently a selector is taken for one, as -e is easily forgotten."""
    selectors = [path for path in arguments.paths if _SELECTOR.search(path) and not os.path.lexists(path)]
    arguments.expression = [*arguments.expression, *selectors]  # the default is shared
    arguments.paths = [path for path in arguments.paths if path not in selectors]
    if not arguments.paths and not arguments.expression:
        raise UsageError(f"nothing to match: {_GIVE}")
    for path in arguments.paths:
        if not path.endswith(SUFFIXES) and path != STDIN and not os.path.lexists(top_of(path)):
            advice = f"`draguard why {shlex.quote(path)}` explains what pods and claims of a cluster get"
            raise UsageError(f"{path}: no such file: {_GIVE}; {advice}")
    if complaint := piped_twice({"the manifests": arguments.paths, "the cluster": arguments.cluster}):
        raise UsageError(complaint)


def _published_twice(slices: Iterable[JSONObject], context: Context) -> Iterable[str]:
    """Note the names that devices publish twice, so that selectors may see either value."""
    found: dict[str | int, str] = {}
    for each in slices:
        for problem in every_rule()["attribute-published-twice"].check(each, context):
            about = f"note: ResourceSlice {name_of(each)}: {problem}; match takes the last"
            found.setdefault(problem.path[-1], about)
    return found.values()


def refused(expression: str, fleet: Fleet) -> Iterator[Finding]:
    """Yield what the API server finds wrong with a selector, with a hint."""
    compiled = compile_selector(expression, fleet.release, fleet.gates, stored=True)
    if isinstance(compiled, Refusal):
        problem = invalid(Path(), expression, compiled.text)._replace(rule="cel-selector", issues=compiled.issues)
        hint = hint_of(problem, expression).hint
        yield located_in_option(problem._replace(hint=hint), expression, "-e")


def _match(arguments: Namespace, query: Sequence[Question], fleet: Fleet) -> int:
    if not query and not arguments.allow_empty:
        raise UsageError("nothing to match: the manifests have no requests in claims or templates, and no classes")
    results = []
    try:
        with limited(Budget(_WORK)) as budget:
            for each in query:
                found = _rows(each, fleet)
                if budget.left < 0:  # the devices then have errors of their own
                    raise BudgetExceededError  # noqa: TRY301 - handled as where the budget is spent
                results.append((each, found))
    except BudgetExceededError:
        left = [title(each.about) for each in query[len(results) :]]
        complaint = f"not matched: {listed(left)}: the selectors take more work than draguard allows"
        tell(f"{complaint}; match fewer of them, or fewer devices, at a time")
    judged_by = f"1.{fleet.release}"
    every = [{"kubernetes": judged_by, **as_json(each, found)} for each, found in results]
    told = [] if arguments.quiet else [f"matched as Kubernetes {judged_by}"]
    show_result(chain(results_as_text(results, fleet), told), every, arguments)
    # Only a query that draguard itself failed on has a row without devices.
    if any(not row.devices for _, found in results for row in found):
        return OWN_FAILURE
    return 0 if len(results) == len(query) and all(is_fine(found) for _, found in results) else 1


def _rows(query: Question, fleet: Fleet) -> list[DeviceGroup]:
    """Match the devices; an unexpected error is the result of this query only."""
    try:
        found = rows(fleet, query.query)
    except GRAVE:
        raise
    except Exception as error:  # noqa: BLE001 - the others still get their results
        return [DeviceGroup(ERROR, own_failure(error), "", "", (), 0)]
    return [row._replace(outcome=FALSE, reason=query.absent) for row in found] if query.absent else found


def _objects(
    documents: Iterable[Piece],
    refusals: Refusals,
    keep: Callable[[JSONObject], JSONObject],
    inventory: Inventory,
    report: Report,
) -> list[tuple[str, JSONObject]]:
    found = []

    def take(document: Document) -> None:
        known = inventory.take(keep(document.data)) if isinstance(document.data, dict) else None
        if known is not None:
            found.append((document.source, known))

    # Errors of pods do not keep claims from being matched.
    others = (each for each in documents if isinstance(each, Unreadable) or pod_template(each.data) is None)
    take_each(others, refusals, take, report)
    return found


def _requests(given: Sequence[tuple[str, JSONObject]], inventory: Inventory) -> Iterator[Question]:
    for source, obj in given:
        about = {"file": source, "kind": text(obj, "kind"), "namespace": namespace_of(obj), "name": name_of(obj)}
        if about["kind"] == "DeviceClass":
            own = items(obj, "spec", "selectors")
            yield Question({**about, "namespace": "", "request": "", "deviceClass": ""}, Query((), own))
        elif about["kind"] in CLAIMS:
            for request in requests_of(obj, inventory):
                name = request.class_name
                about = {**about, "request": request.name, "deviceClass": name}
                if request.device_class is None:
                    known = [each for _, each in inventory.names("DeviceClass")]
                    absent = f'DeviceClass "{name}" not found: {instead(name, known, "device classes")}'
                    tell(f"{source}: request {request.name}: {absent}")
                    yield Question(about, Query((), ()), absent)
                else:
                    yield Question(about, Query(request.of_class, request.own, request.capacity))
