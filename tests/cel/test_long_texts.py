"""Functions of long texts."""

import tracemalloc
from contextlib import suppress

import pytest

from tests.rows import each_row
from webhook.cel.errors import CelError
from webhook.cel.kubernetes.environments import admission_environment
from webhook.release import Release

pytestmark = pytest.mark.slow

LENGTH = 10_000
UNITS = ("0", "a", "1.", "a=1&", "%41", "@", "\u200b", "\U0001f600")
CALLS = [
    "int({})", "uint({})", "double({})", "duration({} + 'h')", "timestamp('2030-01-01T00:00:00.' + {} + 'Z')",
    "quantity({})", "semver({}, true)", "ip({})", "cidr({})", "url('http://' + {})", "url('http://' + {} + '@host/')",
    "url('http://host/?' + {}).getQuery()", "url('/' + {}).getEscapedPath()", "format.byte().validate({})",
    "format.uri().validate({})", "format.qualifiedName().validate({})", "strings.quote({})", "{}.lowerAscii()",
    "{}.matches('(a|b)*c')",
]  # fmt: skip
PARTS = "semver('1.0.0-' + {})"
"""Has a value of its own for each part, of two characters."""
ENVIRONMENT = admission_environment(Release(36))


@each_row("call", *CALLS, PARTS)
def test_memory_does_not_grow_faster_than_the_text(call: str) -> None:
    program = ENVIRONMENT.compile(f"[{call.format('object')}].size() == 1")
    with suppress(CelError):
        program.evaluate({"object": "a"})  # imports and compiles
    for unit in UNITS:
        text = unit * (LENGTH // len(unit.encode()))
        tracemalloc.start()
        with suppress(CelError):
            program.evaluate({"object": text})
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < (50 if call == PARTS else 30) * LENGTH, unit


@each_row("expression", "int({}) == 7", "int('-' + {}) == -7", "uint({}) == 7u", "duration({} + 's') == duration('7s')")
def test_zeros_before_a_number_do_not_count(expression: str) -> None:
    program = ENVIRONMENT.compile(expression.format("object"))
    assert program.evaluate({"object": "0" * LENGTH + "7"}) is True
