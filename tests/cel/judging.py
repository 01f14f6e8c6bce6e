"""The result of an expression, in a form that tests can state."""

from collections.abc import Mapping
from typing import Any

from webhook.cel.environment import Environment
from webhook.cel.errors import CompileError, EvaluationError, ProgramError
from webhook.cel.kubernetes.environments import admission_environment

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
