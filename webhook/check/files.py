"""Judges files, charts and kustomizations: those of `draguard validate` and of :func:`webhook.check_files`."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import BinaryIO, Final, NamedTuple

from webhook.api.templates import is_about_devices, may_concern
from webhook.api.versions import DEFAULT, NEWEST, Served, find, release_of, served
from webhook.check.cluster import read_cluster, served_by
from webhook.check.judge import Judge, Judgement, Namespaces
from webhook.check.oldstate import AtRevision, Deployed, OldState
from webhook.check.progress import counting, with_progress
from webhook.check.references import References, Unlooked, requested
from webhook.check.suppressing import check_policies, exclusions, suppress, suppressions
from webhook.check.target import feature_gates, kubernetes_versions, pod_locations, runtime_config
from webhook.documents import STDIN, Document, Piece, Selection, parse
from webhook.documents.search import SUFFIXES, is_kustomization
from webhook.documents.source import MARKDOWN, Source
from webhook.documents.stream import identity_of
from webhook.findings import Finding, by_place, found, guarded, identity, too_many, unfilled, unread
from webhook.inventory import KINDS, Inventory, is_held
from webhook.later import cached_property
from webhook.limits import MOST_FINDINGS, MOST_IN_ALL
from webhook.objects import DEFINITION, is_object
from webhook.optional import install
from webhook.patterns import Pattern
from webhook.problem import Problem
from webhook.references.manifests import Known, repeated_object
from webhook.release import Release
from webhook.report import LISTING
from webhook.report.model import Judged, Report
from webhook.report.text import counted, merged
from webhook.schema.target import OLDEST
from webhook.sources import RenderOptions, SourceError, is_rendered, read
from webhook.usage import UsageError, naming

_LARGE: Final = 1 << 16
"""The least characters of a document that is parsed only if it may concern devices; smaller ones cost little."""


def _unneeded(text: str) -> tuple[str, str, str] | None:
    """Return the apiVersion, kind and name of a document into which no rule looks, so that it need not be parsed."""
    if len(text) < _LARGE and DEFINITION not in text:  # as for most documents
        return None
    if (about := identity_of(text)) is None or about[1] == DEFINITION:  # often megabytes; only policies need schemas
        return about
    api_version, kind, _ = about
    is_needed = kind.endswith("List") or find(api_version, kind) or is_held(api_version, kind)
    return None if len(text) < _LARGE or is_needed or may_concern(text) else about


class Manifests:
    """The manifests of a command, read again for each release only if they are rendered for it.

    Raises:
        UsageError: The options do not fit together.
    """

    def __init__(self, arguments: Namespace) -> None:
        name = arguments.stdin_filename
        if name and arguments.paths and STDIN not in arguments.paths:
            raise UsageError("standard input is not read: leave out the paths, or give -", "--stdin-filename")
        self.paths: list[str] = arguments.paths or [STDIN if name else "."]
        """The paths that are read."""
        self._arguments, configuration = arguments, arguments.settings.configuration
        files = (configuration and configuration.file, arguments.baseline, arguments.write_baseline)
        own = [os.path.realpath(file) for file in files if file]
        self.selection = Selection(
            allow_empty=arguments.allow_empty,
            stdin_name=name or "",
            excluded=exclusions(arguments),
            own=own,
            blocks=True,
            suffixes=(*SUFFIXES, MARKDOWN) if arguments.markdown else SUFFIXES,
            skips=None if arguments.policies else _unneeded,
        )
        self._rendered = bool(self.rendered)
        check_charts(arguments, [*self.paths, *arguments.old])
        self._waiting: list[Piece] | None = None
        self._texts: dict[str, list[str]] = {}
        self.notes: dict[str, None] = {}
        """Remarks on what was rendered."""
        self.stdin: BinaryIO | None = None
        """The stream to read instead of the process's standard input."""

    @property
    def rendered(self) -> Sequence[str]:
        """The paths that are rendered, not read."""
        return [path for path in self.paths if is_rendered(path)]

    def place(self, report: Report) -> None:
        """Locate findings of rendered objects in templates and resource files."""
        if self._texts:
            from webhook.check.places import Places  # most manifests are files

            Places(self._texts).place(report)

    def documents(self, kubernetes: str | None, *, again: bool = False) -> Iterable[Piece]:
        """Read the manifests.

        Args:
            kubernetes: The release for which charts are rendered; None for the default one.
            again: Whether they will be read for another release, too.

        Raises:
            UsageError: No renderer is available, or an option does not fit.
        """
        if self._waiting is not None:
            return self._waiting
        options = self.options(kubernetes)
        self.selection.restart()
        every = read(self.paths, self.stdin, self.selection, options)
        documents: Iterable[Piece] = with_progress(every, sys.stderr, quiet=self._arguments.quiet)
        if again and not self._rendered:
            documents = self._waiting = list(documents)
        return documents

    def options(self, kubernetes: str | None) -> RenderOptions:
        """Return how charts and kustomizations are rendered.

        Args:
            kubernetes: The release; None for the default one.
        """
        return render_options(self._arguments, kubernetes, self._arguments.namespace)._replace(
            progress=lambda: counting("seconds of rendering", sys.stderr, quiet=self._arguments.quiet),
            texts=self._texts,
            note=lambda remark: self.notes.update({remark: None}),
            concerns=self._concerns,
        )

    def _concerns(self, text: str) -> bool:
        """Tell whether the chart or kustomization of a file is rendered if it is found below a directory.

        Files are fixed, not what is rendered of them; and a revision's are rendered only if they are named.
        """
        given = self._arguments
        if given.fix or given.diff or given.unsafe_fixes or given.against:
            return False
        return bool(given.policies or given.all_pods) or is_about_devices(text)

    @property
    def kept(self) -> Sequence[Piece]:
        """The documents that were kept for another release."""
        return self._waiting or ()

    def replace(self, files: Mapping[str, str]) -> None:
        """Replace the texts of files that were read.

        Args:
            files: The texts, by the files' names.
        """
        seen: set[str] = set()
        documents: list[Piece] = []
        for each in self._waiting or ():
            if each.source not in files:
                documents.append(each)
            elif each.source not in seen:
                seen.add(each.source)
                documents += parse(files[each.source], each.source)
        self._waiting = documents


