"""A browser without a window, for the page of the service.

It is Debian's Chromium, driven by Selenium. What it logs is kept: `faults` lists errors of scripts,
refused resources and violations of the Content-Security-Policy, and `hosts` the hosts that the page
asked for anything.
"""
import contextlib
import json
import os
import shutil
import tempfile
import urllib.parse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service as Driver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = shutil.which("chromium")
CHROMEDRIVER = shutil.which("chromedriver")
HANGS = 30      # seconds after which something that was to appear is taken for hanging

QUIET = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--no-first-run", "--disable-background-networking", "--disable-component-update",
         "--disable-default-apps", "--disable-sync", "--disable-extensions",
         "--hide-scrollbars", "--lang=en")


class Browser:
    """One browser with one tab."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="efface-browser-")
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        for argument in (*QUIET, f"--user-data-dir={self.folder}/profile"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.add_experimental_option("prefs", {"download.default_directory": self.downloads})
        self.driver = webdriver.Chrome(options=options, service=Driver(CHROMEDRIVER))
        self.entries = []
        self.requests = []
        self.resize(1280, 900)

    @property
    def downloads(self):
        return os.path.join(self.folder, "downloads")

    def end(self):
        self.driver.quit()
        shutil.rmtree(self.folder, ignore_errors=True)

    # ---------------------------------------------------------------- how it looks

    def resize(self, width, height, scale=1):
        """Gives the window this size, and waits until the page has followed: observers of sizes
        run within the frame that comes after the layout."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600})
        self.wait(lambda: self.run("return document.documentElement.clientWidth") == width,
                  f"a page of {width} pixels")
        self.driver.execute_async_script("""const done = arguments[0];
            requestAnimationFrame(() => requestAnimationFrame(() => done()));""")

    def media(self, scheme="light", motion="no-preference", kind=""):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": kind, "features": [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": motion}]})

    # ---------------------------------------------------------------- what is there

    def open(self, address):
        self.driver.get(address)

    def go(self, hash_):
        """Follows an address behind '#'."""
        self.run("location.hash = arguments[0]", hash_)

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector):
        return self.wait(lambda: next(iter(self.all(selector)), None), selector)

    def wait(self, true, what):
        return WebDriverWait(self.driver, HANGS, 0.02).until(lambda _: true(), f"never: {what}")

    @property
    def text(self):
        """What a person reads."""
        return self.run("return document.body.innerText")

    def sees(self, text):
        self.wait(lambda: text in self.text, text)

    def named(self, selector, text):
        """The shown element of this selector with this text."""
        def find():
            return self.run("""
                return [...document.querySelectorAll(arguments[0])].find((one) =>
                    one.checkVisibility() && one.innerText.trim() === arguments[1]) || null""",
                            selector, text)
        return self.wait(find, f"{selector} {text!r}")

    def press(self, text):
        """Clicks the button or link with this text."""
        self.named("button, a, summary", text).click()

    def fill(self, selector, text):
        field = self.one(selector)
        field.clear()
        field.send_keys(text)

    def keys(self, *keys):
        """Types keys at whatever has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()

    @contextlib.contextmanager
    def second_tab(self):
        """Works in a new tab, and comes back to the first."""
        first = self.driver.current_window_handle
        self.driver.switch_to.new_window("tab")
        try:
            yield
        finally:
            self.driver.close()
            self.driver.switch_to.window(first)

    # ---------------------------------------------------------------- what it did

    def collect(self):
        """Takes over what the browser has logged since the last call."""
        self.entries += self.driver.get_log("browser")
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requests.append(message["params"]["request"])

    def forget_log(self):
        self.collect()
        self.entries, self.requests = [], []

    def faults(self, but=()):
        """Everything that the console says, but for lines with one of these texts."""
        self.collect()
        return [entry["message"] for entry in self.entries
                if not any(text in entry["message"] for text in but)]

    def hosts(self):
        self.collect()
        schemes = ("http", "https", "ws", "wss")
        split = (urllib.parse.urlsplit(request["url"]) for request in self.requests)
        return {one.netloc for one in split if one.scheme in schemes}


__all__ = ["Browser", "By", "CHROMEDRIVER", "CHROMIUM", "Keys"]
