"""``draguard mutate``: rewrites pods that bypass the scheduler."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.api.judgement import judge
from webhook.api.templates import pod_template
from webhook.api.versions import DEFAULT, release_of
from webhook.check.judge import Namespaces
from webhook.check.target import kubernetes
from webhook.cli.console import (
    check_changeable,
    print_error,
    print_findings,
    put_out,
    read_sources,
    some_paths,
)
from webhook.documents import Document
from webhook.edit.rewrite import with_objects
from webhook.engine import prescheduled
from webhook.findings import Finding, code_of, found, guarded, identity, readable
from webhook.problem import BAD_REQUEST, ERROR, WARNING, Path, Problem
from webhook.report.diff import outcome
from webhook.report.text import as_json, as_text, counted
from webhook.schema.decoding import UNKNOWN_FIELD
from webhook.sources import is_rendered
from webhook.usage import UsageError

if TYPE_CHECKING:
    from webhook.engine.offline import Sender


def run(arguments: Namespace) -> int:
    """Print or write the manifests, their patches or their differences; objects with errors stay as they are."""
    paths = some_paths(arguments)
    _check_writable(arguments, paths)
    options = prescheduled.RewriteOptions(arguments.select_node_by, arguments.pods)
    stated = kubernetes(arguments)
    sender = None
    if arguments.policies:
        from webhook.check import policies  # few have policies

        sender = policies.sender(policies.sound_policies(arguments, stated, print_error), arguments)
    faults = list[Finding]()
    documents = [*readable(read_sources(arguments, paths, stated, arguments.namespace), faults)]
    if sender:
        for document in documents:
            sender.note(document.data)
        namespaces = Namespaces()
        for document in documents:
            namespaces.note(document.data)
        sender.know(namespaces.found)
    pairs = list[tuple[Document, _Changed]]()
    for document in documents:
        change, wrong = _Changed(document.data), list[Finding]()
        with guarded(document, wrong):
            if sender:
                change = _mutated(document, sender, options, wrong)
            else:
                change = _rewritten(document, stated, options, wrong)
        pairs.append((document, _Changed(document.data) if wrong else change))
        faults += wrong
    print_findings(faults)
    would = "would be " if arguments.diff else ""
    for line in as_text(each for pair in pairs for each in (*pair[1].warnings, *_replaced(*pair, would))):
        if line:
            print(line, file=sys.stderr)
    _put_out(pairs, faults, arguments, f"1.{release_of(stated) if stated else DEFAULT}")
    return code_of(faults)


def _put_out(
    pairs: Sequence[tuple[Document, _Changed]], faults: Sequence[Finding], arguments: Namespace, judged_by: str
) -> None:
    if arguments.patch:
        patched = ((document, change.patch) for document, change in pairs if change.patch)
        sys.stdout.writelines(_described(*each, judged_by) for each in patched)
        return
    files = []
    for _, group in groupby(pairs, key=lambda pair: id(pair[0].file)):
        (first, *others), changes = zip(*group, strict=True)
        after = with_objects([first, *others], [change.object for change in changes])
        files.append((first.source, first.file.text, after))
    put_out(files, arguments)
    if arguments.write:
        objects, changed = sum(bool(change.patch) for _, change in pairs), sum(each[1] != each[2] for each in files)
        what = f"{counted(objects, 'object')} in {counted(changed, 'file')} changed" if changed else ""
        said = outcome(what, "nothing to change", [name for name, _, _ in files], faults)
        print(f"{said} (Kubernetes {judged_by})", file=sys.stderr)


def _check_writable(arguments: Namespace, paths: Iterable[str]) -> None:
    """Refuse to change what is not a file."""
    option = "--write" if arguments.write else "--diff"
    if (arguments.write or arguments.diff) and (rendered := next(filter(is_rendered, paths), "")):
        raise UsageError(
            f"{option} is unsupported for charts and kustomizations, such as {rendered}: leave out {option}"
        )
    check_changeable(arguments, paths)


class _Changed(NamedTuple):
    """A changed document: its object, the JSON Patch that leads to it, its warnings, and those about nodes."""

    object: Any
    patch: Sequence[Mapping[str, object]] = ()
    warnings: Sequence[Finding] = ()
    replaced: Sequence[str] = ()


def _undecodable(problems: Iterable[Problem], document: Document) -> list[Finding]:
    """Locate why the API server cannot decode an object; unknown fields may be those of a later release."""
    return [found(each, document) for each in problems if each.rule != UNKNOWN_FIELD]


def _rewritten(
    document: Document, stated: str | None, options: prescheduled.RewriteOptions, faults: list[Finding]
) -> _Changed:
    """Rewrite a pre-scheduled pod; objects without pods need not be decodable."""
    problems = () if pod_template(document.data) is None else judge(document.data, kubernetes=stated)
    faults += _undecodable((each for each in problems if each.reason == BAD_REQUEST), document)
    change = None if faults else prescheduled.rewrite_manifest(document.data, options)
    if isinstance(change, Problem):
        faults.append(found(change, document))
    if not isinstance(change, prescheduled.Rewrite):
        return _Changed(document.data)
    from webhook.patch import apply_patch  # few manifests hold such a pod

    return _Changed(apply_patch(document.data, change.patch), change.patch, replaced=change.warnings)


def _mutated(
    document: Document, sender: Sender, options: prescheduled.RewriteOptions, faults: list[Finding]
) -> _Changed:
    """Evaluate mutating policies before and after the rewrite of pre-scheduled pods."""
    from webhook.check.policies import found_by_mutating
    from webhook.patch import difference

    faults += _undecodable(sender.undecodable(document.data), document)
    if faults:
        return _Changed(document.data)
    change = sender.change(document.data, rewrite=lambda obj: prescheduled.rewrite_manifest(obj, options))
    if change is None:
        return _Changed(document.data)
    findings = found_by_mutating(change, document)
    findings += (found(each, document) for each in sender.refusals(change) if change.mutation.verdict.allowed)
    faults += (finding for finding in findings if finding.problem.level == ERROR)
    if isinstance(made := change.mutation.rewrite, Problem):
        faults.append(found(made, document))
    return _Changed(
        change.manifest,
        difference(document.data, change.manifest),
        [finding for finding in findings if finding.problem.level != ERROR],
        made.warnings if isinstance(made, prescheduled.Rewrite) else (),
    )


def _described(document: Document, patch: Sequence[Mapping[str, object]], judged_by: str) -> str:
    about = identity(document.data)
    described = {
        "kubernetes": judged_by,
        "file": document.source,
        "document": document.index + 1,
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "patch": patch,
    }
    return as_json(described) + "\n"


def _replaced(document: Document, change: _Changed, would: str) -> Iterator[Finding]:
    """Report what a node's name is replaced by, and what that means, in one finding without the line.

    Args:
        would: The word before "replaced"; empty unless the change is only shown.
    """
    if change.replaced:
        path = Path((*(pod_template(document.data) or ()), "spec", "nodeName"))
        text = would + "; ".join(each.removeprefix(f"{path}: ") for each in change.replaced)
        yield found(Problem(WARNING, "prescheduled", "Replaced", path, text), document)._replace(text="")
