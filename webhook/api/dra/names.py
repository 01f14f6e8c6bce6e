"""Names of drivers, pools, devices, attributes and requests.

Rules follow ``pkg/apis/resource/validation/validation.go`` (validatePoolName, validateQualifiedName and others).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from webhook import formats
from webhook.patterns import Pattern
from webhook.problem import Path, Problem, invalid, malformed, of_own_type, required, too_long, type_invalid
from webhook.schema.fields import Text
from webhook.schema.target import OLDEST, Target

DRIVER_NAME_MAX_BYTES = 63
POOL_NAME_MAX_BYTES = 253
ID_MAX_BYTES = 32

STANDARD_DOMAIN = "resource.kubernetes.io"
"""The domain of the attributes that Kubernetes defines for the devices of all drivers."""
STANDARD_ATTRIBUTES: Final = {"numaNode": "int", "pciBusID": "string", "pcieRoot": "string"}
"""Their names in it, and types (dynamic-resource-allocation ``deviceattribute``); some drivers publish others there."""
NAMED_BY: Final = {
    "ResourceClaim": "resourceClaimName",
    "ResourceClaimTemplate": "resourceClaimTemplateName",
    "DeviceClass": "deviceClassName",
}
"""The field that names an object of a kind."""
IMPLICIT_PREFIX = f"deviceclass.{STANDARD_DOMAIN}/"
"""The prefix of the implicit extended resource of every class."""
IMPLICIT_KEY = f"requests.{IMPLICIT_PREFIX}"
"""The prefix of a class's name where a ResourceQuota limits that resource."""
QUOTA_SUFFIX = ".deviceclass.resource.k8s.io/devices"
"""The suffix of a class's name where a ResourceQuota limits its devices."""
ONE_VALUE = "int", "bool", "string", "version"
"""The fields of an attribute that hold one value; here, as profiles of drivers need nothing else of devices."""

_IDENTIFIER_INVALID_SINCE = 34
"""From Kubernetes 1.34 a bad C identifier is FieldValueInvalid, before FieldValueTypeInvalid."""
_PARTS_INVALID_SINCE = 35
"""From Kubernetes 1.35 an empty domain or name is FieldValueInvalid, before FieldValueRequired."""
_DOMAIN_NAMED_SINCE = 32
"""Kubernetes 1.31 called the domain of a name its prefix."""


def class_in(key: str) -> str:
    """Return the class whose devices a key of a ResourceQuota limits; empty if it limits something else."""
    if key.endswith(QUOTA_SUFFIX):
        return key.removesuffix(QUOTA_SUFFIX)
    return key.removeprefix(IMPLICIT_KEY) if key.startswith(IMPLICIT_KEY) else ""


def driver_name(doc: str, **common: Any) -> Text:
    """Declare a driver's name: a DNS subdomain of at most 63 bytes, in upper or lower case."""
    if common.get("required") or common.get("required_if_given"):
        common["always"] = {OLDEST: True, _PARTS_INVALID_SINCE: False}
    return Text(doc, format=formats.driver_name, max_bytes=DRIVER_NAME_MAX_BYTES, **common)


TAGGED: Mapping[int, Mapping[str, Any]] = {35: {}}
"""Marks a field whose rules declarative validation also has, with the same messages."""
TAGGED_37: Mapping[int, Mapping[str, Any]] = {37: {}}
"""Marks a field whose rules declarative validation also has from Kubernetes 1.37 on."""

TAGGED_SHORT_NAME: Mapping[int, Mapping[str, Any]] = {35: {"formats": (formats.short_name,)}}
"""The message of declarative validation for DNS labels."""

TAGGED_DRIVER_NAME: Mapping[int, Mapping[str, Any]] = {
    35: {"formats": (formats.dns_subdomain_caseless,)},
    37: {"formats": (formats.dns_subdomain_caseless,), "max_bytes": None, "max_characters": DRIVER_NAME_MAX_BYTES},
}
"""The messages of declarative validation for drivers' names."""


def pool_name(text: str, target: Target) -> Iterator[Problem]:
    """A pool's name: DNS subdomains joined by ``/``, 253 bytes at most in all."""
    if formats.exceeds(text, POOL_NAME_MAX_BYTES):
        yield too_long(Path(), POOL_NAME_MAX_BYTES, target.release)
    for segment in text.split("/"):
        yield from malformed(Path(), segment, formats.dns_subdomain(segment, target.release))


