"""Judges one manifest, as an API server with the given policies would."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook import formats
from webhook.api.judgement import stored
from webhook.api.templates import is_pod_without_claims
from webhook.api.versions import DEFAULT, GROUP, NEWEST, Served, find, release_of
from webhook.check.oldstate import OldState
from webhook.check.target import runtime_config
from webhook.documents import Document, Piece
from webhook.documents.placeholders import Blanks, blanks_of
from webhook.documents.source import JSON, MARKDOWN
from webhook.engine.manifests import Outcome, review
from webhook.findings import TEMPLATE, Finding, by_place, found, identity
from webhook.inventory import Inventory
from webhook.limits import MOST_FINDINGS
from webhook.objects import mapping
from webhook.problem import ERROR, WARNING, InYaml, Problem
from webhook.references.rules import is_beside
from webhook.schema.decoding import GATE_OFF, WRONG_TYPE
from webhook.schema.target import STATUS
from webhook.usage import UsageError

if TYPE_CHECKING:
    from webhook.engine.offline import Sender
    from webhook.fixing import Planner
    from webhook.workloads import Locations


_ADMIN_RULES = frozenset({"admin-access", "admin-access-of-template", "admin-access-allocated"})
"""The rules that depend on the labels of an object's namespace."""

_ADMIN_HINT = "its labels are not known: add the Namespace"

_EXAMPLE = "ops=resource.kubernetes.io/admin-access=true"


class Namespaces:
    """The known labels of namespaces.

    Args:
        stated: ``NAMESPACE=KEY=VALUE,…`` each; they take precedence over objects.
        default: The namespace of objects that state none.

    Raises:
        UsageError: One of the texts is malformed.
    """

    def __init__(self, stated: Iterable[str] = (), default: str = "default") -> None:
        self._stated: dict[str, dict[str, Any]] = {}
        self._found: dict[str, dict[str, Any]] = {}
        self._default = default
        for text in stated:
            name, labels = _read(text)
            obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {}}}
            self._stated.setdefault(name, obj)["metadata"]["labels"].update(labels)

    @property
    def stated(self) -> list[dict[str, Any]]:
        """The Namespaces whose labels are stated, as objects."""
        return list(self._stated.values())

    def states(self, obj: Any) -> bool:
        """Tell whether the labels of an object's namespace are stated."""
        return bool(self._stated) and self._name(obj) in self._stated

    def _name(self, obj: Any) -> str:
        return identity(obj).namespace or self._default

    def note(self, obj: Any) -> None:
        """Add an object if it is a Namespace; the last one of a name counts."""
        if isinstance(obj, dict) and obj.get("kind") == "Namespace" and obj.get("apiVersion") == "v1":
            name = mapping(obj, "metadata").get("name")
            if isinstance(name, str):
                self._found[name] = obj

    @property
    def found(self) -> list[dict[str, Any]]:
        """The Namespaces that were added."""
        return list(self._found.values())

    def labels_around(self, obj: Any) -> Mapping[str, str] | None:
        """Return the labels of an object's namespace; None if they are unknown."""
        if not self._stated and not self._found:
            return None
        name = self._name(obj)
        found = self._stated.get(name) or self._found.get(name)
        return mapping(found, "metadata", "labels") if found else None

    def hinted(self, problem: Problem, obj: Any, release: str) -> Problem:
        """Add a hint to a refusal of admin access: the label of the namespace that was probably meant to allow it."""
        labels = self.labels_around(obj) if problem.rule in _ADMIN_RULES and problem.level == ERROR else None
        if not labels:
            return problem
        from webhook.api.dra.resourceclaim import admin_label, admin_label_meant  # few claims have admin access

        judged_as = release_of(release)
        meant = admin_label_meant(labels, judged_as)
        hint = f'the namespace has {meant}: write {admin_label(judged_as)}: "true"'
        return problem._replace(hint=hint) if meant else problem


