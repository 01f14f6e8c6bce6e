"""Fixtures of the tests of commands."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.manifests import Write
from webhook.documents.dump import dump


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(**files: str | list[Any]) -> Path:
        for name, content in files.items():
            path = tmp_path / f"{name.replace('__', '/')}.yaml"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content if isinstance(content, str) else dump(content), encoding="utf-8")
        return tmp_path

    return write
