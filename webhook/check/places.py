"""Places of findings in templates and resource files, instead of in the rendered objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate

from webhook.check.expressions import located, position
from webhook.documents import Document, parse
from webhook.documents.search import is_kustomization
from webhook.documents.source import MAX_BYTES
from webhook.edit.scalars import count
from webhook.findings import Finding, by_place
from webhook.problem import Steps
from webhook.regular import open_regular
from webhook.report.model import Judged, Report
from webhook.sources.origins import Origins, has_same, locate


class Places:
    """Finds the sources of rendered objects.

    Args:
        texts: The rendered texts, by the file of the template or kustomization.
    """

    def __init__(self, texts: Mapping[str, Sequence[str]]) -> None:
        self._texts = texts
        self._origins = cache(Origins)
        self._built = cache(self._read)

    def place(self, report: Report) -> None:
        """Set the places of a report's findings and objects."""
        once: dict[object, Finding] = {}  # without what a base has in several overlays
        for each in map(self._placed, report.findings):
            place = each.file, each.line, each.column, each.problem.rule, each.problem.message, each.written
            once.setdefault(place if each.template else id(each), each)
        report.findings = by_place(once.values(), ())
        report.suppressed = by_place(map(self._placed, report.suppressed), ())
        for at, judged in enumerate(report.judged):
            if judged.file in self._texts and is_kustomization(judged.file):
                built = self._built(judged.file).get((judged.document - 1, ()))
                if resource := built and self._origins(judged.file).of(built):
                    report.judged[at] = Judged(resource.source, resource.index + 1, judged.identity)

    def _placed(self, finding: Finding) -> Finding:
        if finding.file not in self._texts or not finding.rendered:
            return finding
        return self._in_resource(finding) if is_kustomization(finding.file) else self._in_template(finding)

    def _in_resource(self, finding: Finding) -> Finding:
        """Return a finding located in the file of a resource, or of a patch with its value; unchanged if unknown."""
        built = self._built(finding.file).get((finding.document - 1, finding.within))
        if built is None:
            return finding
        origins, problem = self._origins(finding.file), finding.problem
        resource = origins.of(built)
        is_same = resource is not None and has_same(resource, built, problem.path)
        if not is_same and (patched := origins.patched(built, problem.path)):
            resource, path = patched
            is_same, problem = True, problem._replace(path=path)
        if resource is None:
            return finding
        place = located(problem, resource, finding.kubernetes)
        file, (line, column) = resource.file, (place.line, place.column)
        if inline := origins.inline.get(resource):
            before = _before(file.text)[line - 1] + count(file.line(line)[: column - 1])
            file, (line, column) = inline[0].file, position(*inline, before)
        return finding._replace(
            file=resource.source,
            document=resource.index + 1,
            within=resource.within,
            line=line,
            column=column,
            text=file.excerpt(line),
            key_line=place.key_line,
            placed=True,
            written="" if is_same else finding.text.strip(),
            template=finding.file,
        )

    def _in_template(self, finding: Finding) -> Finding:
        """Return a finding located in a template; unchanged if that is unknown."""
        try:
            with open(finding.file, encoding="utf-8", opener=open_regular) as file:
                template = file.read(MAX_BYTES)
        except (OSError, ValueError):  # a chart that is packed inside another
            return finding
        for text in self._texts[finding.file]:
            # For another release, the template may have been rendered differently.
            if finding.text and [finding.text] == text.splitlines()[finding.line - 1 : finding.line]:
                place = locate(template, text, finding.line, finding.column)
                if place is None:
                    return finding
                line, column, at = place
                written = "" if at.strip() == finding.text.strip() else finding.text.strip()
                return finding._replace(line=line, column=column, text=at, placed=True, written=written)
        return finding

    def _read(self, file: str) -> Mapping[tuple[int, Steps], Document]:
        """Read the objects of a built kustomization, by their places."""
        documents = parse(self._texts[file][0], file, rendered=True)
        return {(each.index, each.within): each for each in documents if isinstance(each, Document)}


@lru_cache(maxsize=1)
def _before(text: str) -> Sequence[int]:
    """Count the characters but white space before each line of a text."""
    return [*accumulate(map(count, text.split("\n")), initial=0)]