def _read(text: str) -> tuple[str, dict[str, str]]:
    name, given, labels = text.partition("=")
    if not given:
        raise UsageError(f"{text} has no labels: write it as {_EXAMPLE}, or {name}= for none", "--namespace-labels")
    if faults := formats.dns_label(name, NEWEST):
        raise UsageError(f"{name!r} is not a namespace: {faults[0]}; write it as {_EXAMPLE}", "--namespace-labels")
    found = {}
    for pair in filter(None, labels.split(",")):
        key, given, value = pair.partition("=")
        if not given:
            raise UsageError(f"{name}: the label {pair} has no value: write it as {_EXAMPLE}", "--namespace-labels")
        if faults := (*formats.label_key(key, NEWEST), *formats.label_value(value, NEWEST)):
            raise UsageError(f"{name}: {pair} is not a label: {faults[0]}", "--namespace-labels")
        found[key] = value
    return name, found


class Judgement(NamedTuple):
    """The findings of a document.

    Args:
        findings: The findings, in the order of the text; None if its kind is unknown.
        accepted: Whether the API server would accept it; None if its references do not matter.
        filled: The object with other values in the place of placeholders; None if it depends on none.
    """

    findings: Sequence[Finding] | None = ()
    accepted: bool | None = None
    filled: Any = None


_FINE: Final = Judgement(accepted=True)


def tries_fixes(arguments: Namespace) -> bool:
    """Tell whether fixes are applied, so that none need be tested."""
    return bool(arguments.fix or arguments.diff or arguments.unsafe_fixes)


