"""What a running service hands out as metrics, and what docs/use/metrics.md and docs/use/operating.md say of it.

usage: python3 test_pages.py EFFACE-SERVE EFFACE
"""
import json
import math
import os
import re
import unittest

from prometheus_client.parser import text_string_to_metric_families

from service_program import ServiceTest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
VALUE = r'"(?:[^"\\\n]|\\[\\"n])*"'
LABEL = rf"[a-zA-Z_][a-zA-Z0-9_]*={VALUE}"
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
SUFFIXES = {"histogram": ("_bucket", "_sum", "_count"), "counter": ("",), "gauge": ("",)}


def read(name):
    with open(os.path.join(ROOT, *name.split("/")), encoding="utf-8") as file:
        return file.read()


def tables(page):
    """The tables of a page, each as a list of rows, of which the first is the head."""
    for text in re.findall(r"(?:^\|.*\n)+", read(page), flags=re.M):
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
                for line in text.splitlines()]
        yield [rows[0]] + rows[2:]


def table(page, *head):
    """The rows of all tables of a page with this head."""
    return [row for rows in tables(page) if tuple(rows[0]) == head for row in rows[1:]]


class Family:
    """A metric: its type, its help, and samples as (name, labels, number)."""

    def __init__(self, name, kind, text):
        self.name, self.kind, self.text = name, kind, text
        self.samples = []

    def labels(self):
        return {name for _, labels, _ in self.samples for name in labels} - {"le"}


def parse(text):
    """The metrics by name, by a strict reading of the text format 0.0.4: a HELP and a TYPE before
    the samples of each metric, samples of a metric together, no sample twice, no blank lines."""
    if not text.endswith("\n"):
        raise ValueError("the last line has no end")
    families, seen, help_line, family = {}, set(), None, None
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            if help_line or name in families or not re.fullmatch(NAME, name) or not words.strip():
                raise ValueError(line)
            help_line = (name, words)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            if not help_line or name != help_line[0] or kind not in SUFFIXES:
                raise ValueError(line)
            family = families[name] = Family(name, kind, help_line[1])
            help_line = None
        else:
            found = SAMPLE.fullmatch(line)
            if not found or help_line or not family:
                raise ValueError(line)
            name, labels, number = found.groups()
            pairs = re.findall(rf"([a-zA-Z_0-9]+)=({VALUE})", labels or "")
            if (name not in [family.name + suffix for suffix in SUFFIXES[family.kind]]
                    or not NUMBER.fullmatch(number) or len(dict(pairs)) != len(pairs)
                    or (name, labels) in seen):
                raise ValueError(line)
            seen.add((name, labels))
            family.samples.append((name, {key: value[1:-1] for key, value in pairs}, float(number)))
    return families


class Parser(unittest.TestCase):
    def test_bad_texts(self):
        good = '# HELP a_total A.\n# TYPE a_total counter\na_total{b="c"} 1\n'
        self.assertEqual(parse(good)["a_total"].labels(), {"b"})
        for old, new in (("1\n", "1"), ("# HELP a_total A.\n", ""), (" counter", " count"),
                         ("# TYPE a_total counter\n", ""), ("{b", "{9"), (' 1', ' one'), (' 1', ''),
                         ('"c"', 'c'), ('"c"', '"c"d"'), ('"c"', '"c",b="d"'), ("\na_t", "\nb_t"),
                         (good, good + good), ("1\n", '1\na_total{b="c"} 2\n'), ("1\n", "1\n\n")):
            with self.assertRaises(ValueError, msg=(old, new)):
                parse(good.replace(old, new, 1))


