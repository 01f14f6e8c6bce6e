"""Takes the screenshots of docs/picture.md: ``python docs/screenshots.py``; Chromium is needed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import sync_playwright

from tests.scan.clusters import DRIVER, claim, device, device_class, node, pod, request, slices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

PICTURES: Final = Path(__file__).parent / "pictures"
MODELS: Final = {"H100": "80Gi", "A100": "40Gi", "L40S": "48Gi"}
TEAMS: Final = ("training", "inference", "search", "speech", "notebooks", "ci")
HELD, ILL, TAINTED = 0.8, {3, 20, 37}, {5, 18, 31}
LARGE: Final = f'device.capacity["{DRIVER}"].memory.compareTo(quantity("80Gi")) >= 0'


def cluster() -> Iterator[dict[str, Any]]:
    """Yield the objects of a cluster of 60 nodes in three zones: most of its devices are held, some ill or tainted."""
    chance, models = Random(4), list(MODELS)  # noqa: S311 - the same picture each time
    yield device_class()
    for number in range(60):
        model, zone = models[number % 5 // 2], "abc"[number // 20]
        name = f"gpu-{zone}-{number:02}.example.com"
        yield node(name, labels={"topology.kubernetes.io/zone": f"zone-{zone}"})
        more: dict[str, Any] = {"capacity": {"memory": {"value": MODELS[model]}}}
        gpus = [device(f"gpu-{place}", {"productName": model}, **more) for place in range(8)]
        if number in ILL:
            gpus[2]["attributes"]["health"] = {"string": "Unhealthy"}
        if number in TAINTED:
            gpus[6]["taints"] = [{"key": "example.com/xid", "value": "79", "effect": "NoSchedule"}]
        yield slices(*gpus, on=name)
        place = 0
        while place < len(gpus):
            size = min(chance.choice((1, 1, 2, 4)), len(gpus) - place)
            if (model == "H100" and place == 0) or chance.random() < HELD:
                run = f"run-{number}-{place}"
                held = claim(run, *(f"gpu-{each}" for each in range(place, place + size)), pods=(run,), pool=name)
                user = pod(run, [run], on=name)
                for each in (held, user):
                    each["metadata"]["namespace"] = chance.choices(TEAMS, (8, 6, 4, 3, 2, 1))[0]
                user["metadata"]["namespace"] = held["metadata"]["namespace"]
                yield from (held, user)
            place += size
    asks = request(count=8, selectors=[{"cel": {"expression": LARGE}}])
    yield claim("llama", requests=[asks])
    using = {"resources": {"claims": [{"name": "gpu"}]}}
    yield pod("llama-0", [{"name": "gpu", "resourceClaimName": "llama"}], "Pending", "", container=using)


def tried(page: Page) -> None:
    """Type a selector, and add nodes for a pod."""
    page.get_by_text("Which pods fit?").click()
    page.fill("[name=pods]", "default/llama-0")
    page.get_by_text("What if?").click()
    page.fill("[name=add]", "gpu-a-00.example.com*2")
    page.get_by_role("button", name="Show").click()
    page.wait_for_selector("article.fine")
    page.fill("#selector", LARGE)
    page.locator("#said", has_text=" not: ").wait_for()
    page.evaluate("scrollTo(0, 0)")


def main() -> None:
    """Take all of them."""
    PICTURES.mkdir(exist_ok=True)
    file = "cluster.json"
    (PICTURES / file).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(cluster())}))
    draguard = Path(sys.executable).with_name("draguard")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, arguments, look, scheme in (
            ("devices", ["devices"], "", "light"),
            ("stage", ["why", "default/llama-0"], "free", "light"),
            ("help", ["simulate", "llama-0"], "is released", "dark"),
            ("scan", ["scan"], "with findings", "light"),
        ):
            command = [draguard, *arguments, "--cluster", file, "--quiet", "--output", "html"]
            done = subprocess.run(command, capture_output=True, check=False, cwd=PICTURES)
            (PICTURES / "page.html").write_bytes(done.stdout)
            page = opened(browser, (PICTURES / "page.html").as_uri(), scheme)
            if look:
                page.locator("label", has_text=look).first.locator("input").check()
                for link in page.locator(".then a:visible").all():
                    link.click()  # the node that the pod gets
            top = {"scan": ".picture", "help": ".group:has(:target)"}.get(name, "header")
            page.locator(top).evaluate("each => each.scrollIntoView()")
            page.screenshot(path=PICTURES / f"{name}.png")
        command = [draguard, "ui", "--quiet", "--cluster", file]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PICTURES) as ui:
            try:
                page = opened(browser, ui.stdout.readline().strip() if ui.stdout else "", "light")
                tried(page)
                page.screenshot(path=PICTURES / "ui.png")
            finally:
                ui.terminate()
    for each in (file, "page.html"):
        (PICTURES / each).unlink()


def opened(browser: Browser, address: str, scheme: Any) -> Page:
    """Open a page."""
    page = browser.new_page(viewport={"width": 1280, "height": 640}, color_scheme=scheme)
    page.set_default_timeout(20_000)
    page.goto(address)
    return page


if __name__ == "__main__":
    main()