class Judge:
    """Judges documents, each as an API server with the given policies would.

    Args:
        old: The earlier state of objects; None if none is known.
        arguments: The command's arguments.
        sender: Sends objects to policies; None without policies.
        gates: The feature gates that differ from a release's defaults, by name; None for none.
        pod_locations: Where kinds of other projects keep their pods, in addition to the known ones.
    """

    def __init__(
        self,
        old: OldState | None,
        arguments: Namespace,
        sender: Sender | None,
        gates: Mapping[str, bool] | None,
        *,
        namespaces: Namespaces,
        pod_locations: Locations | None,
    ) -> None:
        self.old, self.namespaces = old, namespaces
        self._has_stored = old is not None and old.is_stored
        self._subresource, self._sender, self._gates = arguments.subresource, sender, gates
        self._runtime_config, self._pod_locations = runtime_config(arguments), pod_locations
        self._all_pods, self._tries_fixes = arguments.all_pods, tries_fixes(arguments)
        self.asks_policies = sender is not None

    def kind_of(self, obj: Any) -> Served | None:
        """Return the kind of an object; for another project's object, the kind of its pods with claims, if any."""
        if not isinstance(obj, dict):
            return None
        version, kind = obj.get("apiVersion"), obj.get("kind")
        if (served := find(version, kind)) or not isinstance(version, str):
            return served
        from webhook.workloads.nested import HOLDERS, patches_in  # most objects are of Kubernetes itself

        if "." not in version and kind not in HOLDERS:
            return None
        from webhook.workloads import pods_in
        from webhook.workloads.projects import claims_in, lost
        from webhook.workloads.runtimes import used_by

        is_about_claims = (
            any(claims_in(obj))
            or any(patches_in(obj))
            or any(not is_pod_without_claims(pods.manifest) for pods in pods_in(obj, self._pod_locations))
            or any(lost(obj))
            or any(used_by(obj))
        )
        return find("v1", "PodTemplate") if is_about_claims else None

    def passes(self, document: Document) -> bool:
        """Tell whether no rule or policy applies to an object: a pod without claims, without policies."""
        if self.asks_policies or self._all_pods or not is_pod_without_claims(document.data):
            return False
        before, _ = self._before(document)
        return before is None or is_pod_without_claims(before)

    def _before(self, document: Document) -> tuple[Any, list[Problem]]:
        """Return the old state of an object, None if there is none, and its problems."""
        return self.old.of(document) if self.old else (None, [])

    def note(self, obj: Any) -> None:
        """Note an object that tells something of others: a Namespace, a CustomResourceDefinition, a PriorityClass."""
        self.namespaces.note(obj)
        if self._sender:
            self._sender.note(obj)

    def know_noted(self) -> None:
        """Let policies and plugins read what was noted, as all manifests have been read."""
        if self._sender:
            self._sender.know(self.namespaces.found)

    def of(self, document: Document, served: Served | None, release: str | None) -> Judgement:
        """Judge a document, once all others have been noted.

        Args:
            served: Its kind; None if it is unknown.
            release: The Kubernetes release; None for an object of an unknown kind if none is stated.
        """
        if not (served and release):
            return self._unknown(document, release)
        outcome, problems = self._review(document, release)
        if not document.has_plain_keys:
            from webhook.references.manifests import misread_key  # most manifests are simple

            problems += misread_key(document, {each.path for each in problems if _is_of_key(each)})
        if not problems and outcome.mutated is None:  # as for most objects
            return _FINE
        if document.source.endswith(MARKDOWN):
            from webhook.documents.markdown import is_elided

            if is_elided(document):
                problems = [each for each in problems if each.reason != "FieldValueRequired"]
        if (blanks := blanks_of(document)) and (judgement := self._unfilled(document, blanks, outcome, release)):
            return judgement
        # What a Namespace among the objects lacks may be added: the references of a claim are looked up all the same.
        uncertain = () if self.namespaces.states(document.data) else _ADMIN_RULES
        accepted = not any(each.level == ERROR and each.rule not in uncertain for each in problems)
        findings = self._found(problems, outcome.object, document, release)
        findings += self._of_policies(outcome, document)
        return Judgement(by_place(findings, ()), accepted=accepted)

    def _found(self, problems: list[Problem], obj: Any, document: Document, release: str) -> list[Finding]:
        """Locate problems, with advice."""
        del problems[MOST_FINDINGS + 1 :]  # locating each of a million takes minutes
        findings = list[Finding]()
        for each in problems:
            problem = _hinted(self.namespaces.hinted(each, obj, release), obj, document, release)
            if isinstance(problem.hint, InYaml) and document.source.endswith(JSON):
                problem = problem._replace(hint=problem.hint.json)
            finding = placed(problem, document, release, tries_fixes=self._tries_fixes)
            if problem.is_of_change:  # the API server shows the immutable field as a whole
                from webhook.engine.changes import changed  # needed only for changes of immutable fields

                changes = changed(problem, self._before(document)[0], obj, release)
                finding = finding._replace(brief=f"field is immutable; {changes}" if changes else "")
            findings.append(finding)
        return findings

    def _unfilled(self, document: Document, blanks: Blanks, outcome: Outcome, release: str) -> Judgement | None:
        """Judge a document with placeholders as a new object; None if nothing depends on them."""

        def judged(obj: Any) -> list[Problem]:
            reviewed = self._reviewed(obj, None, release, None)
            return [*reviewed.problems, *reviewed.warnings]

        is_asked = outcome.mutated is not None
        if is_asked and self._may_be_accepted(document, blanks, release):
            return None
        filled, problems, is_valid = blanks.fill(judged)
        held = {(each.rule, each.path) for each in problems}
        if not is_asked and all((each.rule, each.path) in held for each in outcome.problems):
            return None
        note = _not_asked(blanks) if is_asked else blanks.note(TEMPLATE, "")
        findings = by_place([found(note, document, release), *self._found(problems, filled, document, release)], ())
        accepted = not any(each.level == ERROR for each in problems) if is_valid else None
        return Judgement(findings, accepted=accepted, filled=filled)

    def _may_be_accepted(self, document: Document, blanks: Blanks, release: str | None) -> bool:
        """Tell whether the API server may accept an object as it stands: what looks like placeholders hides nothing."""
        problems = self._reviewed(document.data, None, release, None).problems
        return not blanks.are_in_names and not any(each.level == ERROR for each in problems)

    def _unknown(self, document: Document, stated: str | None) -> Judgement:
        """Judge an object of an unknown kind, which is skipped unless a policy matches it."""
        outcome, problems = self._review(document, stated)
        findings = self._of_policies(outcome, document)
        accepted = None if any(each.level == ERROR for each in outcome.problems) else True
        if not outcome.problems and not outcome.decisions:
            return Judgement(() if is_beside(document.data) else None, accepted=accepted)
        blanks = blanks_of(document) if outcome.decisions else None
        if blanks and not self._may_be_accepted(document, blanks, stated):
            findings = [found(_not_asked(blanks), document, stated or f"1.{DEFAULT}")]
        found_here = (found(problem, document, stated or f"1.{DEFAULT}") for problem in problems)
        return Judgement([*found_here, *findings], accepted=accepted)

    def _review(self, document: Document, release: str | None) -> tuple[Outcome, list[Problem]]:
        before, problems = self._before(document)
        has_old_status = False
        if before is not None and document.data.get("kind") == "ResourceSlice":
            from webhook.references.manifests import generation_lowered  # few slices are compared

            problems += generation_lowered(document.data, before)
        if before is not None and not self._has_stored:
            has_old_status = document.data.get(STATUS) == before.get(STATUS)
            # What the API server would not have stored is judged as new: an update repeats few errors of an object.
            if any(each.level == ERROR for each in self._reviewed(before, None, release, None).problems):
                before = None
            else:
                before = stored(before, kubernetes=release, subresource=self._subresource, feature_gates=self._gates)
        outcome = self._reviewed(document.data, before, release, self._sender)
        found = outcome.problems
        if has_old_status:
            found = [each for each in found if each.rule != _STATUS_IGNORED]
        return outcome, [*problems, *found, *outcome.warnings]

    def _reviewed(self, obj: Any, before: Any, release: str | None, sender: Sender | None) -> Outcome:
        return review(
            obj,
            before,
            kubernetes=release,
            subresource=self._subresource,
            feature_gates=self._gates,
            namespace_labels=self.namespaces.labels_around(obj),
            sender=sender,
            rules=sender is None
            or self._all_pods
            or not is_pod_without_claims(obj)
            or (before is not None and not is_pod_without_claims(before)),
            beyond_decoding=True,
            pod_locations=self._pod_locations,
            is_scheduled=before is not None and self._has_stored,
            runtime_config=self._runtime_config,
        )

    @staticmethod
    def _of_policies(outcome: Outcome, document: Document) -> list[Finding]:
        if outcome.mutated is None:
            return []
        from webhook.check.policies import found_by_mutating, found_by_validating  # as in _sender

        findings = found_by_mutating(outcome.mutated, document)
        if outcome.verdict:
            findings += found_by_validating(outcome.mutated, outcome.verdict, document)
        return findings


