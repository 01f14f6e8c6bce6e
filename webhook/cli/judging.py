"""Judges manifests, each as an API server with the given policies would, in their order and with what they follow."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.api.claimed import is_pod_without_claims
from webhook.api.versions import NEWEST, Served, find
from webhook.cli.driverprofiles import read_profiles
from webhook.cli.locations import pod_locations
from webhook.cli.namespaces import ADMIN_HINT, ADMIN_RULES, POLICY_HINT, Namespaces
from webhook.cli.release import feature_gates
from webhook.cli.suppressing import check_policies
from webhook.cli.surroundings import References
from webhook.documents import Document, Unreadable
from webhook.engine.manifests import review
from webhook.findings import Finding, found, identity, unread
from webhook.problem import ERROR, WARNING, Problem
from webhook.report.model import Judged, Report
from webhook.schema import OLDEST
from webhook.schema.decoding import ONCE_DECODED

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable, Mapping, Sequence

    from webhook.cli.oldstate import OldState
    from webhook.engine.manifests import Outcome
    from webhook.engine.offline import Sender
    from webhook.inventory import Inventory
    from webhook.workloads import Locations


def _sender(arguments: Namespace, stated: str | None, namespaces: Namespaces, report: Report) -> Sender | None:
    """Load the policies, if there are any, and the Namespaces beside them; report what is wrong with them."""
    if not arguments.policies:
        return None
    from webhook.cli.policyoptions import load_policies, sender  # noqa: PLC0415 - only who has policies pays for them

    policies = load_policies(arguments, stated, namespaces=namespaces.stated)
    check_policies(arguments, [each.name for each in policies.set.policies])
    report.findings += policies.findings
    for given in policies.given:
        namespaces.note(given.object)
    return sender(policies, arguments)


class _Later(NamedTuple):
    """A document that cannot be judged, or not for good, before all others are read.

    Args:
        document: The document.
        served: Its kind; None if it is not known here.
        at: Where its findings belong.
        release: The release that it was judged by; None if it was not.
    """

    document: Document
    served: Served | None
    at: int
    release: str | None = None


def judge_all(
    documents: Iterable[Document | Unreadable],
    old: OldState,
    cluster: Inventory,
    arguments: Namespace,
    *,
    stated: str | None,
    report: Report,
) -> None:
    """Judge documents as they come, but for those that follow others, and what they refer to.

    Args:
        documents: The documents.
        old: The earlier state of objects.
        cluster: What is in the cluster; the manifests are added.
        arguments: The command's.
        stated: The Kubernetes release; None if that follows from the documents of a file.
        report: Takes what is found.
    """
    gates = feature_gates(arguments, stated)
    namespaces = Namespaces(arguments.namespace_labels, arguments.namespace)
    sender = _sender(arguments, stated, namespaces, report)
    locations = pod_locations(arguments)
    references = References(
        cluster,
        gates,
        is_cluster=bool(arguments.cluster),
        pod_locations=locations,
        profiles=read_profiles(arguments.driver_profile),
    )
    judging = _Judge(old, arguments.subresource, sender, gates, namespaces=namespaces, references=references)
    judging.all_pods, judging.pod_locations = arguments.all_pods, locations
    order = _InOrder(judging, stated, report)
    for document in documents:
        if isinstance(document, Unreadable):
            order.pass_over(document)
        else:
            order.take(document)
    order.finish()
    report.remarks += references.report(report)


class _InOrder:
    """Judges documents, and reports their findings in the order of the documents.

    Args:
        judging: Judges one.
        stated: The Kubernetes release; None if that follows from the documents of a file.
        report: Takes the findings, when all documents are judged.
    """

    def __init__(self, judging: _Judge, stated: str | None, report: Report) -> None:
        self._judging, self._stated, self._report = judging, stated, report
        self._found: list[Sequence[Finding]] = []
        self._releases, self._later = _Releases(), list[_Later]()

    def pass_over(self, unreadable: Unreadable) -> None:
        """Report what cannot be read."""
        if unreadable.line:
            self._report.files[unreadable.source] = None
        self._found.append([unread(unreadable)])

    def take(self, document: Document) -> None:
        """Judge a document, or put it off."""
        self._report.files[document.source] = None
        self._report.documents += 1
        data, judging = document.data, self._judging
        judging.namespaces.note(data)
        served = judging.kind_of(data)
        if judging.passes(document):
            self._report.without_claims += 1
            return
        if served is None:
            findings = judging.unknown(document, self._stated)
            if judging.waits:
                self._put_off(document, None)
            else:
                self._add(findings, document)
        elif self._stated is None and _is_everywhere(served):
            self._put_off(document, served)
        else:
            self._releases.note(document.source, served)
            release = self._stated or f"1.{served.until}"
            findings = judging(document, release)
            if judging.waits:
                self._later.append(_Later(document, served, len(self._found), release))
            self._add(findings, document)

    def _put_off(self, document: Document, served: Served | None) -> None:
        self._later.append(_Later(document, served, len(self._found)))
        self._found.append(())

    def _add(self, findings: Sequence[Finding] | None, document: Document) -> None:
        if findings is None:
            self._skip(document)
            return
        self._note(document)
        if findings:
            self._found.append(findings)

    def _note(self, document: Document) -> None:
        """Remember that a document was judged."""
        self._report.judged.append(Judged(document.source, document.index + 1, identity(document.data)))

    def _skip(self, document: Document) -> None:
        """Count a document that is not judged."""
        about = identity(document.data)
        self._report.skipped[about.api_version, about.kind] += 1

    def finish(self) -> None:
        """Judge what was put off, and report all findings."""
        judging = self._judging
        judging.know_namespaces()
        for document, served, at, release in self._later:
            if served is None:
                findings = judging.unknown(document, self._stated)
                self._found[at] = findings or ()
                if findings is None:
                    self._skip(document)
                else:
                    self._note(document)
            elif release is None or judging.namespaces.found:
                beside = release or f"1.{self._releases.beside(document.source, served)}"
                if release is None:
                    self._note(document)
                self._found[at] = judging(document, beside)
        self._report.findings += (finding for findings in self._found for finding in findings)


class _Judge:
    """Judges documents, each as an API server with the given policies would.

    Args:
        old: The earlier state of objects.
        subresource: What is updated.
        sender: Sends objects to policies; None if there are none.
        gates: The feature gates that differ from a release's defaults, by name; None for none.
        namespaces: What is known of namespaces.
        references: Looks up what objects refer to.
    """

    def __init__(
        self,
        old: OldState,
        subresource: str,
        sender: Sender | None,
        gates: Mapping[str, bool] | None,
        *,
        namespaces: Namespaces,
        references: References,
    ) -> None:
        self._old = old
        self._subresource = subresource
        self._sender = sender
        self._gates = gates
        self.namespaces = namespaces
        self._references = references
        self.all_pods = False
        """Whether the rules are asked about pods without claims, too."""
        self.pod_locations: Locations | None = None
        """Where kinds of other projects keep their pods, besides those that are known."""
        self.waits = False
        """Whether what was judged last depends on a Namespace that may yet come."""

    def kind_of(self, obj: Any) -> Served | None:
        """Return the kind of an object; of another project's, that of the pods with claims that it makes, if any."""
        if not isinstance(obj, dict):
            return None
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if (served := find(version, kind)) or not isinstance(version, str) or "." not in version:
            return served
        from webhook.workloads import lost, pods_in  # noqa: PLC0415 - most objects are of Kubernetes itself

        is_about_claims = any(
            not is_pod_without_claims(pods.manifest) for pods in pods_in(obj, self.pod_locations)
        ) or any(lost(obj))
        return find("v1", "PodTemplate") if is_about_claims else None

    def passes(self, document: Document) -> bool:
        """Tell whether nothing is asked about an object: a pod without claims, and there are no policies."""
        return self._sender is None and not self._rules(document.data, self._old.of(document)[0])

    def _rules(self, obj: Any, before: Any) -> bool:
        """Tell whether the API server's rules are asked about an object."""
        return (
            self.all_pods
            or not is_pod_without_claims(obj)
            or (before is not None and not is_pod_without_claims(before))
        )

    def know_namespaces(self) -> None:
        """Take the Namespaces among the manifests into account: all of them have been read."""
        self.namespaces.all_noted = True
        if self._sender:
            self._sender.know(self.namespaces.found)

    def __call__(self, document: Document, release: str) -> list[Finding]:
        """Judge an object of a kind that is known here."""
        outcome, problems = self._review(document, release)
        if not problems and outcome.change is None:  # as of most objects
            self._references.note(document, release)
            self.waits = False
            return []
        self._references.note(document, release, taken=not any(problem.level == ERROR for problem in problems))
        findings = [_placed(_hinted(problem, outcome.object), document, release) for problem in problems]
        findings = [self._brief(finding, document, outcome.object) for finding in findings]
        findings += self._of_policies(outcome, document)
        self.waits = any(map(_asks_for_namespace, findings))
        return sorted(findings, key=lambda finding: (finding.line, finding.column))

    def unknown(self, document: Document, stated: str | None) -> list[Finding] | None:
        """Judge an object of a kind that is not known here; None if others may have it and no policy is about it."""
        outcome, problems = self._review(document, stated)
        if not outcome.problems:
            self._references.note(document, stated or f"1.{NEWEST}")
        findings = self._of_policies(outcome, document)
        self.waits = any(map(_asks_for_namespace, findings))
        if not outcome.problems and not outcome.decisions:
            return None
        return [*(found(problem, document, stated or f"1.{NEWEST}") for problem in problems), *findings]

    def _review(self, document: Document, release: str | None) -> tuple[Outcome, list[Problem]]:
        before, problems = self._old.of(document)
        outcome = self._reviewed(document, before, release)
        if not self._old.is_stored and any(each.rule == "old-object" for each in outcome.problems):
            outcome = self._reviewed(document, None, release)  # what cannot be stored was not deployed
        return outcome, [*problems, *outcome.problems, *outcome.warnings]

    def _reviewed(self, document: Document, before: Any, release: str | None) -> Outcome:
        return review(
            document.data,
            before,
            kubernetes=release,
            subresource=self._subresource,
            feature_gates=self._gates,
            namespace_labels=self.namespaces.labels_around(identity(document.data).namespace),
            sender=self._sender,
            rules=self._sender is None or self._rules(document.data, before),
            beyond_decoding=True,
            pod_locations=self.pod_locations,
        )

    def _brief(self, finding: Finding, document: Document, obj: Any) -> Finding:
        """Say of what is immutable what has changed; the API server shows all of it."""
        if not finding.problem.message.endswith("field is immutable"):
            return finding
        from webhook.cli.changes import changed  # noqa: PLC0415 - only who changes what is immutable pays for it

        return finding._replace(brief=changed(finding.problem, self._old.of(document)[0], obj, finding.kubernetes))

    @staticmethod
    def _of_policies(outcome: Outcome, document: Document) -> list[Finding]:
        if outcome.change is None:
            return []
        from webhook.cli.policyoptions import found_by_mutating, found_by_validating  # noqa: PLC0415 - as in _sender

        findings = found_by_mutating(outcome.change, document)
        if outcome.verdict:
            findings += found_by_validating(outcome.change, outcome.verdict, document)
        return findings


