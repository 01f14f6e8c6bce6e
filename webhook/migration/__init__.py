"""Moves manifests to another version of their API; the text keeps its comments, its order and its layout."""

from __future__ import annotations

from webhook.migration.files import Migrated, migrate
from webhook.migration.wanted import Wanted

__all__ = ["Migrated", "Wanted", "migrate"]
