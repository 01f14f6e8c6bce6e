"""The values of options and arguments, by the names that the help gives them."""

from __future__ import annotations

from webhook.api.gates import GATES
from webhook.api.runtimeconfig import OF_STAGES
from webhook.api.versions import NEWEST, VERSIONS
from webhook.cli.arguments import make_parser
from webhook.drivers.known import built_in
from webhook.explain.names import rule_names
from webhook.explain.places import kinds
from webhook.inventory.snapshots import RESOURCES
from webhook.policy.generate import CHECKS, LIMITS
from webhook.records import NamedTuple
from webhook.release import releases
from webhook.report import FORMATS
from webhook.schema import OLDEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Values(NamedTuple):
    """The values that an option or argument accepts.

    Args:
        words: Whole values.
        keys: Values up to an equals sign.
        of_keys: What follows the equals sign.
        files: Whether names of files are values, too.
    """

    words: Sequence[str] = ()
    keys: Sequence[str] = ()
    of_keys: Sequence[str] = ()
    files: bool = False


TEXT = Values()
"""Any text."""
FILES = Values(files=True)
_LEVELS = ("off", "note", "warn", "error")
_MODES = ("deny", "warn", "audit")
_VALUES: Mapping[str, Callable[[], Values]] = {
    **dict.fromkeys(("DIR", "DIRECTORY", "FILE", "GLOB", "PATH"), lambda: FILES),
    "API=BOOL,…": lambda: Values(keys=(*OF_STAGES, *VERSIONS), of_keys=("true", "false")),
    "COMMAND": lambda: Values(tuple(make_parser().commands)),
    "DRIVER": lambda: Values(built_in()),
    "FORMAT[=FILE]": lambda: Values(tuple(FORMATS), files=True),
    "GATE=BOOL,…": lambda: Values(keys=tuple(GATES), of_keys=("true", "false")),
    "KIND[.FIELD]|RULE|GATE": lambda: Values((*dict.fromkeys(each.name for each in kinds()), *rule_names(), *GATES)),
    "NAME=NUMBER": lambda: Values(keys=tuple(LIMITS)),
    "RESOURCE": lambda: Values(RESOURCES),
    "RULE": lambda: Values(tuple(CHECKS)),
    "RULE=LEVEL": lambda: Values(_LEVELS, rule_names(), _LEVELS),
    "RULE[,RULE…]": lambda: Values(rule_names()),
    "VERSION": lambda: Values([f"1.{each}" for each in releases(OLDEST, NEWEST)]),
    "[GROUP/]VERSION": lambda: Values(tuple(VERSIONS)),
    "[WHAT=]MODE": lambda: Values(_MODES, ("workloads", *rule_names()), _MODES),
}


def values(takes: str) -> Values:
    """Return the values of an option or argument.

    Args:
        takes: The name of its value in the help.
    """
    return _VALUES.get(takes, lambda: TEXT)()
