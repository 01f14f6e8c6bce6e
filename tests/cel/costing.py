"""Environments whose expressions are costed, and values for them."""

from typing import Any

from tests.cel import EXTENSIONS
from webhook.cel.checker.declarations import EnvironmentOptions, Library, StructType
from webhook.cel.environment import Environment
from webhook.cel.types.base import BOOL, BYTES, DOUBLE, DYN, INT, STRING, TIMESTAMP, list_of, map_of, struct

ITEM = struct("Item")
VARIABLES = {
    "a": BOOL, "b": BOOL, "n": INT, "text": STRING, "other": STRING, "raw": BYTES, "time": TIMESTAMP,
    "numbers": list_of(INT), "more": list_of(INT), "words": list_of(STRING), "item": ITEM,
    "items": list_of(ITEM), "nested": list_of(list_of(ITEM)), "table": map_of(STRING, ITEM),
    "tables": map_of(STRING, map_of(STRING, ITEM)), "names": map_of(STRING, STRING), "d": DYN, "dotted.name": DOUBLE,
}  # fmt: skip
LIBRARY = Library(structs=(StructType(ITEM, {"count": INT, "name": STRING}),))
PLAIN = Environment((*EXTENSIONS, LIBRARY), variables=VARIABLES, options=EnvironmentOptions(fold_constants=False))
FOLDING = Environment((*EXTENSIONS, LIBRARY), variables=VARIABLES)
KUBERNETES = FOLDING.extend(presence_test_cost=0)
BINDINGS: dict[str, Any] = {
    "a": True, "b": False, "n": 1, "text": "x" * 500, "other": "y" * 500, "raw": b"z" * 500, "numbers": [1, 2],
    "more": [], "words": ["a", "ab"], "item": {"count": 1}, "items": [{"count": 1}], "table": {"k": {"count": 1}},
    "names": {"k": "v"}, "d": {"list": [1, 2, 3], "name": "n" * 25, "deep": {"x": {"y": 1}}}, "dotted.name": 1.0,
}  # fmt: skip
