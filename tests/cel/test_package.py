"""The engine is self-contained: it could be a package of its own, with caches that are bounded by bytes."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import webhook.cel
from tests.rows import each_row
from webhook.cel.cache import Cache

FOLDER = Path(webhook.cel.__file__).parent
MODULES = [path for path in FOLDER.rglob("*.py") if path.parent.name != "kubernetes"]


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@each_row("path", *MODULES)
def test_modules_import_the_standard_library_and_each_other(path: Path) -> None:
    foreign = {
        name
        for name in imports(path)
        if name.partition(".")[0] not in sys.stdlib_module_names and not name.startswith("webhook.cel")
    }
    assert foreign <= {
        "re2",
        "webhook.budget",
        "webhook.escapes",
        "webhook.formats.timestamps",
        "webhook.issues",
        "webhook.later",
        "webhook.patterns",
        "webhook.records",
    }
    assert not {name for name in imports(path) if name.startswith("webhook.cel.kubernetes")}


@pytest.mark.process
def test_the_regular_expression_engine_is_loaded_when_it_is_needed() -> None:
    code = (
        "import sys; from webhook.cel.environment import Environment; "
        "program = Environment().compile('1 + 1'); assert program.evaluate({}) == 2; assert 're2' not in sys.modules; "
        "assert Environment().compile(\"'a'.matches('a')\").evaluate({}); assert 're2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=FOLDER.parents[1])


def test_a_cache_forgets_the_oldest_counts_a_value_once_and_keeps_nothing_large() -> None:
    cache: Cache[int] = Cache(80)
    for number in range(8):
        cache.put(number, number, 10)
    assert cache.get(0) == 0
    cache.put("new", 8, 10)
    assert [cache.get(0), cache.get(1), cache.get("new")] == [None, 1, 8]
    assert cache.size == 80
    again: Cache[str] = Cache(80)
    again.put("a", "b", 10)
    again.put("a", "c", 5)
    again.put("large", "b", 11)
    assert [again.get("a"), again.get("large")] == ["c", None]
    assert (again.size, len(again)) == (5, 1)
