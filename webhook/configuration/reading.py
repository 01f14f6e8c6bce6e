"""Reads the configuration file, whose keys the table of options has."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from webhook.configuration.options import IN_FILE, Settings
from webhook.configuration.shapes import Key as KeyShape
from webhook.configuration.shapes import Record
from webhook.documents import STDIN, Document, Unreadable, parse
from webhook.documents.globs import Globs, PatternError
from webhook.documents.search import repository, top_of
from webhook.findings import Finding
from webhook.problem import WARNING, Key, Path, Problem
from webhook.regular import read_up_to
from webhook.suppression.applying import LEVELS, OFF, PATH, Statement, is_known, unknown
from webhook.usage import UsageError

CONFIGURATION: Final = Record(
    {
        each.key: KeyShape(
            each.value.shape, each.value.doc + (f" ({max(each.names, key=len)})." if each.names else ".")
        )
        for each in IN_FILE
        if each.value
    }
)
"""All keys."""
_ADDING: Final = frozenset({"exclude", "levels", "ignores"})
"""The keys that add to their options."""
OPTIONS: Final = {each.key: each.dest for each in IN_FILE if each.key not in _ADDING}
"""The options that keys set."""


def _texts(name: str, value: Any) -> Any:
    """Return the value of a key in the form of its option: a list of texts, a text, or a boolean."""
    if name in {"featureGates", "runtimeConfig"}:
        return [f"{each}={str(on).lower()}" for each, on in value.items()]
    if name == "namespaceLabels":
        return [f"{space}={','.join(f'{key}={label}' for key, label in of.items())}" for space, of in value.items()]
    if name == "podTemplates":
        return [f"{kind}={path}" for kind, paths in value.items() for path in paths]
    return value


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "draguard configuration (.draguard.yaml)",
    } | CONFIGURATION.schema()


_MAX_BYTES: Final = 1024 * 1024
"""The most bytes of the file."""
_PATHS: Final = frozenset({"policies", "driverProfiles"})
"""The keys that name files and directories."""
_GIT: Final = ".git"
_FAULTS_MAX: Final = 20
"""The most errors of a file that are shown."""


class ConfigurationError(UsageError):
    """The configuration file cannot be used; the message says where, why, and how to fix it.

    Args:
        place: The line and column of the mistake, if it is one within the file.
    """

    def __init__(self, message: str, place: tuple[int, int] = (0, 0)) -> None:
        super().__init__(message)
        self.place = place


class Configuration:
    """A configuration file that was read.

    Args:
        file: Its name, as shown.
        document: Its content; None if empty.
        root: The directory in which all files that it names must be.

    Raises:
        ConfigurationError: It has a key that is not known, or a value that is not allowed.
    """

    def __init__(self, file: str, document: Document | None, root: str) -> None:
        self.file = file
        self.directory = os.path.dirname(file) or "."
        self.root = root
        self._document = document
        self.values: dict[str, Any] = {} if document is None else document.data
        self._check()
        self.excluded = self._globs(self.values.get("exclude", ()), ("exclude",))
        """The files to leave out."""
        self.ignores = self._ignores()
        """Rules to ignore in some files."""

    def _check(self) -> None:
        """Check all values."""
        faults = list(islice(CONFIGURATION.check(self.values, ()), _FAULTS_MAX + 1))
        errors = [self._error(each.path, each.message, each.hint, says_where=each.names_key) for each in faults]
        misshapen = {str(each.path[0]) if each.path else "" for each in faults}
        for name, value in self.values.items() if "" not in misshapen else ():
            for test, *given in () if name in misshapen else self._tests(name, value):
                try:
                    test(*given)
                except ConfigurationError as error:
                    errors.append(error)
        errors.sort(key=lambda error: error.place)
        if errors:
            more = ["and more"] if len(errors) > _FAULTS_MAX else []
            raise ConfigurationError("\n".join([*map(str, errors[:_FAULTS_MAX]), *more]))

    def _tests(self, name: str, value: Any) -> Iterator[tuple[Any, ...]]:
        """Yield what is to be checked of a value that has the right shape: functions, each with its arguments."""
        if name == "levels":
            yield from ((self._check_rule, rule, (name, rule)) for rule in value)
        elif name == "exclude":
            yield self._globs, value, (name,)
        elif name == "baseline":
            yield self.inside, value, (name,)
        elif name in _PATHS:
            yield from ((self.inside, path, (name, index)) for index, path in enumerate(value))
        elif name == "ignores":
            for index, each in enumerate(value):
                yield from ((self._check_rule, rule, (name, index, "rules")) for rule in each["rules"])
                yield self._globs, each["paths"], (name, index, "paths")

    def line(self, *path: str | int) -> int:
        """Return the line of a key."""
        return self._document.position(path).line if self._document else 1

    def option(self, name: str) -> Any:
        """Return the value of a key in the form of its option; paths are relative to the working directory."""
        value = self.values[name]
        if name in _PATHS:
            return [self.inside(path, (name, index)) for index, path in enumerate(value)]
        if name == "baseline":
            return self.inside(value, ("baseline",))
        return _texts(name, value)

    def path(self, name: str) -> str:
        """Make a path of the file relative to the working directory."""
        joined = os.path.normpath(f"{self.directory}/{name}")
        return f"./{STDIN}" if joined == STDIN else joined  # a file here, not standard input

    def inside(self, name: str, at: tuple[str | int, ...]) -> str:
        """Make a path of the file relative to the working directory.

        Raises:
            ConfigurationError: It cannot be a path, or leads out of the repository, into git's files or to a device.
        """
        if "\0" in name:
            raise self._error(at, "a path cannot contain a null character")
        path = self.path(name)
        fixed = top_of(path)
        real = os.path.realpath(fixed)
        if os.path.isabs(name) or os.path.commonpath([real, self.root]) != self.root:
            raise self._error(
                at, f"{name} leads out of {self.root}", "a configuration file can only name what is in its repository"
            )
        if _GIT in real.removeprefix(self.root).lower().split("/"):  # checkouts in CI keep a token there
            raise self._error(
                at, f"{name} leads into {_GIT}", "a configuration file can only name files of the work tree"
            )
        if os.path.exists(real) and not os.path.isfile(real) and not os.path.isdir(real):
            raise self._error(at, f"{name} is not a regular file")  # a pipe may never end
        return path

    @property
    def levels(self) -> dict[str, str]:
        """The levels of rules."""
        return {name: LEVELS[word or OFF] for name, word in self.values.get("levels", {}).items()}

    def _ignores(self) -> list[Statement]:
        made = []
        for index, each in enumerate(self.values.get("ignores", ())):
            line = self.line("ignores", index)
            text = self._document.file.excerpt(line) if self._document else ""
            globs = self._globs(each["paths"], ("ignores", index, "paths"))
            path = Path(("ignores", Key(", ".join(each["paths"]))))
            where = Finding(Problem(WARNING, "", "", path, ""), self.file, line, 1, text)
            made.append(Statement(PATH, each["rules"], each["reason"], where, set(), globs=globs))
        return made

    def _globs(self, patterns: Sequence[str], at: tuple[str | int, ...]) -> Globs:
        try:
            return Globs(patterns, self.directory)
        except PatternError as error:
            raise self._error(at, str(error)) from error

    def _check_rule(self, name: str, at: tuple[str | int, ...]) -> None:
        if not is_known(name):
            raise self._error(at, *unknown(name))

    def _error(
        self, path: tuple[str | int, ...], message: str, hint: str = "", *, says_where: bool = False
    ) -> ConfigurationError:
        place = self._document.position(path) if self._document else None
        at = f"{self.file}:{place.line}:{place.column}" if place else self.file
        named = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
        what = f"{named}: {message}" if named and not says_where else message
        text = f"{at}: {what}{hint and f'; {hint}'}"
        return ConfigurationError(text, (place.line, place.column) if place else (0, 0))


def load(file: str) -> Configuration:
    """Read a file.

    Raises:
        ConfigurationError: It cannot be read, or its content is invalid.
    """
    directory = os.path.realpath(os.path.dirname(file) or ".")
    root = repository(directory) or directory
    if os.path.commonpath([os.path.realpath(file), root]) != root:
        raise ConfigurationError(f"{file}: a symbolic link that leads out of {root}")
    read = list(parse(_bytes(file), file))
    for each in read:
        if isinstance(each, Unreadable):
            raise ConfigurationError(
                f"{file}:{each.line}:{each.column}: {each.message}{each.hint and f'; {each.hint}'}"
            )
    documents = [each for each in read if isinstance(each, Document)]
    if len(documents) > 1:
        raise ConfigurationError(
            f"{file}:{documents[1].position().line}:1: a second document; a configuration file has one"
        )
    return Configuration(file, documents[0] if documents else None, root)


def _bytes(file: str) -> bytes:
    try:
        data = read_up_to(file, _MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    if len(data) > _MAX_BYTES:
        raise ConfigurationError(f"{file}: larger than {_MAX_BYTES // 1024} KiB")
    return data


_MERGED: Final = frozenset({"feature_gates", "runtime_config", "namespace_labels"})
"""Options to which the file adds entries of other names."""


def configured(arguments: Any, file: str, sources: dict[str, str]) -> Settings:
    """Apply a configuration file to options that no source of higher precedence sets.

    Args:
        sources: The sources of the options that are set; those that the file sets are added.

    Raises:
        ConfigurationError: The file cannot be used.
    """
    configuration = load(file)
    for name, option in OPTIONS.items():
        if name not in configuration.values or not hasattr(arguments, option):
            continue
        value, stated = configuration.option(name), getattr(arguments, option)
        if option in _MERGED:
            keys = {each.partition("=")[0] for each in stated}
            value = [*(each for each in value if each.partition("=")[0] not in keys), *stated]
        elif option in sources:
            continue
        elif isinstance(value, list) and not isinstance(stated, list):
            value = value[-1]
        setattr(arguments, option, value)
        line = f"{configuration.file}:{configuration.line(name)}"
        sources[option] = f"{line}, {sources[option]}" if option in sources else line
    return Settings(configuration, sources)
