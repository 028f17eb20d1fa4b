"""`python -m tests.service.gateway.console.screenshots`: the pictures of docs/how-to/console.md.

Each screen of a gateway before an engine in this process, at 1440 and 390 pixels, light and dark;
`--all` writes every combination into a folder, to look at.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import asdict
from io import BytesIO
from pathlib import Path

from PIL import Image

from service.http_settings import HttpSettings
from tests.service.gateway.conftest import Served
from tests.service.gateway.console import showcase
from tests.service.gateway.console.browsing import Browser, browser

IMAGES = Path(__file__).parents[4] / "docs" / "images" / "console"
SCREENS = {
    "overview": "",
    "synopses": "synopses",
    "create": "create",
    "ask": "ask?uid=trades&a.key=trader-1",
    "streams": "streams?uid=trades-by-stream",
    "correlation": "correlation",
    "batches": "batches",
    "dead-letters": "dead-letters",
    "sources": "sources",
    "snapshots": "snapshots?uid=traders",
    "plugins": "plugins",
    "sites": "sites",
}
WIDE, NARROW = (1440, 900), (390, 844)
COLOURS = 128  # of a picture: flat areas and text need no more


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", type=Path, help="the folder for all combinations")
    parser.add_argument("--only", nargs="*", default=list(SCREENS), choices=SCREENS)
    flags = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        served = serve(folder, stack)
        window = stack.enter_context(browser(*WIDE))
        for name in flags.only:
            if flags.all is None:
                take(window, served, name, IMAGES / f"{name}.png", WIDE, name == "correlation")
                if name in ("overview", "ask"):
                    take(window, served, name, IMAGES / f"{name}-narrow.png", NARROW, False)
                continue
            for size in (WIDE, NARROW):
                for dark in (False, True):
                    file = f"{name}-{size[0]}-{'dark' if dark else 'light'}.png"
                    take(window, served, name, flags.all / file, size, dark)


def serve(folder: Path, stack: ExitStack) -> Served:
    """A gateway to an engine that goes on: each second tuples come, and watches answer."""
    http = HttpSettings(listen="127.0.0.1:0")
    served = Served(
        http, stack, folder=folder, make=showcase.LiveEngine, snapshots=folder / "snapshots"
    )
    served.engine.now = showcase.now()
    showcase.create_all(served.engine)
    served.transport.tick(showcase.now())
    showcase.send_prices(served.transport, showcase.now())
    served.transport.tick(showcase.now())
    showcase.send_wrong(served.engine)
    ended = threading.Event()

    def go_on() -> None:
        turn = 0
        while not ended.wait(0.5):
            turn += 1
            rate = 48_000 + 9_000 * ((turn * 37) % 11 - 5) / 5
            showcase.write_files(folder, asdict(served.engine.limits), rate)
            showcase.send_prices(served.transport, showcase.now(), seconds=1, seed=turn)
            served.transport.tick(showcase.now())

    thread = threading.Thread(target=go_on)
    thread.start()
    stack.callback(thread.join)
    stack.callback(ended.set)
    return served


def take(
    window: Browser, served: Served, name: str, file: Path, size: tuple[int, int], dark: bool
) -> None:
    devtools = window.driver.execute_cdp_cmd
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
    devtools("Emulation.setDeviceMetricsOverride", metrics)
    theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    devtools("Emulation.setEmulatedMedia", {"features": [theme]})
    window.open(served.url, SCREENS[name])
    window.find("main h1")
    if name == "ask":
        window.fill("Threshold", ">= 300")
        window.press("Watch")
        window.press("Ask")
    if name == "create":
        window.fill("Data set", "Forex")
        window.fill("Name", "trades-of-5m")
        window.fill("epsilon", "0.001")
    time.sleep({"ask": 8, "overview": 15, "synopses": 6}.get(name, 3))
    if name == "dead-letters":
        window.all("summary")[0].click()
    wide = window.run("return document.documentElement.scrollWidth")
    if wide > size[0]:
        print(f"{name}: {wide} pixels wide at {size[0]}")
    longest = 1300 if size == WIDE else 1900
    height = min(longest, max(size[1], window.run("return document.body.scrollHeight")))
    devtools("Emulation.setDeviceMetricsOverride", {**metrics, "height": height})
    time.sleep(0.3)
    file.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.open(BytesIO(window.driver.get_screenshot_as_png()))
    picture.convert("RGB").quantize(COLOURS).save(file, optimize=True)
    for complaint in window.complaints():
        print(f"{name}: {complaint}")


if __name__ == "__main__":
    main()
