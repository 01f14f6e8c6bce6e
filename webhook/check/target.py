"""The API server that documents are judged as: its release, feature gates and API versions; where pods are."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from webhook.api import gates
from webhook.api.versions import DEFAULT, NEWEST, not_known_yet, release_of
from webhook.configuration.options import Live
from webhook.release import releases
from webhook.schema.target import OLDEST
from webhook.usage import UsageError, naming

if TYPE_CHECKING:
    from webhook.inventory import Inventory
    from webhook.simulation import Settings
    from webhook.workloads import Locations


_LONGEST_VERSION: Final = 256
_STEP: Final = r"(?:[A-Za-z0-9_-]+(?:\[\])?|\*)"
_LOCATION: Final = rf"([a-z0-9.-]+\.[a-z0-9.-]+)/([A-Z][A-Za-z0-9]*)=({_STEP}(?:\.{_STEP})*)"
"""A value of ``--pod-template``."""


def follow(arguments: Namespace, tell: Callable[[str], None], *, has_namespace: bool = False) -> None:
    """Connect to the running clusters of the options, and take release and feature gates of the first one.

    Args:
        arguments: The command's arguments; what they state has precedence.
        tell: Receives what kubectl says, such as how to log in.
        has_namespace: Whether the namespace of the context is meant if none is stated.

    Raises:
        UsageError: A cluster cannot be reached.
    """
    from webhook.cluster.errors import ClusterError  # most clusters are in files
    from webhook.cluster.live import connect

    try:
        arguments.cluster = [connect(each, tell) if isinstance(each, Live) else each for each in arguments.cluster]
    except ClusterError as error:
        raise UsageError(f"the cluster cannot be read: {error}") from error
    server = next(each for each in arguments.cluster if not isinstance(each, str))
    if has_namespace and getattr(arguments, "namespace", "") is None:
        arguments.namespace = server.namespace
    stated = getattr(arguments, "kubernetes_version", "")
    if stated or stated == "" or not server.version:
        return
    try:
        release = release_of(_known(server.version, server.name))
    except ValueError as error:
        raise UsageError(f"{server.name}: {error}") from error
    arguments.kubernetes_version = [server.version] if isinstance(stated, list) else server.version
    usual = gates.enabled(release)
    told = {gate: on for gate, on in server.gates.items() if gates.known(gate, release) and gate not in gates.EVERY}
    other = {gate: on for gate, on in gates.settable(told, release).items() if (gate in usual) != on}
    given = [f"{gate}={str(on).lower()}" for gate, on in other.items()]
    arguments.feature_gates = [*given, *arguments.feature_gates]


def kubernetes(arguments: Namespace) -> str | None:
    """Read ``--kubernetes-version``, or else ``--kubernetes-version-file``; None if neither was given.

    Raises:
        UsageError: The release is unknown, or there are several.
    """
    stated: str | None = arguments.kubernetes_version
    if stated and len(stated.replace(",", "\n").splitlines()) > 1:  # those of a variable are on lines
        raise UsageError(f"{stated!r} are several releases: give one", "--kubernetes-version")
    return _of_file(getattr(arguments, "kubernetes_version_file", None)) if stated is None else _of_option(stated)


def kubernetes_versions(arguments: Namespace) -> list[str | None]:
    """Read ``--kubernetes-version`` where it can be repeated; one None if it was not given.

    Raises:
        UsageError: A release is unknown.
    """
    named = [each for text in arguments.kubernetes_version for each in text.split(",")]
    for each in named:
        match = re.fullmatch(r"v?1\.([0-9]{1,3}) *(?:-|\.\.) *v?1\.([0-9]{1,3})", each, re.ASCII)
        first, last = map(int, match.groups()) if match else (1, 0)
        if OLDEST <= first < last <= NEWEST:
            listed = ",".join(f"1.{minor}" for minor in range(first, last + 1))
            raise UsageError(f"{each!r} is not a Kubernetes version; write {listed}", "--kubernetes-version")
    stated = [_of_option(each) for each in named]
    return [each for _, each in sorted({release_of(each): each for each in stated}.items())] or [None]


def _of_option(stated: str) -> str:
    with naming("--kubernetes-version"):
        return _known(stated, "--kubernetes-version")


def _known(stated: str, source: str) -> str:
    """Return the known version for a stated one, with a note if they differ, or if only alphas of it are known.

    Raises:
        ValueError: It is not a version, or is older than the first known one.
    """
    release = release_of(stated)
    if not (note := not_known_yet(stated)):
        return stated
    _warn("note: %s: %s", source, note)
    return f"1.{release}"


def _of_file(path: str | None) -> str | None:
    """Read a file with the cluster's version; None if it holds no known version, which does not end the webhook."""
    if path is None:
        return None
    from webhook.regular import open_regular  # only servers have such a file

    try:
        with open(path, encoding="ascii", opener=open_regular) as file:
            return _known(file.read(_LONGEST_VERSION).strip(), path)
    except (OSError, ValueError) as error:
        why = f": {error.strerror if isinstance(error, OSError) else error}"
        why = " does not exist" if isinstance(error, FileNotFoundError) else why
        _warn("%s%s: objects are judged by the newest release that knows them", path, why)
        return None


