"""The page of the service in a browser: what a privacy officer does, from signing in to a receipt.

The tests look at what a person sees, and then ask the store.
"""
import json
import os
import signal
import unittest

import page_program
from page_program import PageTest
from service_program import N_ROWS, Service


def setUpModule():
    page_program.begin()


def tearDownModule():
    page_program.end()


class ForgetTest(PageTest):
    def test_journey(self):
        """Find, preview, forget, receipt, verify."""
        browser = self.browser
        self.serve()
        self.sign_in("read", "erase")
        for text in ("Overview", "people", "60 rows · 3 columns · 15 owners", "naive Bayes",
                     "No requests yet"):
            browser.sees(text)

        self.look_for("u4")
        browser.sees("The store has 4 rows of owner u4")
        table = browser.one(".steps table").text
        for number in range(16, 20):
            self.assertRegex(table, rf"(?m)^{number} (red|green|blue) ")
        browser.sees("Type the owner to confirm")
        preview = self.good(self.client("erase").post("/v1/stores/people/preview",
                                                      {"owner_keys": ["u4"]}))
        shown = browser.all(".steps table")[1].text
        for model in preview["models"]:
            self.assertIn(model["name"], shown)
            self.assertIn(model["reason"], shown)
        browser.wait(lambda: any("Found 4 rows. " in text for text in browser.run("return said")),
                     "announced")

        browser.fill("#typed", "u5")
        browser.press("Forget 4 rows")
        browser.sees("This is not the owner that you looked for")
        self.assertEqual(self.forgets(), [])
        self.assertEqual(self.store_rows(), N_ROWS)
        browser.fill("#typed", "u4")
        browser.press("Forget 4 rows")

        browser.sees("Receipt 1")
        browser.sees("4 rows of the store people were forgotten, in the store and in all 3 models.")
        self.assertEqual(browser.run("return document.activeElement.tagName"), "H1")
        self.assertEqual(self.store_rows(), N_ROWS - 4)
        self.assertNotIn("u4", browser.driver.current_url)
        kept = browser.run("return {...sessionStorage}")
        del kept["efface.token"]  # which is random, and may have these letters
        self.assertNotIn("u4", json.dumps(kept))
        self.check_receipt()

        browser.press("Verify the models")
        browser.sees("All 3 models are byte for byte what a fit to the present rows "
                     "gives.")
        self.assertEqual(browser.one(".verify tbody").text.count("identical"), 3)
        browser.go("#/checks")
        browser.wait(lambda: len(browser.all("main tbody tr")) == 3, "three checks")
        browser.go("#/receipts")
        browser.sees("Forgot 4 rows")
        browser.go("#/")
        browser.named("a", "Forgot 4 rows")

        self.stop()
        self.run_program("verify", "people.store")
        self.run_program("show", "people.store", "--owner", "u4", code=4)

    def check_receipt(self):
        """The download has the bytes of the receipt; paper has commitments in full, and no buttons."""
        browser = self.browser
        browser.press("Download")
        path = os.path.join(browser.downloads, "people-receipt-1.json")
        browser.wait(lambda: os.path.exists(path), "download")
        line = self.client("read").get("/v1/stores/people/receipts/1").body
        with open(path, "rb") as file:
            self.assertEqual(file.read(), line)
        browser.media(kind="print")
        self.assertNotIn("Sign out", browser.text)
        self.assertNotIn("Download", browser.text)
        for model in json.loads(line)["models"]:
            self.assertIn(model["after"], browser.text)
        browser.media()

    def test_row_by_number(self):
        browser = self.browser
        self.serve()
        self.sign_in("read", "erase")
        self.look_for("seventeen", by="row")
        browser.sees("In this store, ids are whole numbers.")
        self.look_for("17000", by="row")
        browser.sees("The store people has nothing of this id.")
        self.look_for("17", by="row")
        browser.sees("The store has 1 row of row 17")
        browser.sees("u4")
        browser.fill("#typed", "17")
        browser.press("Forget 1 row")
        browser.sees("1 row of the store people was forgotten")
        self.assertEqual(self.store_rows(), N_ROWS - 1)
        self.run_program("show", "people.store", "--id", "17", code=4)

    def test_signed_receipt(self):
        browser = self.browser
        self.run_program("receipt", "keys", "--secret", "secret.key", "--public", "public.key")
        self.serve(options=("--sign", "secret.key"))
        self.good(self.client("erase").post("/v1/stores/people/forget", {"ids": ["17"]}))
        self.sign_in("read")
        browser.go("#/receipts/people/1")
        browser.press("Check the signature")
        browser.sees("Valid. The receipt is as it was made, and signed with the key above.")
        browser.go("#/receipts")
        browser.press("Check that no receipt is missing or changed")
        for key, words in (("12", "A public key has 64 hexadecimal digits."),
                           ("0" * 64, "The signature does not match."),
                           (self.receipts()[0]["public_key"], "Each is signed with this key.")):
            browser.fill("#chain-key", key)
            browser.press("Check")
            browser.sees(words)

    def test_double_click(self):
        """It is sent once."""
        browser = self.browser
        self.serve()
        self.sign_in("read", "erase")
        self.look_for("u4")
        browser.fill("#typed", "u4")
        browser.run("arguments[0].click(); arguments[0].click();",
                    browser.named("button", "Forget 4 rows"))
        browser.sees("Receipt 1")
        self.assertEqual(self.forgets(), ["POST"])
        self.assertEqual([receipt["forgotten"] for receipt in self.receipts()], [4])
        browser.driver.back()
        browser.wait(lambda: browser.all("#whom"), "back")
        self.assertEqual(browser.one("#whom").get_attribute("value"), "")
        self.assertNotIn("u4", browser.text)

    def test_two_tabs(self):
        """Of two tabs that forget the same person, one does, and the other says so."""
        browser = self.browser
        self.serve()
        self.sign_in("read", "erase")
        self.look_for("u4")
        browser.sees("Type the owner to confirm")
        with browser.second_tab():
            browser.open(self.address)
            self.sign_in("read", "erase")
            self.look_for("u4")
            browser.fill("#typed", "u4")
            browser.press("Forget 4 rows")
            browser.sees("Receipt 1")
        browser.fill("#typed", "u4")
        browser.press("Forget 4 rows")
        browser.sees("someone else has forgotten them meanwhile")
        self.assertEqual(len(self.receipts()), 1)

    def test_rows_that_changed(self):
        """What was not shown is not forgotten."""
        browser = self.browser
        self.serve()
        self.sign_in("read", "erase")
        self.look_for("u4")
        browser.sees("Type the owner to confirm")
        self.good(self.client("admin").post("/v1/stores/people/forget", {"ids": ["17"]}))
        browser.fill("#typed", "u4")
        browser.press("Forget 4 rows")
        browser.sees("The rows have changed since you looked at them. Nothing was forgotten")
        browser.sees("The store has 3 rows of owner u4")
        self.assertEqual(self.store_rows(), N_ROWS - 1)
        browser.fill("#typed", "u4")
        browser.press("Forget 3 rows")
        browser.sees("Receipt 2")

    def test_store_without_owners(self):
        with open(self.path("plain.csv"), "w", encoding="utf-8") as file:
            file.write("id,a,b\n" + "".join(f"{i},{i % 5},{i * i % 7}\n" for i in range(12)))
        self.run_program("fit", "plain.csv", "--id", "id", "-k", "2", "-o", "plain.store")
        browser = self.browser
        self.serve("people.store", "plain.store")
        self.sign_in("read", "erase")
        browser.go("#/find/plain")
        browser.sees("One row, by its id. A whole number.")
        self.assertFalse(browser.one("#by-owner").is_enabled())
        browser.fill("#whom", "7")
        browser.press("Look")
        browser.sees("The store has 1 row of row 7")
        browser.go("#/find/people")
        browser.sees("All rows of the owner. A text, exactly as it was in the data.")

    def test_texts_are_not_markup(self):
        name = "<img src=x onerror=document.title=1>"
        with open(self.path("odd.csv"), "w", encoding="utf-8") as file:
            file.write("id,user,<i>a</i>,b\n")
            for i in range(12):
                file.write(f"{name}{i},{name},{i},{i * i % 7}\n")
        self.run_program("fit", "odd.csv", "--id", "id", "--owner", "user", "--keep-texts", "-k",
                         "2", "-o", "odd.store")
        browser = self.browser
        self.serve("odd.store")
        self.sign_in("read", "erase")
        self.look_for(name)
        browser.sees(f"The store has 12 rows of owner {name}")
        browser.sees("<i>a</i>")
        browser.sees(f"{name}11")
        self.assertEqual(browser.all("main img, main i"), [])

    def test_odd_texts(self):
        """A text may be long, and may begin or end with spaces; one that was pasted may, too."""
        browser = self.browser
        long = "ÄŁ🦊" * 120
        rows = [{"key": f"new{i}", "owner_key": owner, "values": [i, i + 1, i]}
                for i, owner in enumerate((long, " two ", "three"))]
        self.make_store("texts.store", text_ids=True)
        self.serve("texts.store")
        self.good(self.client("admin").post("/v1/stores/texts/learn", {"rows": rows}))
        self.sign_in("read", "erase")
        for typed in (" two ", " three "):
            self.look_for(typed)
            browser.sees(f"The store has 1 row of owner {typed.strip()}")
        browser.run("document.getElementById('whom').value = arguments[0]", long)
        browser.press("Look")
        browser.sees(f"of owner {long[:59]}…")
        browser.sees("Type the owner to confirm")
        for width in (1280, 390):
            browser.resize(width, 900)
            self.assertEqual(browser.run("return document.documentElement.scrollWidth"), width)
        browser.run("document.getElementById('typed').value = arguments[0]", long)
        browser.press("Forget 1 row")
        browser.sees("Receipt 2")

    def test_store_without_rows(self):
        """The last row leaves like any other, and the page says what is left."""
        browser = self.browser
        self.serve()
        everybody = [str(i) for i in range(N_ROWS)]
        self.good(self.client("admin").post("/v1/stores/people/forget",
                                            {"ids": everybody, "skip_missing": True}))
        self.assertEqual(self.store_rows(), 0)
        self.sign_in("read", "erase")
        browser.go("#/find/people")
        browser.sees("All rows of the owner.")
        self.look_for("u4")
        browser.sees("The store people has nothing of this owner.")
        models = self.good(self.client("admin").get("/v1/stores/people"))["models"]
        for model in models:
            browser.go(f"#/stores/people/models/{model['name']}")
            browser.sees("fitted to 0 rows. It is what a fit to no rows gives, and predicts "
                         "nothing.")
            browser.sees("The model has no rows: there is nothing to draw.")


