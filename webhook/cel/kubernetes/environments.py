"""The CEL environments of kube-apiserver, release by release (apiserver/pkg/cel/environment/base.go).

New expressions may use the additions of a release only from the next release on, so that a cluster can be rolled back
by one; stored expressions may use them at once. Policies are checked as new expressions when they are written, and run
as stored ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from webhook.cel.checker.declarations import EnvironmentOptions, Library, StructType
from webhook.cel.environment import Environment
from webhook.cel.ext.comprehensions import TWO_VARIABLE_COMPREHENSIONS
from webhook.cel.ext.lists import LISTS, SETS
from webhook.cel.ext.optionals import OPTIONALS
from webhook.cel.ext.strings import FORMATS, STRINGS
from webhook.cel.ext.validators import EXTENDED_VALIDATIONS, homogeneous_aggregates
from webhook.cel.functions import Overload
from webhook.cel.kubernetes import authorizer as authorizing
from webhook.cel.kubernetes import costs, lists, net, quantity, regex, semver, url
from webhook.cel.kubernetes import format as formats
from webhook.cel.syntax.lexer import Quoting
from webhook.cel.types.base import BOOL, DYN, INT, STRING, TIMESTAMP, Kind, Type, list_of, map_of, struct
from webhook.release import Release

CALL_LIMIT: Final = 1_000_000
"""The largest cost of one expression."""
POLICY_LIMIT: Final = 10_000_000
"""The largest cost of all expressions of a policy for one request and one set of parameters."""
MATCH_CONDITIONS_LIMIT: Final = 2_500_000
"""The largest cost of all match conditions of a policy for one request."""

_COMPATIBLE_SINCE: Final = 28
_CROSS_TYPE_SINCE: Final = 28
_VALIDATED_SINCE: Final = 29
"""The first release whose cel-go finds mixed lists and maps after checking types, not while doing so."""
_FORMATS_SINCE: Final = 31
_COSTS_SINCE: Final = 32
"""The first release in which calls of Kubernetes' own functions have a cost by default."""
_QUOTES_SINCE: Final = 33
"""The first release whose cel-go parses fields in backquotes."""
_NEWER_CEL_SINCE: Final = 37
"""The first release whose cel-go supports fields in backquotes, and restricts `or` and `orValue` to optionals."""


class Versioned(NamedTuple):
    """A library, and the first release that has it."""

    library: Library
    since: int = 0


LIBRARIES: Final = (
    Versioned(costs.ESTIMATES),
    Versioned(url.LIBRARY),
    Versioned(regex.LIBRARY),
    Versioned(lists.LIBRARY),
    Versioned(authorizing.LIBRARY, since=27),
    Versioned(OPTIONALS, since=28),
    Versioned(quantity.LIBRARY, since=28),
    Versioned(EXTENDED_VALIDATIONS, since=29),
    Versioned(STRINGS),
    Versioned(FORMATS, since=29),
    Versioned(SETS, since=29),
    Versioned(net.LIBRARY, since=30),
    Versioned(authorizing.SELECTORS, since=31),
    Versioned(TWO_VARIABLE_COMPREHENSIONS, since=32),
    Versioned(semver.VERSION_1, since=33),
    Versioned(LISTS, since=34),
)


def compatible_with(release: Release, *, stored: bool) -> Release:
    """The release whose libraries expressions may use, those that are stored in the cluster and others."""
    return release if stored or release < _COMPATIBLE_SINCE else Release(release - 1)


@lru_cache(maxsize=64)
def environment(release: Release, *, stored: bool = False) -> Environment:
    """The environment of all expressions in Kubernetes, stored ones or others; it declares no variables."""
    usable = compatible_with(release, stored=stored)
    quoting = Quoting.ALLOWED if release >= _NEWER_CEL_SINCE else Quoting.REFUSED
    libraries = [library for library, since in LIBRARIES if since <= usable]
    if release >= _VALIDATED_SINCE:
        libraries.append(Library(validators=(homogeneous_aggregates,)))
    if usable >= _FORMATS_SINCE:
        libraries.append(formats.library(release))
    if release >= _COSTS_SINCE:
        libraries.append(costs.COSTS)
    options = EnvironmentOptions(
        homogeneous_literals=release < _VALIDATED_SINCE,
        cross_type_numeric=usable >= _CROSS_TYPE_SINCE,
        presence_test_cost=0,
        strict_optionals=release >= _NEWER_CEL_SINCE,
        quoting=quoting if release >= _QUOTES_SINCE else Quoting.UNKNOWN,
    )
    return Environment(libraries, options=options)


# -- admission


def _record(name: str, /, **fields: Type) -> StructType:
    return StructType(struct(f"kubernetes.{name}"), fields)


_STRINGS: Final = list_of(STRING)
_STRING_MAP: Final = map_of(STRING, STRING)

