"""Claims of older versions, and the same in v1."""

from pathlib import Path

from webhook.documents import Document, parse
from webhook.migration import Migrated, MigrationTarget, migrate
from webhook.release import Release

FLAT, EXACT, CLASSIC = (
    Path(__file__).with_name(f"{name}.yaml").read_text(encoding="utf-8") for name in ("flat", "exact", "classic")
)


def migrated(text: str, version: str = "", *releases: int) -> Migrated:
    """Convert a text whose objects can all be read."""
    documents = [each for each in parse(text, "x.yaml") if isinstance(each, Document)]
    (file,) = migrate(documents, MigrationTarget(version, [Release(each) for each in releases]))
    return file


def converted(text: str, version: str = "", *releases: int) -> str:
    return migrated(text, version, *releases).after
