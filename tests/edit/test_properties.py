"""Real manifests, broken in ways that fixes repair: each fix restores the original, and changes nothing else."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.command import ROOT, findings
from webhook.documents import Document, parse
from webhook.documents.nodes import Entry, Node
from webhook.documents.placeholders import PLACEHOLDER
from webhook.edit.rewrite import unwrapped
from webhook.edit.tree import Edit, PlacedNode, Tree, apply, tree_of


def places(node: Node, around: Node | None = None, entry: Entry | None = None) -> Iterator[PlacedNode]:
    yield PlacedNode(node, around, entry)
    for each in node.entries or ():
        yield from places(each.value, node, each)
    for item in node.items or ():
        yield from places(item, node)


def misspelt(tree: Tree, found: PlacedNode) -> list[Edit] | None:
    """Swap two letters of a long field."""
    key = found.entry.key if found.entry else None
    if key is None or key.style or not re.fullmatch("(?!api)[a-z]+[A-Z][A-Za-z]{6,}", key.value):
        return None
    middle = key.start + len(key.value) // 2
    swapped = tree.text[middle + 1] + tree.text[middle]
    return [Edit(middle, middle + 2, swapped)] if swapped != tree.text[middle : middle + 2] else None


def another_case(_: Tree, found: PlacedNode) -> list[Edit] | None:
    """Write a value of an enumeration as other languages do."""
    node = found.node
    if not found.entry or found.entry.name not in {"allocationMode", "operator", "effect", "restartPolicy"}:
        return None
    return [Edit(node.end - len(node.value), node.end, node.value.lower())] if not node.style else None


def in_quotes(tree: Tree, found: PlacedNode) -> list[Edit] | None:
    """Put a number or boolean in quotes."""
    node = found.node
    is_written = found.entry and not node.style and re.fullmatch("[0-9]+|true|false", tree.text[node.start : node.end])
    return [Edit(node.start, node.start, '"'), Edit(node.end, node.end, '"')] if is_written else None


def without_exactly(tree: Tree, found: PlacedNode) -> list[Edit] | None:
    """Write a request as v1beta1 does."""
    return unwrapped(tree, found) if found.entry and found.entry.name == "exactly" else None


def with_bytes(tree: Tree, found: PlacedNode) -> list[Edit] | None:
    """Give a quantity the unit that Kubernetes leaves out."""
    node = found.node
    is_size = re.fullmatch("[0-9]+[KMGT]i", node.value) and not node.style
    return [Edit(node.end, node.end, "B")] if is_size and tree.text[node.end : node.end + 1] in "\n,}" else None


def single_equals(tree: Tree, found: PlacedNode) -> list[Edit] | None:
    """Write a comparison as SQL does."""
    node = found.node
    at = tree.text.find(" == ", node.start, node.end)
    return [Edit(at + 1, at + 3, "=")] if found.entry and found.entry.name == "expression" and at >= 0 else None


MISTAKES: list[Callable[[Tree, PlacedNode], list[Edit] | None]] = [
    misspelt,
    another_case,
    in_quotes,
    without_exactly,
    with_bytes,
    single_equals,
]


@cache
def manifests() -> list[str]:
    """Return the documents of the examples, of the cases, and of the passing examples on the pages of rules."""
    files = [*(ROOT / "examples").rglob("*.yaml"), *(ROOT / "tests" / "cases").rglob("*.yaml")]
    texts = [file.read_text(encoding="utf-8") for file in sorted(files)]
    pages = sorted((ROOT / "webhook" / "explain" / "examples").glob("*.yaml"))
    texts += [page.read_text(encoding="utf-8").partition("# passes\n")[2] for page in pages]
    documents = [each for text in texts for each in parse(text) if isinstance(each, Document) and not each.within]
    found = [each.file.text[slice(*each.extent)] for each in documents]
    return [text for text in found if not PLACEHOLDER.search(text)]  # no fix touches a placeholder


def broken(text: str, dice: Random) -> Iterator[tuple[str, str]]:
    """Break a document once in each way that applies to it."""
    (document,) = (each for each in parse(text) if isinstance(each, Document))
    tree = tree_of(text, is_json=document.is_json, extent=document.extent)
    found = list(places(tree.root))
    for mistake in MISTAKES:
        edits = [each for place in found if (each := mistake(tree, place))]
        if edits:
            yield mistake.__name__, apply(text, dice.choice(edits))


def by_file(folder: Path, *options: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for each in findings("validate", *options, folder):
        found.setdefault(Path(each["file"]).name, []).append(each)
    return found


def rules(found: list[dict[str, Any]]) -> list[str]:
    return sorted(each["rule"] for each in found if each["level"] == "error" or each["fix"] == "safe")


@pytest.mark.slow
def test_fixes_bring_back_what_was_there(tmp_path: Path) -> None:
    dice = Random(7)  # noqa: S311 - nothing secret
    originals = tmp_path / "valid"
    originals.mkdir()
    for number, text in enumerate(manifests()[::3]):  # all of them take minutes
        (originals / f"{number}.yaml").write_text(text, encoding="utf-8")
    stated = by_file(originals)
    wrong = {name for name, found in stated.items() if rules(found)}
    mutants: dict[str, dict[str, tuple[str, str]]] = {mistake.__name__: {} for mistake in MISTAKES}
    for file in sorted(originals.iterdir()):
        if file.name not in wrong:
            text = file.read_text(encoding="utf-8")
            for mistake, mutant in broken(text, dice):
                mutants[mistake][file.name] = text, mutant
    for mistake, texts in mutants.items():
        # No fix is made that brings a finding, also if the original had it.
        restored = [done for name, done in restorations(tmp_path / mistake, texts) if done or name not in stated]
        assert sum(restored) >= 0.9 * len(restored) > 0, mistake


def restorations(files: Path, texts: dict[str, tuple[str, str]]) -> Iterator[tuple[str, bool]]:
    """Fix mutants in a directory of their own; tell of each in which a rule finds something whether it was changed."""
    files.mkdir()
    for name, (_, mutant) in texts.items():
        (files / name).write_text(mutant, encoding="utf-8")
    before = by_file(files)
    after = by_file(files, "--fix")
    for name, (text, mutant) in texts.items():
        result = (files / name).read_text(encoding="utf-8")
        if not rules(before.get(name, [])):
            # No rule checks the changed value; or one does once another file is fixed, such as a class that a pod uses.
            assert result in {mutant, text}, name
            continue
        now, then = rules(after.get(name, [])), rules(before[name])
        assert all(now.count(rule) <= then.count(rule) for rule in now), name
        if result != mutant:
            assert len(now) < len(then), name
            assert [*parsed(result)] == [*parsed(text)], name
            assert result == text or files.name == without_exactly.__name__, name  # which may have stood in braces
        yield name, result != mutant


def parsed(text: str) -> Iterator[Any]:
    return (each.data for each in parse(text) if isinstance(each, Document))
