"""The extension libraries that cel-go itself brings; an environment has those that it is given."""

from webhook.cel.ext.bindings import BINDINGS
from webhook.cel.ext.comprehensions import TWO_VARIABLE_COMPREHENSIONS
from webhook.cel.ext.encoders import ENCODERS
from webhook.cel.ext.lists import LISTS
from webhook.cel.ext.math import MATH
from webhook.cel.ext.optionals import OPTIONALS
from webhook.cel.ext.sets import SETS
from webhook.cel.ext.strings import strings

__all__ = ["BINDINGS", "ENCODERS", "LISTS", "MATH", "OPTIONALS", "SETS", "TWO_VARIABLE_COMPREHENSIONS", "strings"]
