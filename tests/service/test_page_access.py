"""Whether everybody can use the page: names, headings, landmarks, contrast, keyboard, zoom, motion.

What a screen reader is told comes from the browser's own accessibility tree; colours and sizes are
computed by page_access.js.
"""
import os
import unittest

import page_program
from browser import Keys
from page_program import PageTest
from service_program import N_ROWS

NEED_NAMES = {"button", "link", "textbox", "combobox", "radio", "DisclosureTriangle", "progressbar",
              "image", "img", "navigation", "region", "table"}
ONE_OF = ("banner", "main", "contentinfo")
WIDTHS = ((1280, 1), (640, 2), (390, 2), (320, 2))      # 640 is 1280 with a zoom of 200 %

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "page_access.js"),
          encoding="utf-8") as script:
    ACCESS = script.read()


def setUpModule():
    page_program.begin()


def tearDownModule():
    page_program.end()


class AccessTest(PageTest):
    def ask(self, call):
        return self.browser.run(f"{ACCESS}\nreturn {call};")

    def check_tree(self, where):
        """Everything that needs a name has one, and there is one of each landmark."""
        nodes = self.browser.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
        roles = [(node["role"]["value"], node.get("name", {}).get("value", "").strip())
                 for node in nodes if not node["ignored"] and "role" in node]
        nameless = [role for role, name in roles if role in NEED_NAMES and not name]
        self.assertEqual(nameless, [], where)
        for landmark in ONE_OF:
            self.assertEqual([role for role, _ in roles].count(landmark), 1, (where, landmark))
        regions = [one for one in roles if one[0] in ("navigation", "region")]
        self.assertEqual(len(regions), len(set(regions)), (where, regions))

    def check_view(self, where):
        """Names, structure, contrast and width of what is shown now."""
        browser = self.browser
        for scheme in ("light", "dark"):
            browser.media(scheme, motion="reduce")
            self.assertEqual(self.ask("lowContrast()"), [], (where, scheme))
        browser.media(motion="reduce")
        self.check_tree(where)
        for width, scale in WIDTHS:
            browser.resize(width, 900, scale)
            self.assertEqual(self.ask("wide()"), [], (where, width))
            self.assertEqual(self.ask("wrongStructure()"), [], (where, width))
        browser.resize(1280, 900)

    def check_focus(self, where):
        """Tab stops at everything, in the order of the document, where it can be seen."""
        browser = self.browser
        browser.run("""document.body.tabIndex = -1;
            document.body.focus();
            document.body.removeAttribute('tabindex');""")
        expected = self.ask("stops()")
        for name in expected:
            browser.keys(Keys.TAB)
            at = self.ask("focusNow()")
            self.assertEqual(at, {"name": name, "ring": True, "seen": True}, where)

    def wait_for_view(self, text):
        """The view with this heading, when all of it is there."""
        browser = self.browser
        browser.named("h1", text)
        browser.wait(lambda: not browser.all(".loading"), text)


class ViewsTest(AccessTest):
    def test_views(self):
        browser = self.browser
        browser.media(motion="reduce")      # a colour that is changing has no contrast to measure
        self.run_program("fit", "-o", "people.store", "--model", "parts", "--family", "segmented",
                         "--target", "income", "-k", "2", "--seed", "3")
        self.run_program("fit", "-o", "people.store", "--model", "axes", "--family", "components")
        self.run_program("fit", "-o", "people.store", "--model", "trees", "--family", "forest",
                         "--seed", "3", "--trees", "20")
        self.make_store("others.store", n_rows=8, text_ids=True)
        self.serve("people.store", "others.store")
        self.assertEqual(browser.run("return document.documentElement.lang"), "en")
        self.refusals += ["v1/me - Failed to load resource", "status of 404"]
        browser.fill("#token", "efface_wrong")
        browser.press("Sign in")
        browser.sees("does not know")
        self.check_view("sign in")
        self.check_focus("sign in")
        self.sign_in("read", "erase")

        self.look_for("u4")
        browser.sees("Type the owner to confirm")
        browser.press("Forget 4 rows")
        browser.sees("This is not the owner")
        self.check_view("person")
        self.check_focus("person")
        browser.fill("#typed", "u4")
        browser.press("Forget 4 rows")
        self.wait_for_view("Receipt 4")
        browser.press("Verify the models")
        browser.sees("Identical.")
        browser.press("Show the line as it is")
        self.check_view("receipt")
        self.check_focus("receipt")

        titles = set()
        for hash_, heading in (("", "Overview"), ("stores/people", "people"),
                               ("stores/people/models/default", "default"),
                               ("stores/people/models/income", "income"),
                               ("stores/people/models/kind", "kind"),
                               ("stores/people/models/parts", "parts"),
                               ("stores/people/models/axes", "axes"),
                               ("stores/people/models/trees", "trees"),
                               ("find", "Find a person"), ("receipts", "Receipts"),
                               ("checks", "Checks"), ("nowhere", "Not found"),
                               ("receipts/people/99", "Not found")):
            browser.go("#/" + hash_)
            self.wait_for_view(heading)
            browser.run("for (const one of document.querySelectorAll('details')) one.open = true;")
            browser.wait(lambda: not browser.all(".loading"), "tables")
            if "/models/" in hash_:
                self.assertTrue(browser.all("figure svg"), hash_)
            self.check_view(hash_)
            titles.add(browser.driver.title)
        self.assertEqual(len(titles), 12)
        browser.go("#/")
        self.wait_for_view("Overview")
        self.check_focus("overview")

    def test_motion(self):
        browser = self.browser
        self.serve()
        self.assertNotEqual(self.ask("moving()"), [])
        browser.media(motion="reduce")
        self.assertEqual(self.ask("moving()"), [])


class KeyboardTest(AccessTest):
    def tab_to(self, selector, text=""):
        """Presses Tab until this has the focus."""
        script = """const at = document.activeElement;
            return at.matches(arguments[0]) && at.textContent.trim().includes(arguments[1]);"""
        for _ in range(80):
            self.browser.keys(Keys.TAB)
            if self.browser.run(script, selector, text):
                return
        self.fail(f"Tab does not come to {selector} {text!r}")

    def test_forget_by_keyboard(self):
        browser = self.browser
        self.serve()
        browser.keys(self.token("read", "erase"), Keys.ENTER)
        self.wait_for_view("Overview")
        self.tab_to("a", "Skip to the content")
        browser.keys(Keys.ENTER)
        self.assertEqual(browser.run("return document.activeElement.id"), "main")
        self.tab_to("a.primary", "Find a person")
        browser.keys(Keys.ENTER)
        self.wait_for_view("Find a person")
        self.tab_to("#by-owner")
        browser.keys(Keys.ARROW_DOWN)
        self.tab_to("#whom")
        browser.keys("17", Keys.ENTER)
        browser.sees("Type the id to confirm")
        self.tab_to("#typed")
        browser.keys("17", Keys.ENTER)
        self.wait_for_view("Receipt 1")
        self.tab_to("button", "Verify the models")
        browser.keys(Keys.SPACE)
        browser.sees("All 3 models are byte for byte")
        self.tab_to("summary")
        browser.keys(Keys.ENTER)
        browser.sees('"kind":"forget"')
        said = browser.run("return said")
        for text in ("Signed in as read-erase", "Found 1 row. ", "1 row forgotten", "Identical. "):
            self.assertTrue(any(text in one for one in said), (text, said))
        self.assertEqual(self.store_rows(), N_ROWS - 1)
        self.run_program("show", "people.store", "--id", "17", code=4)


if __name__ == "__main__":
    unittest.main()
