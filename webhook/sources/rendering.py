"""Renders charts and kustomizations into documents that name their templates."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from shutil import copytree, which
from tempfile import TemporaryDirectory
from typing import Final

from webhook.documents import Piece, Selection, Unreadable, parse
from webhook.documents.document import SOURCE
from webhook.documents.search import bare, documents_in, listed, read_if_there
from webhook.documents.source import MAX_BYTES
from webhook.problem import value_at
from webhook.regular import open_regular
from webhook.sources.bases import outside
from webhook.sources.options import NoRendererError, RenderOptions, SourceError, is_chart, kustomization_of
from webhook.sources.running import ProgramError, run
from webhook.spelling import did_you_mean

_RELEASE: Final = "release-name"
"""The release's name, as in ``helm template``."""
_LIBRARY: Final = "webhook.sources.helmlibrary"
_TEMPLATE: Final = re.compile(rf"^---\n{SOURCE}\n", re.MULTILINE)
_PLACE: Final = re.compile(r"(?<![\w./-])([\w.-]+/[\w./-]*templates/[\w./-]+):(\d+)(?::(\d+))?")
"""The place of an error in a template, as Helm writes it."""
_SAYS: Final = re.compile(r"\A(?:Error|error): ")
_INSTALL_HELM: Final = (
    "install Helm (https://helm.sh/docs/intro/install), or its library: in a clone of draguard, pip install '.[helm]'"
)
_OF_VALUES: Final = re.compile(
    r"execution error at|nil pointer|values don't meet|error calling (?:required|fail)\b|kubeVersion"
)
"""Messages of Helm for which other values, or another release, may help."""
_CHART_HINT: Final = "--namespace, --helm-values and --helm-set say what it is rendered with"
_INSTALL_KUSTOMIZE: Final = "install kubectl (https://kubernetes.io/docs/tasks/tools) or kustomize, or name the files"


def render(path: str, options: RenderOptions, selection: Selection | None = None) -> Iterator[Piece]:
    """Prepare a chart or a kustomization for rendering, which starts when the result is read.

    Args:
        options: How charts are rendered.
        selection: Tells whether the result may be empty.

    Raises:
        SourceError: There is no program to render with, or the options do not fit.
    """
    if is_chart(path):
        for values in options.values:
            try:
                with open(values, "rb"):  # Helm would also take a URL, and run a plugin for it
                    pass
            except OSError as error:
                raise SourceError(str(error.strerror or error).lower(), "--helm-values", values) from error
        for text in options.sets:
            if text and "=" not in text:
                raise SourceError("no value: give KEY=VALUE", "--helm-set", text)
        if which("helm") is None and find_spec("helm_python") is None:
            raise NoRendererError(path, f"a Helm chart, and Helm is not installed: {_INSTALL_HELM}")
        stream = _chart(path.rstrip("/") or "/", options)
        return _unless_empty(stream, bare(f"{path.rstrip('/')}/Chart.yaml"), selection)
    program = which("kustomize") or which("kubectl")
    if program is None:
        reason = f"a kustomization, and neither kubectl nor kustomize is installed: {_INSTALL_KUSTOMIZE}"
        raise NoRendererError(path, reason)
    verb = "build" if "kustomize" in program.rpartition("/")[2] else "kustomize"
    file = bare(kustomization_of(path))
    return _unless_empty(_kustomization(file, [program, verb, "--", path], options), file, selection)


def _unless_empty(stream: Iterator[Piece], file: str, selection: Selection | None) -> Iterator[Piece]:
    """Report an empty result: a chart that its values switch off must not pass for valid."""
    empty = selection is None or not selection.allow_empty
    for document in stream:
        empty = False
        yield document
    if empty:
        what = "values" if file.endswith("Chart.yaml") else "resources"
        yield Unreadable(file, 1, 1, "nothing is rendered", f"check the {what}; --allow-empty accepts that")


