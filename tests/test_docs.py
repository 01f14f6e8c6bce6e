"""What is generated of the documentation is current."""

from __future__ import annotations

from docs.generate import generated


def test_generated_pages_are_current() -> None:
    stale = [str(path) for path, text in generated().items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run: python docs/generate.py"