def piped_twice(inputs: Mapping[str, Sequence[str]]) -> str:
    """Return the complaint that standard input is given as two inputs; empty if it is not.

    Args:
        inputs: The paths of each input, by its name.
    """
    first, second, *_ = *(name for name, paths in inputs.items() if STDIN in paths), "", ""
    return f"standard input (-) cannot be both {first} and {second}: give one of them as files" if second else ""


def render_options(arguments: Namespace, kubernetes: str | None, namespace: str) -> RenderOptions:
    """Return how charts and kustomizations are rendered.

    Args:
        kubernetes: The release for which they are rendered; None for the default one.
        namespace: The namespace for which they are rendered.
    """
    release = release_of(kubernetes) if kubernetes else DEFAULT
    values, sets = tuple(arguments.helm_values), tuple(arguments.helm_set)
    return RenderOptions(values, sets, namespace, release, runtime_config(arguments))


def check_charts(arguments: Namespace, paths: Iterable[str]) -> None:
    """Check that there is a chart if there are values for charts.

    Raises:
        UsageError: No path is the directory of a chart.
    """
    if (arguments.helm_values or arguments.helm_set) and not any(map(is_rendered, paths)):
        raise UsageError("--helm-values and --helm-set: no path is the directory of a Helm chart")


_VERSION: Final = "apiVersion"
_KIND: Final = "kind"
_KIND_NAME: Final = Pattern("[A-Za-z][A-Za-z0-9-]*")
"""A kind is a label of DNS, if it is written in lower case (``validateCustomResourceDefinitionNames``)."""


@lru_cache(maxsize=1)
def _has_objects(source: Source) -> bool:
    """Tell whether a file has objects; documents that no rule applies to come in a row."""
    every = parse(source.text, source.name)
    return any(isinstance(each, Document) and is_object(each.data) for each in every)


