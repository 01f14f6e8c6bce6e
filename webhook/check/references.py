"""References between manifests, and to objects of the cluster."""

from __future__ import annotations

from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.api import gates
from webhook.api.dra.names import NAMED_BY, class_in
from webhook.api.judgement import stored
from webhook.api.templates import pod_template, source
from webhook.api.versions import find, release_of
from webhook.budget import DOCUMENT, REVIEW, Budget, BudgetExceededError, limited
from webhook.check.judge import Judgement, placed, tries_fixes
from webhook.check.target import runtime_config
from webhook.documents import STDIN_NAME, Document
from webhook.documents.placeholders import blanks_of, has_placeholder
from webhook.drivers import Profile
from webhook.findings import TEMPLATE, Finding, Identity, found, guarded, identity
from webhook.inventory import CLAIMS, Inventory, in_namespace, newest
from webhook.later import cached_property
from webhook.objects import DEFAULT_NAMESPACE, JSONObject, items, mapping, name_of, namespace_of, text
from webhook.problem import ERROR, NOT_DECODED, Meant, Path, Problem, Steps, value_at
from webhook.references.lookup import apply_rules
from webhook.references.rules import (
    ACCOUNT,
    RULES,
    SELECTING,
    Context,
    Lookup,
    ReferenceFindings,
    is_beside,
    pod_view,
    view_of,
)
from webhook.release import Release
from webhook.report.model import Report
from webhook.report.text import counted
from webhook.schema.decoding import GATE_OFF, UNKNOWN_FIELD

if TYPE_CHECKING:
    from webhook.inventory.resources import ExtendedResources
    from webhook.workloads import Locations
    from webhook.workloads.locations import ManifestIn
    from webhook.workloads.runtimes import Templates

_DECISIVE: Final = frozenset({Path(), Path(("apiVersion",)), Path(("metadata",)), Path(("metadata", "namespace"))})
"""With an error there, it is not known what the object refers to."""
_TOGETHER: Final = "selectors"
"""The items of such a list apply together: what one excludes, the others need not handle."""


def _spoiled(findings: Iterable[Finding]) -> Sequence[Path] | None:
    """Return the fields of an object that have errors.

    Args:
        findings: The findings of the object.

    Returns:
        Their paths; None if nothing can be looked up in the object, because it cannot be decoded.
    """
    problems = [each.problem for each in findings if each.problem.level == ERROR and each.origin is None]
    if any(each.reason in NOT_DECODED and each.rule != UNKNOWN_FIELD for each in problems):
        return None
    paths = [each.path for each in problems]
    return None if not _DECISIVE.isdisjoint(paths) else paths


def _holds(path: Path, errors: Iterable[Path]) -> bool:
    """Tell whether a warning about a field holds beside errors.

    Args:
        errors: The fields with errors.
    """
    scope = path[: path.index(_TOGETHER) + 1] if _TOGETHER in path else path
    return not any(error[: len(scope)] == scope or scope[: len(error)] == error for error in errors)


_UNMATCHED: Final = ""
"""Stands, among kinds, for objects whose selectors were not matched against devices."""
_NAMED: Final = 3
"""How many objects of a kind are named, with the first place of each."""


class Unlooked:
    """References that were not looked up, in any release, because no object of their kind is known beside them."""

    def __init__(self) -> None:
        self._unmatched = set[tuple[object, ...]]()
        self.uses: dict[str, dict[str, tuple[str, set[tuple[object, ...]]]]] = {}
        """By the kind and the name of the object: the first place as text, and all places."""
        self.has_errors = False
        """Whether manifests with errors may be the missing objects."""
        self.lacks_slices = False
        """Whether selectors are not matched because the cluster has no slices."""
        self.partly: set[tuple[object, ...]] = set()
        """The objects that have errors, so that not all problems of them are found."""
        self.hides_errors = False
        """Whether errors may be among these problems."""

    def add(self, kind: str, path: Path, document: Document) -> None:
        """Add a reference to an object.

        Args:
            path: The field that refers to it.
        """
        here = document.source, document.index, document.within, path
        if kind == _UNMATCHED:
            self._unmatched.add(here)
            return
        value, field = value_at(document.data, path), str(path[-1])
        # An object's name, or such as a resource; not a text that names it somewhere.
        wanted = value if isinstance(value, str) and frozenset(" \n{").isdisjoint(value) else field
        name = class_in(field) or (wanted if isinstance(value, str) and field.endswith("Name") else f"of {wanted}")
        uses, place = self.uses.setdefault(kind, {}), document.source
        if name not in uses and len(uses) < _NAMED and (place == STDIN_NAME or not document.file.rendered):
            place = f"{place}:{document.position(path).line}"
        uses.setdefault(name, (place, set()))[1].add(here)

    def lines(self) -> Iterator[str]:
        """Describe them."""
        if self._unmatched:
            objects = counted(len(self._unmatched), "object")
            yield f"note: not matched against devices: {objects}, as that is too much work; validate fewer at a time"
        if self.uses:
            kinds = "; ".join(f"{kind} {_listed(uses)}" for kind, uses in sorted(self.uses.items()))
            such = "such objects without errors" if self.has_errors else "such objects"
            how = "add them, or give the objects of the cluster with --cluster"
            yield f"note: references not checked: {kinds}; the manifests have no {such}: {how}"
        if self.lacks_slices:
            yield f"note: not matched against devices: --cluster has no {_SLICE}s"

    def asides(self) -> list[str]:
        """Tell what may be wrong with objects beside their errors."""
        what = "errors and warnings" if self.hides_errors else "warnings"
        objects = counted(len(self.partly), "object")
        return [f"note: some {what} are not checked for {objects} with errors"] if self.partly else []


