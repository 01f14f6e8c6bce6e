"""No decision is taken from the text of draguard's own messages and hints: findings and issues carry facts."""

import ast
from pathlib import Path

import pytest

from tests.rows import each_row

pytestmark = pytest.mark.no_cover

ROOT = Path(__file__).parents[1]
TEXTS = {"message", "hint"}
PARTS = {"startswith", "endswith", "removeprefix", "removesuffix", "split", "rsplit", "partition", "rpartition"}
SEARCHES = {"match", "search", "fullmatch", "findall", "finditer", "sub", "subn", "split"}
ALLOWED = {
    "webhook/engine/suites.py": ["verdict.message"]  # whether the API server's message quotes a name
}


def _texts(*nodes: ast.expr) -> list[str]:
    return [ast.unparse(each) for each in nodes if isinstance(each, ast.Attribute) and each.attr in TEXTS]


def _read_again(node: ast.AST) -> list[str]:
    """List the messages and hints whose text a node looks at."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        looked_at = _texts(node.func.value) if node.func.attr in PARTS else []
        return looked_at + (_texts(*node.args) if node.func.attr in SEARCHES else [])
    if isinstance(node, ast.Compare) and any(isinstance(each, ast.In | ast.NotIn) for each in node.ops):
        return _texts(node.left, *node.comparators)
    return []


@each_row(
    "source",
    [
        "each.message.startswith('a')",
        "'a' in problem.hint",
        "problem.hint in {'a'}",
        "pattern.search(problem.message)",
        "re.sub('a', 'b', problem.message)",
        "problem.message.partition(': ')[2]",
    ],
)
def test_a_text_that_is_read_again_is_found(source: str) -> None:
    assert [each for node in ast.walk(ast.parse(source)) for each in _read_again(node)]


def test_no_message_or_hint_is_read_again() -> None:
    found: dict[str, list[str]] = {}
    for path in (ROOT / "webhook").rglob("*.py"):
        if not any(f".{name}".encode() in path.read_bytes() for name in TEXTS):
            continue
        if texts := [each for node in ast.walk(ast.parse(path.read_bytes())) for each in _read_again(node)]:
            found[path.relative_to(ROOT).as_posix()] = texts
    assert found == ALLOWED
