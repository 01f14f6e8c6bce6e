"""Unions: structs with exactly one member set, in the words of declarative validation.

Follows apimachinery ``pkg/api/validate/union.go``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.problem import Path, Problem, invalid


def one_member(path: Path, members: Sequence[str], given: Sequence[str]) -> Iterator[Problem]:
    """Report a union of which not exactly one member is given."""
    one_of = ", ".join(f"`{name}`" for name in members)
    if not given:
        yield invalid(path, "", f"must specify one of: {one_of}")
    elif len(given) > 1:
        shown = ", ".join(name for name in members if name in given)
        yield invalid(path, f"{{{shown}}}", f"must specify exactly one of: {one_of}")