def _listed(uses: Mapping[str, tuple[str, Collection[object]]]) -> str:
    named = []
    for name, (place, places) in islice(uses.items(), _NAMED):
        others = f" and {counted(len(places) - 1, 'more place')}" if len(places) > 1 else ""
        named.append(f"{name} ({place}{others})")
    return ", ".join(named) + (f", and {len(uses) - _NAMED} more" if len(uses) > _NAMED else "")


_SLICE = "ResourceSlice"
_CLASS = "DeviceClass"


class _Neighbours:
    """The places of manifests."""

    def __init__(self) -> None:
        self._places: defaultdict[str, set[str]] = defaultdict(set)
        """The directories of manifests, by kind; of classes, the files."""
        self._added: list[tuple[str, str, Callable[[Inventory], object]]] = []
        """The added objects in their order: the directory, the kind, and a function that adds them to an inventory."""
        self._inventories: dict[frozenset[str], Inventory] = {}

    def note(self, file: str, obj: JSONObject) -> None:
        """Add a manifest."""
        directory, kind, known = file.rpartition("/")[0], str(obj.get("kind")), newest(obj)
        self._places[kind].add(file if kind == _CLASS else directory)
        self._added.append((directory, kind, lambda inventory: inventory.hold(known)))

    def note_name(self, file: str, kind: str, name: str, namespace: str, driver: str) -> None:
        """Add the name of an object that may be malformed, in a file."""
        directory = file.rpartition("/")[0]
        if kind == _SLICE:
            self._places[kind].add(directory)
        self._added.append((directory, kind, lambda inventory: inventory.note(kind, name, namespace, driver)))

    def beside(self, file: str, kind: str) -> bool:
        """Tell whether a file's manifests come with all objects of a kind that they need.

        A class is cluster-scoped, and usually installed with its driver: only a file with classes of its own is assumed
        to have all of them. For other kinds this holds for a directory, with those above it.
        """
        return file in self._places[kind] if kind == _CLASS else bool(self._above(file, kind))

    def inventory(self, file: str, whole: Inventory) -> Inventory:
        """Return the objects to which a file's manifests may refer: all but the devices of other clusters."""
        slices = self._above(file, _SLICE)
        if slices == self._places[_SLICE]:
            return whole
        if slices not in self._inventories:
            found = self._inventories[slices] = Inventory()
            for directory, kind, add in self._added:
                if kind != _SLICE or directory in slices:
                    add(found)
        return self._inventories[slices]

    def _above(self, file: str, kind: str) -> frozenset[str]:
        """Return the directories above a file that hold objects of a kind."""
        steps = file.split("/")
        return frozenset("/".join(steps[:end]) for end in range(len(steps))) & self._places[kind]


_WORK: Final = 2 * DOCUMENT
"""The work that matching selectors against devices may take: some twenty seconds."""
_CHECKED: Final = DOCUMENT // 2
"""The work that checking parameters against profiles may take: some ten seconds."""


class _Noted(NamedTuple):
    document: Document
    obj: JSONObject
    release: str
    needs: tuple[str, ...] = ()
    """The kinds of which one is needed for any lookup; any object will do if there are none."""
    errors: Sequence[Path] = ()
    """The fields with errors, if the API server would refuse it."""
    is_filled: bool = False
    """Whether its placeholders are replaced by other values, which was said."""