def _is_of_key(problem: Problem) -> bool:
    """Tell whether a misread key may be the cause of an error; a value of the wrong type is another mistake."""
    return problem.level == ERROR and problem.rule != WRONG_TYPE


def _hinted(problem: Problem, obj: Any, document: Document, release: str) -> Problem:
    """Add a hint: what was probably meant, or how to provide the labels of a namespace."""
    if _is_of_key(problem) and (misread := document.misread_key(problem.path)):
        return problem._replace(hint=misread, fix=None)
    if problem.level == WARNING and problem.rule in _HINTS and not problem.hint:
        return problem._replace(hint=_HINTS[problem.rule])
    if problem.rule == "not-served" and (how := _converted(obj, release)):
        return problem._replace(hint=f"{problem.hint}; {how}")
    if not problem.lacks_advice:
        return problem
    from webhook.hints.fields import hinted  # most objects are valid

    return hinted(problem, obj)


def _not_asked(blanks: Blanks) -> Problem:
    """Warn that policies are not asked, as the API server does not accept the object as it stands."""
    return blanks.note(TEMPLATE, "; policies do not judge it until then")._replace(level=WARNING)


_STATUS_IGNORED: Final = f"{STATUS}-ignored"
_STATUS_HINT: Final = "--old FILE --subresource status judges it, as an update of the status"
_HINTS: Final = {
    **dict.fromkeys(_ADMIN_RULES, f"{_ADMIN_HINT}, or give --namespace-labels"),
    "status-dropped": _STATUS_HINT,
    _STATUS_IGNORED: _STATUS_HINT,
    "spec-ignored": "without --subresource status, the spec is judged",
}
"""Hints that name options, by the rule."""


