"""The schemas that ``draguard schema`` prints."""

import json
from importlib import import_module
from typing import Any

from tests.command import draguard

Validator: Any = import_module("jsonschema").Draft202012Validator


def schema(name: str) -> Any:
    """Return a schema as it is printed; it is a valid one."""
    found = json.loads(draguard("schema", name).out)
    Validator.check_schema(found)
    return found


def closed(part: Any) -> Any:
    """Return a schema that allows no other keys than those that it describes."""
    if isinstance(part, dict):
        more = {"additionalProperties": False} if "properties" in part else {}
        return {name: closed(value) for name, value in part.items()} | more
    return [closed(each) for each in part] if isinstance(part, list) else part
