"""The result of an expression, in a form that tests can state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from webhook.cel import CompileError, EvaluationError, ProgramError
from webhook.cel.kubernetes.environments import admission_environment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.cel import Environment

NEWEST = 36


def outcome(expression: str, bindings: Mapping[str, Any] | None = None, environment: Environment | None = None) -> Any:
    """The value; for an error, its text, after `error: ` or `refused: `."""
    try:
        program = (environment or admission_environment(NEWEST, patch_types=True)).compile(expression)
        return program.evaluate(bindings or {})
    except EvaluationError as error:
        return f"error: {error}"
    except (CompileError, ProgramError) as error:
        return f"refused: {error}".partition("\n")[0]
