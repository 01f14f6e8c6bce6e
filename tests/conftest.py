"""Shared fixtures and settings of all tests."""

from __future__ import annotations

import gc
import importlib
import re
import shutil
import signal
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, settings

gc.set_threshold(100_000)  # collection of garbage took a tenth of the time of import and of small tests

CACHE = Path(__file__).parent.parent / ".pytest_cache" / "bytecode"

if sys.dont_write_bytecode:  # compiling all modules, with their asserts rewritten, takes a fifth of the quick lane
    sys.pycache_prefix, sys.dont_write_bytecode = str(CACHE), False

import webhook  # noqa: E402, F401 - it sets Python's limits; hypothesis insists that no test changes them midway
from webhook.optional import install  # noqa: E402 - as above

for each in ("objects", "reviews"):
    install(each)

# A shell ignores SIGINT in what it starts in the background, and processes inherit that; tests send that signal.
signal.signal(signal.SIGINT, signal.default_int_handler)

# Machines are busy, and coverage is slow: neither says anything about the code.
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("full"), max_examples=30)

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
NEEDED = {"report/test_in_browser.py": BROWSERS, "sources/test_kubectl.py": ("kubectl",)}
"""Programs of which one must be there, by the tests that run it."""
collect_ignore = [file for file, programs in NEEDED.items() if not any(map(shutil.which, programs))]

LEFT_OUT = re.compile(r"not (\w+)")
WANTED = re.compile(r"(?<!not )\b(alone|process|slow|tools)\b")
MARKED = re.compile(r"^pytestmark = (\[[^]]*\]|.*)", re.MULTILINE)
MARKS = re.compile(r"\bmark\.(\w+)")


def pytest_configure(config: pytest.Config) -> None:
    """In the quick lane, try fewer examples."""
    is_quick = {"slow", "process", "tools"} <= set(LEFT_OUT.findall(config.option.markexpr))
    settings.load_profile("quick" if is_quick else "full")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a module of which no test would run."""
    expression = config.option.markexpr
    if not expression or collection_path.suffix != ".py" or "or" in expression.split():
        return None
    text = collection_path.read_text(encoding="utf-8")
    of_all, of_some = (set(MARKS.findall(each)) for each in ("".join(MARKED.findall(text)), text))
    if "alone" in of_some:  # see below
        of_some.add("slow")
    unwanted = not of_all.isdisjoint(LEFT_OUT.findall(expression)) or not of_some.issuperset(WANTED.findall(expression))
    return unwanted or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Let each worker import a share of the modules first, so that not every one compiles all of a fresh clone."""
    config = session.config
    if not (worker := getattr(config, "workerinput", None)):
        return
    directories = [Path(each).resolve() for each in config.args if Path(each).is_dir()]
    files = sorted(file for directory in directories for file in directory.rglob("test_*.py"))
    files = [file for file in files if not pytest_ignore_collect(file, config)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
            with suppress(Exception):  # it is reported where the module is collected
                importlib.import_module(".".join(file.relative_to(config.rootpath).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that must run alone as slow, so that no other lane needs to name them.

    Tests with processes come first: most wait, among them all attacks, one after the other. One worker begins with
    them, while the others compute.
    """
    for item in items:
        if item.get_closest_marker("alone"):
            item.add_marker("slow")
    items.sort(key=lambda item: item.get_closest_marker("process") is None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Let a worker report only what a test came to: six messages for each test took a tenth of the quick lane."""
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave coverage to tests that do the same in each run; it makes those with random examples three times slower."""
    if item.get_closest_marker("hypothesis"):
        item.add_marker("no_cover")


def pytest_collection_finish() -> None:
    """Exclude objects that live until the end from all further garbage collections, also from those of a server.

    A test process has millions of objects: each full collection of all of them would take seconds.
    """
    gc.collect()
    gc.freeze()
    pytest.MonkeyPatch().setattr(gc, "unfreeze", lambda: None)
