"""The page of ``draguard ui``: the picture of the devices, with a form beside it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from itertools import chain, islice
from time import monotonic
from typing import Any, Final

from webhook.budget import Budget, DeadlineExceededError, limited
from webhook.check.simulated import Limit, Prepared, Words, answer_all, fitted, pod_of, prepare
from webhook.cli.ui.trial import CHOSEN, SHOWN, Changed, FormInput, Snapshot, objects_of, users_of, with_change
from webhook.devices import summary
from webhook.documents import parse
from webhook.documents.dump import dump
from webhook.inventory import KINDS
from webhook.objects import JSONObject, full_name_of, name_of, text
from webhook.report.html import pictured
from webhook.report.model import Report
from webhook.report.simulated import Page, PodReport, level_of
from webhook.report.text import as_markup, as_text, printable_lines, uncolored
from webhook.simulation import Placement
from webhook.simulation.answers import NOT_SIMULATED, Answers
from webhook.spelling import some_of
from webhook.usage import UsageError

_FIT: Final = "“how many of these fit”"
_GIVE: Final = "paste pods, workloads or claims, or choose some of the cluster"
_SAID_MAX: Final = 5
"""The most changes that the heading tells."""
_LISTED_MAX: Final = 5_000
"""The most names that a field suggests."""
_NAMES_MAX: Final = 500
"""The most attributes and capacities that complete a selector."""
_FIELDS: Final = {
    "drain": ("drain a node", "nodes"),
    "add": ("add nodes like one: NODE*3", "nodes"),
    "release": ("release a claim", "claims"),
    "taint": ("taint a device", "devices"),
    "load": ("change fields of an object, in its manifest above", "objects"),
}


_NOTHING: Final = {"without": (), "release": (), "namespace": None}
"""The options of ``draguard simulate`` that the form does not have, or has by itself."""


def page(snapshot: Snapshot, asked: FormInput, unread: str = "") -> str:
    """Return the page, with the result of what the form asks for.

    Args:
        unread: Why the cluster was not read again.
    """
    found, complaint, made = None, "", ""
    changed = Changed(snapshot.inventory, [], [], {}, {})
    timeout = snapshot.arguments.timeout
    try:
        with limited(Budget(deadline=monotonic() + timeout, is_offline=True)):
            changed = snapshot.changed(asked)
            if asked.load:
                loaded = dump(map(snapshot.chosen, asked.load))
                before = f"{asked.manifest.rstrip()}\n---\n" if asked.manifest.strip() else ""
                asked = asked._replace(manifest=before + loaded, load=())
            found = _Result(snapshot, changed._replace(inventory=changed.inventory.copy()), asked)
            if asked.make:
                asked, made = found.with_change(snapshot, asked)
                found = _Result(snapshot, snapshot.changed(asked), asked)
    except (UsageError, DeadlineExceededError) as error:
        complaint = str(error) or _passed(timeout)
    found = found or _Result(snapshot, changed._replace(evicted=[]), FormInput())
    changed = found.changed
    picture = found.page.picture(found.answers)
    keys = ((row.driver, row.pool, row.device) for row in picture.rows)
    picture.numbers = {
        key: snapshot.places[own]
        for key in keys
        if (own := (key[0], changed.copied.get(key[1], key[1]), key[2])) in snapshot.places
    }
    told = [
        *filter(None, [unread]),
        f"as Kubernetes {snapshot.settings}; read from {', '.join(map(str, snapshot.arguments.cluster))}",
        *snapshot.notes,
    ]
    if found.answers:
        told.append(NOT_SIMULATED)
    said = (f'<pre class="said">{_text(line)}</pre>' for line in filter(None, (complaint, made, *found.said)))
    form = [*said, *_form(snapshot, asked, changed)]
    title = found.summary or summary(picture.rows)
    if made:
        title += f", {made.partition(chr(10))[0]}"
    if changed.changes:
        tried = some_of([each.said for each in changed.changes], _SAID_MAX, "and {} more")
        title += f", if {'; '.join(tried)}"
    level = "warning" if found.level == "fine" and (unread or snapshot.notes) else found.level
    level = "error" if complaint or changed.wrong else level
    return "\n".join(pictured(picture, title, level, told, form=form, script="ui.js"))


def _passed(timeout: float) -> str:
    return f"{timeout:g} seconds have passed; try less, or give a longer --timeout"


class _Result:
    """The result of what the form asks for, as ``draguard simulate`` finds it.

    Args:
        changed: The objects, changed as the form asks for.
    """

    def __init__(self, snapshot: Snapshot, changed: Changed, asked: FormInput) -> None:
        inventory = changed.inventory
        self.answers: list[dict[str, Any]] = []
        self.said: list[str] = []
        self.summary, self.level = "", "fine"
        documents = [*parse(asked.manifest, "the manifest")] if asked.manifest.strip() else []
        self.changed = changed._replace(changes=[*changed.changes, *snapshot.edits(documents)])
        chosen = [each for each in asked.pods if each.partition("/")[0] in CHOSEN]
        pods = [each for each in (*asked.pods, *(() if asked.fit else changed.evicted)) if each not in chosen]
        pasted = set(map(_key, objects_of(documents)))
        stored = [each for each in map(snapshot.chosen, chosen) if _key(each) not in pasted]
        given = [*objects_of(documents), *stored]
        is_around = bool(given) and {text(each, "kind") for each in given} <= KINDS.keys() - {"Pod"}
        users = [*users_of(given)] if is_around and not (pods or asked.pending) else []
        documents += [each for obj in (*stored, *users) for each in parse(dump([obj]), name_of(obj))]
        of_pods = {"paths": ["the manifest"] * bool(documents), "pending": asked.pending, "fit": asked.fit}
        of_pods["allow_empty"] = is_around and not users
        arguments = Namespace(**{**vars(snapshot.arguments), **of_pods, **_NOTHING})
        ready = None
        if documents or pods or asked.pending:
            report, found = Report(), (pod_of(each, inventory, None, "") for each in pods)
            named = [each for each in found if _key(each) not in pasted]
            ready = prepare(
                arguments,
                snapshot.settings,
                inventory,
                named=named,
                documents=documents,
                report=report,
                words=Words(_FIT, _GIVE),
            )
            self.said += ["\n".join(as_text(report.findings))]
            self.level = "error" if ready is None else "fine"
        elif asked.fit:
            raise UsageError(f"{_FIT}: {_GIVE}")
        self.said += [f"Pod {full_name_of(each)} is made up, to ask about its claim" for each in users]
        self._inventory, self.page = inventory, Page(inventory, snapshot.settings)
        if ready is not None:
            self._simulate(ready, arguments)

    def _simulate(self, ready: Prepared, arguments: Namespace) -> None:
        self.said += ready.notes
        limit = Limit(monotonic() + arguments.timeout, _passed(arguments.timeout))
        text = PodReport()
        if arguments.fit:

            def take(placement: Placement) -> None:
                self.answers.append(Answers.brief(placement))

            pod, found, last = fitted(ready, limit, quiet=True, page=self.page, take=take)
            self.summary = uncolored(next(text.fit(pod, found, last)))
            self.level = "fine" if found.pods else "error"
            self.said += [f"more may fit: {limit.passed}"] * found.is_cut
            return
        if not ready.reported:
            return
        answers, _ = answer_all(ready, limit, self.page, quiet=True)
        self.answers = [answers[index] for index in sorted(answers)]
        self.summary, self.level = text.summary(self.answers, None), level_of(self.answers)
        if left := len(ready.reported) - len(self.answers):
            self.said.append(f"{left} of {len(ready.reported)} pods are not simulated: {_passed(arguments.timeout)}")

    def with_change(self, snapshot: Snapshot, asked: FormInput) -> tuple[FormInput, str]:
        """Make a change that would help one of the pods; return what it changes in the manifest, too.

        Raises:
            UsageError: It would not help any more, or it cannot be made in the manifest.
        """
        for answer, overlay, _ in self.page.pending.values():
            for help_, (_, made) in zip(answer["why"]["help"], overlay.helps if overlay else (), strict=False):
                said = help_["change"]
                if overlay and made and f"{answer['namespace']}/{answer['name']}: {said}" == asked.make:
                    before, manifest = with_change(asked.manifest, overlay, made, self._inventory, snapshot)
                    lines = unified_diff(before.splitlines(), manifest.splitlines(), lineterm="", n=0)
                    changed = (each for each in islice(lines, 2, None) if not each.startswith("@@"))
                    return asked._replace(manifest=manifest), "\n".join([said, *changed])
        raise UsageError(f"{asked.make}: this would not help any more")


def _key(obj: JSONObject) -> tuple[str, str]:
    return text(obj, "kind"), full_name_of(obj)


def _form(snapshot: Snapshot, asked: FormInput, changed: Changed) -> Iterator[str]:
    """Return the fields, filled in as they were sent."""
    yield f'<input type="hidden" name="read" value="{snapshot.number}">'
    yield "<fieldset><legend>Which devices match?</legend>"
    yield '<p class="quiet">of all devices here, also those of added nodes; pods do not get this selector</p>'
    yield _area("selector", "a selector", 3, asked.selector)
    yield '<output id="said"></output><div id="names">'
    yield from (f'<button type="button" hidden>{_text(each)}</button>' for each in islice(snapshot.names(), _NAMES_MAX))
    yield "</div></fieldset>"
    given = bool(asked.manifest or asked.pods or asked.pending or asked.fit)
    yield f"<fieldset><details{' open' * given}><summary>Which pods fit?</summary>"
    yield _area("manifest", "a manifest of pods, claims or workloads", 8, asked.manifest)
    yield from _field("pods", "a pod, workload or claim of the cluster", "askable", asked.pods)
    yield _check("pending", "1", "all pending pods", is_on=asked.pending)
    yield _check("fit", "1", "how many of these fit", is_on=asked.fit)
    changes = changed.changes
    is_open = " open" * bool(asked.changes or asked.load or changes)
    yield f"</details></fieldset><fieldset><details{is_open}><summary>What if?</summary>"
    for each in changes:
        yield _check(each.field, each.value, each.said, is_on=True) if each.field else f"<p>{_text(each.said)}</p>"
        yield f"<pre>{_text(each.command)}</pre>" * bool(each.command)
    made = {(each.field, each.value) for each in changes}
    for name, (label, suggested) in _FIELDS.items():
        left = [each for each in getattr(asked, name) if (name, each) not in made]
        yield from _field(name, label, suggested, left, changed.wrong)
    yield "</details></fieldset>"
    yield '<p><button>Show</button> <button name="again">Read the cluster again</button>'
    yield f"{_check('every', '10', 'every 10 seconds', is_on=False)}</p>"
    inventory = snapshot.inventory
    lists: dict[str, Iterable[str]] = {
        "nodes": (name for _, name in inventory.names("Node")),
        "claims": ("/".join(names) for names in inventory.names("ResourceClaim")),
        "devices": (f"{row.driver}/{row.pool}/{row.device}" for row in snapshot.rows),
        "askable": chain(map(full_name_of, inventory.pending()), snapshot.choices(CHOSEN)),
        "objects": snapshot.choices(SHOWN),
    }
    for name, every in lists.items():
        options = (f"<option>{_text(each)}" for each in islice(every, _LISTED_MAX))
        yield f'<datalist id="{name}">{"".join(options)}</datalist>'


def _field(
    name: str, label: str, listed: str, values: Sequence[str], wrong: Mapping[tuple[str, str], str] = {}
) -> Iterator[str]:
    for place, value in enumerate((*values, "")):
        shown = f'value="{_text(value)}" ' if value else ""
        error = wrong.get((name, value), "")
        shown += 'aria-invalid="true" ' * bool(error)
        number = f" ({place + 1})" * bool(place)
        yield f'<label>{label}{number}<input name="{name}" {shown}list="{listed}" autocomplete="off"></label>'
        yield f'<pre class="said">{_text(error)}</pre>' * bool(error)


def _area(name: str, label: str, rows: int, value: str) -> str:
    stated = f'id="{name}" name="{name}" rows="{rows}" aria-label="{label}" placeholder="{label}" spellcheck="false"'
    return f"<textarea {stated}>\n{_text(value)}</textarea>"


def _check(name: str, value: str, label: str, *, is_on: bool) -> str:
    stated = f'name="{name}" value="{_text(value)}"{" checked" * is_on}'
    return f'<label><input type="checkbox" {stated}> <span>{_text(label)}</span></label>'


def _text(given: str) -> str:
    return as_markup(printable_lines(given))
