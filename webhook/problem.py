"""Problems with fields, in the words of Kubernetes' field errors.

Follows apimachinery ``pkg/util/validation/field`` (``path.go``, ``errors.go``): the reasons, the way a path is spelled
and the way a rejected value is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from webhook.budget import current, work
from webhook.records import Told

if TYPE_CHECKING:
    from json import JSONEncoder

    from webhook.issues import Issue
    from webhook.release import Release

    Change: TypeAlias = Literal[
        "replace", "quote", "rename", "respell", "remove", "nest", "unwrap", "wrap", "alone", "list", "separate"
    ]

ERROR = "error"
"""The API server refuses the object."""
WARNING = "warning"
"""The API server accepts the object, but it cannot work, or not as written."""
NOTE = "note"
"""The object is valid and may be intended: no request is refused, and no client is warned."""

BAD_REQUEST = "BadRequest"
REQUIRED = "FieldValueRequired"
NOT_FOUND = "FieldValueNotFound"
DUPLICATE = "FieldValueDuplicate"
"""The reason of findings about what is repeated."""
TOO_LONG = "FieldValueTooLong"
TOO_MANY = "FieldValueTooMany"
NOT_DECODED = frozenset({BAD_REQUEST, "NotFound"})
"""The reasons of errors about an object that cannot be decoded: nothing else is found in it."""
AS_JSON_SINCE: Final = 34
"""From Kubernetes 1.34 ``field.Error`` shows rejected values as JSON; before, as Go writes them."""
IMMUTABLE_FIELD: Final = "field is immutable"
"""The detail of a refusal of every change of a field."""


_LONGEST_PATH: Final = 4000
"""How many characters of a path are spelled: a key may have any number, and each finding below it repeats them."""


class Key(str):
    """A step into a map, spelled ``[key]`` where a field is spelled ``.field``."""

    __slots__ = ()


class Verbatim(str):
    """A rejected value that the API server shows in a special form, not as JSON."""

    __slots__ = ()


class Remark(str):
    """A hint that does not say what to do."""

    __slots__ = ()


class Meant(str):
    """A hint that suggests one of the known names."""

    __slots__ = ()


class InYaml(Told):
    """A hint about YAML, with the same in the words of JSON.

    Args:
        json: The hint for a file that is meant to be JSON.
    """

    json: str = ""


ONCE_DECODED: Final = Remark("the API server reports this once it can decode the object")
"""The remark on findings in an object that cannot be decoded, which is their hint if they have no other."""
WRITE_LIST: Final = InYaml("write a list: a `-` before each entry", json="write an array: the entries between [ and ]")


Steps = tuple[str | int, ...]
"""The steps of a path."""


class Path(tuple["str | int", ...]):
    """The path of a value in a document: ``Path() / "spec" / "devices" / 0``."""

    __slots__ = ()

    def __truediv__(self, step: str | int) -> Path:
        """Append a step: a field, a list index or a map's :class:`Key`."""
        return Path((*self, step))

    @property
    def names(self) -> tuple[str, ...]:
        """The steps without indices: the items of a list may move."""
        return tuple(step for step in self if isinstance(step, str))

    def __str__(self) -> str:
        """Spell the path as the API server does, but leave out the middle of a very long one."""
        return clipped("".join(map(_spelled, self)).removeprefix("."))


