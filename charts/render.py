# /// script
# requires-python = ">=3.11"
# dependencies = ["helm-python-sdk>=0.2.2", "PyYAML>=6"]
# ///
"""Renders the chart to plain manifests for those without Helm, in the order in which to apply them.

``pip install helm-python-sdk PyYAML``, then ``python charts/render.py --kubernetes-version 1.34 > draguard.yaml``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import helm_python
    import yaml
    from helm_python import _native  # its public render() takes no Kubernetes version
except ModuleNotFoundError as missing:
    sys.exit(f"render.py: error: the module {missing.name} is missing: pip install helm-python-sdk PyYAML")

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHART = Path(__file__).parent / "draguard"
NOTES = "draguard/templates/NOTES.txt"
KUBERNETES = "1.37"

# What can refuse requests comes when all else is there.
_LAST = ("Deployment", "HorizontalPodAutoscaler", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


def render(
    values: Mapping[str, Any] | None = None,
    *,
    name: str = "draguard",
    namespace: str = "draguard-system",
    kubernetes: str = KUBERNETES,
) -> dict[str, str]:
    """Render the chart as ``helm template`` does.

    Args:
        values: What differs from ``values.yaml``.
        name: The release's name.
        namespace: The release's namespace.
        kubernetes: The cluster's version.

    Returns:
        The text of each template, by its path.

    Raises:
        helm_python.HelmError: The values do not fit; the text says which.
    """
    options = {"name": name, "namespace": namespace, "kube_version": kubernetes}
    with helm_python.Chart.load(CHART) as chart:
        chart.validate_schema(dict(values or {}))
        text = _native.call_string("helm_render", chart._raw(), json.dumps(values or {}), json.dumps(options))  # noqa: SLF001 - its public functions cannot do this
    rendered: dict[str, str] = json.loads(text)
    return rendered


def manifests(rendered: Mapping[str, str], namespace: str, standard: str = "restricted") -> list[str]:
    """List the manifests in the order in which to apply them, their namespace first.

    Args:
        rendered: What :func:`render` returned.
        namespace: The namespace.
        standard: The Pod Security Standard that the namespace enforces.
    """
    labels = "\n".join(f"    pod-security.kubernetes.io/{mode}: {standard}" for mode in ("enforce", "warn"))
    first = f"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {namespace}\n  labels:\n{labels}"
    texts = [text for path, text in rendered.items() if path != NOTES]
    parts = (part.strip() for text in texts for part in text.split("\n---\n"))
    documents = [part for part in parts if (parsed := yaml.safe_load(part)) and not is_hook(parsed)]
    return [first, *sorted(documents, key=_order)]


def is_hook(manifest: Mapping[str, Any]) -> bool:
    """Return whether only Helm applies a manifest, such as the pod of ``helm test``."""
    return "helm.sh/hook" in (manifest["metadata"].get("annotations") or {})


def _order(document: str) -> tuple[int, str]:
    kind: str = yaml.safe_load(document)["kind"]
    return (_LAST.index(kind) if kind in _LAST else -1), kind


def main(argv: Sequence[str] | None = None) -> int:
    """Print the manifests; return the exit code."""
    parser = argparse.ArgumentParser(description="Render the chart to plain manifests.")
    parser.add_argument("--values", "-f", action="append", default=[], type=Path, metavar="FILE", help="as for Helm")
    parser.add_argument("--set", action="append", default=[], metavar="A=B", help="as for Helm")
    parser.add_argument("--set-file", action="append", default=[], metavar="A=FILE", help="as for Helm")
    parser.add_argument("--name", default="draguard", help="the release's name (default: %(default)s)")
    parser.add_argument("--namespace", default="draguard-system", help="(default: %(default)s)")
    parser.add_argument("--kubernetes-version", default=KUBERNETES, help="the cluster's (default: %(default)s)")
    arguments = parser.parse_args(argv)
    values: dict[str, Any] = {}
    try:
        for file in arguments.values:
            _merge(values, helm_python.values_from_yaml(file.read_text(encoding="utf-8")))
        for text in arguments.set:
            _merge(values, helm_python.parse_set_string(text))
        for text in arguments.set_file:
            _merge(values, helm_python.parse_set_file(text))
        rendered = render(
            values, name=arguments.name, namespace=arguments.namespace, kubernetes=arguments.kubernetes_version
        )
    except (helm_python.HelmError, OSError) as error:
        sys.stderr.write(f"render.py: error: {error}\n")
        return 1
    standard = "privileged" if values.get("hostNetwork") else "restricted"
    sys.stdout.write("\n---\n".join(manifests(rendered, arguments.namespace, standard)) + "\n")
    return 0


def _merge(values: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Put values over others, as ``webhook/sources/helmlibrary.py`` does; this script runs without draguard."""
    for key, value in more.items():
        held = values.get(key)
        if isinstance(held, dict) and isinstance(value, dict):
            _merge(held, value)
        else:
            values[key] = value


if __name__ == "__main__":
    sys.exit(main())
