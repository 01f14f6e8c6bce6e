"""The keys of the configuration file, described once for its reader and its JSON schema."""

from __future__ import annotations

from webhook.configuration.shapes import Flag, Key, Label, ListOf, MapOf, Record, Text, Word
from webhook.suppression.levels import LEVELS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final

_RULE: Final = Text(example="unknown-field")
_PATTERN: Final = Text(example="examples/**")

CONFIGURATION: Final = Record(
    {
        "kubernetesVersions": Key(
            ListOf(Text(r"v?1\.[0-9]+(\.[0-9]+)?", "1.34")),
            "Kubernetes releases to judge for, such as 1.34 in quotes (--kubernetes-version).",
        ),
        "featureGates": Key(
            MapOf(Flag(), "feature gates"), "Feature gates that differ from the releases' defaults (--feature-gates)."
        ),
        "runtimeConfig": Key(
            MapOf(Flag(), "API versions"),
            "API versions that the clusters serve or not, beside the releases' defaults (--runtime-config).",
        ),
        "namespaceLabels": Key(
            MapOf(MapOf(Label(), "labels"), "namespaces"),
            "All labels of namespaces, by the namespace's name (--namespace-labels).",
        ),
        "policies": Key(
            ListOf(Text(example="policies/")),
            "Policies to evaluate: files, directories and globs in the repository, relative to this file (--policies).",
        ),
        "podTemplates": Key(
            MapOf(ListOf(Text(example="spec.workers[].template"), 1), "kinds, as example.com/Kind"),
            "The places of pod templates in other projects' workloads, by group and kind (--pod-template).",
        ),
        "driverProfiles": Key(
            ListOf(Text(example="drivers/gpu.example.com.yaml")),
            "Files with profiles of drivers, relative to this file (--driver-profile).",
        ),
        "exclude": Key(
            ListOf(_PATTERN),
            "Paths to skip: patterns as in .gitignore, relative to this file (--exclude).",
        ),
        "levels": Key(
            MapOf(Word(tuple(LEVELS)), "levels"),
            "The levels of rules: off, note, warn or error, by the rule's name (--level).",
        ),
        "ignores": Key(
            ListOf(
                Record(
                    {
                        "paths": Key(ListOf(_PATTERN, 1), "Patterns of paths, relative to this file.", "[examples/**]"),
                        "rules": Key(ListOf(_RULE, 1), "The rules to suppress there.", "[unknown-field]"),
                        "reason": Key(Text(), "Why they are suppressed.", "accepted until the upgrade"),
                    }
                )
            ),
            "Rules to suppress in some files.",
        ),
        "baseline": Key(
            Text(example="draguard-baseline.json"),
            "A file of findings to suppress, relative to this file (--baseline).",
        ),
        "allPods": Key(Flag(), "Whether pods and workloads without resource claims are judged, too (--all-pods)."),
        "strict": Key(Flag(), "Whether to exit with 1 for warnings, too (--strict)."),
    }
)
"""All keys."""


def texts(name: str, value: Any) -> Any:
    """Return the value of a key in the form of its option: a list of texts, a text, or a boolean."""
    if name in {"featureGates", "runtimeConfig"}:
        return [f"{each}={str(on).lower()}" for each, on in value.items()]
    if name == "namespaceLabels":
        return [f"{space}={','.join(f'{key}={label}' for key, label in of.items())}" for space, of in value.items()]
    if name == "podTemplates":
        return [f"{kind}={path}" for kind, paths in value.items() for path in paths]
    return value


OPTIONS: Final[Mapping[str, str]] = {
    "kubernetesVersions": "kubernetes_version",
    "featureGates": "feature_gates",
    "runtimeConfig": "runtime_config",
    "namespaceLabels": "namespace_labels",
    "policies": "policies",
    "podTemplates": "pod_template",
    "driverProfiles": "driver_profile",
    "baseline": "baseline",
    "allPods": "all_pods",
    "strict": "strict",
}
"""The options of keys; exclude, levels and ignores add to those of the command line."""


def schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "draguard configuration (.draguard.yaml)",
    } | CONFIGURATION.schema()
