"""Manifests that the API server refuses, so that their objects will never exist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from webhook.api.claimed import is_pod_without_claims
from webhook.check.expressions import located
from webhook.check.namespaces import Namespaces
from webhook.documents import Document, Unreadable
from webhook.engine.manifests import review
from webhook.findings import Finding
from webhook.inventory import Inventory
from webhook.limits import MOST_FINDINGS
from webhook.problem import ERROR
from webhook.references.hints import hinted


class Refused:
    """Finds the API server's refusals of manifests, as ``draguard validate`` does.

    Args:
        documents: The manifests, including Namespaces.
        cluster: The cluster's objects, including Namespaces.
        gates: The feature gates that differ from its defaults.
        namespace: The namespace of objects that state none.
    """

    def __init__(
        self,
        documents: Iterable[Document | Unreadable],
        cluster: Inventory,
        release: str,
        gates: Mapping[str, bool] | None,
        *,
        namespace: str = "default",
    ) -> None:
        self._release = release
        self._gates = gates
        self._namespaces = Namespaces(default=namespace)
        for each in (*cluster.all("Namespace"), *(each.data for each in documents if isinstance(each, Document))):
            self._namespaces.note(each)
        self._namespaces.all_noted = True

    def of(self, document: Document) -> list[Finding]:
        """Return the refusals of a manifest, in the order of the text."""
        findings = islice(self._errors(document), MOST_FINDINGS)
        return sorted(findings, key=lambda finding: (finding.line, finding.column))

    def _errors(self, document: Document) -> Iterator[Finding]:
        obj = document.data
        if is_pod_without_claims(obj):
            return
        outcome = review(
            obj,
            kubernetes=self._release,
            feature_gates=self._gates,
            namespace_labels=self._namespaces.labels_around(obj),
            beyond_decoding=True,
        )
        for problem in outcome.problems:
            if problem.level == ERROR:
                advised = hinted(problem, obj) if problem.lacks_advice else problem
                yield located(advised, document, self._release)