def _spelled(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f"[{clipped(step)}]" if isinstance(step, Key) else f".{clipped(step)}"


def clipped(text: str) -> str:
    """Leave out the middle of a very long path or of a step."""
    if len(text) <= _LONGEST_PATH:
        return text
    half = _LONGEST_PATH // 2
    return f"{text[:half]}...{text[-half:]}"


def value_at(value: Any, path: Iterable[str | int], absent: Any = None) -> Any:
    """Return the value at a path in a JSON value.

    Args:
        value: The value, of any shape.
        absent: The value to return if there is none at the path.
    """
    for step in path:
        try:
            value = value[step]
        except (LookupError, TypeError):
            return absent
    return value


class Fix(NamedTuple):
    """A change at the place of a finding; :mod:`webhook.edit` turns it into edits of a file.

    Args:
        change: ``replace`` writes another value. ``quote`` puts the text of the value in quotes. ``rename`` gives the
            field another name. ``respell`` writes another name of an object or of a part of one, here and wherever the
            old one refers to it. ``remove`` removes the item of a list, or a field. ``nest`` moves the field into
            a map beside it. ``unwrap`` puts the fields of a map in its place. ``wrap`` puts a value into a map or a
            list; ``alone`` writes the only value of a map or list in its place. ``list`` makes a list of a map, with
            its keys as a field of the items. ``separate`` puts ``---`` above the line.
        value: The other value, the other name, or the field of the map or items; for ``wrap``, an empty value means
            a list.
        safe: Whether the change is certainly what the user meant.
        below: The field to change in the map at the place of the finding; empty for the place itself.
    """

    change: Change
    value: str | int | bool = ""
    safe: bool = True
    below: str = ""


class Advice(NamedTuple):
    """How to fix a problem.

    Args:
        hint: The advice in words; empty if unknown.
        fix: The change; None if it is not certain enough.
    """

    hint: str = ""
    fix: Fix | None = None


class Problem(NamedTuple):
    """One finding about one field of one object.

    Args:
        level: ``"error"`` if the API server refuses the object, ``"warning"`` if it accepts an object that cannot work.
        rule: The stable name of the rule, as ``draguard explain`` knows it.
        reason: Kubernetes' cause, such as ``FieldValueInvalid``; ``BadRequest`` for a value that cannot be decoded.
        path: Where the value sits in the submitted document.
        message: The API server's message.
        hint: How to fix it, where that is known.
        spelled: The API server's spelling of the path, where it differs from ``path``.
        fix: The change at ``path``, where that is certain.
        character: The offset in the expression at ``path``, in code points; None if the whole expression is meant.
        detail: The API server's requirement for the value, or its statement about it.
        value: The rejected text; empty for other values.
        allowed: The values that are supported instead.
        issues: The errors in the text of the expression at ``path``.
        is_later: Whether the API server reports it only once it can decode the object.
    """

    level: str
    rule: str
    reason: str
    path: Path
    message: str
    hint: str = ""
    spelled: Path | None = None
    fix: Fix | None = None
    character: int | None = None
    detail: str = ""
    value: str = ""
    allowed: tuple[str, ...] = ()
    issues: tuple[Issue, ...] = ()
    is_later: bool = False

    @property
    def field(self) -> str:
        """The field as the API server spells it, such as ``spec.devices.requests[0].name``."""
        return str(self.path if self.spelled is None else self.spelled)

    @property
    def lacks_advice(self) -> bool:
        """Whether this is a refusal without advice; about a pod of an unknown kind, refusals are warnings."""
        is_refusal = self.level == ERROR or self.reason.startswith("FieldValue")
        return is_refusal and (not self.hint or isinstance(self.hint, Remark))

    @property
    def is_of_change(self) -> bool:
        """Whether it refuses every change of a field, which may be large."""
        return self.detail == IMMUTABLE_FIELD

    def under(self, step: str | int) -> Problem:
        """Return the same finding as seen from one level above."""
        return self.below((step,), (step,))

    def below(self, steps: Sequence[str | int], spelled: Sequence[str | int]) -> Problem:
        """Return the same finding as seen from ``steps`` above, a path that the API server spells ``spelled``."""
        path = Path((*steps, *self.path))
        if self.spelled is None and steps == spelled:
            shown = None
        else:
            shown = Path((*spelled, *(self.path if self.spelled is None else self.spelled)))
        return self._replace(path=path, spelled=shown)

    def named(self, rule: str) -> Problem:
        """Return the same finding under a rule's name."""
        return self._replace(rule=rule)

    def __str__(self) -> str:
        """Spell the finding as ``field.Error`` does: field, then what is wrong."""
        return f"{self.field}: {self.message}"


def refused(reason: str, path: Path, summary: str, rule: str = "", *, detail: str = "") -> Problem:
    """Report a refusal, such as one before or beside the validation of fields, with its own reason."""
    made()
    return Problem(ERROR, rule, reason, path, f"{summary}: {detail}" if detail else summary, detail=detail)


def required(path: Path, detail: str = "") -> Problem:
    """Report a value that must be given."""
    return refused(REQUIRED, path, "Required value", "required", detail=detail)


def invalid(path: Path, value: object, detail: str) -> Problem:
    """Report a value that is malformed."""
    problem = refused("FieldValueInvalid", path, f"Invalid value: {shown(value)}", detail=detail)
    return problem._replace(value=value) if isinstance(value, str) else problem


def malformed(path: Path, value: str, faults: Iterable[str]) -> list[Problem]:
    """Report the faults that a format finds in a text, for rules that have its path: making one takes time."""
    return [invalid(path, value, fault) for fault in faults]


def type_invalid(path: Path, value: object, detail: str) -> Problem:
    """Report a value of the wrong type; early releases reported malformed identifiers so."""
    return refused("FieldValueTypeInvalid", path, f"Invalid value: {shown(value)}", detail=detail)


def internal(path: Path, detail: str) -> Problem:
    """Report an internal error of the API server."""
    return refused("InternalError", path, "Internal error", detail=detail)


def forbidden(path: Path, detail: str) -> Problem:
    """Report a value that must not be given here."""
    return refused("FieldValueForbidden", path, "Forbidden", detail=detail)


def duplicate(path: Path, value: object) -> Problem:
    """Report a value that repeats an earlier one."""
    return refused(DUPLICATE, path, f"Duplicate value: {shown(value)}", "duplicate")


def not_found(path: Path, value: object, detail: str = "") -> Problem:
    """Report a reference to something that does not exist."""
    return refused(NOT_FOUND, path, f"Not found: {shown(value)}", detail=detail)


def not_supported(path: Path, value: str, supported: Iterable[str], release: Release) -> Problem:
    """Report a value outside an enumeration."""
    supported = tuple(supported)
    names = ", ".join(map(quoted, supported))
    text = shown(of_own_type(value, release))
    problem = refused("FieldValueNotSupported", path, f"Unsupported value: {text}: supported values: {names}", "enum")
    return problem._replace(value=value, allowed=supported)


def of_own_type(text: str, release: Release) -> str:
    """Return a text whose Go type has a name of its own, such as one of an enumeration, as messages show it.

    Since 1.34 ``field.Error`` shows such texts as JSON, not by %q.
    """
    return Verbatim(_to_json().encode(text).translate(GO_JSON_ESCAPES)) if release >= AS_JSON_SINCE else text


def too_long(path: Path, limit: int, release: Release, *, in_bytes: bool = False) -> Problem:
    """Report a text of too many bytes.

    Args:
        path: Where the text sits.
        limit: The most bytes it may have.
        release: The Kubernetes release; before 1.32 there were two wordings.
        in_bytes: Whether that release's API server reports it by ``field.TooLong``, not ``field.TooLongMaxLength``.
    """
    if release >= _ONE_WORDING_SINCE:
        detail = f"may not be more than {limit} {_counted('byte', limit, release)}"
    else:
        detail = f"must have at most {limit} bytes" if in_bytes else f"may not be longer than {limit}"
    return refused(TOO_LONG, path, f"Too long: {detail}", "max-length")


def too_many_characters(path: Path, limit: int) -> Problem:
    """Report a text of too many characters, as declarative validation counts them from Kubernetes 1.37 on."""
    return refused(TOO_LONG, path, f"Too long: may not be more than {limit} characters", "max-length")


def too_many(path: Path, count: int, limit: int, release: Release) -> Problem:
    """Report a list or map with too many items; before Kubernetes 1.32 it was called too long."""
    if release < _ONE_WORDING_SINCE:
        return refused(TOO_LONG, path, f"Too long: may not be longer than {limit}", "max-items")
    detail = f"must have at most {limit} {_counted('item', limit, release)}"
    return refused(TOO_MANY, path, f"Too many: {count}: {detail}", "max-items")


def null(release: Release) -> str | None:
    """Return the placeholder for an absent value in messages; before Kubernetes 1.34 it was quoted like a text."""
    return None if release >= AS_JSON_SINCE else "null"


def quoted(text: str) -> str:
    r"""Quote a string as Go's ``%q`` does.

    Printable characters stay, others become ``\n``, ``\x00``, ``\u200b`` and the like (strconv.Quote).
    """
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    from webhook.escapes import GO_QUOTED  # most texts are plain

    return f'"{text.translate(GO_QUOTED)}"'


_MADE: Final = 30
"""The work of making a finding, of naming and sorting it, and of writing it."""


def made() -> None:
    """Spend the work of a finding in a review; offline, all are listed."""
    if not (budget := current()).is_offline:
        budget.spend(_MADE)


SHOWN: Final = 1000
"""How many characters of a long value are shown in a review's response, or in many findings."""

_BEGUN: Final = 200
"""The work of showing the beginning of a long value, which a list may need for each of its items."""


def shown(value: object) -> str:
    """Show a rejected value as an error message does: strings quoted, numbers plain, the rest as JSON.

    Of a long value only the beginning is shown once findings have quoted enough (:mod:`webhook.budget`): a list may be
    quoted once for each of its items.
    """
    if isinstance(value, str):
        show = str if isinstance(value, Verbatim) else quoted
        if len(value) <= SHOWN or _is_quotable(len(value)):
            return show(value)
        return show(value[:SHOWN]) + _left_out(len(value) - SHOWN)
    text = _begin(value)
    if len(text) > SHOWN:
        if not _is_quotable(0):
            work(_BEGUN)
            return text[:SHOWN].translate(GO_JSON_ESCAPES) + "\u2026"
        text = _to_json().encode(value)
        current().quotable -= len(text)
    return text.translate(GO_JSON_ESCAPES)


def cut(text: str, limit: int) -> str:
    """Shorten a text, and note by how much; not if the note were as long as what it stands for."""
    note = _left_out(len(text) - limit)
    return text if len(text) <= limit + len(note) else text[:limit] + note


def _left_out(count: int) -> str:
    return f"\u2026 ({count} more characters)"


def _is_quotable(length: int) -> bool:
    budget = current()
    if budget.quotable <= 0:
        return False
    budget.quotable -= length
    return True


def _begin(value: object) -> str:
    """Return the beginning of a value's JSON, a little more than is shown."""
    length, parts = 0, []
    for part in _to_json().iterencode(value):
        parts.append(part)
        length += len(part)
        if length > SHOWN:
            break
    return "".join(parts)


@cache
def _to_json() -> JSONEncoder:
    from json import JSONEncoder  # needed only to show a value

    return JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)


def aggregate(errors: Iterable[str]) -> str:
    """Join errors as ``utilerrors.NewAggregate`` does: each once, in brackets if there are several."""
    texts = list(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


GO_JSON_ESCAPES = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
"""The characters that Go's ``encoding/json`` escapes in addition."""


_ONE_WORDING_SINCE = 32
_SINGULAR_SINCE = 34


def _counted(noun: str, number: int, release: Release) -> str:
    return noun if number == 1 and release >= _SINGULAR_SINCE else f"{noun}s"
