"""Renders the chart with the real Helm, for tests."""

import base64
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from charts.render import KUBERNETES, NOTES, is_hook, render
from tests.command import ROOT

Manifest = dict[str, Any]

VALUES: Mapping[str, Mapping[str, Any]] = yaml.safe_load((ROOT / "tests/chart/values.yaml").read_text(encoding="utf-8"))
"""Sets of values that between them take every branch of the templates."""
SECRET = VALUES["a given Secret"]["certificates"]
CA: str = SECRET["secret"]["caBundle"]

NAMESPACE = "draguard-system"


class Rendered:
    """The manifests of a release.

    Args:
        texts: The output of Helm, by template.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.notes = texts[NOTES]
        parsed = (yaml.load_all(text, yaml.CSafeLoader) for path, text in texts.items() if path != NOTES)
        found: list[Manifest] = [each for stream in parsed for each in stream if each]
        self.manifests = [each for each in found if not is_hook(each)]
        (self.test,) = (each for each in found if is_hook(each))

    def all(self, kind: str) -> list[Manifest]:
        return [each for each in self.manifests if each["kind"] == kind]

    def one(self, kind: str, component: str = "") -> Manifest:
        """The only manifest of a kind; of a component, or else of none but the scan."""
        every = [(each, component_of(each)) for each in self.all(kind)]
        (found,) = (each for each, of in every if (of == component if component else of != "scan"))
        return found

    @property
    def deployment(self) -> Manifest:
        return self.one("Deployment", "admission-webhook")

    def network_policy(self, component: str = "admission-webhook") -> Manifest:
        """The NetworkPolicy of the pods of a component."""
        return self.one("NetworkPolicy", component)

    @property
    def pod(self) -> Manifest:
        """The pod that the webhook's Deployment would create."""
        template: Manifest = self.deployment["spec"]["template"]
        return template

    @property
    def manager(self) -> Manifest:
        """The pod of the certificate manager."""
        template: Manifest = self.one("Deployment", "certificate-manager")["spec"]["template"]
        return template

    @property
    def container(self) -> Manifest:
        (container,) = self.pod["spec"]["containers"]
        assert isinstance(container, dict)
        return container

    @property
    def volumes(self) -> dict[str, Manifest]:
        """The pod's volumes, by name."""
        return {volume["name"]: volume for volume in self.pod["spec"]["volumes"]}

    @property
    def mounts(self) -> dict[str, Manifest]:
        """The paths at which they are mounted, by name."""
        return {mount["name"]: mount for mount in self.container["volumeMounts"]}

    @property
    def options(self) -> dict[str, str]:
        """The options of ``draguard serve``, by name; those that can be repeated are there with the last."""
        return dict(self._options())

    def repeated(self, name: str) -> list[str]:
        """The values of a repeatable option of ``draguard serve``."""
        return [value for option, value in self._options() if option == name]

    def _options(self) -> Iterator[tuple[str, str]]:
        command, *options = self.container["args"]
        assert command == "serve"
        for option in options:
            name, _, value = option.removeprefix("--").partition("=")
            yield name, value

    @property
    def webhooks(self) -> dict[str, Manifest]:
        """The webhooks of both configurations, by the first part of their names."""
        return {webhook["name"].partition(".")[0]: webhook for webhook in self._webhooks()}

    def _webhooks(self) -> Iterator[Manifest]:
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
            for configuration in self.all(kind):
                yield from configuration["webhooks"]

    def ca_bundles(self) -> set[str]:
        """The authorities that the API server trusts for the webhooks, in PEM."""
        bundles = (webhook["clientConfig"].get("caBundle", "") for webhook in self._webhooks())
        return {base64.b64decode(bundle, validate=True).decode() for bundle in bundles}


def component_of(manifest: Manifest) -> str:
    return str(manifest["metadata"]["labels"]["app.kubernetes.io/component"])


@cache
def rendered(values: str = "defaults", kubernetes: str = KUBERNETES) -> Rendered:
    """Render one of the sets of values, once."""
    return Rendered(render(VALUES[values], namespace=NAMESPACE, kubernetes=kubernetes))


def with_values(kubernetes: str = KUBERNETES, **values: Any) -> Rendered:
    """Render other values."""
    return Rendered(render(values, namespace=NAMESPACE, kubernetes=kubernetes))
