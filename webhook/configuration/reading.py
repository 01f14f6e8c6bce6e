"""Reads the configuration file, whose keys set options or add to them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple

from webhook.configuration import options
from webhook.configuration.options import Option, OptionSources, labels, switches
from webhook.configuration.shapes import FLAG, LABEL, Shape, list_of, map_of, record, text, word
from webhook.documents import STDIN, Document, Unreadable, parse
from webhook.documents.globs import Globs, PatternError
from webhook.documents.search import repository, top_of
from webhook.findings import Finding
from webhook.problem import WARNING, Path, Problem, Steps
from webhook.problem import Key as Step
from webhook.regular import read_up_to
from webhook.spelling import some_of
from webhook.structural.keywords import Walk
from webhook.suppression.applying import LEVELS, OFF, PATH, Statement, is_known, unknown
from webhook.usage import UsageError


class Setting(NamedTuple):
    """A key of the file.

    Args:
        doc: Its description, which ends with the option.
        option: The option that it sets, or adds to; None if there is none.
        texts: Returns its value in the form of that option.
        adds: Whether it adds to the option.
        merges: Whether it sets the option for names that this does not state.
    """

    shape: Shape
    doc: str
    option: Option | None
    texts: Callable[[Any], Any] = lambda value: value
    adds: bool = False
    merges: bool = False


_PATTERN: Final = text(example="examples/**")
_IGNORED: Final = {
    "paths": (list_of(_PATTERN, 1), "Patterns of paths, relative to this file."),
    "rules": (list_of(text(example="unknown-field"), 1), "The rules to suppress there."),
    "reason": (text(example="accepted until the upgrade"), "Why they are suppressed."),
}
_OF_PODS: Final = list_of(text(example="spec.workers[].template"), 1)
KEYS: Final = {
    "kubernetesVersions": Setting(
        list_of(text(r"v?1\.[0-9]+(\.[0-9]+)?", "1.34")),
        "Kubernetes releases to judge for, such as 1.34 in quotes",
        options.RELEASES,
    ),
    "featureGates": Setting(
        map_of(FLAG),
        "Feature gates that differ from the releases' defaults",
        options.GATES,
        switches,
        merges=True,
    ),
    "runtimeConfig": Setting(
        map_of(FLAG),
        "API versions that the clusters serve or not, beside the releases' defaults",
        options.RUNTIME_CONFIG,
        switches,
        merges=True,
    ),
    "namespaceLabels": Setting(
        map_of(map_of(LABEL)),
        "All labels of namespaces, by the namespace's name",
        options.NAMESPACE_LABELS,
        labels,
        merges=True,
    ),
    "policies": Setting(
        list_of(text(example="policies/")),
        "Policies to evaluate: files, directories and globs in the repository, relative to this file",
        options.POLICY_FILES,
    ),
    "podTemplates": Setting(
        map_of(_OF_PODS),
        "The places of pod templates in other projects' workloads, by group and kind",
        options.POD_TEMPLATES,
        lambda stated: [f"{kind}={path}" for kind, paths in stated.items() for path in paths],
    ),
    "driverProfiles": Setting(
        list_of(text(example="drivers/gpu.example.com.yaml")),
        "Files with profiles of drivers, relative to this file",
        options.DRIVER_PROFILES,
    ),
    "exclude": Setting(
        list_of(_PATTERN),
        "Paths to skip: patterns as in .gitignore, relative to this file",
        options.EXCLUDED,
        adds=True,
    ),
    "levels": Setting(
        map_of(word(*LEVELS)),
        "The levels of rules: off, note, warn or error, by the rule's name",
        options.LEVEL,
        adds=True,
    ),
    "ignores": Setting(list_of(record(_IGNORED, *_IGNORED)), "Rules to suppress in some files", None),
    "baseline": Setting(
        text(example="draguard-baseline.json"),
        "A file of findings to suppress, relative to this file",
        options.BASELINE,
    ),
    "allPods": Setting(FLAG, "Whether pods and workloads without resource claims are judged, too", options.ALL_PODS),
    "strict": Setting(FLAG, "Whether to exit with 1 for warnings, too", options.STRICT),
}
"""All keys, in the order of the schema."""
_SHAPE: Final = record(
    {
        name: (each.shape, f"{each.doc} ({max(each.option.names, key=len)})." if each.option else f"{each.doc}.")
        for name, each in KEYS.items()
    }
)


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "draguard configuration (.draguard.yaml)",
    } | _SHAPE


_MAX_BYTES: Final = 1024 * 1024
"""The most bytes of the file."""
_PATHS: Final = frozenset({"policies", "driverProfiles"})
"""The keys that name files and directories."""
_GIT: Final = ".git"
_FAULTS_MAX: Final = 20
"""The most errors of a file that are shown."""


class ConfigurationError(UsageError):
    """The configuration file cannot be used; the message says where, why, and how to fix it."""


class Configuration:
    """A configuration file that was read.

    Args:
        file: Its name, as shown.
        document: Its content.
        root: The directory in which all files that it names must be.

    Raises:
        ConfigurationError: It has a key that is not known, or a value that is not allowed.
    """

    def __init__(self, file: str, document: Document, root: str) -> None:
        self.file = file
        self.directory = os.path.dirname(file) or "."
        self.root = root
        self._document = document
        self._errors: list[tuple[int, int, str]] = []
        """Lines, columns, and what is wrong there."""
        self.values: dict[str, Any] = document.data
        sound = self._well_formed()
        self.levels = {name: LEVELS[word or OFF] for name, word in sound.get("levels", {}).items()}
        """The levels of rules."""
        for rule in self.levels:
            self._check_rule(rule, ("levels", rule))
        self.excluded = self._globs(sound.get("exclude", ()), ("exclude",))
        """The files to leave out."""
        self.ignores = [self._ignored(*each) for each in enumerate(sound.get("ignores", ()))]
        """Rules to ignore in some files."""
        self.texts = {name: self._texts(name, value) for name, value in sound.items()}
        """The values in the form of their options; paths are relative to the working directory."""
        if self._errors:
            errors = [said for _, _, said in sorted(self._errors, key=lambda each: each[:2])]
            raise ConfigurationError("\n".join(some_of(errors, _FAULTS_MAX, "and more")))

    def _well_formed(self) -> dict[str, Any]:
        """Return the values that have the right shapes; none if there is more wrong than is shown."""
        faults = list(islice(Walk({}, is_own=True).check(_SHAPE, self.values, ()), _FAULTS_MAX + 1))
        for each in faults:
            self._wrong(each.path, each.message, each.hint)
        if len(faults) > _FAULTS_MAX or not all(each.path for each in faults):
            return {}
        misshapen = {each.path[0] for each in faults}
        return {name: value for name, value in self.values.items() if name not in misshapen}

    def line(self, *path: str | int) -> int:
        """Return the line of a key."""
        return self._document.position(path).line

    def _texts(self, name: str, value: Any) -> Any:
        if name in _PATHS:
            return [self._inside(path, (name, index)) for index, path in enumerate(value)]
        return self._inside(value, (name,)) if name == "baseline" else KEYS[name].texts(value)

    def _inside(self, name: str, at: Steps) -> str:
        """Make a path relative to the working directory, if it stays in the repository, and leads to no device."""
        if "\0" in name:
            self._wrong(at, "a path cannot contain a null character")
            return ""
        joined = os.path.normpath(f"{self.directory}/{name}")
        path = f"./{STDIN}" if joined == STDIN else joined  # a file here, not standard input
        real = os.path.realpath(top_of(path))
        if os.path.isabs(name) or os.path.commonpath([real, self.root]) != self.root:
            hint = "a configuration file can only name what is in its repository"
            self._wrong(at, f"{name} leads out of {self.root}", hint)
        elif _GIT in real.removeprefix(self.root).lower().split("/"):  # checkouts in CI keep a token there
            self._wrong(at, f"{name} leads into {_GIT}", "a configuration file can only name files of the work tree")
        elif os.path.exists(real) and not os.path.isfile(real) and not os.path.isdir(real):
            self._wrong(at, f"{name} is not a regular file")  # a pipe may never end
        return path

    def _ignored(self, index: int, stated: Mapping[str, Any]) -> Statement:
        at = "ignores", index
        for rule in stated["rules"]:
            self._check_rule(rule, (*at, "rules"))
        line = self.line(*at)
        path = Path(("ignores", Step(", ".join(stated["paths"]))))
        where = Finding(Problem(WARNING, "", "", path, ""), self.file, line, 1, self._document.file.excerpt(line))
        globs = self._globs(stated["paths"], (*at, "paths"))
        return Statement(PATH, stated["rules"], stated["reason"], where, set(), globs=globs)

    def _globs(self, patterns: Sequence[str], at: Steps) -> Globs:
        try:
            return Globs(patterns, self.directory)
        except PatternError as error:
            self._wrong(at, str(error))
            return Globs((), self.directory)

    def _check_rule(self, name: str, at: Steps) -> None:
        if not is_known(name):
            self._wrong(at, *unknown(name))

    def _wrong(self, path: Steps, message: str, hint: str = "") -> None:
        """Note an error of the value at a path."""
        place = self._document.position(path)
        named = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")
        what = ": ".join(filter(None, [f"{self.file}:{place.line}:{place.column}", named, message]))
        self._errors.append((place.line, place.column, what + (hint and f"; {hint}")))


def load(file: str) -> Configuration:
    """Read a file.

    Raises:
        ConfigurationError: It cannot be read, or its content is invalid.
    """
    directory = os.path.realpath(os.path.dirname(file) or ".")
    root = repository(directory) or directory
    if os.path.commonpath([os.path.realpath(file), root]) != root:
        raise ConfigurationError(f"{file}: a symbolic link that leads out of {root}")
    read = [*parse(_bytes(file), file)] or [*parse("{}", file)]
    for each in read:
        if isinstance(each, Unreadable):
            raise ConfigurationError(
                f"{file}:{each.line}:{each.column}: {each.message}{each.hint and f'; {each.hint}'}"
            )
    document, *others = (each for each in read if isinstance(each, Document))
    if others:
        line = others[0].position().line
        raise ConfigurationError(f"{file}:{line}:1: a second document; a configuration file has one")
    return Configuration(file, document, root)


def _bytes(file: str) -> bytes:
    try:
        data = read_up_to(file, _MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{file}: {(error.strerror or str(error)).lower()}") from error
    if len(data) > _MAX_BYTES:
        raise ConfigurationError(f"{file}: larger than {_MAX_BYTES // 1024} KiB")
    return data


def configured(arguments: Any, file: str, sources: dict[str, str]) -> OptionSources:
    """Apply a configuration file to options that no source of higher precedence sets.

    Args:
        sources: The sources of the options that are set; those that the file sets are added.

    Raises:
        ConfigurationError: The file cannot be used.
    """
    configuration = load(file)
    for name, key in KEYS.items():
        option = key.option.dest if key.option and not key.adds else ""
        if name not in configuration.values or not hasattr(arguments, option):
            continue
        value, stated = configuration.texts[name], getattr(arguments, option)
        if key.merges:
            keys = {each.partition("=")[0] for each in stated}
            value = [*(each for each in value if each.partition("=")[0] not in keys), *stated]
        elif option in sources:
            continue
        elif isinstance(value, list) and not isinstance(stated, list):
            value = value[-1]
        setattr(arguments, option, value)
        line = f"{configuration.file}:{configuration.line(name)}"
        sources[option] = f"{line}, {sources[option]}" if option in sources else line
    return OptionSources(configuration, sources)