def _converted(obj: Any, release: str) -> str:
    """Explain how to convert an object to a version that a release serves; empty if it cannot be converted."""
    if find(obj.get("apiVersion"), obj.get("kind")) is None or not obj["apiVersion"].startswith(f"{GROUP}/"):
        return ""
    from webhook.migration import MigrationTarget, converted
    from webhook.migration.classic import Parameters, without_counterpart  # only old objects are moved

    if how := without_counterpart(obj):
        return how
    is_convertible = converted(obj, MigrationTarget(releases=(release_of(release),)), Parameters()).older
    return "draguard convert --write converts it (give it the same --kubernetes-version)" if is_convertible else ""


_ELSEWHERE = frozenset({"respell", "separate"})
"""Changes that are not only about the finding's own text."""


def placed(problem: Problem, document: Document, release: str, *, tries_fixes: bool) -> Finding:
    """Locate a problem in its file; in a CEL selector, at its character.

    Args:
        tries_fixes: Whether the fix is applied, and refused with a reason; otherwise one that cannot be is left out.
    """
    finding = _located(problem, document, release)
    fix = finding.problem.fix
    if tries_fixes or fix is None or fix.change in _ELSEWHERE or document.is_json or not document.shares_texts:
        return finding
    # Anchors, aliases and merges share texts.
    return finding if _planner(document).plans([finding]) else finding._replace(problem=problem._replace(fix=None))


def _located(problem: Problem, document: Document, release: str) -> Finding:
    if problem.path and problem.path[-1] == "expression":
        from webhook.check.expressions import located  # needed only for wrong expressions

        return located(problem, document, release)
    return found(problem, document, release)


@lru_cache(maxsize=1)
def _planner(document: Document) -> Planner:
    """Return the planner of a document; findings come document by document."""
    from webhook.fixing import Planner  # few documents have anchors

    return Planner({document.source: document.file.text}, [document])


Refusals = Callable[[Document], list[Finding]]
"""Finds why the API server refuses a manifest, and which fields it drops, in the order of the text."""


def refusing(
    documents: Iterable[Piece],
    cluster: Inventory,
    release: str,
    gates: Mapping[str, bool] | None,
    namespace: str = "default",
) -> Refusals:
    """Return what finds errors, as ``draguard validate`` does.

    It also finds fields whose feature gates are off, and admin access in a namespace whose labels are not known.

    Args:
        documents: The manifests, including Namespaces.
        cluster: The cluster's objects, including Namespaces.
        gates: The feature gates that differ from its defaults.
        namespace: The namespace of objects that state none.
    """
    namespaces = Namespaces(default=namespace)
    for each in (*cluster.all("Namespace"), *(each.data for each in documents if isinstance(each, Document))):
        namespaces.note(each)

    def refusals(document: Document) -> list[Finding]:
        obj = document.data
        if is_pod_without_claims(obj):
            return []
        labels = namespaces.labels_around(obj)
        outcome = review(obj, kubernetes=release, feature_gates=gates, namespace_labels=labels, beyond_decoding=True)
        errors = (each for each in outcome.problems if each.level == ERROR)
        others = [each for each in outcome.problems if each.level != ERROR]
        dropped = (each for each in others if each.rule == GATE_OFF)
        unlabelled = (each._replace(hint=_ADMIN_HINT) for each in others if each.rule in _ADMIN_RULES)
        told = islice(chain(errors, dropped, unlabelled), MOST_FINDINGS)
        return by_place((_located(_hinted(each, obj, document, release), document, release) for each in told), ())

    return refusals
