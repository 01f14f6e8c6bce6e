"""The engine is self-contained: it could be a package of its own, with caches that are bounded by bytes."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import webhook.cel
from tests.rows import each_row
from webhook.cel.cache import Cache

FOLDER = Path(webhook.cel.__file__).parent
MODULES = [path for path in FOLDER.rglob("*.py") if path.parent.name != "kubernetes"]


OTHERS = {"re2", "webhook.budget", "webhook.escapes", "webhook.formats.timestamps"}
OTHERS |= {f"webhook.{name}" for name in ("issues", "later", "patterns", "records")}


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@each_row("path", *MODULES)
def test_modules_import_the_standard_library_and_each_other(path: Path) -> None:
    for name in set(imports(path)) - OTHERS:
        assert name.partition(".")[0] in sys.stdlib_module_names or name.startswith("webhook.cel"), name
        assert not name.startswith("webhook.cel.kubernetes"), name


@pytest.mark.process
def test_the_regular_expression_engine_is_loaded_when_it_is_needed() -> None:
    code = """if True:
        import sys; from webhook.cel.environment import Environment
        assert Environment().compile("1 + 1").evaluate({}) == 2; assert "re2" not in sys.modules
        assert Environment().compile("'a'.matches('a')").evaluate({}); assert "re2" in sys.modules
    """
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