def _hinted(problem: Problem, obj: Any) -> Problem:
    """Say what was probably meant, or how to make known what is not known of a namespace."""
    if problem.level == ERROR and problem.hint in {"", ONCE_DECODED}:
        from webhook.references.hints import hint_of  # noqa: PLC0415 - most objects are fine

        hint, fix = hint_of(problem, obj)
        return problem._replace(hint=hint or problem.hint, fix=fix)
    asks = problem.level == WARNING and problem.rule in ADMIN_RULES
    return problem._replace(hint=ADMIN_HINT) if asks else problem


def _placed(problem: Problem, document: Document, release: str) -> Finding:
    """Say where in its file a problem is; in a CEL selector, at which character."""
    if problem.path and problem.path[-1] == "expression":
        from webhook.cli.expressions import located  # noqa: PLC0415 - only who has got an expression wrong pays for it

        return located(problem, document, release)
    return found(problem, document, release)


def _asks_for_namespace(finding: Finding) -> bool:
    """Tell whether a finding depends on a Namespace that may yet come."""
    return finding.problem.hint in {ADMIN_HINT, POLICY_HINT}


def _is_everywhere(served: Served) -> bool:
    """Tell whether every release serves a kind, so that the kind does not say which release is meant."""
    return served.since <= OLDEST and served.until >= NEWEST


class _Releases:
    """Which releases serve all objects of a file, and of a directory."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[int, int]] = {}

    def note(self, file: str, served: Served) -> None:
        """Take an object into account."""
        self._files[file] = _common(self._files.get(file), (served.since, served.until))

    def beside(self, file: str, served: Served) -> int:
        """Return the newest release that serves the objects of the same file, or else those of the same directory."""
        for since, until in (self._files.get(file, _NONE), self._directories.get(_directory(file), _NONE)):
            if since <= until:
                return until
        return served.until

    @cached_property
    def _directories(self) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for file, window in self._files.items():
            directory = _directory(file)
            found[directory] = _common(found.get(directory), window)
        return found


def _directory(file: str) -> str:
    return os.path.dirname(file)  # noqa: PTH120 - pathlib takes longer to import than all this takes


_NONE = (NEWEST, OLDEST)
"""No release at all."""


def _common(window: tuple[int, int] | None, other: tuple[int, int]) -> tuple[int, int]:
    return other if window is None else (max(window[0], other[0]), min(window[1], other[1]))
