"""Declares API types as classes, and compiles them to closures that validate documents.

Knows nothing of DRA. A type is a :class:`Struct` with fields; a version is a substitution of types; a release is a
number. A rule about one field is declared on it; a rule about several is a function under :func:`check` or, for an
update, :func:`transition`.
"""

from webhook.schema.declarations import ANY as ANY
from webhook.schema.declarations import CHANGED as CHANGED
from webhook.schema.declarations import IMMUTABLE as IMMUTABLE
from webhook.schema.declarations import IN_PLACE as IN_PLACE
from webhook.schema.declarations import ITSELF as ITSELF
from webhook.schema.declarations import NEW as NEW
from webhook.schema.declarations import STORED as STORED
from webhook.schema.declarations import Declared as Declared
from webhook.schema.declarations import Default as Default
from webhook.schema.declarations import Field as Field
from webhook.schema.declarations import Inlining as Inlining
from webhook.schema.declarations import Struct as Struct
from webhook.schema.declarations import check as check
from webhook.schema.declarations import declared as declared
from webhook.schema.declarations import exactly_one as exactly_one
from webhook.schema.declarations import transition as transition
from webhook.schema.decoding import GATE_OFF as GATE_OFF
from webhook.schema.decoding import UNKNOWN_FIELD as UNKNOWN_FIELD
from webhook.schema.decoding import WRONG_TYPE as WRONG_TYPE
from webhook.schema.fields import Anything as Anything
from webhook.schema.fields import Array as Array
from webhook.schema.fields import Bool as Bool
from webhook.schema.fields import CompiledStruct as CompiledStruct
from webhook.schema.fields import Int as Int
from webhook.schema.fields import Many as Many
from webhook.schema.fields import Map as Map
from webhook.schema.fields import Nested as Nested
from webhook.schema.fields import Parsed as Parsed
from webhook.schema.fields import Text as Text
from webhook.schema.fields import View as View
from webhook.schema.fields import compile_struct as compile_struct
from webhook.schema.fields import examined as examined
from webhook.schema.target import CREATE as CREATE
from webhook.schema.target import MAIN as MAIN
from webhook.schema.target import OLDEST as OLDEST
from webhook.schema.target import STATUS as STATUS
from webhook.schema.target import UPDATE as UPDATE
from webhook.schema.target import UPDATE_STATUS as UPDATE_STATUS
from webhook.schema.target import Target as Target