def _helm(chart: str, options: RenderOptions) -> Sequence[str]:
    """Return the command that renders a chart."""
    version = f"1.{options.release}.0"
    if helm := which("helm"):
        return [
            *(helm, "template", _RELEASE, chart, "--namespace", options.namespace),
            *("--kube-version", version),
            *(f"--api-versions={version}" for version in options.api_versions),
            *(f"--values={file}" for file in options.values),
            *(f"--set={value}" for value in options.sets),
        ]
    # A separate process, which can be ended. -P: the current directory is not trusted.
    wanted = {
        "chart": chart,
        "values": options.values,
        "sets": options.sets,
        "release": {
            "name": _RELEASE,
            "namespace": options.namespace,
            "kube_version": version,
            "api_versions": options.api_versions,
            "is_install": True,
        },
    }
    return [sys.executable, "-P", "-m", _LIBRARY, json.dumps(wanted)]


def _chart(path: str, options: RenderOptions) -> Iterator[Piece]:
    if link := _link_out(path):
        yield Unreadable(
            link, 0, 0, "a symbolic link that leads out of the chart", "put the file itself into the chart"
        )
        return
    if missing := _missing(path):
        # Helm's library renders without them, and the first include of their templates fails.
        text = f"found in Chart.yaml, but missing in charts/ directory: {', '.join(missing)}"
        yield _failed(path, bare(f"{path}/Chart.yaml"), text)
        return
    try:
        with as_served(path, options.api_versions) as chart:
            command = _helm(chart, options)
            printed = run(command, options.progress)
    except ProgramError as error:
        yield _failed(path, bare(f"{path}/Chart.yaml"), str(error))
        return
    templates = json.loads(printed) if _LIBRARY in command else _by_template(printed)
    for name, text in templates.items():
        if name.rpartition("/")[2] != "NOTES.txt":
            yield from _parsed(text, _file(path, name), options)


def _missing(chart: str) -> list[str]:
    """List the dependencies of a chart that have not been fetched into it (action ``CheckDependencies``)."""
    try:
        held = [entry.path for entry in os.scandir(f"{chart}/charts")]
    except OSError:
        held = []
    wanted = [
        value_at(each, ("name",))
        for file in ("Chart.yaml", "requirements.yaml")
        for document in documents_in(f"{chart}/{file}")
        for _, each in listed(document.data, ("dependencies",))
    ]
    names = {str(value_at(each.data, ("name",))) for path in held for each in documents_in(f"{path}/Chart.yaml")}
    packed = [path.rpartition("/")[2] for path in held if path.endswith(".tgz")]
    return [
        name
        for name in wanted
        if isinstance(name, str) and name not in names and not any(each.startswith(f"{name}-") for each in packed)
    ]


def _link_out(chart: str) -> str:
    """Find a link by which Helm would render a file from outside the chart; empty if there is none."""
    inside = f"{os.path.realpath(chart)}/"
    for directory, directories, names in os.walk(chart):
        for name in (*directories, *names):
            path = f"{directory}/{name}"
            if os.path.islink(path) and not os.path.realpath(path).startswith(inside):
                return path
    return ""


def _by_template(printed: str) -> Mapping[str, str]:
    """Group documents by template; Helm sorts them by kind."""
    found: dict[str, str] = {}
    _, *parts = _TEMPLATE.split(printed)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        found[name] = f"{found[name]}---\n{text}" if name in found else text
    return found


def _kustomization(file: str, command: Sequence[str], options: RenderOptions) -> Iterator[Piece]:
    directory = file.rpartition("/")[0]
    for base in outside(directory):
        options.note(f"note: {file} has a base outside its repository, or the directory around it: {base}")
    try:
        printed = run(command, options.progress)
    except ProgramError as error:
        message = _kustomize_error(str(error))
        malformed = _MALFORMED.search(message)
        hint = _kustomize_hint(message)
        unreadable = [*_unreadable(file.rpartition("/")[0], malformed[1])] if malformed else []
        yield from unreadable or [Unreadable(file, 1, 1, f"cannot be rendered: {message}", hint)]
        return
    yield from _parsed(printed, file, options)


