"""Rules about more than an object: how its keys are written, what else its file has, and its earlier state."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, Final

from webhook.documents import Document
from webhook.findings import Identity, identity
from webhook.objects import group_of, number, text
from webhook.problem import WARNING, Key, Path, Problem

_NAME: Final = Path(("metadata", "name"))
_POOL: Final = ("spec", "pool")
_GENERATION: Final = Path((*_POOL, "generation"))

Known = dict[Identity, Document]
"""Objects by kind, namespace and name, with the group in place of the API version."""


def misread_key(document: Document, explained: Container[Path]) -> Iterator[Problem]:
    """A key, such as that of a label or an attribute, is a boolean in YAML, such as on, no or y.

    Kubernetes reads YAML 1.1, and converts it to JSON: the key becomes true or false, which the API server accepts.
    Quote it.
    """  # errors that have the same help explain a key, too
    from webhook.workloads.locations import every_object  # most manifests have plain keys

    for path, value in every_object(document.data):
        for key in ("true", "false"):
            if key in value and (*path, key) not in explained and (hint := document.misread_key((*path, key))):
                message = f'the key is "{key}", and not what is written'
                yield Problem(WARNING, "misread-key", "Misread", Path((*path, Key(key))), message, hint)


def generation_lowered(obj: Any, before: Any) -> Iterator[Problem]:
    """An update lowers the generation of a pool.

    The API server accepts that. Schedulers use only the slices of a pool's highest generation, so they ignore this one
    while another slice of the pool has the earlier generation.
    """
    now, earlier = (number(each, *_GENERATION) or 0 for each in (obj, before))
    pool, was_in = (text(each, *_POOL, "name") for each in (obj, before))
    if pool == was_in and now < earlier:
        message = f"pool {pool} was at generation {earlier}: schedulers ignore slices of a lower one, such as {now}"
        hint = f"state generation {earlier + 1}, or higher"
        yield Problem(WARNING, "generation-lowered", "Obsolete", _GENERATION, message, hint)


def repeated_object(document: Document, known: Known, namespace: str | None) -> Iterator[Problem]:
    """A file has an object twice: the same kind, namespace and name.

    `kubectl apply` applies both, one after the other, so the last one remains; `kubectl create` fails at the second.
    Objects in different files, or in a file of Markdown, are not compared: they may be alternatives, or for other
    clusters.
    """
    about = identity(document.data)
    where = "" if namespace is None else about.namespace or namespace
    same = about._replace(api_version=group_of(document.data), namespace=where)
    first = known.setdefault(same, document) if about.name else document
    if first is not document:
        line = first.position(_NAME).line
        place = f" in namespace {where}" if where else ""
        message = (
            f'{about.kind} "{about.name}"{place} is at line {line}, too: if both are applied, this one replaces it'
        )
        hint = f"give it another name{'' if namespace is None else ' or namespace'}, or remove one of them"
        yield Problem(WARNING, "repeated-object", "Repeated", _NAME, message, hint)
