"""``draguard mutate``: manifests in which no pod bypasses the scheduler."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from webhook import prescheduled
from webhook.documents import Document, Unreadable, dump, read
from webhook.problem import WARNING, Path, Problem
from webhook.report import Finding, as_text, found, identity, unread

if TYPE_CHECKING:
    from argparse import Namespace


def run(arguments: Namespace) -> int:
    """Print the manifests or the patches, unless something is wrong with any of them."""
    options = prescheduled.Options(arguments.select_node_by, arguments.pods)
    objects: list[Any] = []
    patches: list[str] = []
    warnings: list[Finding] = []
    faults: list[Finding] = []
    for document in read(arguments.paths):
        if isinstance(document, Unreadable):
            faults.append(unread(document))
            continue
        change = prescheduled.mutate(document.data, options)
        if isinstance(change, Problem):
            faults.append(found(change, document))
        elif change is None:
            objects.append(document.data)
        else:
            objects.append(_changed(document.data, change.patch))
            patches.append(_described(document, change.patch))
            warnings += _warnings(document, change.warnings)
    for line in as_text(faults):
        print(line, file=sys.stderr)
    if faults:
        return 2 if any(fault.line == 0 for fault in faults) else 1
    for line in as_text(warnings):
        if line:
            print(line, file=sys.stderr)
    sys.stdout.write("".join(patches) if arguments.patch else dump(objects))
    return 0


def _changed(obj: Any, patch: list[dict[str, object]]) -> Any:
    import jsonpatch  # noqa: PLC0415 - few manifests hold such a pod

    return jsonpatch.apply_patch(obj, json.dumps(patch))


def _described(document: Document, patch: list[dict[str, object]]) -> str:
    about = identity(document.data)
    described = {
        "file": document.source,
        "document": document.index + 1,
        "apiVersion": about.api_version,
        "kind": about.kind,
        "namespace": about.namespace,
        "name": about.name,
        "patch": patch,
    }
    return json.dumps(described) + "\n"


def _warnings(document: Document, texts: tuple[str, ...]) -> list[Finding]:
    """Say what was changed where, without showing the line again and again."""
    template = prescheduled.pod_template(document.data) or ()
    path = Path((*template, "spec", "nodeName"))
    problems = [Problem(WARNING, "prescheduled", "Replaced", path, text.removeprefix(f"{path}: ")) for text in texts]
    return [found(problem, document)._replace(text="") for problem in problems]
