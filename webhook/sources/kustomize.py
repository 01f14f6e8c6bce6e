"""Interprets the errors of kustomize and kubectl about a kustomization that they cannot build."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from typing import Final

from webhook.documents import Document, Unreadable, parse
from webhook.documents.limits import MAX_BYTES
from webhook.regular import read_up_to
from webhook.spelling import nearest

_LOGGED: Final = re.compile(r'\A[EF]\d{4} \S+\s+\d+ \S+\] "command failed" err=(.*)\Z', re.DOTALL)
"""The form of kubectl's errors from 1.31 on: a log line (klog) with the text in quotes, or several between < and >."""
_SAYS: Final = re.compile(r"\A(?:Error|error): ")
_UNKNOWN: Final = re.compile(r'unknown field "(\w+)"')
_MISSING: Final = re.compile(
    r"(?:.*recursed accumulation of path '([^']+)')?.*?accumulating resources from '([^']+)'.*no such file or directory"
)
"""The missing file, and the base that names it if the kustomization itself does not."""
_MALFORMED: Final = re.compile(r"MalformedYAMLError: .* in File: (\S+)\Z")
_HINTS: Final = {
    "must specify --enable-helm": "charts are not rendered in a kustomization: give the chart's directory",
    "expected kind != 'Component'": "it is a Component: list it in components, not in resources",
    "expected kind 'Component'": "it is a kustomization: list it in resources, not in components; "
    "or write kind: Component (kustomize.config.k8s.io/v1alpha1) in it",
}
"""Hints, by kustomize's message."""
_FIELDS: Final = (
    *("resources", "components", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels"),
    *("commonAnnotations", "images", "replicas", "replacements", "patches", "patchesStrategicMerge"),
    *("patchesJson6902", "configMapGenerator", "secretGenerator", "generatorOptions", "generators", "transformers"),
    *("validators", "configurations", "crds", "openapi", "vars", "buildMetadata", "helmCharts", "helmGlobals"),
)
"""The fields of a kustomization (api/types ``Kustomization``)."""


def error_of(text: str) -> str:
    """Return the message of kustomize or kubectl on one line, without log prefixes."""
    if match := _LOGGED.match(text):
        text = match[1].strip()
        if text.startswith('"'):
            try:
                text = json.loads(text)
            except ValueError:  # Go's quotes have some escapes of their own
                text = text[1:-1]
        elif text.startswith("<"):
            text = text[1:].removesuffix(">")
    return " ".join(_SAYS.sub("", text.strip()).split())


def failed(file: str, text: str) -> Iterator[Document | Unreadable]:
    """Report why a kustomization cannot be built, in the file at fault if known."""
    message = error_of(text)
    if match := _MALFORMED.search(message):
        unreadable = list(_unreadable(file.rpartition("/")[0], match[1]))
        if unreadable:
            yield from unreadable
            return
    yield Unreadable(file, 1, 1, f"cannot be rendered: {message}", _hint(message))


def _hint(message: str) -> str:
    if match := _UNKNOWN.search(message):
        meant = nearest(match[1], _FIELDS)
        return f'did you mean "{meant}"?' if meant else ""
    if match := _MISSING.search(message):
        where = f"in {match[1]}" if match[1] else "beside the kustomization"
        return f"{match[2]} does not exist {where}: correct its resources"
    return next((hint for text, hint in _HINTS.items() if text in message), "")


def _unreadable(directory: str, name: str) -> Iterator[Unreadable]:
    """Read a file that kustomize cannot read, to find the place of the error and a hint."""
    path = f"{directory}/{name}"
    if not os.path.realpath(path).startswith(
        f"{os.path.realpath(directory)}/"
    ):  # the message quotes what strangers wrote
        return
    try:
        data = read_up_to(path, MAX_BYTES)
    except OSError:
        return
    for document in parse(data, os.path.normpath(path)):
        if isinstance(document, Unreadable):
            yield document