def pool_path(text: str, target: Target) -> Iterator[Problem]:
    """A pool's name: DNS subdomains joined by ``/``, 253 bytes at most in all; in the words of declarative rules."""
    if formats.exceeds(text, POOL_NAME_MAX_BYTES):
        yield too_long(Path(), POOL_NAME_MAX_BYTES, target.release)
    for index, segment in enumerate(text.split("/")):
        if not segment:
            yield invalid(Path(), text, f"segment {index}: must not be empty")
        for detail in formats.long_name(segment, target.release) if segment else ():
            yield invalid(Path(), segment, f"segment {index}: {detail}")


# Matches names that need no further checks: a slice has thousands.
_QUALIFIED = Pattern(
    r"(?:(?=[^/]{1,63}/)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z_][A-Za-z0-9_]{0,31}"
)


def qualified_name(text: str, target: Target) -> Iterable[Problem]:
    """The name of an attribute or a capacity: a C identifier, after an optional domain and ``/``.

    Names with two or more slashes are not checked, as upstream.
    """
    return () if _QUALIFIED.fullmatch(text) else _qualified_name(text, target)


def _qualified_name(text: str, target: Target) -> Iterator[Problem]:
    domain, slash, name = text.partition("/")
    if not text and target.release < _PARTS_INVALID_SINCE:
        yield required(Path(), "name required")
    elif not slash:
        yield from _identifier(domain, target)
    elif "/" not in name:
        if domain:
            yield from _domain(domain, target)
        else:
            yield _empty_part("prefix" if target.release < _DOMAIN_NAMED_SINCE else "domain", target)
        if name:
            yield from _identifier(name, target)
        else:
            yield _empty_part("name", target)


def fully_qualified_name(text: str, target: Target) -> Iterator[Problem]:
    """The name of an attribute of any driver: a domain, ``/`` and a C identifier."""
    yield from qualified_name(text, target)
    if "/" in text:
        return
    if target.release >= _PARTS_INVALID_SINCE:
        shown = of_own_type(text, target.release)
        yield invalid(Path(), shown, "a fully qualified name must be a domain and a name separated by a slash")
    elif target.release < _DOMAIN_NAMED_SINCE:
        yield required(Path(("domain",)), "must include a prefix")
    elif text:
        yield invalid(Path(), of_own_type(text, target.release), "must include a domain")


def attribute_of_a_domain(text: str, target: Target) -> Iterator[Problem]:
    """The name of an attribute of any driver: a domain, ``/`` and a C identifier; in the words of declarative rules.

    An upper-case domain is refused (apimachinery ``pkg/api/validate/strfmt.go``, ``ResourceFullyQualifiedName``).
    """
    domain, slash, name = text.partition("/")
    if not slash:
        yield from _identifier(text, target)
        yield invalid(Path(), text, "a fully qualified name must be a domain and a name separated by a slash")
    elif "/" not in name:
        if not domain:
            yield invalid(Path(), "", "prefix must not be empty")
        elif formats.exceeds(domain, DRIVER_NAME_MAX_BYTES):
            yield too_long(Path(), DRIVER_NAME_MAX_BYTES, target.release, in_bytes=True)
        for detail in formats.long_name(domain, target.release) if domain else ():
            yield invalid(Path(), domain, f"prefix: {detail}")
        if name:
            yield from _identifier(name, target)
        else:
            yield invalid(Path(), "", "name must not be empty")


def _empty_part(part: str, target: Target) -> Problem:
    detail = f"the {part} must not be empty"
    return invalid(Path(), "", detail) if target.release >= _PARTS_INVALID_SINCE else required(Path(), detail)


def _domain(domain: str, target: Target) -> Iterator[Problem]:
    if formats.exceeds(domain, DRIVER_NAME_MAX_BYTES):
        yield too_long(Path(), DRIVER_NAME_MAX_BYTES, target.release, in_bytes=True)
    yield from malformed(Path(), domain, formats.driver_name(domain, target.release))


def _identifier(name: str, target: Target) -> Iterator[Problem]:
    if formats.exceeds(name, ID_MAX_BYTES):
        yield too_long(Path(), ID_MAX_BYTES, target.release)
    for detail in formats.c_identifier(name, target.release):
        report = invalid if target.release >= _IDENTIFIER_INVALID_SINCE else type_invalid
        yield report(Path(), name, detail)
