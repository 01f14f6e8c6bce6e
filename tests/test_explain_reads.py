"""Each rule declares the fields that it looks at: no more and no fewer than its code names."""

from __future__ import annotations

from collections import defaultdict
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from webhook.explain.places import declared_at, kinds, parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from webhook.explain.places import Place
    from webhook.schema import Declared


def named_in(function: Any) -> frozenset[str]:
    """Collect the names in a rule's code, and in the functions of the API types' modules that it calls."""
    names: set[str] = set()
    seen: set[FunctionType] = set()
    functions: list[FunctionType] = [function]
    while functions:
        each = functions.pop()
        if each in seen:
            continue
        seen.add(each)
        codes = [each.__code__]
        while codes:
            code = codes.pop()
            codes += (constant for constant in code.co_consts if isinstance(constant, CodeType))
            names.update(code.co_names, (constant for constant in code.co_consts if isinstance(constant, str)))
            called = (each.__globals__.get(name) for name in code.co_names)
            functions += (
                one for one in called if isinstance(one, FunctionType) and one.__module__.startswith("webhook.api.")
            )
    return frozenset(names)


def places() -> Iterator[Place]:
    for kind in kinds():
        left = [kind.place]
        while left:
            yield (place := left.pop())
            left += parts(place, None)


def test_rules_declare_the_fields_that_they_look_at() -> None:
    rules: dict[Any, Declared] = {}
    named: dict[Any, set[str]] = defaultdict(set)
    for place in places():
        for around in place.lineage:
            steps = set(place.home[len(around.home) :])
            for stated in declared_at(around, None) if steps else ():
                assert stated.declared
                rules[stated.declared.rule] = stated.declared
                if steps <= named_in(stated.declared.rule) | stated.declared.members:
                    named[stated.declared.rule] |= steps
    assert len(rules) > 80
    wrong = {
        each.name: (sorted(each.reads - each.given - named[rule]), sorted(named[rule] - each.reads))
        for rule, each in rules.items()
        if not each.reads - each.given <= named[rule] <= each.reads
    }
    assert wrong == {}
