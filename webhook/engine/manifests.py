"""Takes a manifest through the pipeline, as if it were sent to a cluster.

Mutating policies change it, the API server's rules and warnings apply to the result, and validating policies judge it
if it can be decoded. Policies are optional.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.api.judgement import judge, undecodable
from webhook.api.runtimeconfig import STABLE, is_served, stage_of
from webhook.api.templates import is_pod_without_claims, makes_pods, pod_template
from webhook.api.versions import DEFAULT, GROUP, VERSIONS, find, is_own, release_of, type_of
from webhook.objects import mapping, text
from webhook.problem import BAD_REQUEST, ERROR, NOT_DECODED, REQUIRED, WARNING, WRITE_LIST, Path, Problem, value_at
from webhook.schema.decoding import WRONG_TYPE, kind_of

if TYPE_CHECKING:
    from webhook.engine.offline import MutatedManifest, Sender
    from webhook.policy.evaluation.verdict import PolicyDecision, Verdict
    from webhook.workloads import Locations


NOT_COMPARED: Final = "not-compared"
"""The rule for objects that are not compared with their earlier state."""
_ITEMS: Final = "Go struct field decodeList.items of type []json.RawMessage"
"""The Go type into which kubectl decodes the items of a list."""


class Outcome(NamedTuple):
    """The outcome of a manifest.

    Args:
        object: The object as mutating policies have changed it, which rules judge.
        problems: The findings of the API server's rules.
        warnings: Problems that the API server accepts although the object cannot work.
    """

    object: Any
    problems: list[Problem]
    mutated: MutatedManifest | None = None
    verdict: Verdict | None = None
    warnings: Sequence[Problem] = ()

    @property
    def decisions(self) -> tuple[PolicyDecision, ...]:
        """The decisions of policies, the mutating ones first."""
        earlier = self.mutated.mutation.verdict.decisions if self.mutated else ()
        return earlier + (self.verdict.decisions if self.verdict else ())


def review(
    obj: Any,
    old: Any = None,
    *,
    kubernetes: str | None = None,
    subresource: str = "",
    feature_gates: Mapping[str, bool] | None = None,
    namespace_labels: Mapping[str, str] | None = None,
    sender: Sender | None = None,
    rules: bool = True,
    beyond_decoding: bool = False,
    pod_locations: Locations | None = None,
    is_scheduled: bool | None = None,
    runtime_config: Mapping[str, bool] | None = None,
) -> Outcome:
    """Review a manifest.

    Args:
        obj: The object as a client submits it; a value that is not a JSON object has no findings.
        old: The stored object, for an update.
        kubernetes: The release, such as ``"1.30"``; None for the newest that serves the object's version.
        feature_gates: Gates that differ from the release's defaults, by name.
        namespace_labels: The labels of the object's namespace; None if unknown.
        sender: Sends it to policies; None without policies.
        rules: Whether to apply the API server's own rules, beside policies.
        beyond_decoding: Whether to validate the rest of an object that cannot be decoded, too.
        pod_locations: Where kinds of other projects keep their pods, in addition to the known ones.
        is_scheduled: Whether the scheduler may have chosen its node; None if it may for stored objects.
        runtime_config: Which API versions the cluster serves, as kube-apiserver takes it; None for the defaults.
    """
    if not isinstance(obj, dict):
        return Outcome(obj, [])
    known = find(obj.get("apiVersion"), obj.get("kind")) is not None
    if not known:
        problems = _of_list(obj) or judge(obj, kubernetes=kubernetes) or misspelt(obj, kubernetes)
        if problems := problems or _misfits(obj, kubernetes):
            return Outcome(obj, problems)
    subresource = "" if old is None else subresource
    switched_off = _switched_off(obj, kubernetes, runtime_config)
    judged = partial(
        judge,
        kubernetes=kubernetes,
        feature_gates=feature_gates,
        namespace_labels=namespace_labels,
        beyond_decoding=beyond_decoding,
    )
    served_by = kubernetes if known else None
    if sender and (problems := sender.undecodable(obj, served_by)):
        return Outcome(obj, (known and rules and judged(obj, old, subresource=subresource)) or problems)
    mutated = sender.change(obj, old, subresource, kubernetes=served_by) if sender else None
    admitted = mutated if mutated and mutated.mutation.verdict.allowed else None
    sent = admitted.manifest if admitted else obj
    refusals = sender.refusals(admitted) if sender and admitted else []
    problems = [*refusals, *switched_off]
    if rules:
        objects = (admitted.judged.object, admitted.judged.old_object) if admitted else (obj, old)
        own = judged(*objects, subresource=subresource) if known else _in_pods(obj, pod_locations, judged)
        problems = [*refusals, *own, *switched_off]
    is_scheduled = old is not None if is_scheduled is None else is_scheduled
    names_node = rules and not is_scheduled and makes_pods(obj.get("apiVersion"), obj.get("kind"))
    warnings = never_runs(sent) if names_node else ()
    is_refused = any(each.level == ERROR for each in refusals) or any(each.reason in NOT_DECODED for each in problems)
    verdict = sender.validate(admitted) if sender and admitted and not is_refused else None
    return Outcome(sent, problems, mutated, verdict, warnings)


def _switched_off(
    obj: dict[str, Any], kubernetes: str | None, runtime_config: Mapping[str, bool] | None
) -> Sequence[Problem]:
    """Warn of a version that the release has, and a cluster serves only with ``--runtime-config``."""
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return ()
    if runtime_config is None:
        if stage_of(version) == STABLE:  # as for most objects
            return ()
        known = find(version, kind)
        release = release_of(kubernetes) if kubernetes else known.default if known else DEFAULT
        if is_served(version, release=release):
            return ()
    return _off(version, kind, kubernetes, None if runtime_config is None else frozenset(runtime_config.items()))


@lru_cache(maxsize=256)
def _off(
    api_version: str, kind: str, kubernetes: str | None, stated: frozenset[tuple[str, bool]] | None
) -> Sequence[Problem]:
    from webhook.policy.manifest.kinds import Kinds, kind_of  # most objects are of stable versions

    named = kind_of(api_version, kind)
    if (known := Kinds().spans(named).get(named.version)) is None:
        return ()
    release, config = release_of(kubernetes) if kubernetes else known[1], None if stated is None else dict(stated)
    kinds = Kinds(release)
    if kinds.find(named) is None:
        return ()
    served = partial(is_served, resource=kinds.resource_of(named).resource, release=release, stated=config)
    if served(api_version):
        return ()
    flag = f"--runtime-config={api_version}"
    message = f"{api_version} is served only with {flag}=true"
    if stage_of(api_version) == STABLE:
        message = f"the cluster does not serve {api_version}"
    others = (f"{named.group}/{version}" for version in kinds.versions(named))
    other = next(filter(served, others), "")
    hint = ""
    if other:
        hint = f"{other} is {'on by default' if is_served(other, release=release, stated={}) else 'served'}"
        hint += f": draguard convert --write --to {other.rpartition('/')[2]}" if named.group == GROUP else ""
    return (Problem(WARNING, "version-off", "VersionOff", Path(("apiVersion",)), message, hint),)


def _in_pods(obj: dict[str, Any], locations: Locations | None, judged: Callable[[Any], list[Problem]]) -> list[Problem]:
    """Judge the pods with claims that an object of another project makes, and the objects of DRA that it holds.

    The API server accepts the object, and refuses the pods later. A value that only looks like a pod gets a warning.
    """
    from webhook.workloads import pods_in  # most objects are of Kubernetes itself
    from webhook.workloads.nested import patches_in
    from webhook.workloads.projects import claims_in, lost, misnamed

    problems = [*lost(obj), *misnamed(obj)]
    for versions in patches_in(obj):
        of_each = list[list[Problem]]()
        for part in versions:
            of_each.append([*map(part.seen, _undecoded(judged(part.manifest)))])
            if not of_each[-1]:  # as of most
                break
        least = min(of_each, key=lambda found: (any(each.reason != BAD_REQUEST for each in found), len(found)))
        problems += least
    for part in claims_in(obj):
        # What a manifest in another object is called may be written beside it, or come from a controller.
        seen = map(part.seen, judged(part.manifest))
        problems += (each for each in seen if each.reason != REQUIRED or each.path[-2:] != ("metadata", "name"))
    for pods in pods_in(obj, locations):
        if is_pod_without_claims(pods.manifest):
            continue
        found = judged(pods.manifest)
        found += never_runs(pods.manifest)
        if pods.is_of_job and value_at(pods.manifest, (*_SPEC, "restartPolicy")):
            found += _of_job(pods.manifest, judged)
        problems += (pods.seen(problem) for problem in found if problem.path[:1] == ("template",))
    return list(dict.fromkeys(problems))  # several pods may have the same claims


def _undecoded(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Yield what cannot be decoded in a patch, but for directives such as ``$patch``."""
    return (each for each in problems if each.reason in NOT_DECODED and "$" not in str(each.path))


