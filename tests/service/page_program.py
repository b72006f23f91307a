"""What the tests of the page share: a browser, and a service with a tab that shows its page.

After each test, the console of the browser must be empty but for the refusals that the test
provoked, no other host may have been asked for anything, and neither cookies nor localStorage may
hold anything.
"""
import json
import shutil
import sys

from service_program import ServiceTest

if not shutil.which("chromium"):
    print("chromium is not installed")
    sys.exit(77)

from browser import Browser     # noqa: E402  (it needs Selenium, which comes with Chromium)

BROWSER = None


def begin():
    global BROWSER
    BROWSER = Browser()


def end():
    BROWSER.end()


class PageTest(ServiceTest):
    """A service with one store, and a tab that nobody has signed in with."""

    def setUp(self):
        super().setUp()
        self.refusals = []
        self.browser = BROWSER
        self.browser.forget_log()
        self.browser.resize(1280, 900)
        self.browser.media()
        self.make_store()

    def serve(self, *stores, **more):
        self.start(*stores, **more)
        self.open_page()

    def open_page(self):
        self.address = f"http://127.0.0.1:{self.service.port}/"
        self.browser.open(self.address)
        self.browser.one("#token")
        # What a screen reader is told.
        self.browser.run("""
            window.said = [];
            new MutationObserver(() => said.push(document.getElementById('said').textContent))
                .observe(document.getElementById('said'), { childList: true });""")
        self.addCleanup(self.check_traces)

    def check_traces(self):
        """Nothing but what the test expects is left in the console, the network and the tab."""
        browser = self.browser
        self.assertEqual(browser.faults(but=self.refusals), [])
        self.assertEqual(browser.hosts(), {f"127.0.0.1:{self.service.port}"})
        self.assertEqual(browser.run("return [localStorage.length, document.cookie]"), [0, ""])

    def sign_in(self, *roles, token=None):
        browser = self.browser
        browser.fill("#token", token or self.token(*roles))
        browser.press("Sign in")
        browser.wait(lambda: browser.all("nav[aria-label=Main]"), "signed in")

    def look_for(self, text, by="owner"):
        browser = self.browser
        browser.go("#/find")
        browser.one(f"#by-{by}").click()
        browser.fill("#whom", text)
        browser.press("Look")

    def expired_token(self):
        """A token whose time was over long ago."""
        token = self.make_token("old", "read", "erase", expires="30d")
        with open(self.path("efface.tokens"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        entry = json.loads(lines[-1])
        self.assertEqual(entry["name"], "old")
        lines[-1] = json.dumps({**entry, "expires": 1})
        with open(self.path("efface.tokens"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        return token

    def store_rows(self):
        return json.loads(self.run_program("info", "people.store", "--json"))["rows"]

    def receipts(self):
        return self.good(self.client("read").get("/v1/stores/people/receipts"))["receipts"]

    def forgets(self):
        """How often the page has asked to forget."""
        self.browser.collect()
        return [request["method"] for request in self.browser.requests
                if request["url"].endswith("/forget")]
