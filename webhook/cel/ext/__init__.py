"""The extension libraries of cel-go that Kubernetes uses."""

from webhook.cel.ext.comprehensions import BINDINGS, TWO_VARIABLE_COMPREHENSIONS
from webhook.cel.ext.lists import LISTS, SETS
from webhook.cel.ext.optionals import OPTIONALS
from webhook.cel.ext.strings import strings

__all__ = ["BINDINGS", "LISTS", "OPTIONALS", "SETS", "TWO_VARIABLE_COMPREHENSIONS", "strings"]
