"""What every field of an API type has in common, and what it is compiled to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from webhook.problem import Path, Problem, invalid
from webhook.schema.target import OLDEST, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from webhook.schema.decoding import Misfit

    Decode = Callable[[Any], Sequence[Misfit]]
    Check = Callable[[Any], Sequence[Problem]]
    Change = Callable[[Any, Any], Sequence[Problem]]
    Format = Callable[[str, int], Sequence[str]]

NO_MISFITS: tuple[Misfit, ...] = ()
NO_PROBLEMS: tuple[Problem, ...] = ()

IMMUTABLE = "immutable"


class Compiled(NamedTuple):
    """What a field does with a value, for one target.

    Args:
        decode: What the JSON decoder refuses of a value that is not null.
        check: What validation finds in a value of the right shape, None for an absent one; None if it never looks.
        change: What validation finds in a new and an old value; None if any change is fine.
        canonical: The value in the form in which old and new are compared; None for Go's zero value.
        view: The value as cross-field checks see it.
        plain: The Python type whose values need no decoding.
    """

    decode: Decode
    check: Check | None
    change: Change | None
    canonical: Callable[[Any], Any]
    view: Callable[[Any, Path], Any]
    plain: type | None = None


class Field:
    """What all fields have in common.

    Args:
        doc: What the field means, in a sentence.
        required: Whether validation asks for it.
        pointer: Whether Go holds it by pointer: then an empty value differs from an absent one.
        immutable: Whether an update may not change it.
        since: The first Kubernetes 1.x release that has the field.
        until: The last release that has it.
        subresource: The requests that validate it: ``MAIN``, ``STATUS``, or both where it is None.
        spelled: The name that error paths use, where it is not the JSON name.
    """

    def __init__(
        self,
        doc: str = "",
        *,
        required: bool = False,
        pointer: bool = False,
        immutable: bool = False,
        since: int = OLDEST,
        until: int | None = None,
        subresource: str | None = None,
        spelled: str | None = None,
    ) -> None:
        self.doc, self.required, self.pointer, self.immutable = doc, required, pointer, immutable
        self.since, self.until, self.subresource, self.spelled = since, until, subresource, spelled

    def type_name(self, package: str) -> str:
        """Name the field's Go type as error texts do, such as ``[]v1alpha2.ResourceHandle``."""
        raise NotImplementedError

    def compile(self, target: Target, owner: str, package: str) -> Compiled:
        """Make the closures for one target.

        Args:
            target: The version, release and operation.
            owner: The Go struct that holds the field.
            package: That struct's Go package.
        """
        raise NotImplementedError

    def limits(self) -> list[str]:
        """Say what is declared about the field, for ``draguard explain``."""
        facts = {"required": self.required, "immutable": self.immutable}
        return [fact for fact, holds in facts.items() if holds]

    def _frozen(self, canonical: Callable[[Any], Any]) -> Change | None:
        """Refuse any change, if the field is immutable."""
        if not self.immutable:
            return None

        def change(new: Any, old: Any) -> Sequence[Problem]:
            if new == old or canonical(new) == canonical(old):
                return NO_PROBLEMS
            return (invalid(Path(), new, "field is immutable").named(IMMUTABLE),)

        return change


def name_of(function: Callable[..., Any]) -> str:
    """Name a rule after the function that states it."""
    return function.__name__.replace("_", "-")