_KIND: Final = _record("GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE: Final = _record("GroupVersionResource", group=STRING, version=STRING, resource=STRING)
_USER: Final = _record("UserInfo", username=STRING, uid=STRING, groups=_STRINGS, extra=map_of(STRING, _STRINGS))
_REQUEST: Final = _record(
    "AdmissionRequest",
    kind=_KIND.type,
    resource=_RESOURCE.type,
    subResource=STRING,
    requestKind=_KIND.type,
    requestResource=_RESOURCE.type,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=_USER.type,
    dryRun=BOOL,
    options=DYN,
)

_SPEC: Final = _record("NamespaceSpec", finalizers=_STRINGS)
_CONDITION: Final = _record(
    "NamespaceCondition", status=STRING, type=STRING, lastTransitionTime=TIMESTAMP, message=STRING, reason=STRING
)
_STATUS: Final = _record("NamespaceStatus", conditions=list_of(_CONDITION.type), phase=STRING)
_METADATA: Final = _record(
    "NamespaceMetadata",
    name=STRING,
    generateName=STRING,
    namespace=STRING,
    labels=_STRING_MAP,
    annotations=_STRING_MAP,
    UID=STRING,
    creationTimestamp=TIMESTAMP,
    deletionGracePeriodSeconds=INT,
    deletionTimestamp=TIMESTAMP,
    generation=INT,
    resourceVersion=STRING,
    finalizers=_STRINGS,
)
_NAMESPACE: Final = _record("Namespace", metadata=_METADATA.type, spec=_SPEC.type, status=_STATUS.type)

_REQUEST_VARIABLES: Final = Library(
    variables={"object": DYN, "oldObject": DYN, "request": _REQUEST.type},
    structs=(_REQUEST, _KIND, _RESOURCE, _USER),
)
_NAMESPACE_VARIABLE: Final = Library(
    variables={"namespaceObject": _NAMESPACE.type},
    structs=(_NAMESPACE, _METADATA, _SPEC, _STATUS, _CONDITION),
)
_AUTHORIZER_SINCE: Final = 27
_NAMESPACE_SINCE: Final = 28
"""The first release with `namespaceObject`; unlike a library, it may be used at once."""


class _OpenFields(Mapping[str, Type]):
    """The known fields of a struct type; all other names are fields, too, of one type."""

    def __init__(self, known: Mapping[str, Type], others: Type) -> None:
        self._known, self._others = known, others

    def __getitem__(self, name: str) -> Type:
        return self._known.get(name, self._others)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def any_object(name: str) -> StructType:
    """Declare a type that can be constructed with any fields, as can all types below its name."""
    return StructType(struct(name), _OpenFields({}, DYN), family=True)


# Other fields of a JSONPatch have no type (apiserver/pkg/cel/mutation/jsonpatch.go).
_PATCH_FIELDS: Final = _OpenFields({"op": STRING, "path": STRING, "from": STRING, "value": DYN}, Type(Kind.BOOL, ""))
_ESCAPES: Final = str.maketrans({"/": "~1", "~": "~0"})
_ESCAPE_KEY: Final = Overload(
    "jsonpatch.escapeKey", "string_jsonpatch_escapeKey_string", (STRING,), STRING, lambda key: key.translate(_ESCAPES)
)
"""Escapes a key for the path of a JSON Patch (library/jsonpatch.go)."""
_PATCHES: Final = Library(
    functions=(_ESCAPE_KEY,), structs=(any_object("Object"), StructType(struct("JSONPatch"), _PATCH_FIELDS))
)


@lru_cache(maxsize=64)
def admission_environment(
    release: Release, *, stored: bool = False, params: bool = False, authorizer: bool = True, patch_types: bool = False
) -> Environment:
    """The environment of expressions in admission policies (apiserver/pkg/admission/plugin/cel/compile.go).

    The variables `object`, `oldObject`, `params`, `request` and `namespaceObject` are JSON, or None if absent;
    `authorizer` and `authorizer.requestResource` come from `webhook.cel.kubernetes.authorizer`.

    Args:
        stored: Whether the expression is already in the cluster.
        patch_types: Whether the types of mutations, `Object{…}` and `JSONPatch{…}`, are declared.
    """
    added = [_REQUEST_VARIABLES]
    if release >= _NAMESPACE_SINCE:
        added.append(_NAMESPACE_VARIABLE)
    variables = {"params": DYN} if params else {}
    if authorizer and release >= _AUTHORIZER_SINCE:
        variables |= authorizing.VARIABLES
    if patch_types:
        added.append(_PATCHES)
    return environment(release, stored=stored).extend(*added, variables=variables)


def with_variables(environment: Environment, variables: Mapping[str, Type]) -> Environment:
    """The environment with `variables.x`, of `variable_type`; names that are added later count, too."""
    type_ = StructType(struct("kubernetes.variables"), variables)
    return environment.extend(Library(variables={"variables": type_.type}, structs=(type_,)))


def variable_type(type_: Type | None) -> Type:
    """The type of a variable, as other expressions see it.

    Args:
        type_: The type of the variable's expression; None if it does not compile.

    Source: apiserver/pkg/admission/plugin/cel/composition.go, convertCelTypeToDeclType.
    """
    if type_ is None or type_.kind in _UNKNOWN:
        return DYN
    if type_.kind is Kind.LIST:
        return list_of(variable_type(type_.parameters[0]))
    return map_of(*map(variable_type, type_.parameters)) if type_.kind is Kind.MAP else type_


_UNKNOWN: Final = frozenset({Kind.OPAQUE, Kind.STRUCT, Kind.PARAMETER, Kind.TYPE, Kind.ERROR})
