"""Fixes of findings: small values beside their hints, which know nothing of files.

A fix is about the place of its finding, :attr:`webhook.problem.Problem.path`; :mod:`webhook.fixing` turns it into edits
of a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    Change: TypeAlias = Literal["replace", "quote", "rename", "respell", "remove", "nest", "unwrap", "separate"]


class Fix(NamedTuple):
    """What to change at the place of a finding.

    Args:
        change: ``replace`` writes another value. ``quote`` puts what is written in quotes. ``rename`` gives the field
            another name. ``respell`` writes another name of an object or of a part of one, here and wherever the old
            one refers to it. ``remove`` leaves the item of a list out. ``nest`` moves the field into a map beside it.
            ``unwrap`` puts the fields of a map in its place. ``separate`` puts ``---`` above the line.
        value: The other value, the other name, or the map's field.
        safe: Whether it is certain that this is what was meant.
        below: The field that changes, of the map at the place of the finding; empty for the place itself.
    """

    change: Change
    value: str | int | bool = ""
    safe: bool = True
    below: str = ""


class Advice(NamedTuple):
    """How to mend something.

    Args:
        hint: In words; empty if that cannot be told.
        fix: What to change; None if that is not certain enough.
    """

    hint: str = ""
    fix: Fix | None = None