class TokenTest(PageTest):
    def test_wrong_and_expired(self):
        browser = self.browser
        old = self.expired_token()
        self.serve()
        self.refusals.append("v1/me - Failed to load resource: the server responded with a status "
                             "of 401")
        for text, words in (("", "Paste a token first."),
                            ("two words", "This is not a token"),
                            ("efface_" + "x" * 43, "The service does not know this token."),
                            (old, "This token has expired.")):
            browser.fill("#token", text)
            browser.press("Sign in")
            browser.sees(words)
            self.assertEqual(browser.run("return document.activeElement.id"), "token")
            self.assertEqual(browser.run("return sessionStorage.length"), 0)
        self.sign_in("read")
        browser.sees("Overview")

    def test_revoked_under_the_page(self):
        """Whoever signs in again goes on where they were."""
        browser = self.browser
        lost = self.make_token("lost", "read", "erase")
        self.serve()
        self.sign_in(token=lost)
        self.look_for("u4")
        browser.fill("#typed", "u4")
        self.refusals.append("status of 401")
        self.run_program("token", "revoke", "lost", "--tokens", "efface.tokens")
        browser.wait(lambda: self.service.client(lost).get("/v1/me").status == 401, "revoked")
        browser.press("Forget 4 rows")
        browser.sees("The service does not know this token.")
        self.assertEqual(self.store_rows(), N_ROWS)
        self.sign_in("read", "erase")
        browser.sees("The store has 4 rows of owner u4")

    def test_roles(self):
        browser = self.browser
        self.serve()
        self.sign_in("read")
        self.look_for("u4")
        browser.sees("You can look at this, but not forget it")
        self.assertEqual(browser.all("button.danger, #typed"), [])
        browser.press("Sign out")
        self.sign_in("predict")
        browser.sees("60 rows")
        self.assertNotIn("Find a person", browser.text)
        browser.go("#/find")
        browser.sees("Your token may not look at this")
        browser.press("Use another token")
        self.sign_in("erase")
        self.look_for("u4")
        browser.fill("#typed", "u4")
        browser.press("Forget 4 rows")
        browser.sees("Receipt 1")

    def test_sign_out(self):
        browser = self.browser
        self.serve()
        self.sign_in("read", "erase")
        self.look_for("u4")
        browser.sees("Type the owner to confirm")
        browser.press("Sign out")
        browser.sees("You are signed out.")
        self.assertEqual(browser.run("return sessionStorage.length"), 0)
        browser.driver.back()
        browser.one("#token")
        self.assertNotIn("u4", browser.text)
        self.sign_in("read")
        browser.sees("How long requests took")
        browser.wait(lambda: not browser.all(".loading"), "all requests answered")
        browser.run("sessionStorage.setItem('efface.used', '1')")   # long ago
        browser.driver.refresh()
        browser.one("#token")
        self.assertEqual(browser.run("return sessionStorage.length"), 0)