def _untyped(document: Document, release: str | None, *, all_pods: bool) -> Sequence[Finding]:
    """Return the errors of a document that kubectl refuses, as its version or kind is missing or no string.

    The items of lists are meant as objects, and so are documents beside objects in the same file, and those
    that misspell what they lack. All others may be values of a chart, or configuration of other programs.

    Args:
        release: The Kubernetes release; None for the default one.
        all_pods: Whether pods and workloads without claims are judged, too.
    """
    from webhook.api.unserved import no_object  # most documents are objects

    judged_as = release_of(release) if release else DEFAULT
    problems = no_object(document.data, judged_as)
    kind = document.data.get(_KIND) if isinstance(document.data, dict) else None
    if not problems or (isinstance(kind, str) and kind and not _KIND_NAME.fullmatch(kind)):
        return []
    is_judged = all_pods and isinstance(kind, str) and bool(served(kind, judged_as))
    is_meant = document.within or is_judged or all(map(_is_misspelt, problems))
    has_neither = len(problems) == len((_VERSION, _KIND))
    if not is_meant and has_neither and document.source.endswith(MARKDOWN):  # whose blocks may be anything
        return []
    if not is_meant and not (document.file.mentions(_VERSION) and _has_objects(document.file)):
        return []
    return [found(each, document, release or f"1.{DEFAULT}") for each in problems]


def _is_misspelt(problem: Problem) -> bool:
    """Tell whether a missing field has another spelling; a ``version`` may be that of another program."""
    written = str(problem.path[-1]) if problem.path else ""
    return problem.fix is not None and (written.lower() == _VERSION.lower() or str(problem.field) == _KIND)


class _Waiting(NamedTuple):
    """A document that is judged once all others have been read.

    Args:
        at: The place of its findings.
        served: Its kind; None if it is unknown.
        repeated: The findings that its file has the object twice.
        passes: Whether it is a pod without claims, which device classes may give devices.
    """

    at: int
    document: Document
    served: Served | None = None
    repeated: Sequence[Finding] = ()
    passes: bool = False


_KUSTOMIZATION: Final = ("kustomize.config.k8s.io/v1beta1", "Kustomization")
"""The version and kind of a kustomization that states none (api/types ``FixKustomizationPostUnmarshalling``)."""


