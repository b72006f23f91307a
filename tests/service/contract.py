"""Whether replies are what serve/api/openapi.json says.

    contract = Contract()
    contract.check("GET", "/v1/stores?x=1", reply)      # raises AssertionError if it is not

`Checked` wraps a client of service_program.py so that all its replies are checked.
"""
import json
import os
import re
import urllib.parse

import jsonschema

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "serve", "api",
                    "openapi.json")


def media_type(reply):
    return reply.headers.get("content-type", "").split(";")[0].strip()


class Contract:
    """The document, with a validator for each schema that was asked for."""

    def __init__(self, path=PATH):
        with open(path, encoding="utf-8") as file:
            self.document = json.load(file)
        self.validators = {}
        self.forms = [(re.compile(re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path)) + "$"), path)
                      for path in self.document["paths"]]
        # .../receipts/verify goes before .../receipts/{number}.
        self.forms.sort(key=lambda form: form[1].count("{"))

    def form(self, path):
        """The path of the document that a path belongs to, or None."""
        path = urllib.parse.urlsplit(path).path
        return next((name for form, name in self.forms if form.match(path)), None)

    def operation(self, method, path):
        form = self.form(path)
        if form is None:
            return None
        return self.document["paths"][form].get("get" if method == "HEAD" else method.lower())

    def resolve(self, value):
        while "$ref" in value:
            found = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            value = found
        return value

    def response(self, method, path, status):
        """What the document says of an answer with this status. An error may come for a path or a
        method that there is not."""
        operation = self.operation(method, path)
        if operation is None:
            if status not in (400, 401, 404, 405, 414, 421, 429, 431, 503):
                raise AssertionError(f"{method} {path}: {status}, but the document has no such call")
            name = "Refused" if status < 500 else "Failed"
            return self.document["components"]["responses"][name]
        responses = operation["responses"]
        for name in (str(status), f"{status // 100}XX"):
            if name in responses:
                return self.resolve(responses[name])
        raise AssertionError(f"{method} {path}: {status} is not in the document")

    def validate(self, schema, value):
        """Checks a value against a schema, which may refer to others of the document."""
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            whole = {**schema, "components": self.document["components"]}
            jsonschema.Draft202012Validator.check_schema(schema)
            self.validators[key] = jsonschema.Draft202012Validator(whole)
        problem = jsonschema.exceptions.best_match(self.validators[key].iter_errors(value))
        if problem:
            at = "/".join(str(part) for part in problem.absolute_path)
            raise AssertionError(f"at /{at}: {problem.message[:500]}")

    def check(self, method, path, reply):
        """Checks status, type, headers and body of an answer, and returns it."""
        response = self.response(method, path, reply.status)
        where = f"{method} {path}: {reply.status}"
        content = response.get("content", {})
        kind = media_type(reply)
        if content and kind not in content:
            raise AssertionError(f"{where} has the type {kind!r}, not one of {list(content)}")
        if reply.status < 400:
            for name in response.get("headers", {}):
                if name == "Location" and name.lower() not in reply.headers:
                    raise AssertionError(f"{where} has no {name}")
        if kind == "application/json" and method != "HEAD":
            try:
                self.validate(content[kind]["schema"], json.loads(reply.body))
            except AssertionError as problem:
                raise AssertionError(f"{where} {problem}") from None
        return reply


class Checked:
    """A client whose replies are checked."""

    def __init__(self, client, contract):
        self.client = client
        self.contract = contract

    def ask(self, method, path, body=None, **more):
        return self.contract.check(method, path, self.client.ask(method, path, body, **more))

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.ask("POST", path, body, **more)
