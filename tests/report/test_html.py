"""HTML shows any text as text."""

import re
from html.parser import HTMLParser

import pytest

from tests.report.findings import finding, report
from tests.report.hostile import HOSTILE, hostile, shown
from webhook.findings import Suppression
from webhook.report import html


class Page(HTMLParser):
    """Collects the elements of a page, and the names in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on")
            assert name not in {"src", "style", "action", "srcset"}
            if name == "href":
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")


class TestHtml:
    def test_findings_by_release_are_a_table(self) -> None:
        made = report(
            finding(releases=("1.33",)), finding("w", "warning", releases=("1.33", "1.36")), finding("n", "note")
        )
        assert "<th>1.33" not in shown("html", made)
        made.releases += ("1.33", "1.36")
        text = shown("html", made)
        assert "<th>1.33<th>1.36" in text
        rows = re.findall(r"<tr><td><a href=\"#finding-(\d)\">.*?</a><td>.*?</a>(.*)", text)
        assert [(number, re.findall(r"<td[^>]*>(\S+?)(?=<|$)", cells)) for number, cells in rows] == [
            ("1", ["error", "-"]),
            ("2", ["warning", "warning"]),
            ("3", ["note", "note"]),
        ]
        assert '<p class="quiet">releases: 1.33, 1.36</p>' in text
        assert "dns-label  error" not in text

    @pytest.mark.parametrize(("files", "is_open"), [(20, True), (21, False)])
    def test_a_long_list_of_files_is_folded(self, files: int, is_open: bool) -> None:
        text = shown("html", report(*(finding(file=f"{number}.yaml") for number in range(files))))
        assert (f"<details open><summary>{files} files with findings</summary>" in text) == is_open

    def test_it_leads_from_files_and_rules_to_findings(self) -> None:
        page = Page(shown("html", report(finding(), finding("w", "warning"))))
        inner = [link for link in page.links if link.startswith("#")]
        assert {f"#{each}" for each in page.ids} >= set(inner)
        assert len(page.ids) == len(set(page.ids))
        assert inner.count("#finding-1") == 2
        assert all("/docs/rules/README.md#dns-label" in link for link in page.links if link not in inner)

    def test_a_long_page_shows_the_first_findings_and_counts_the_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(html, "MAX_FINDINGS", 2)
        names = ("a", "a", "a", "b")
        text = shown("html", report(*(finding(file=name, releases=("1.33",)) for name in names), suppressed=()))
        page = Page(text)
        assert {f"#{each}" for each in page.ids} == {link for link in page.links if link.startswith("#")}
        assert (text.count("<article"), text.count("… and 2 more findings; --output json has all")) == (2, 1)
        assert "<title>draguard: 4 errors</title>" in text
        assert "<tr><td>b<td" in text

    def test_it_needs_nothing_from_elsewhere_and_escapes_everything(self) -> None:
        calm, wild = (Page(shown("html", hostile(text))) for text in ("a" * len(HOSTILE), HOSTILE))
        assert calm.tags == wild.tags
        assert not {"script", "link", "img", "iframe", "object", "form"} & set(wild.tags)
        assert "url(" not in shown("html", hostile())
        assert "@import" not in shown("html", hostile())

    def test_what_is_suppressed_is_folded_away(self) -> None:
        text = shown("html", report(suppressed=(finding(suppression=Suppression("inline", "known")),)))
        assert "<title>draguard: no problems</title>" in text
        assert "<details><summary>1 suppressed finding</summary>" in text
        assert "suppressed (inline): known" in text
