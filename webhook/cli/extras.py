"""The extras of the distribution, and the modules that they bring."""

from __future__ import annotations

from typing import Final

_SERVE: Final = "serve"
_MODULES: Final = {
    "cryptography": _SERVE,
    "flask": _SERVE,
    "helm_python": "helm",
    "httptools": _SERVE,
    "prometheus_client": _SERVE,
    "uvloop": _SERVE,
    "werkzeug": _SERVE,
}
"""The modules that an extra brings, and its name in pyproject.toml."""


def missing(error: ModuleNotFoundError) -> str:
    """Say how to install a module that is not there; empty if no extra brings it."""
    module = (error.name or "").partition(".")[0]
    extra = _MODULES.get(module)
    return f"the module {module} is missing: pip install 'draguard[{extra}]'" if extra else ""