class _Validation:
    """Judges documents in their order, and their references, once all are read: what judges one may follow it.

    Args:
        old: The earlier state of objects; None if none is known.
        cluster: The objects of the cluster; the manifests are added.
        arguments: The command's arguments.
        stated: The Kubernetes release; None if that follows from the documents of a file.
        report: Receives the findings when all documents are judged.
        unlooked: Receives the references that were not looked up.
    """

    def __init__(
        self,
        old: OldState | None,
        cluster: Inventory,
        arguments: Namespace,
        *,
        stated: str | None,
        report: Report,
        unlooked: Unlooked,
    ) -> None:
        gates, locations = feature_gates(arguments, stated), pod_locations(arguments)
        namespaces = Namespaces(arguments.namespace_labels, arguments.namespace)
        for each in cluster.all("Namespace"):  # those among the manifests come later, and take precedence
            namespaces.note(each)
        sender = None
        if arguments.policies:
            from webhook.check import policies  # few have policies

            loaded = policies.load_policies(arguments, stated, namespaces=namespaces.stated)
            check_policies(arguments, [each.name for each in loaded.set.policies])
            report.findings += loaded.findings
            for given in loaded.given:
                namespaces.note(given.object)
            sender = policies.sender(loaded, arguments)
        self._references = References(cluster, gates, arguments, locations, unlooked)
        self._judge = Judge(old, arguments, sender, gates, namespaces=namespaces, pod_locations=locations)
        for each in cluster.definitions:
            self._judge.note(each)
        self._stated, self._report = stated, report
        self._places = list[Sequence[Finding]]()
        """The findings of each document; those beyond the limits are left out."""
        self._of_file, self._count, self._full = Counter[str](), 0, set[str]()
        self._waiting = list[_Waiting]()
        self._namespace, self._all_pods = arguments.namespace, arguments.all_pods
        self._file, self._objects = "", Known()
        """A file, and its objects so far."""
        self._kustomizations = 0
        self._removed = Counter[tuple[str, int]]()
        self._is_listed = any(each.format in LISTING for each in arguments.output)
        """Whether a report lists every judged object."""

    def judge(self, documents: Iterable[Piece], note: Callable[[Document], None] = lambda _document: None) -> None:
        """Judge documents.

        Args:
            note: Receives each document first.
        """
        for document in documents:
            if isinstance(document, Document):
                note(document)
            self._read(document)
        self._finish()
        self._report.remarks += old.remarks() if isinstance(old := self._judge.old, Deployed) else ()
        self._references.report(self._report)

    def _read(self, document: Piece) -> None:
        """Read a document; one that needs no other is judged at once."""
        at = len(self._places)
        self._places.append(())
        if isinstance(document, Document):
            self._report.files[document.source] = None
            self._report.documents += 1
            self._carefully(self._take, _Waiting(at, document))
            return
        self._references.note_cut()
        if document.line:
            self._report.files[document.source] = None
        self._put(at, document.source, [(unfilled if document.is_template else unread)(document)])

    def _take(self, waiting: _Waiting) -> None:
        judge, document, data = self._judge, waiting.document, waiting.document.data
        judge.note(data)
        served = judge.kind_of(data)
        if served and not self._stated and served.until < DEFAULT:
            self._removed[f"{data['kind']} of {data['apiVersion']}", served.until] += 1
        passes = judge.passes(document)
        self._report.without_claims += passes
        if any(requested(data)) if passes else served or judge.asks_policies:
            repeated = self._repeated(document, served)
            self._waiting.append(waiting._replace(served=served, repeated=repeated, passes=passes))
        elif not passes:
            self._judged(waiting)

    def _finish(self) -> None:
        """Judge the documents that were read, and report all findings."""
        self._judge.know_noted()
        for waiting in sorted(self._waiting, key=lambda each: each.passes):  # once all device classes are known
            self._carefully(self._in_turn, waiting)
        self._report.findings += chain.from_iterable(self._places)
        if self._kustomizations:
            what = counted(self._kustomizations, "kustomization")
            self._report.asides.append(f"note: not rendered: {what} (name a kustomization's directory to render it)")
        if policies := sum(
            count
            for (version, kind), count in self._report.skipped.items()
            if version.startswith("admissionregistration.k8s.io/") and kind.endswith("AdmissionPolicy")
        ):
            are = "1 policy is" if policies == 1 else f"{policies} policies are"
            self._report.asides.append(f"note: {are} not judged here: `draguard policy check` judges policies")
        self._report.asides += (
            f"note: judged as Kubernetes 1.{until}, the newest that serves it: {kind} ({counted(count, 'object')}); "
            "later releases refuse it"
            for (kind, until), count in self._removed.items()
        )

    def _carefully(self, work: Callable[[_Waiting], None], waiting: _Waiting) -> None:
        """Work on a document; report an unexpected error, so that the report does not lose the others."""
        failures = list[Finding]()
        with guarded(waiting.document, failures):
            work(waiting)
        if failures:
            self._references.note_cut()
            self._note(waiting.document)
            self._put(waiting.at, waiting.document.source, failures)

    def _in_turn(self, waiting: _Waiting) -> None:
        """Judge an object, unless its file has too many findings, or it is a pod that gets no devices."""
        document = waiting.document
        if document.source in self._full:
            self._references.note(document, "", Judgement(None, accepted=False))
        elif waiting.passes and not self._references.gives_devices_to(document, self._release(waiting)):
            self._references.note_without_claims(document, self._stated or f"1.{DEFAULT}")
        else:
            self._report.without_claims -= waiting.passes
            self._judged(waiting)

    def _judged(self, waiting: _Waiting) -> None:
        document, served = waiting.document, waiting.served
        release = self._release(waiting)
        judgement = self._judge.of(document, served, release if served else self._stated)
        if judgement.accepted is None:
            is_misspelt = any(each.problem.rule == "not-served" for each in judgement.findings or ())
            self._references.note_cut(document if is_misspelt else None)
        else:
            self._references.note(document, release, judgement)
        if (findings := judgement.findings) is None:
            findings = self._skip(document)
        else:
            self._note(document)
        if waiting.repeated:
            findings = by_place((*waiting.repeated, *findings), ())
        self._put(waiting.at, document.source, findings)

    def _release(self, waiting: _Waiting) -> str:
        """Return the release that an object is judged by, once all others are known."""
        if self._stated or waiting.served is None:
            return self._stated or f"1.{DEFAULT}"
        release = waiting.served.default
        if _is_always(waiting.served):
            file = waiting.document.source
            windows = filter(None, map(self._releases.get, (file, _directory_of(file))))
            release = next((newest for oldest, newest in windows if oldest <= newest), release)
        return f"1.{release}"

    @cached_property
    def _releases(self) -> Mapping[str, tuple[Release, Release]]:
        """The oldest and the newest release that serve all objects of a file, and of a directory."""
        found: dict[str, tuple[Release, Release]] = {}
        for each in self._waiting:
            if (served := each.served) and not each.passes and not _is_always(served):
                for place in (each.document.source, _directory_of(each.document.source)):
                    oldest, newest = found.get(place, (OLDEST, NEWEST))
                    found[place] = max(oldest, served.since), min(newest, served.default)
        return found

    def _repeated(self, document: Document, served: Served | None) -> Sequence[Finding]:
        if served is None or document.source.endswith(MARKDOWN):
            return ()
        if document.source != self._file:
            self._file, self._objects = document.source, {}
        repeated = repeated_object(document, self._objects, self._namespace if served.type.namespaced else None)
        return [found(each, document) for each in repeated]

    def _put(self, at: int, file: str, findings: Sequence[Finding]) -> None:
        """Put the findings of a document in its place, unless its file has reached a limit."""
        if file in self._full:
            return
        room = min(MOST_FINDINGS - self._of_file[file], MOST_IN_ALL - self._count)
        kept = min(room, len(findings))
        self._of_file[file] += kept
        self._count += kept
        if kept < len(findings):
            self._full.add(file)
            findings = [*findings[:room], too_many(file)]
        self._places[at] = findings

    def _note(self, document: Document) -> None:
        """Record a judged document for the earlier state, and for reports that list all objects."""
        if isinstance(self._judge.old, Deployed):
            self._judge.old.note(document)
        if self._is_listed:
            self._report.judged.append(Judged(document.source, document.index + 1, identity(document.data)))

    def _skip(self, document: Document) -> Sequence[Finding]:
        """Count a skipped document, or return the errors of one that is meant as an object."""
        about = identity(document.data)
        kind = about.api_version, about.kind
        if about.kind in {"", _KUSTOMIZATION[1]} and is_kustomization(document.source):
            kind = _KUSTOMIZATION
            directory = os.path.realpath(os.path.dirname(document.source))
            self._kustomizations += directory not in self._report.selection.unrenderable
        elif not (about.kind and about.api_version) and (
            findings := _untyped(document, self._stated, all_pods=self._all_pods)
        ):
            return findings
        self._report.skipped[kind] += 1
        return ()