class StateTest(PageTest):
    def test_reload(self):
        """The person, the preview and a check are still there after a reload."""
        browser = self.browser
        self.serve()
        self.sign_in("read", "erase")
        self.look_for("u4")
        browser.fill("#typed", "u4")
        browser.driver.refresh()
        browser.sees("The store has 4 rows of owner u4")
        browser.sees("Type the owner to confirm")
        self.assertEqual(browser.one("#whom").get_attribute("value"), "u4")
        self.assertEqual(browser.one("#typed").get_attribute("value"), "")
        self.assertEqual(self.forgets(), [])
        browser.fill("#typed", "u4")
        browser.press("Forget 4 rows")
        browser.sees("Receipt 1")
        browser.run("arguments[0].click(); location.reload();",
                    browser.named("button", "Verify the models"))
        browser.sees("Receipt 1")
        browser.sees("All 3 models are byte for byte")
        self.assertEqual(len(self.receipts()), 1)

    def test_service_ends_and_comes_back(self):
        browser = self.browser
        self.serve()
        self.sign_in("read", "erase")
        self.look_for("u4")
        browser.fill("#typed", "u4")
        self.refusals.append("ERR_CONNECTION_REFUSED")
        self.stop()
        browser.press("Forget 4 rows")
        browser.sees("The service did not answer, and the request may or may not have been done.")
        self.assertEqual(self.store_rows(), N_ROWS)
        self.service = Service(self.folder, ("people.store",), "--listen",
                               f"127.0.0.1:{self.service.port}")
        self.addCleanup(self.service.end, signal.SIGKILL)
        browser.press("Look")
        browser.wait(lambda: browser.all(".danger-zone") and not browser.all(".notice.bad"),
                     "found again")
        browser.fill("#typed", "u4")
        browser.press("Forget 4 rows")
        browser.sees("Receipt 1")
        self.assertEqual(self.store_rows(), N_ROWS - 4)

    def test_unread_store(self):
        """A store that cannot be read does not hide the other."""
        browser = self.browser
        self.make_store("others.store", n_rows=8, text_ids=True)
        self.start("people.store", "others.store")
        with open(self.path("others.store"), "r+b") as file:
            file.write(b"not a database any more")
        self.open_page()
        self.sign_in("read", "erase")
        browser.sees("This store cannot be read now.")
        browser.sees("60 rows")
        self.look_for("u4")
        browser.sees("The store has 4 rows of owner u4")


if __name__ == "__main__":
    unittest.main()
