"""Finds the node at a path of a document, and the node around it."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.documents.nodes import read_nodes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from webhook.documents import Document
    from webhook.documents.nodes import Entry, Node


@dataclass(slots=True)
class PlacedNode:
    """A value, and its container.

    Args:
        node: The value.
        around: The map or list that it is in; None for the whole document.
        entry: Its entry, if the container is a map.
        place: Its index, if the container is a list.
    """

    node: Node
    around: Node | None = None
    entry: Entry | None = None
    place: int = 0

    @property
    def in_braces(self) -> bool:
        """Whether its container is in braces or brackets."""
        return bool(self.around and self.around.style)


def tree_of(document: Document) -> Node:
    """Return the tree of a document."""
    start, end = document.extent
    root, _ = read_nodes(document.whole_text[start:end], is_json=document.is_json, offset=start)
    return root


def find(root: Node, path: Sequence[str | int]) -> PlacedNode | None:
    """Return the value at a path; None if it is missing, or written elsewhere (by an alias or a merge)."""
    found = PlacedNode(root)
    for step in path:
        node = found.node
        if not node.is_whole:
            return None
        if isinstance(step, int) and node.items is not None and step < len(node.items):
            found = PlacedNode(node.items[step], node, place=step)
        elif (entry := node.entry(step)) is not None:
            found = PlacedNode(entry.value, node, entry)
        else:
            return None
    return found