def _directory_of(file: str) -> str:
    return f"{os.path.dirname(file)}/"


def _is_always(served: Served) -> bool:
    """Tell whether all releases serve a kind."""
    return served.since <= OLDEST and served.until >= NEWEST


def judged(
    arguments: Namespace, manifests: Manifests | None = None, tell: Callable[[str], None] | None = None
) -> Report:
    """Judge the named manifests, and return findings and counts.

    Args:
        manifests: The manifests; None for those that the arguments name.
        tell: Receives lines about files that were not read beside the manifests.

    Raises:
        UsageError: Options do not fit together, or do not fit the manifests.
    """
    install("documents")
    manifests, versions = manifests or Manifests(arguments), kubernetes_versions(arguments)
    _check_together(arguments, manifests.paths, versions)
    suppressed = suppressions(arguments, manifests.paths)
    first = Report()
    with_policies = bool(arguments.policies)  # they may read any field
    cluster = Inventory()
    if arguments.cluster:
        kinds = (*KINDS, DEFINITION) if with_policies else (*KINDS,)  # definitions are large
        cluster = read_cluster(
            arguments.cluster, first, kinds, quiet=arguments.quiet, is_whole=with_policies, tell=tell
        )
        served = served_by(cluster)  # what is stated has precedence
        arguments.runtime_config = [*served, *(each for each in arguments.runtime_config if each not in served)]
        if versions == [None] and (nodes := cluster.all("Node")):
            from webhook.simulation.cluster import newest_kubelet  # few clusters are given

            minor, _ = newest_kubelet(nodes)
            if minor != DEFAULT and OLDEST <= minor <= NEWEST:
                message = f"note: judged as Kubernetes 1.{DEFAULT}, but the nodes of the cluster run 1.{minor}"
                first.remarks.append(f"{message}: --kubernetes-version 1.{minor} judges as that cluster does")
    old = _old_state(arguments, manifests, versions[0], first, tell)
    states: list[list[Piece]] = []
    unlooked = Unlooked()
    reports: list[Report] = []
    for stated in versions:
        # Manifests are added to the objects of the cluster.
        known = cluster.copy() if versions[1:] or arguments.new_only else cluster
        reports.append(Report() if reports else first)
        reports[-1].selection = manifests.selection
        if isinstance(old, AtRevision):
            old.render(manifests.options(stated), reports[-1])
        again = len(versions) > 1 or arguments.fix or arguments.diff
        documents: Iterable[Piece] = manifests.documents(stated, again=again)
        if arguments.new_only and isinstance(old, AtRevision):
            documents = list(documents)
            states.append(old.before(documents))
        validation = _Validation(old, known, arguments, stated=stated, report=reports[-1], unlooked=unlooked)
        validation.judge(documents, suppressed.note)
    report = merged(reports, versions) if versions[1:] else first
    if isinstance(old, AtRevision) and arguments.new_only:
        configuration = arguments.settings.configuration
        suppressed.leave_out(
            _found_before(arguments, versions, states, cluster),
            (each for documents in states for each in documents),
            f"found at {arguments.against}, too",
            has_settings=bool(configuration) and old.has(configuration.file),
        )
    report.paths, report.selection, report.lists_files = manifests.paths, manifests.selection, arguments.show_files
    report.remarks += [*unlooked.lines(), *manifests.notes]
    report.asides += unlooked.asides()
    suppress(report, suppressed, arguments)
    manifests.place(report)
    if arguments.policies:
        from webhook.check.policies import each_once  # needed only with policies

        report.findings = each_once(report.findings)
    report.releases = [f"1.{release_of(each) if each else DEFAULT}" for each in versions]
    return report


