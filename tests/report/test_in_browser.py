"""The HTML report in a real browser: it is rendered, in light and dark, and no script in it runs."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.command import draguard
from tests.conftest import BROWSERS
from tests.scan.clusters import claim, device, device_class, node, pod, request, slices

pytestmark = pytest.mark.tools

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars"),
    *("--window-size=1000,800", "--enable-logging=stderr"),
)
TAKEOVER = (
    "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"><style>*{color:red}</style>"
)


def browser(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Open a page in a browser with a profile of its own."""
    name = next(filter(shutil.which, BROWSERS))
    profile = page.parent / "profile"
    command = [name, *OPTIONS, f"--user-data-dir={profile}", *options, page.as_uri()]
    env = {**os.environ, "HOME": str(page.parent)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=env)
    shutil.rmtree(profile)
    return done


def assert_it_is_text(page: Path) -> None:
    done = browser(page, "--dump-dom")
    assert "<title>draguard: " in done.stdout
    assert "&lt;script&gt;" in done.stdout
    assert "<script" not in done.stdout
    assert "CONSOLE" not in done.stderr  # where the browser says what the content security policy forbids


def test_a_browser_shows_the_report_and_runs_nothing_of_it(tmp_path: Path) -> None:
    manifest = tmp_path / "claim.yaml"
    manifest.write_text(f"apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {{name: '{TAKEOVER}'}}\n")
    page = tmp_path / "report.html"
    draguard("validate", f"--output=html={page}", manifest, "examples/limits")
    assert_it_is_text(page)
    pictures = [tmp_path / f"{scheme}.png" for scheme in ("light", "dark")]
    for picture, scheme in zip(pictures, ("1", "0"), strict=True):
        browser(page, f"--screenshot={picture}", f"--blink-settings=preferredColorScheme={scheme}")
    light, dark = (picture.read_bytes() for picture in pictures)
    assert min(len(light), len(dark)) > 20_000  # an empty page of this size has a tenth of that
    assert light != dark


@pytest.mark.parametrize("command", ["devices", "simulate", "scan"])
def test_a_browser_shows_the_picture_and_runs_nothing_of_it(command: str, tmp_path: Path) -> None:
    cluster, page = tmp_path / "cluster.json", tmp_path / "page.html"
    stated = {"productName": {"string": "<script>document.title=1</script>"}}
    objects = (
        node("n1", labels={"topology.kubernetes.io/zone": TAKEOVER}),
        slices(device("a", stated), device("b", stated)),
        device_class(),
        claim("held", "a"),
        claim("wanted", requests=[request(count=2)]),
        pod("late", ["wanted"], "Pending", ""),
    )
    cluster.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    page.write_text(draguard(command, "--cluster", cluster, "--output=html").out)
    assert_it_is_text(page)
