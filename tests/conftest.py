"""Shared fixtures and settings of all tests."""

import gc
import os
import shutil
import signal
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, find, settings
from hypothesis.strategies import none

gc.set_threshold(100_000)  # collection of garbage took a tenth of the time of import and of small tests

yaml.SafeLoader = yaml.CSafeLoader  # type: ignore[misc, assignment]  # for yaml.safe_load: ten times as quick

CACHE = Path(__file__).parent.parent / ".pytest_cache" / "bytecode"

if sys.dont_write_bytecode:  # compiling all modules, with their asserts rewritten, takes a fifth of the quick lane
    sys.pycache_prefix, sys.dont_write_bytecode = str(CACHE), False

import webhook  # noqa: E402, F401 - it sets Python's limits; hypothesis insists that no test changes them midway
from webhook.optional import install  # noqa: E402 - as above

for each in ("documents", "reviews"):
    install(each)

# A shell ignores SIGINT in what it starts in the background, and processes inherit that; tests send that signal.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines are busy, and coverage is slow: neither says anything about the code.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("full"), max_examples=30)

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NEEDED = {
    "report/test_in_browser.py": BROWSERS,
    "report/test_pages_in_browser.py": BROWSERS,
    "sources/test_kubectl.py": ("kubectl",),
}
"""Programs of which one must be there, by the tests that run it; CI has a browser."""
collect_ignore = [
    file
    for file, programs in NEEDED.items()
    if not any(map(shutil.which, programs)) and not (programs is BROWSERS and os.environ.get("CI"))
]
if os.environ.get("DRAGUARD_FAST") == "0":
    collect_ignore.append("fast")


def pytest_configure(config: pytest.Config) -> None:
    """Try fewer examples in the quick lane."""
    settings.load_profile("quick" if "not slow" in config.option.markexpr else "full")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Let ``no_cover`` hold in workers, too, in which pytest-cov begins to measure twice and pauses once."""
    coverage = sys.modules.get("coverage")
    if coverage and hasattr(session.config, "workerinput") and (begun := coverage.Coverage.current()):
        begun.stop()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with tests that start processes, most of which wait while other workers compute, and with slow ones."""

    def later(item: pytest.Item) -> tuple[bool, bool]:
        marks = {each.name for each in item.iter_markers()}
        return not {"process", "tools"} & marks, "slow" not in marks

    items.sort(key=later)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave coverage to quick tests that do the same in each run; it makes the others three times slower."""
    if item.get_closest_marker("hypothesis") or item.get_closest_marker("slow"):
        item.add_marker("no_cover")


def pytest_collection_finish() -> None:
    """Exclude objects that live until the end from all further garbage collections, also from those of a server.

    A test process has millions of objects: each full collection of all of them would take seconds.

    Hypothesis makes its generator of random numbers with the first example, and looks for what refers to it among the
    objects that are collected: a server in the same process may exclude it meanwhile.
    """
    find(none(), lambda _: True)
    gc.collect()
    gc.freeze()
    pytest.MonkeyPatch().setattr(gc, "unfreeze", lambda: None)


def pytest_sessionfinish() -> None:
    """Collect garbage once; pytest and the interpreter would look through all objects several times."""
    gc.collect()
    gc.freeze()
