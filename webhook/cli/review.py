"""``draguard review``: answers recorded AdmissionReviews as the webhook would."""

from __future__ import annotations

import sys
from argparse import Namespace
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from webhook import admission
from webhook.admission import MODES, Enforcement, MalformedReviewError, Mode, ReviewOptions
from webhook.check.cluster import read_cluster
from webhook.check.target import feature_gates, kubernetes
from webhook.cli.console import print_error, show_lines, some_paths
from webhook.cli.console import tell as show
from webhook.documents import STDIN, STDIN_NAME
from webhook.engine import prescheduled
from webhook.optional import install
from webhook.report.model import Report
from webhook.report.text import as_json, as_text
from webhook.spelling import nearest
from webhook.usage import UsageError

if TYPE_CHECKING:
    from webhook.references.cluster import Surroundings


_NOT_A_REVIEW = "; an AdmissionReview is a JSON object: for manifests, use draguard validate"
_EMPTY = "no AdmissionReview is there: did the command that writes it fail? --allow-empty accepts that"


def run(arguments: Namespace) -> int:
    """Answer every review on a line of its own; report input that is not a review."""
    install("objects")
    answering = options(arguments)
    code = 0
    for path in some_paths(arguments, "name files with AdmissionReviews, or pipe them in"):
        name = STDIN_NAME if path == STDIN else path
        number = 0
        with _opened(path) as lines:
            for number, text in split(lines):
                code = max(code, _answer(f"{name}:{number}", text, arguments, answering))
        if not number and not arguments.allow_empty:
            show_lines([f"{name}:1: error: {_EMPTY}"], sys.stderr)
            code = max(code, 1)
    return code


def _answer(place: str, text: bytes, arguments: Namespace, answering: ReviewOptions) -> int:
    """Print the answer to a review, or why there is none; return the exit code."""
    try:
        answer = admission.review(admission.read(text), arguments.endpoint, answering)
    except MalformedReviewError as error:
        hint = "" if text.lstrip().startswith(b"{") else _NOT_A_REVIEW
        show_lines([f"{place}: error: {error}{hint}"], sys.stderr)
        return 1
    print(as_json(answer, separators=(",", ":")), flush=True)
    return 1 if arguments.exit_code and not answer["response"]["allowed"] else 0


def _opened(path: str) -> AbstractContextManager[Iterable[bytes]]:
    if path == STDIN:
        return nullcontext(sys.stdin.buffer)
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {reason}") from error


def split(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Split lines into JSON objects: one on each line, or over several lines of which only the first begins with ``{``.

    An object is yielded as soon as its last line has arrived, so that a pipe gets its answers at once.

    Args:
        lines: The lines, with their ends.

    Yields:
        The number of the first line of an object, and its text, which need not be JSON.
    """
    held: list[bytes] = []
    first = 0
    for number, given in enumerate(lines, 1):
        line = given.removeprefix(BOM_UTF8) if number == 1 else given
        if held and line.startswith(b"{"):
            yield first, b"".join(held)
            held = []
        if not held:
            if line.isspace():
                continue
            first = number
        held.append(line)
        # A line is complete if its braces pair up. Braces in strings count, too: at worst it waits for the next object.
        ends = line.startswith(b"}") if len(held) > 1 else line.count(b"{") == line.count(b"}")
        if ends and line.rstrip().endswith(b"}"):
            yield first, b"".join(held)
            held = []
    if held:
        yield first, b"".join(held)


_POLICY = "policy/"
_WORKLOADS = "workloads"


def enforcement(arguments: Namespace) -> Enforcement:
    """Read ``--enforce`` and the exemptions.

    Raises:
        UsageError: A mode or a rule is unknown.
    """
    modes: dict[str, Mode] = {}
    for text in arguments.enforce:
        what, _, named = text.rpartition("=")
        mode = next((each for each in MODES if each == named), None)
        if mode is None or what == _POLICY or ("=" in text and not what):
            raise UsageError(
                f"--enforce: {text!r}: give deny, warn or audit, or RULE=MODE, policy/NAME=MODE, workloads=MODE"
            )
        modes[what] = mode
    _check_patterns(arguments)
    overall, workloads = modes.pop("", "deny"), modes.pop(_WORKLOADS, None)
    rules = {name: mode for name, mode in modes.items() if not name.startswith(_POLICY)}
    if rules:
        _check_rules(rules)
    return Enforcement(
        mode=overall,
        workloads=workloads,
        rules=rules,
        policies={name.removeprefix(_POLICY): mode for name, mode in modes.items() if name.startswith(_POLICY)},
        exempt_namespaces=arguments.exempt_namespace,
        exempt_users=arguments.exempt_user,
        exempt_groups=arguments.exempt_group,
    )


def _check_policies(named: Collection[str], known: Collection[str]) -> None:
    """Check the names of policies that have a mode of their own.

    Args:
        named: The policies that ``--enforce`` names.

    Raises:
        UsageError: A policy does not exist.
    """
    for name in named:
        if name not in known:
            raise UsageError(f"--enforce: policy {name} not found in --policies{_suggestion(name, known)}")


def _check_patterns(arguments: Namespace) -> None:
    for what in ("namespace", "user", "group"):
        if "" in getattr(arguments, f"exempt_{what}"):
            raise UsageError(
                f"--exempt-{what}: an empty pattern is most likely a variable that is not set; leave the option out"
            )


def _check_rules(named: Collection[str]) -> None:
    from webhook.explain.names import is_rule, rule_names  # takes longer than all the rest

    for name in named:
        if not is_rule(name):
            hint = _suggestion(name, rule_names()) or "; `draguard explain` lists them"
            raise UsageError(f"--enforce: unknown rule {name}{hint}")


def _suggestion(name: str, known: Collection[str]) -> str:
    near = nearest(name, known)
    return f"; did you mean {near}?" if near else ""


def options(arguments: Namespace, tell: Callable[[str], None] = print_error) -> admission.ReviewOptions:
    """Read the options.

    Args:
        tell: Receives the lines of the report about policies.

    Raises:
        UsageError: A release, a feature gate or a rule is unknown, or the policies have errors.
    """
    stated = kubernetes(arguments)
    answering = admission.ReviewOptions(
        kubernetes=stated,
        fail_open=arguments.failure_policy == "ignore",
        prescheduled=prescheduled.RewriteOptions(arguments.select_node_by, arguments.pods),
        feature_gates=feature_gates(arguments, stated),
        enforcement=enforcement(arguments),
    )
    if arguments.cluster:
        answering = replace(answering, surroundings=_surroundings(arguments, answering))
    if not arguments.policies:
        _check_policies(answering.enforcement.policies, ())
        return answering
    from webhook.check.policies import sound_policies  # needed only with policies

    policies = sound_policies(arguments, stated, tell, answering.enforcement.strongest)
    _check_policies(answering.enforcement.policies, {policy.name for policy in policies.set.policies})
    return replace(answering, policies=policies.set, authorizer=policies.authorizer)


def _surroundings(arguments: Namespace, answering: admission.ReviewOptions) -> Surroundings:
    """Read the objects of the cluster.

    Raises:
        UsageError: A file cannot be read, or an object in it cannot be used.
    """
    from webhook.references.cluster import Surroundings

    report = Report()
    inventory = read_cluster(arguments.cluster, report, is_whole=True, tell=show)
    if report.errors:
        raise UsageError("\n".join(["--cluster cannot be used:", *as_text(report.findings)]))
    return Surroundings(inventory, answering.kubernetes, answering.feature_gates)
