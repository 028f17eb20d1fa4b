"""Chromium, as a person uses it: pages are opened, and what is seen on them is waited for."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select, WebDriverWait

SECONDS = 30
BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WHY_NOT = "no chromium and chromedriver: apt-get install chromium chromium-driver"


class Browser:
    """One window of Chromium without a screen."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def open(self, url: str, screen: str = "") -> None:
        self.driver.get("about:blank")  # the same page with another screen would not be loaded
        self.driver.get(f"{url}/#/{screen}")

    def find(self, css: str) -> WebElement:
        return self.wait(lambda: self.all(css))[0]

    def all(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def field(self, label: str) -> WebElement:
        """The control with a label: what is used here has one."""
        labels = self.wait(
            lambda: [e for e in self.all("label") if e.text.split(" (")[0].startswith(label)]
        )
        return self.driver.find_element(By.ID, labels[0].get_attribute("for"))

    def fill(self, label: str, text: str) -> None:
        control = self.field(label)
        control.clear()
        control.send_keys(text)

    def choose(self, label: str, text: str) -> None:
        Select(self.field(label)).select_by_visible_text(text)

    def press(self, text: str) -> None:
        found = self.wait(lambda: [e for e in self.all("main button") if e.text == text])
        found[0].click()

    def text(self, css: str = "main") -> str:
        return self.find(css).text

    def sees(self, text: str, css: str = "main") -> None:
        self.wait(lambda: text in self.text(css))

    def wait(self, is_so):
        again = (StaleElementReferenceException, IndexError)
        try:
            return WebDriverWait(self.driver, SECONDS, 0.05, ignored_exceptions=again).until(
                lambda _: is_so()
            )
        except WebDriverException as error:
            raise AssertionError(f"it was not seen; the page says: {self.text('body')}") from error

    def run(self, script: str, *arguments):
        return self.driver.execute_script(script, *arguments)

    def complaints(self) -> list[str]:
        """What the console of the browser has that is no failed request: scripts, the policy."""
        entries = self.driver.get_log("browser")
        return [
            one["message"]
            for one in entries
            if one["source"] != "network" and one["level"] in ("WARNING", "SEVERE")
        ]


@contextmanager
def browser(width: int = 1440, height: int = 1000) -> Iterator[Browser]:
    with tempfile.TemporaryDirectory(prefix="sde-chromium-") as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = str(BROWSER)
        for flag in (
            "--headless=new",
            "--no-sandbox",  # tests may run as root
            "--disable-dev-shm-usage",
            "--disable-gpu",
            "--disable-background-networking",
            "--no-first-run",
            "--lang=en-GB",
            f"--user-data-dir={profile}",
            f"--window-size={width},{height}",
        ):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options, Service(DRIVER))
        try:
            yield Browser(driver)
        finally:
            driver.quit()