_SPEC: Final = ("template", "spec")


def _of_job(template: dict[str, Any], judged: Callable[[Any], list[Problem]]) -> Iterator[Problem]:
    """Judge the restart policy of a pod template as that of a Job."""
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template["template"]}}
    for problem in judged({**job, "metadata": template["metadata"]}):
        if problem.rule == "pods-that-end":
            yield problem._replace(path=Path((*_SPEC, problem.path[-1])), spelled=None)


def never_runs(obj: Any) -> list[Problem]:
    """Warn of a new pod that bypasses the scheduler; a stored one may have been scheduled."""
    from webhook.engine import prescheduled  # only pods need it

    change = prescheduled.rewrite_manifest(obj, prescheduled.RewriteOptions())
    if change is None or (isinstance(metadata := obj.get("metadata"), dict) and metadata.get("uid")):
        return []
    if isinstance(change, Problem):
        # It is the webhook that forbids it.
        return [change._replace(level=WARNING, reason="NeverRuns", message=change.detail)]
    spec = (*(pod_template(obj) or ()), "spec")
    hint = "`draguard mutate` makes it a constraint that the scheduler obeys"
    message = prescheduled.consequence(mapping(obj, *spec))
    return [Problem(WARNING, prescheduled.RULE, "NeverRuns", Path((*spec, "nodeName")), message, hint)]


