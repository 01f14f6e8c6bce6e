"""``draguard policy generate``: rules as policies."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Collection, Iterator
from typing import Final

from webhook.check.policies import release
from webhook.check.target import kubernetes
from webhook.documents.dump import dump
from webhook.policy.generate import MUTATING_SINCE, OLDEST, checks, generate, limits, numbers
from webhook.spelling import did_you_mean
from webhook.usage import UsageError

_TOO_LATE: Final = {"count-of-zero": "The count 0 is the default by then, 1."}
"""Rules about what defaults replace, and what the object has by then."""


def run(arguments: Namespace) -> int:
    """Print the policies, or the list of rules."""
    if arguments.list:
        print("\n".join(_listed()))
        return 0
    minor = release(kubernetes(arguments))
    if minor < OLDEST:
        raise UsageError(f"the policies are for Kubernetes 1.{OLDEST} and later", "--kubernetes-version")
    limited = dict(map(_limit, arguments.limit))
    if arguments.from_rules is None and not limited:
        raise UsageError(
            "name what to generate: --from-rules [RULE ...] or --limit NAME=NUMBER; --list shows the rules"
        )
    rules = arguments.from_rules if arguments.from_rules is not None else []
    for name in rules:
        _check("--from-rules", name, checks())
    chosen = rules or (list(checks()) if arguments.from_rules is not None else [])
    if "prescheduled" in chosen and minor < MUTATING_SINCE:
        since = f"Kubernetes 1.{MUTATING_SINCE}"
        sys.stderr.write(f"note: prescheduled: pods are refused, and rewritten only from {since} on\n")
    sys.stdout.write(dump(generate(chosen, limited, actions=[arguments.enforce.capitalize()], release=minor)))
    return 0


def _limit(text: str) -> tuple[str, int]:
    name, _, number = text.partition("=")
    _check("--limit", name, limits())
    if not (number.isascii() and number.isdigit()) or len(number) > len("1000000"):
        raise UsageError(f"give a number, such as {name}=8", "--limit", text)
    return name, int(number)


def _check(option: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        from webhook.explain.names import rule_names  # needed for mistakes only

        what = "CEL policies cannot state" if name in rule_names() else "unknown name"
        hint = did_you_mean(name, known, f"choose from {', '.join(known)}")
        raise UsageError(f"{what} {name}; {hint}", option)


def _listed() -> Iterator[str]:
    """List every rule about objects: whether CEL can express it, and if not, why."""
    from webhook.explain.places import kinds, rules  # collecting all rules takes long
    from webhook.references.lookup import every_rule

    known = checks()
    width = max(map(len, known))
    yield "Rules that CEL can state:"
    yield from (f"  {name:{width}}  {check['doc']}" for name, check in known.items())
    yield "\nLimits of your own (--limit NAME=NUMBER):"
    yield from (
        f"  {name:{width}}  {check['doc'].format_map(numbers(name, 'NUMBER'))}" for name, check in limits().items()
    )
    beyond = every_rule()
    others = sorted(set(beyond) - set(known) - set(_TOO_LATE))
    yield "\nRules that CEL cannot state, because they look at other objects, at drivers, or into selectors:"
    yield from (f"  {name}" for name in others)
    yield "\nRules about what the API server has replaced before policies see the object:"
    yield from (f"  {name:{width}}  {why}" for name, why in _TOO_LATE.items())
    by_server = [
        name for name, rule in rules(kinds(), None).items() if rule.places and name not in known and name not in beyond
    ]
    yield "\nRules that need no policy, because the API server itself enforces them:"
    yield from (f"  {name}" for name in by_server)
