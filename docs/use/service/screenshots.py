#!/usr/bin/env python3
"""Pictures of the page of `efface serve`, for the documentation.

    scripts/install-packages docs
    docs/use/service/screenshots.py build/efface-serve build/efface [--out DIR]

Makes two stores of made-up rows, serves them on loopback, does what a privacy officer does in
Chromium without a window, and writes PNG files: views on a desk and on a phone, light and dark. If
pngquant is installed, it makes them smaller.
"""
import argparse
import base64
import os
import random
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "service"))

N_ROWS = 2400
PLANS = (("basic", 45, 38, 6, 48, 8), ("family", 28, 44, 9, 70, 5),
         ("student", 17, 22, 14, 95, 2), ("senior", 10, 69, 4, 38, 4))
DESK, PHONE = (1280, 1), (390, 2)
MOST_HEIGHT = {DESK: 1800, PHONE: 1300}


def write_members(path):
    """Visits of a swimming pool: four kinds of members, whose visits are alike. No row is real."""
    draw = random.Random(5)
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,member,plan,age,visits,minutes,distance,spend\n")
        for i in range(N_ROWS):
            name, _, age, visits, minutes, distance = draw.choices(
                PLANS, [plan[1] for plan in PLANS])[0]
            values = [max(5, draw.gauss(age, 5)), max(0, draw.gauss(visits, 2)),
                      max(5, draw.gauss(minutes, 10)), abs(draw.gauss(distance, 2))]
            spend = 12 + 2.1 * values[1] + 0.15 * values[2] - 0.8 * values[3] + draw.gauss(0, 4)
            file.write(f"p{i},m{i // 4},{name}," + ",".join(f"{x:.1f}" for x in (*values, spend))
                       + "\n")


def write_sensors(path):
    draw = random.Random(6)
    with open(path, "w", encoding="utf-8") as file:
        file.write("id,temperature,humidity,pressure\n")
        for i in range(300):
            values = (15 + 5 * (i % 3) + draw.random(), 40 + 10 * (i % 3) + 5 * draw.random(),
                      1000 + 20 * draw.random())
            file.write(f"{i}," + ",".join(f"{x:.2f}" for x in values) + "\n")


class Studio:
    """The service, the browser, and the folder that pictures go to."""

    def __init__(self, case, browser, out):
        self.case = case
        self.browser = browser
        self.out = out

    def take(self, name, size, scheme):
        """A picture of the page as it is, but not of more than MOST_HEIGHT of it."""
        browser = self.browser
        width, scale = size
        browser.media(scheme, motion="reduce")
        browser.resize(width, 900, scale)
        browser.run("document.activeElement.blur(); scrollTo(0, 0)")
        browser.wait(lambda: not browser.all(".loading"), name)
        height = min(MOST_HEIGHT[size], browser.run("return document.body.scrollHeight"))
        browser.resize(width, height, scale)
        picture = browser.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        path = os.path.join(self.out, f"{name}-{'desk' if size == DESK else 'phone'}-{scheme}.png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))
        if shutil.which("pngquant"):
            subprocess.run(["pngquant", "--force", "--ext", ".png", "--strip", "--speed", "1",
                            "128", path], check=True)
        print(f"{path}: {os.path.getsize(path) // 1000} kB")

    def prepare(self):
        """Stores with models of every kind, and a history of some requests."""
        case = self.case
        write_members(case.path("members.csv"))
        write_sensors(case.path("sensors.csv"))
        case.run_program("fit", "members.csv", "--id", "id", "--owner", "member", "--label", "plan",
                         "--keep-texts", "--family", "linear", "--target", "spend", "--model",
                         "spend", "-o", "members.store")
        for name, *more in (("groups", "--columns", "age,visits,minutes,distance", "-k", "4",
                             "--scale", "minmax", "--seed", "11"),
                            ("plan", "--family", "bayes"),
                            ("directions", "--family", "components"),
                            ("segments", "--family", "segmented", "-k", "3", "--seed", "4",
                             "--target", "spend"),
                            ("trees", "--family", "forest", "--seed", "4", "--target", "spend")):
            case.run_program("fit", "-o", "members.store", "--model", name, *more)
        case.run_program("fit", "sensors.csv", "--id", "id", "-k", "3", "--seed", "1",
                         "-o", "sensors.store")
        case.start("members.store", "sensors.store")
        admin = case.client("admin")
        for owner in ("m3", "m140", "m301"):
            case.good(admin.post("/v1/stores/members/forget", {"owner_keys": [owner]}))
        case.good(admin.post("/v1/stores/sensors/forget", {"ids": ["5", "6"]}))
        for i in range(200):
            case.good(admin.post("/v1/stores/members/models/spend/predict",
                                 {"rows": [[20 + i % 50, i % 14, 30 + i % 60, i % 9]]}))

    def shoot(self):
        browser = self.browser
        browser.open(f"http://127.0.0.1:{self.case.service.port}/")
        browser.fill("#token", self.case.make_token("officer", "read", "erase"))
        browser.press("Sign in")
        browser.named("h1", "Overview")
        self.take("overview", DESK, "light")
        self.take("overview", PHONE, "dark")
        browser.go("#/find/members")
        browser.fill("#whom", "m17")
        browser.press("Look")
        browser.sees("Type the owner to confirm")
        browser.fill("#typed", "m17")
        self.take("person", DESK, "light")
        self.take("person", DESK, "dark")
        self.take("person", PHONE, "light")
        browser.press("Forget 4 rows")
        browser.sees("were forgotten")
        browser.press("Verify the models")
        browser.sees("Identical.")
        self.take("receipt", DESK, "light")
        self.take("receipt", PHONE, "dark")
        browser.go("#/stores/members/models/groups")
        browser.named("h1", "groups")
        self.take("model", DESK, "light")
        self.take("model", DESK, "dark")
        self.take("model", PHONE, "light")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("service")
    parser.add_argument("program")
    parser.add_argument("--out", default=HERE)
    arguments = parser.parse_args()
    # service_program.py takes the programs from the command line of a test.
    sys.argv = [sys.argv[0], arguments.service, arguments.program]
    from browser import Browser
    from service_program import ServiceTest

    class Ground(ServiceTest):
        def runTest(self):
            pass

    case = Ground()
    case.setUp()
    browser = Browser()
    try:
        studio = Studio(case, browser, arguments.out)
        studio.prepare()
        studio.shoot()
    finally:
        browser.end()
        case.doCleanups()


if __name__ == "__main__":
    main()