def not_compared(old: Mapping[str, Any], api_version: str, resource: str) -> Problem:
    """Warn that an object cannot be compared with its stored state, which is in another version.

    Args:
        resource: How kubectl gets the object in that version.
    """
    message = f"the old state is in {old['apiVersion']}, so the two are not compared"
    hint = f"get the old state in {api_version}: kubectl get {resource}"
    return Problem(WARNING, "old-version", "NotCompared", Path(("apiVersion",)), message, hint)


def misspelt(obj: Any, kubernetes: str | None = None) -> list[Problem]:
    """Report an object whose kind or version is one of Kubernetes' own, but for a slip; others may be anybody's."""
    if not isinstance(obj, dict):
        return []
    version, kind = obj.get("apiVersion"), obj.get("kind")
    if find(version, kind) is not None:
        return []
    from webhook.api.unserved import no_match, not_served  # most objects are of known kinds
    from webhook.hints.names import renamed
    from webhook.policy.manifest.kinds import meant

    if not (near := meant(version, kind)):
        if not _has_claims(obj):
            return []
        return no_match(obj, release_of(kubernetes) if kubernetes else None)
    return [not_served(version, kind, *renamed(near), at="kind")]


def _misfits(obj: dict[str, Any], kubernetes: str | None) -> list[Problem]:
    """List why a quota, or an object that names the API group of DRA, such as a role, cannot be decoded."""
    version, kind = text(obj, "apiVersion"), text(obj, "kind")
    if (kind != "ResourceQuota" and GROUP not in repr(obj)) or type_of(version, kind) is None:
        return []
    from webhook.documents.placeholders import has_placeholder  # few objects name it

    release = release_of(kubernetes) if kubernetes else DEFAULT
    found = undecodable(obj, release)
    if not found and kind.endswith("WebhookConfiguration"):
        from webhook.policy.manifest.policies import validate_policy  # their conditions are in CEL

        found = validate_policy(obj, release)
    return [each for each in found if not has_placeholder(obj, each.path)]


def _of_list(obj: dict[str, Any]) -> list[Problem]:
    """Report a list that kubectl cannot take apart (apimachinery ``decodeToList``); of others, the items are judged."""
    kind = obj.get("kind")
    if not isinstance(kind, str) or not kind.endswith("List"):
        return []
    if "items" in obj:
        from webhook.documents.placeholders import has_placeholder  # most lists have items

        message = f"json: cannot unmarshal {kind_of(obj['items'])} into {_ITEMS}"
        problem = Problem(ERROR, WRONG_TYPE, BAD_REQUEST, Path(("items",)), message, WRITE_LIST)
        return [] if has_placeholder(obj, problem.path) else [problem]
    if (obj.get("apiVersion"), kind) != ("v1", "List"):
        return []
    from webhook.api.unserved import not_served  # few lists are like that

    return [not_served("v1", kind, "it has no items: write the objects there", at="kind")]


def _has_claims(obj: dict[str, Any]) -> bool:
    """Tell whether an object can only be meant as a pod or workload of Kubernetes with resource claims."""
    kind = obj.get("kind")
    home = next((name for name, each in VERSIONS.items() if isinstance(kind, str) and kind in each.kinds), None)
    if home is None or not is_own(obj.get("apiVersion")) or not makes_pods(home, kind):
        return False
    return not is_pod_without_claims({**obj, "apiVersion": home})