def _warn(text: str, *values: object) -> None:
    import logging  # without a note it is not needed

    logging.getLogger(__name__).warning(text, *values)


def feature_gates(arguments: Namespace, stated: str | None) -> dict[str, bool] | None:
    """Read ``--feature-gates``, None if it was not given.

    Args:
        stated: The Kubernetes release; None if it depends on the object.

    Raises:
        UsageError: The text is malformed, or a gate is unknown or cannot be disabled.
    """
    if not arguments.feature_gates:
        return None
    release = release_of(stated) if stated else DEFAULT
    try:
        wanted = {gate: on for text in arguments.feature_gates for gate, on in gates.parse(text).items()}
        gates.enabled(release, wanted)
    except gates.GateError as error:
        raise UsageError(str(error), _source_of(error.gate, arguments)) from error
    for gate in wanted if stated else ():
        if not gates.known(gate, release):
            having = [each for each in releases(OLDEST, NEWEST) if gates.known(gate, each)]
            message = f"Kubernetes 1.{release} has no feature gate {gate}; added in 1.{having[0]}"
            message += f" and removed in 1.{having[-1] + 1}" if having[-1] < NEWEST else ""
            raise UsageError(message, _source_of(gate, arguments))
    return wanted


def _source_of(gate: str, arguments: Namespace) -> str:
    """Return the source of a feature gate: a line of the configuration file, or the option."""
    configuration = getattr(getattr(arguments, "settings", None), "configuration", None)
    if configuration is not None and gate in configuration.values.get("featureGates", ()):
        return f"{configuration.file}:{configuration.line('featureGates', gate)}: featureGates"
    return "--feature-gates"


def settings_of(stated: str | None, arguments: Namespace, inventory: Inventory) -> Settings:
    """Return the release and gates of the scheduler.

    Args:
        stated: The release that :func:`kubernetes` has read; None for that of the nodes.
        arguments: The command's arguments, with the gates.
        inventory: The objects of the cluster.

    Raises:
        UsageError: The release is not simulated.
    """
    from webhook.simulation import Settings, release_in  # most documents are judged without a cluster

    release = stated or release_in(inventory.all("Node"))
    with naming("--kubernetes-version"):
        return Settings.of_cluster(inventory, release, feature_gates(arguments, release))


def runtime_config(arguments: Namespace) -> dict[str, bool] | None:
    """Read ``--runtime-config``, None if it was not given.

    Raises:
        UsageError: A key or value is malformed, or names an API group or version that Kubernetes does not have.
    """
    if not arguments.runtime_config:
        return None
    from webhook.policy.manifest.kinds import runtime_config_of  # few clusters differ from the defaults

    with naming("--runtime-config"):
        return runtime_config_of(arguments.runtime_config)


def pod_locations(arguments: Namespace) -> Locations | None:
    """Read ``--pod-template``; None if it was not given.

    Raises:
        UsageError: It is malformed.
    """
    found: Locations = {}
    for text in arguments.pod_template:
        if not (match := re.fullmatch(_LOCATION, text)):
            example = "example.com/Trainer=spec.workers[].template"
            raise UsageError(f"{text!r}: give GROUP/KIND=PATH, such as {example}", "--pod-template")
        group, kind, path = match.groups()
        found[group, kind] = (*found.get((group, kind), ()), path)
    return found or None


POLICY_HINT = "give the Namespace, too, or its labels with --namespace-labels"
"""How to provide a namespace's unknown labels to policies."""
