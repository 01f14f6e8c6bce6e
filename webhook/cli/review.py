"""``draguard review``: answers recorded AdmissionReviews as the webhook would."""

from __future__ import annotations

import sys
from argparse import Namespace
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import BinaryIO

from webhook import admission
from webhook.admission import MalformedReviewError, ReviewOptions
from webhook.check.reviews import options
from webhook.cli.console import print_error, some_paths, tell
from webhook.documents import STDIN, STDIN_NAME
from webhook.report.text import as_json
from webhook.usage import UsageError

_NOT_A_REVIEW = "; an AdmissionReview is a JSON object: for manifests, use draguard validate"
_EMPTY = "no AdmissionReview is there: did the command that writes it fail? --allow-empty accepts that"


def run(arguments: Namespace) -> int:
    """Answer every review on a line of its own; report input that is not a review."""
    answering = options(arguments, print_error, tell)
    code = 0
    for path in some_paths(arguments, "name files with AdmissionReviews, or pipe them in"):
        name = STDIN_NAME if path == STDIN else path
        number = 0
        with nullcontext(sys.stdin.buffer) if path == STDIN else _opened(path) as lines:
            for number, text in split(lines):
                code = max(code, _answer(f"{name}:{number}", text, arguments, answering))
        if not number and not arguments.allow_empty:
            tell(f"{name}:1: error: {_EMPTY}")
            code = max(code, 1)
    return code


def _answer(place: str, text: bytes, arguments: Namespace, answering: ReviewOptions) -> int:
    """Print the answer to a review, or why there is none; return the exit code."""
    try:
        answer = admission.review(admission.read(text), arguments.endpoint, answering)
    except MalformedReviewError as error:
        hint = "" if text.lstrip().startswith(b"{") else _NOT_A_REVIEW
        tell(f"{place}: error: {error}{hint}")
        return 1
    print(as_json(answer, separators=(",", ":")), flush=True)
    return 1 if arguments.exit_code and not answer["response"]["allowed"] else 0


def _opened(path: str) -> BinaryIO:
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read {path}: {reason}") from error


def split(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Split lines into JSON objects: one on each line, or over several lines of which only the first begins with ``{``.

    An object is yielded as soon as its last line has arrived, so that a pipe gets its answers at once.

    Args:
        lines: The lines, with their ends.

    Yields:
        The number of the first line of an object, and its text, which need not be JSON.
    """
    held: list[bytes] = []
    first = 0
    for number, given in enumerate(lines, 1):
        line = given.removeprefix(BOM_UTF8) if number == 1 else given
        if held and line.startswith(b"{"):
            yield first, b"".join(held)
            held = []
        if not held:
            if line.isspace():
                continue
            first = number
        held.append(line)
        # A line is complete if its braces pair up. Braces in strings count, too: at worst it waits for the next object.
        ends = line.startswith(b"}") if len(held) > 1 else line.count(b"{") == line.count(b"}")
        if ends and line.rstrip().endswith(b"}"):
            yield first, b"".join(held)
            held = []
    if held:
        yield first, b"".join(held)