def _parsed(text: str, file: str, options: RenderOptions) -> Iterator[Piece]:
    if options.texts is not None:
        options.texts.setdefault(file, []).append(text)
    return parse(text, file, rendered=True)


def _failed(path: str, file: str, text: str) -> Unreadable:
    """Report why rendering failed, in the template at fault if known."""
    message = " ".join(_SAYS.sub("", text).split())
    hint = _CHART_HINT if _OF_VALUES.search(message) else ""  # errors in the chart itself are explained by Helm
    if "missing in charts/ directory" in message:
        hint = f"fetch what it depends on: helm dependency build {path}"
    line = column = 1
    if place := _PLACE.search(message):
        file, line, column = _file(path, place[1]), int(place[2]), int(place[3] or 0) + 1
    return Unreadable(file, line, column, f"cannot be rendered: {message}", hint)


def _file(path: str, template: str) -> str:
    """Return a template's file: Helm's name begins with the chart's name rather than its directory.

    What a template writes can look like a name of Helm's, but it must not lead out of the chart.
    """
    if ".." in template.split("/"):
        template = "chart/Chart.yaml"
    return bare(f"{path}/{template.partition('/')[2]}")


_ASKS: Final = re.compile(r'(?<![$\w.])[$\w.]*\.Capabilities\.APIVersions\.Has\s+"(resource\.k8s\.io/[\w/]+)"')


@contextmanager
def as_served(chart: str, api_versions: Collection[str]) -> Iterator[str]:
    """Provide a chart whose templates see only the served versions.

    Args:
        api_versions: The served versions, and the kinds in each, as Helm spells them.

    Yields:
        The directory of the chart, or of a copy that differs where its templates check versions.
    """
    changed = dict(_changed(chart, api_versions))
    if not changed:
        yield chart
        return
    with TemporaryDirectory() as directory:
        copy = f"{directory}/chart"
        copytree(chart, copy, symlinks=True)
        for name, text in changed.items():
            os.unlink(f"{copy}/{name}")  # it may be a link to the chart itself
            with open(f"{copy}/{name}", "x", encoding="utf-8") as file:
                file.write(text)
        yield copy


def _changed(chart: str, api_versions: Collection[str]) -> Iterator[tuple[str, str]]:
    """Find the templates that would see wrong versions, by their names in the chart, with their new texts."""

    def answer(asks: re.Match[str]) -> str:
        return asks[0] if asks[1] in api_versions else "false"

    for directory, _, names in os.walk(chart):
        inside = directory[len(chart) :].strip("/")
        for name in names if "templates" in inside.split("/") else ():
            try:
                with open(f"{directory}/{name}", encoding="utf-8", opener=open_regular) as file:
                    text = file.read(MAX_BYTES)
            except (OSError, ValueError):  # Helm reports its errors
                continue
            if (rewritten := _ASKS.sub(answer, text)) != text:
                yield f"{inside}/{name}", rewritten


_LOGGED: Final = re.compile(r'\A[EF]\d{4} \S+\s+\d+ \S+\] "command failed" err=(.*)\Z', re.DOTALL)
"""The form of kubectl's errors from 1.31 on: a log line (klog) with the text in quotes, or several between < and >."""
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


def _kustomize_error(text: str) -> str:
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


def _kustomize_hint(message: str) -> str:
    if match := _UNKNOWN.search(message):
        return did_you_mean(match[1], _FIELDS, quotes='"')
    if match := _MISSING.search(message):
        where = f"in {match[1]}" if match[1] else "beside the kustomization"
        return f"{match[2]} does not exist {where}: correct its resources"
    return next((hint for text, hint in _HINTS.items() if text in message), "")


def _unreadable(directory: str, name: str) -> Iterator[Unreadable]:
    """Read a file that kustomize cannot read, to find the place of the error and a hint."""
    path = os.path.normpath(f"{directory}/{name}")
    # The message quotes what strangers wrote.
    if os.path.realpath(path).startswith(f"{os.path.realpath(directory)}/"):
        yield from (each for each in read_if_there(path) if isinstance(each, Unreadable))