class References:
    """Looks up the references of manifests, once all of them are known.

    Args:
        inventory: The objects of the cluster; the manifests are added.
        gates: The feature gates that differ from a release's defaults; None for none.
        arguments: The command's arguments. If they name a cluster, the manifests are meant for that, so that unknown
            objects do not exist.
        pod_locations: Where kinds of other projects keep their pods, in addition to the known ones.
        unlooked: Receives the references that are not looked up.
    """

    def __init__(
        self,
        inventory: Inventory,
        gates: Mapping[str, bool] | None,
        arguments: Namespace,
        pod_locations: Locations | None,
        unlooked: Unlooked,
    ) -> None:
        self._profiles: Mapping[str, Profile] | None = None
        if arguments.driver_profile:
            from webhook.drivers.files import option_profiles  # few state profiles of their own

            self._profiles = option_profiles(arguments.driver_profile)
        is_cluster, self._namespace = bool(arguments.cluster), arguments.namespace
        self._locations, self._tries_fixes, self._inventory = pod_locations, tries_fixes(arguments), inventory
        self._gates, self._runtime_config = gates, runtime_config(arguments)
        self._documents: dict[int, _Noted] = {}
        self._contexts: dict[tuple[str, int], Context] = {}
        self._extended: dict[str, ExtendedResources] = {}
        """The extended resources that the known device classes provide, by the release."""
        self._refused: set[str] = set()
        """The kinds of manifests with errors, to which others may refer."""
        self._unlooked = unlooked
        self._uncertain = set[str]()
        """The names of objects that may be of any kind; an empty one for what may be any object."""
        self._work = Budget(_WORK, is_offline=True)
        self._checking = Budget(_CHECKED, is_offline=True)
        # The objects of one cluster belong together.
        self._neighbours = None if is_cluster else _Neighbours()
        self._lists_classes = inventory.knows("DeviceClass")
        kinds = (*CLAIMS, "Pod") if is_cluster else ()
        self._stored = frozenset((kind, *name) for kind in kinds for name in inventory.names(kind))

    def note(self, document: Document, release: str, judgement: Judgement) -> None:
        """Add a manifest.

        Args:
            release: The Kubernetes release that it was judged by.
            judgement: Its findings; if the API server would not accept it, others cannot refer to its content.
        """
        obj = document.data if judgement.filled is None else judgement.filled
        if not isinstance(obj, dict):
            return
        findings, is_filled = judgement.findings, judgement.filled is not None
        if is_filled and has_placeholder(document.data, ("metadata", "name")):
            self.note_cut()  # it may be any object
        if findings and any(finding.problem.rule == GATE_OFF for finding in findings):
            obj = stored(obj, kubernetes=release, feature_gates=self._gates)
        if self._namespace != DEFAULT_NAMESPACE:
            obj = in_namespace(obj, self._namespace)
        if text(obj, "kind") == ACCOUNT:
            self._note(document.source, ACCOUNT, name_of(obj), text(obj, "metadata", "namespace"))
        if not judgement.accepted:
            about = identity(obj)
            self._refused.add(about.kind)
            self._note_name(obj, about, document.source)
            self._unlooked.partly.add((document.source, document.index, document.within))
            errors = None if findings is None else _spoiled(findings)
            if errors is None:
                self._unlooked.hides_errors = True
            else:
                self._documents[id(document)] = _Noted(document, obj, release, errors=errors, is_filled=is_filled)
        elif (
            self._inventory.hold(obj)
            or pod_template(obj) is not None
            or is_beside(obj)
            or self._is_about_claims(obj, document.source)
        ):
            self._documents[id(document)] = _Noted(document, obj, release, is_filled=is_filled)
            if self._neighbours:
                self._neighbours.note(document.source, obj)

    def note_cut(self, misspelt: Document | None = None) -> None:
        """Record that a document cannot be looked up, such as an unreadable one.

        Args:
            misspelt: The document, if only its kind is unknown.
        """
        data = misspelt and misspelt.data
        self._uncertain.add("" if has_placeholder(data, ("metadata", "name")) else name_of(data))

    def note_without_claims(self, document: Document, release: str) -> None:
        """Add a pod or workload without claims, whose resources device classes may provide and quotas limit."""
        needs = "DeviceClass", "ResourceQuota"
        self._documents[id(document)] = _Noted(document, document.data, release, needs)

    def gives_devices_to(self, document: Document, release: str) -> bool:
        """Tell whether a known device class provides a resource of a pod without claims."""
        if release not in self._extended:
            from webhook.inventory.resources import ExtendedResources  # few pods request resources with a domain

            minor, on = _settings(release, self._gates)
            classes = self._inventory.all("DeviceClass")
            self._extended[release] = ExtendedResources(classes, minor, is_on="DRAExtendedResource" in on)
        return any(map(self._extended[release].provides, requested(document.data)))

    def _is_about_claims(self, obj: JSONObject, file: str) -> bool:
        """Tell whether an object of another project holds claims or makes pods; record the names that pods may use."""
        if find(obj.get("apiVersion"), obj.get("kind")):
            return False
        from webhook.workloads import pods_in  # few objects need it
        from webhook.workloads.nested import counted
        from webhook.workloads.projects import claims_in, made_templates
        from webhook.workloads.runtimes import used_by

        for kind, name, resource in counted(obj):
            self._note(file, kind, name, resource)
        for name in made_templates(obj):
            self._note(file, "ResourceClaimTemplate", name, namespace_of(obj))
        parts = list(claims_in(obj))
        for part in parts:
            if not part.is_known:  # as Grove's are, which pods cannot name
                self._note_name(part.manifest, identity(part.manifest), file)
        self._templates.note(obj)
        return bool(parts) or any(pods_in(obj, self._locations)) or any(used_by(obj))

    @cached_property
    def _templates(self) -> Templates:
        from webhook.workloads.runtimes import Templates  # most objects are of Kubernetes itself

        return Templates()

    def _note_name(self, obj: JSONObject, about: Identity, file: str) -> None:
        """Record the name of a manifest, so that references to it are not reported, too."""
        if about.name and about.kind in CLAIMS:
            self._note(file, about.kind, about.name, about.namespace or DEFAULT_NAMESPACE)
        elif about.name and about.kind in {_CLASS, _SLICE}:
            self._note(file, about.kind, about.name, "", text(obj, "spec", "driver"))

    def _note(self, file: str, kind: str, name: str, namespace: str, driver: str = "") -> None:
        self._inventory.note(kind, name, namespace, driver)
        if self._neighbours:
            self._neighbours.note_name(file, kind, name, namespace, driver)

    def report(self, report: Report) -> None:
        """Add the findings to a report, each beside the others of its file."""
        unlooked, findings = self._unlooked, list[Finding]()
        for given in self._documents.values():
            with guarded(given.document, findings):
                findings += self._of(given)
        if findings:
            report.sort((*report.findings, *findings))
        unlooked.has_errors |= bool(self._uncertain) or not self._refused.isdisjoint(unlooked.uses)
        if self._neighbours is None and not self._inventory.knows(_SLICE):
            unlooked.lacks_slices |= any(each.obj.get("kind") in SELECTING for each in self._documents.values())

    def _of(self, given: _Noted) -> Iterable[Finding]:
        """Return the findings about a manifest; collect what was not looked up."""
        known = self._known(given)
        if known is None:
            return ()
        for kind, path in known.skipped:
            self._unlooked.add(kind, path, given.document)
        return self._located(known.problems, given) if known.problems else ()

    def _known(self, given: _Noted) -> ReferenceFindings | None:
        """Look up the references of a manifest; None if there are none to look up."""
        context = self._context(given)
        if given.needs and not any(map(context.inventory.knows, given.needs)):
            return None
        if given.errors or context.inventory.knows("ResourceQuota"):  # a quota is that of a namespace
            return self._found(given, context)
        return context.alike.find(given.obj, lambda: self._found(given, context))

    def _located(self, problems: Sequence[Problem], given: _Noted) -> Iterator[Finding]:
        """Locate problems; collect those that depend on objects of a kind that is not beside the manifest."""
        blanks = blanks_of(given.document)
        if blanks and any(blanks.has(each.path) for each in problems):
            if not given.is_filled:
                yield found(blanks.note(TEMPLATE), given.document, given.release)
            problems = [blanks.restored(each) for each in problems if not blanks.has(each.path)]
        for problem in problems:
            needs = RULES[problem.rule].needs if problem.rule in RULES else ()
            is_found = problem.fix is not None or isinstance(problem.hint, Meant)
            if needs and not is_found and self._may_exist(needs[0], problem.path, given.document):
                if not given.errors:
                    self._unlooked.add(needs[0], problem.path, given.document)
            else:
                yield placed(problem, given.document, given.release, tries_fixes=self._tries_fixes)

    def _may_exist(self, kind: str, path: Path, document: Document) -> bool:
        """Tell whether an object to which a field refers may be among the manifests, or is not expected there."""
        if self._neighbours and not self._neighbours.beside(document.source, kind):
            return True
        if path[-1:] != (NAMED_BY.get(kind),):
            return bool(self._uncertain)
        return not self._uncertain.isdisjoint({"", str(value_at(document.data, path))})

    def _found(self, given: _Noted, context: Context) -> ReferenceFindings:
        """Look up the references of a manifest; return problems with their places in it."""
        is_own = find(given.obj.get("apiVersion"), given.obj.get("kind")) is not None
        namespaces = ("",) if is_own else self._namespaces(given.obj)
        found_in = [self._found_in(each, given, context) for each in namespaces]
        problems = list(dict.fromkeys(each for one in found_in for each in one.problems))
        skipped = found_in[0].skipped
        if not is_own:
            problems += self._templates.lost(given.obj)
        if given.errors:
            return ReferenceFindings([each for each in problems if _holds(each.path, given.errors)])
        return ReferenceFindings(problems, skipped)

    def _namespaces(self, obj: JSONObject) -> Sequence[str]:
        """Return the namespaces of the pods of another project's object, empty for its own.

        A template without a namespace is used in others. If no user is known, it is the one that has most of what the
        template names.
        """
        from webhook.workloads import pods_in  # most objects are of Kubernetes itself
        from webhook.workloads.runtimes import is_cluster_scoped

        if not is_cluster_scoped(obj):
            return ("",)
        if users := self._templates.namespaces(obj):
            return users
        pods = [each.manifest["template"] for each in pods_in(obj, self._locations)]
        claims = [each for pod in pods for each in items(pod, "spec", "resourceClaims")]
        named = {(kind, source(each, NAMED_BY[kind])) for each in claims for kind in CLAIMS}
        best = Counter[str]()
        for kind in CLAIMS:
            for space, name in self._inventory.names(kind):
                best[space] += (kind, name) in named
        return [space for space, _ in best.most_common(1)] or ("",)

    def _found_in(self, namespace: str, given: _Noted, context: Context) -> ReferenceFindings:
        """Look up the references of a manifest in a namespace, empty for its own."""
        data, problems = given.document.data, list[Problem]()
        blanks = blanks_of(given.document) if given.is_filled else None
        skipped = list[Lookup]()
        for obj, kind, place, texts in _views(given.obj, self._locations, namespace):
            found_here, seen = self._problems(obj, kind, context, only_of_fields=bool(given.errors))
            for each in found_here:
                path = place(each.path)
                fix = None if path in texts else each.fix
                problems.append(each._replace(path=_as_written(data, path), fix=fix))
            places = ((needed, _as_written(data, place(path)) if path else path) for needed, path in seen)
            skipped += ((needed, path) for needed, path in places if not blanks or not blanks.has(path))
        return ReferenceFindings(problems, skipped)

    def _problems(
        self, obj: JSONObject, kind: str, context: Context, *, only_of_fields: bool
    ) -> tuple[list[Problem], list[Lookup]]:
        """Look up the references of an object; without devices once matching selectors has taken too much work."""
        for budget in (self._work, None):
            seen = list[Lookup]()
            try:
                with limited(budget or Budget(REVIEW, is_offline=True)):
                    found = list(apply_rules(obj, kind, context, seen, only_of_fields=only_of_fields))
                break
            except BudgetExceededError:
                context.passes_over_devices = True
        else:  # its selectors alone take too much
            seen, found = [], []
        if context.passes_over_devices and kind in SELECTING:
            seen.append((_UNMATCHED, Path()))
        return found, seen

    def _context(self, given: _Noted) -> Context:
        """Return the context of a manifest for rules."""
        inventory = self._inventory
        if self._neighbours:
            inventory = self._neighbours.inventory(given.document.source, inventory)
        key = given.release, id(inventory)
        if key not in self._contexts:
            context = Context(inventory, *_settings(given.release, self._gates), self._profiles)
            context.uses_allocator, context.checking = True, self._checking
            context.runtime_config = self._runtime_config
            context.is_cluster = self._neighbours is None
            context.lists_classes, context.stored = self._lists_classes, self._stored
            self._contexts[key] = context
        context = self._contexts[key]
        context.users_of = partial(self._users_of, given.document.source)
        return context

    def _users_of(self, file: str, namespace: str, claim: str) -> Sequence[JSONObject]:
        """Return the pods that use a claim: those of the same file only, if several manifests have such a claim."""
        users, claims = self._users
        is_only_one = claims[namespace, claim] <= 1
        return [pod for source, pod in users[namespace, claim] if is_only_one or source == file]

    @cached_property
    def _users(self) -> tuple[Mapping[tuple[str, str], Sequence[tuple[str, JSONObject]]], Counter[tuple[str, str]]]:
        """The pods that use each claim, with their files, and the number of manifests with such a claim."""
        claims: Counter[tuple[str, str]] = Counter()
        pods: dict[tuple[str, str, str], tuple[str, JSONObject]] = {}
        for each in self._documents.values():
            for view, kind, *_ in _views(each.obj, self._locations, ""):
                if kind == "Pod":
                    pods.setdefault((view["owner"]["kind"], *_key_of(view)), (each.document.source, view))
                elif kind == "ResourceClaim":
                    claims[_key_of(view)] += 1
        if self._neighbours is None:
            made_by = [(namespace, f"{name}-") for kind, namespace, name in pods if kind != "Pod"]
            for pod in chain(self._inventory.running(), self._inventory.pending()):
                namespace, name = _key_of(pod)
                if not any(namespace == space and name.startswith(prefix) for space, prefix in made_by):
                    pods.setdefault(("Pod", namespace, name), ("", pod_view(pod, pod)))
        users: defaultdict[tuple[str, str], list[tuple[str, JSONObject]]] = defaultdict(list)
        for (_, namespace, _), known in pods.items():
            for name in dict.fromkeys(
                source(each, "resourceClaimName") for each in items(known[1], "spec", "resourceClaims")
            ):
                users[namespace, name].append(known)
        return users, claims


