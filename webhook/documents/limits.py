"""Limits of the reader, which protect memory, time and the stack."""

from __future__ import annotations

from webhook.documents.content import ContentError

MAX_BYTES = 128 * 1024 * 1024
"""Size of one file or of standard input, in bytes. An API server takes 3 MiB per request, a file may hold many."""

MAX_DEPTH = 200
"""The depth of maps and lists, aliases followed: deeper than any manifest needs, and far enough below
:data:`webhook.limits.RECURSION_LIMIT` that code may recurse over a document.
"""

MAX_ALIASED = 1_200_000
"""The values that the aliases of one document expand to: the most that Go's reader allows at any size below 100 MB
(``allowedAliasRatio`` in go-yaml v2 ``decode.go``)."""

MAX_VALUES = 4_000_000
"""Keys and values of one YAML document, with the ends of its maps and lists, or of one JSON text: this many take some
10 seconds and 0.6 GiB. An object of the size that an API server takes has a tenth of them, a list of 10,000 pods half.
"""

MAX_TAG_DIRECTIVES = 100
"""``%TAG`` lines of one document: libyaml compares each with all before it."""

MAX_EXCERPT = 4096
"""Characters of a line that is shown with its error. A whole JSON file may be one line."""

MAX_SIMPLE_KEY = 1024
"""Characters before the ``:`` of a key that is not introduced by ``?``, as the YAML specification has it."""


def too_deep(offset: int) -> ContentError:
    """Report a value nested deeper than :data:`MAX_DEPTH`."""
    return ContentError(f"nested more than {MAX_DEPTH} levels deep", offset)


def too_many_values(offset: int) -> ContentError:
    """Report a document that has more than :data:`MAX_VALUES`."""
    return ContentError(
        f"more than {MAX_VALUES:,} keys and values in one document", offset, "split it into several files"
    )


def too_many_directives(offset: int) -> ContentError:
    """Report a document that has more than :data:`MAX_TAG_DIRECTIVES`."""
    return ContentError("too many %TAG directives", offset, f"the limit is {MAX_TAG_DIRECTIVES}; a manifest needs none")