def _found_before(
    arguments: Namespace, versions: Sequence[str | None], states: Iterable[Sequence[Piece]], cluster: Inventory
) -> list[Finding]:
    """Judge the documents of an earlier revision, without problems of policies, which are not compared."""
    reports = [Report() for _ in versions]
    for state, stated, report in zip(states, versions, reports, strict=True):
        _Validation(None, cluster.copy(), arguments, stated=stated, report=report, unlooked=Unlooked()).judge(state)
    report = merged(reports, versions) if versions[1:] else reports[0]
    return [each for each in report.findings if each.file in report.files]


def _old_state(
    arguments: Namespace, manifests: Manifests, stated: str | None, report: Report, tell: Callable[[str], None] | None
) -> OldState | None:
    """Read the earlier state of objects; None if none is given.

    Args:
        stated: The release for which earlier charts are rendered; None for the default one.
        report: Receives problems of the earlier state.
        tell: Receives a line about files that were not read.

    Raises:
        UsageError: The revision is unknown to git, or an earlier chart cannot be rendered.
    """
    if not (arguments.old or arguments.against):
        return None
    if arguments.old:
        options = manifests.options(stated)
        with naming("--old", SourceError):
            return Deployed(arguments.old, report, options.for_earlier(options.values), tell)
    from webhook.suppression.revision import Revision, RevisionError  # needed only to compare

    paths = manifests.paths
    with naming("--against", RevisionError):
        revision = Revision(arguments.against, next((each for each in paths if each != STDIN), "."))
        return AtRevision(revision, paths, arguments.stdin_filename or "")


def _check_together(arguments: Namespace, paths: Sequence[str], versions: Sequence[str | None]) -> None:
    """Refuse options that do not go together."""
    message = ""
    inputs = {"the manifests": paths, "their --old state": arguments.old, "the objects of --cluster": arguments.cluster}
    if arguments.subresource and not (arguments.old or arguments.against):
        message = f"--subresource {arguments.subresource} judges updates: give the earlier state with --old"
    elif arguments.old and arguments.against:
        message = "--old and --against are two earlier states: give one of them"
    elif arguments.new_only and not arguments.against:
        message = "--new-only leaves out what an earlier state has: give its revision with --against"
    elif complaint := piped_twice(inputs):
        message = complaint
    elif versions[1:] and STDIN in arguments.policies:
        message = "--policies: standard input (-) is read once, and policies for each release: give them as files"
    if message:
        raise UsageError(message)