def _key_of(obj: JSONObject) -> tuple[str, str]:
    return namespace_of(obj), name_of(obj)


_OF_NODES: Final = ("cpu", "memory", "ephemeral-storage", "hugepages-")


def requested(obj: Any) -> Iterator[str]:
    """Yield the resources that containers request, but for the node's own; most have no others, which saves imports."""
    steps = pod_template(obj) if isinstance(obj, dict) else None
    pod = None if steps is None else value_at(obj, steps)
    for containers in ("containers", "initContainers"):
        for each in items(pod, "spec", containers) if isinstance(pod, dict) else ():
            for stated in ("limits", "requests"):
                yield from (name for name in mapping(each, "resources", stated) if not str(name).startswith(_OF_NODES))


def _settings(release: str, stated: Mapping[str, bool] | None) -> tuple[Release, frozenset[str]]:
    """Return the minor of a release, and the feature gates that are on."""
    minor = release_of(release)
    return minor, gates.enabled(minor, gates.settable(stated, minor) if stated else None)


def _views(
    obj: JSONObject, locations: Locations | None, namespace: str
) -> Iterator[tuple[JSONObject, str, Callable[[Path], Path], Collection[Steps]]]:
    """Return the views of an object for rules: itself, in the newest version, or what it holds.

    With each comes a function that returns the places of its fields, and those of these places that are texts.
    """
    kind = identity(obj).kind
    is_own = is_beside(obj) or pod_template(obj) is not None
    if is_own or find(obj.get("apiVersion"), obj.get("kind")):
        if viewed := view_of(obj, kind):
            view, kind, steps = viewed
            yield view, kind, lambda path: Path((*steps, *path)), ()
        return
    from webhook.workloads import pods_in  # most objects are of Kubernetes itself
    from webhook.workloads.projects import claims_in

    for part in claims_in(obj):
        yield newest(part.manifest), identity(part.manifest).kind, part.place, part.texts
    for pods in pods_in(obj, locations):
        space = namespace or namespace_of(pods.manifest)
        view = pod_view(obj, pods.manifest["template"], space, pods=pods.number)
        yield view, "Pod", partial(_placed_in, pods), pods.texts


def _placed_in(pods: ManifestIn, path: Path) -> Path:
    return pods.place(("template", *path))


def _as_written(data: Any, path: Sequence[str | int]) -> Path:
    """Map a path in the newest version to a manifest of an earlier one, which has no ``exactly``."""
    written: list[str | int] = []
    for step in path:
        if isinstance(data, dict) and step not in data and step == "exactly":
            continue
        if isinstance(data, dict) and step not in data and "basic" in data:
            written.append("basic")
            data = data["basic"]
        written.append(step)
        try:
            data = data[step]
        except (LookupError, TypeError):
            data = None
    return Path(written)