class Metrics(ServiceTest):
    def scrape(self):
        reply = self.client("read").get("/v1/metrics")
        self.assertEqual(reply.status, 200, reply)
        self.assertEqual(reply.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8")
        return reply.body.decode()

    def busy_service(self):
        """A service that was asked for something of every kind."""
        self.make_store()
        self.start()
        erase, admin = self.client("erase"), self.client("admin")
        self.good(erase.post("/v1/stores/people/forget", {"ids": [1, 2, 3]}))
        self.good(admin.post("/v1/stores/people/learn",
                             {"rows": [{"id": 900, "values": [30, 160, 40], "label": "red"}]}))
        self.good(admin.post("/v1/stores/people/update",
                             {"rows": [{"id": 900, "values": [31, 161, 41]}]}))
        self.good(self.client("predict").post("/v1/stores/people/models/default/predict",
                                              {"rows": [[30, 160, 40]]}))
        self.assertEqual(self.client().get("/v1/stores").status, 401)
        self.assertEqual(self.client("read").post("/v1/stores/people/forget", {"ids": [4]}).status,
                         403)
        self.assertEqual(erase.get("/v1/health", headers={"Host": "elsewhere"}).status, 421)
        return parse(self.scrape())

    def test_exposition(self):
        """Two parsers agree on what it says, and numbers hold together."""
        ours = self.busy_service()
        text = self.scrape()
        theirs = {}
        for family in text_string_to_metric_families(text):
            name = family.name + ("_total" if family.type == "counter" else "")
            theirs[name] = (family.type, family.documentation, len(family.samples))
        again = parse(text)
        self.assertEqual(theirs, {name: (f.kind, f.text, len(f.samples))
                                  for name, f in again.items()})
        self.assertEqual(set(ours), set(again))
        for name, family in again.items():
            if family.kind == "counter":
                self.assertTrue(name.endswith("_total"), name)
            if family.kind == "histogram":
                self.check_histogram(family)
            else:
                for _, labels, number in family.samples:
                    self.assertGreaterEqual(number, 0, (name, labels))

    def check_histogram(self, family):
        series = {}
        for name, labels, number in family.samples:
            key = tuple(sorted((k, v) for k, v in labels.items() if k != "le"))
            parts = series.setdefault(key, {"buckets": []})
            if name.endswith("_bucket"):
                parts["buckets"].append((float(labels["le"].replace("+Inf", "inf")), number))
            else:
                parts[name[len(family.name):]] = number
        for key, parts in series.items():
            bounds = [bound for bound, _ in parts["buckets"]]
            counts = [count for _, count in parts["buckets"]]
            self.assertEqual(bounds, sorted(set(bounds)), (family.name, key))
            self.assertEqual(bounds[-1], math.inf, (family.name, key))
            self.assertEqual(counts, sorted(counts), (family.name, key))
            self.assertEqual(counts[-1], parts["_count"], (family.name, key))
            self.assertGreaterEqual(parts["_sum"], 0)

    def test_page_lists_metrics(self):
        """docs/use/metrics.md and the service have the same metrics, types and labels."""
        served = {name: (family.kind, family.labels())
                  for name, family in self.busy_service().items()}
        rows = table("docs/use/metrics.md", "metric", "type", "labels", "meaning")
        listed = {name.strip("`"): (kind, set(labels.replace(",", " ").split()))
                  for name, kind, labels, _ in rows}
        self.assertEqual(len(listed), len(rows), "a metric is listed twice")
        self.assertEqual(listed, served)

    def test_page_expressions(self):
        """Panels and alerts name metrics and labels that there are, and have balanced brackets."""
        served = self.busy_service()
        samples = {}
        for family in served.values():
            for suffix in SUFFIXES[family.kind]:
                extra = {"le"} if suffix == "_bucket" else set()
                samples[family.name + suffix] = family.labels() | extra | {"job"}
        samples["up"] = {"job"}
        panels = table("docs/use/metrics.md", "title", "expression", "unit")
        alerts = table("docs/use/metrics.md", "alert", "expression", "for", "what to do")
        self.assertTrue(panels and alerts)
        for row in panels + alerts:
            text = row[1].strip("`")
            self.check_balance(text)
            words = set(re.findall(r"\b((?:efface|process)_[a-z_]+|up)\b", text))
            self.assertTrue(words, text)
            self.assertLessEqual(words, set(samples), text)
            labels = set(re.findall(r"[{,]\s*([a-z]+)\s*=", text))
            for group in re.findall(r"by \(([a-z, ]+)\)", text):
                labels |= set(group.replace(",", " ").split())
            for word in words:
                self.assertLessEqual(labels, samples[word], text)

    def check_balance(self, text):
        opened = []
        for letter in re.sub(r'"[^"]*"', "", text):
            if letter in "([{":
                opened.append(letter)
            elif letter in ")]}":
                self.assertTrue(opened and opened.pop() + letter in ("()", "[]", "{}"), text)
        self.assertEqual(opened, [], text)

    def test_counts(self):
        """Numbers are those of what was asked."""
        served = self.busy_service()

        def number(name, **labels):
            found = [n for sample, given, n in served[name].samples
                     if sample == name and labels.items() <= given.items()]
            return sum(found)

        self.assertEqual(number("efface_rows_forgotten_total", store="people"), 3)
        self.assertEqual(number("efface_rows_learned_total", store="people"), 1)
        self.assertEqual(number("efface_rows_updated_total", store="people"), 1)
        self.assertEqual(number("efface_requests_total", action="forget", code="200"), 1)
        self.assertEqual(number("efface_requests_total", action="forget", code="403"), 1)
        for why in ("token", "role", "host"):
            self.assertEqual(number("efface_refused_total", why=why), 1, why)
        self.assertEqual(number("efface_repairs_total"), 9)  # three changes, three models
        self.assertEqual(number("efface_store_rows"), 58)
        self.assertEqual(number("efface_store_receipts"), 3)
        self.assertEqual(number("efface_store_up"), 1)


class ServicePage(unittest.TestCase):
    """docs/use/operating.md, without a service."""

    def test_roles(self):
        """Its table of roles is that of openapi.json."""
        document = json.loads(read("serve/api/openapi.json"))
        roles = ("read", "predict", "erase", "admin")
        described = {}
        for path, methods in document["paths"].items():
            for method, call in methods.items():
                if method in ("get", "post", "put", "delete") and call["x-efface-roles"]:
                    given = call["x-efface-roles"]
                    described[f"{method.upper()} {path}"] = {
                        role for role in roles if role == "admin" or role in given
                        or given == ["any"]}
        listed = {}
        for calls, *cells in table("docs/use/operating.md", "call", *roles):
            self.assertLessEqual(set(cells), {"yes", ""})
            for call in re.findall(r"`([^`]+)`", calls):
                self.assertNotIn(call, listed)
                listed[call] = {role for role, cell in zip(roles, cells) if cell}
        self.assertEqual(listed, described)

    def test_codes(self):
        """Its table of errors has every status and code that the source has, and no other."""
        made = set()
        for folder, _, files in os.walk(os.path.join(ROOT, "serve")):
            for name in files:
                if name.endswith(".c"):
                    with open(os.path.join(folder, name), encoding="utf-8") as file:
                        text = file.read()
                    made |= set(re.findall(
                        r"sv_refuse\(\s*[a-z>.-]+,\s*(\d{3}),\s*\"([a-z_]+)\"", text))
                    made |= set(re.findall(r"\{\s*(\d{3}),\s*\d+,\s*\"([a-z_]+)\"", text))
        self.assertGreater(len(made), 30)
        listed = [(status, code)
                  for status, codes, _ in table("docs/use/operating.md", "status", "codes", "what to do")
                  for code in re.findall(r"`([a-z_]+)`", codes)]
        self.assertEqual(len(listed), len(set(listed)))
        self.assertEqual(set(listed), made)


if __name__ == "__main__":
    unittest.main()
