"""Holds what a server answered against proto/openapi.json: `Contract().check(conversation)`.

Every response of every request is looked at: its status and headers, its JSON or each of its events, and how a stream ends. A
request that was accepted must be one that the document allows. What breaks a rule is collected in `violations`."""

import json
import os
import re

import jsonschema
import referencing
from referencing.jsonschema import DRAFT202012

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../proto/openapi.json")
URI = "weft:openapi"
LLAMA_PATHS = ("/completion", "/completions", "/chat/completions", "/infill", "/embedding", "/embeddings", "/slots", "/props",
               "/lora-adapters")


class Truncated(Exception):
    """The connection ended, or was cut, before the message did."""


class Message:
    """An HTTP/1.1 message at the head of some bytes."""

    def __init__(self, data, ends_with_connection, has_body=True):
        end = data.find(b"\r\n\r\n")
        if end < 0:
            raise Truncated
        lines = bytes(data[:end]).decode("latin-1").split("\r\n")
        self.first_line = lines[0]
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        self.complete = True
        self.size = end + 4
        self.body = b""
        if not has_body or self.first_line.split()[1:2] == ["304"]:
            return
        if "chunked" in self.headers.get("transfer-encoding", ""):
            self._read_chunks(data)
        elif ends_with_connection and "content-length" not in self.headers:
            self.body = bytes(data[self.size:])
            self.size = len(data)
        else:
            length = int(self.headers.get("content-length", "0"))
            self.body = bytes(data[self.size:self.size + length])
            self.complete = len(self.body) == length
            self.size += len(self.body)

    def _read_chunks(self, data):
        while True:
            end = data.find(b"\r\n", self.size)
            if end < 0:
                self.complete = False
                return
            length = int(bytes(data[self.size:end]).split(b";")[0], 16)
            self.body += data[end + 2:end + 2 + length]
            self.size = end + 2 + length + 2
            if self.size > len(data):
                self.complete = False
                return
            if length == 0:
                return


def exchanges(conversation):
    """(request, response) of one connection, in order; interim responses are left out."""
    requests, responses = bytes(conversation.to_server), bytes(conversation.to_client)
    while requests and responses:
        try:
            request = Message(requests, ends_with_connection=False)
            response = Message(responses, ends_with_connection=True, has_body=not request.first_line.startswith("HEAD "))
            if response.first_line.split()[1] == "101":
                return  # from here on it is no HTTP
            while response.first_line.split()[1].startswith("1"):
                responses = responses[response.size:]
                response = Message(responses, ends_with_connection=True)
        except Truncated:
            return
        yield request, response
        requests, responses = requests[request.size:], responses[response.size:]


class Contract:
    """The document and how often it was kept."""

    def __init__(self, document=None):
        if document is None:
            with open(DOCUMENT, encoding="utf-8") as file:
                document = json.load(file)
        self.document = document
        self.violations = []
        self.answer_count = 0
        self.event_count = 0
        resource = referencing.Resource(contents=document, specification=DRAFT202012)
        self._registry = referencing.Registry().with_resource(URI, resource)
        self._validators = {}
        self._paths = [(re.compile(re.sub(r"\\\{\w+\\\}", ".+", re.escape(path)) + "$"), item)
                       for path, item in sorted(document["paths"].items(), key=lambda entry: "{" in entry[0])]

    def check(self, conversation):
        for request, response in exchanges(conversation):
            self._check_exchange(request, response)

    def _blame(self, request, response, what):
        self.violations.append(f"{request.first_line} -> {response.first_line}: {what}")

    def _resolved(self, value):
        while "$ref" in value:
            place = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                place = place[part.replace("~1", "/")]
            value = place
        return value

    def _errors(self, schema, instance):
        """What is wrong with an instance, at most three faults."""
        key = json.dumps(schema, sort_keys=True)
        if key not in self._validators:
            local = json.loads(key.replace('"$ref": "#/', f'"$ref": "{URI}#/'))
            self._validators[key] = jsonschema.Draft202012Validator(local, registry=self._registry)
        faults = sorted(self._validators[key].iter_errors(instance), key=jsonschema.exceptions.relevance, reverse=True)
        return [f"{fault.json_path}: {fault.message[:300]}" for fault in faults[:3]]

    def _operation(self, method, path):
        """The path's item (None: unknown) and the operation (None: not with this method)."""
        for spelled in (path, "/v1" + path):  # paths under /v1 are there without it, too
            for pattern, item in self._paths:
                if pattern.match(spelled):
                    return item, item.get("get" if method == "HEAD" else method.lower())
        return None, None

    def _response_object(self, path, item, operation, status):
        """What the document says of such an answer; None: there must be none."""
        if item is None:
            name = {"401": "Unauthorized", "403": "Forbidden", "404": "NotFound"}.get(status)
            if path.startswith("/slots/"):  # what llama-server would do with one
                name = {"401": "LlamaUnauthorized", "405": "LlamaRefusal"}.get(status)
            if path.startswith("/api/"):  # in Ollama's shape
                name = name and "OllamaRefusal"
        elif operation is None:
            name = {"401": "Unauthorized", "403": "Forbidden", "405": "MethodNotAllowed"}.get(status)
            if path.startswith("/api/"):
                name = name and "OllamaRefusal"
            if path in LLAMA_PATHS:  # in llama-server's
                name = name and "LlamaRefusal"
        else:
            found = operation["responses"].get(status)
            return found and self._resolved(found)
        return self.document["components"]["responses"].get(name) if name else None

    def _check_exchange(self, request, response):
        method, target = request.first_line.split()[:2]
        status = response.first_line.split()[1]
        item, operation = self._operation(method, target.partition("?")[0])
        described = self._response_object(target.partition("?")[0], item, operation, status)
        self.answer_count += 1
        if method == "OPTIONS" and status == "200" and not response.body:
            return  # a browser's preflight: no operation of the API
        if described is None:
            self._blame(request, response, f"the document has no such answer: {response.body[:300]!r}")
            return
        self._check_headers(request, response, described)
        if method == "HEAD" or not response.complete and not response.body:
            return
        content = {name: media["schema"] for name, media in described.get("content", {}).items()}
        kind = response.headers.get("content-type", "").partition(";")[0]
        if not response.body and not content:
            return
        if kind not in content:
            self._blame(request, response, f"the content type is {kind!r}, not one of {list(content)}")
        elif kind == "application/json":
            self._check_json(request, response, content[kind])
        elif kind == "text/event-stream":
            data = content[kind]["properties"]["data"]
            self._check_events(request, response, data.get("anyOf", [data])[-1]["contentSchema"])
        elif kind == "application/x-ndjson":
            self._check_lines(request, response, content[kind])
        if status == "200" and operation is not None:
            self._check_accepted(request, response, operation)

    def _check_headers(self, request, response, described):
        for name, header in described.get("headers", {}).items():
            header, value = self._resolved(header), response.headers.get(name.lower())
            if value is None:
                if header.get("required"):
                    self._blame(request, response, f"the header {name} is missing")
                continue
            instance = int(value) if header["schema"]["type"] == "integer" and value.isdigit() else value
            for fault in self._errors(header["schema"], instance):
                self._blame(request, response, f"header {name}: {fault}")

    def _check_json(self, request, response, schema):
        if not response.complete:
            return
        for fault in self._errors(schema, json.loads(response.body)):
            self._blame(request, response, fault)

    def _check_events(self, request, response, schema):
        """`schema` is that of an event's data. A stream ends as the document says by x-stream-end, or with an error."""
        text = response.body.decode()
        events = text.split("\n\n")
        unfinished = events.pop()
        if response.complete and unfinished:
            self._blame(request, response, f"the stream ends inside an event: {unfinished[-100:]!r}")
        ends = self._resolved(schema).get("x-stream-end", [])
        goes_on_after = self._resolved(schema).get("x-stream-goes-on-after", [])
        ended = False
        for event in events:
            lines = [line for line in event.split("\n") if not line.startswith(":")]
            if not lines:
                continue  # a comment keeps the connection alive
            fields = dict(line.split(": ", 1) for line in lines)
            data = fields.pop("data", "")
            if ended and "stop" not in ends:  # each prompt's part of a stream has its own
                self._blame(request, response, f"an event after the last: {event[:200]!r}")
            if data == "[DONE]":
                ended = data in ends
                if not ended:
                    self._blame(request, response, "[DONE] ends no stream of this kind")
                continue
            self.event_count += 1
            instance = json.loads(data)
            kind = instance.get("type")
            stops = "stop" in ends and instance.get("stop") is True  # llama-server's
            ended = stops or kind in ends or "error" in instance and kind not in goes_on_after
            if fields.get("event", instance.get("type", "")) != instance.get("type", ""):
                self._blame(request, response, f"the event {fields['event']!r} has the type {instance.get('type')!r}")
            for fault in self._errors(schema, instance):
                self._blame(request, response, fault + f" in {data[:300]}")
        if response.complete and not ended:
            self._blame(request, response, f"the stream breaks off: {text[-200:]!r}")

    def _check_lines(self, request, response, schema):
        """`schema` is that of a line, of which the last says that it is done, or what went wrong."""
        lines = response.body.decode().split("\n")
        unfinished = lines.pop()
        if response.complete and unfinished:
            self._blame(request, response, f"the stream ends inside a line: {unfinished[-100:]!r}")
        self.event_count += len(lines)
        answers = [json.loads(line) for line in lines]
        for answer, line in zip(answers, lines):
            for fault in self._errors(schema, answer):
                self._blame(request, response, fault + f" in {line[:300]}")
        ends = [answer.get("done", True) for answer in answers]
        if response.complete and ends != [False] * (len(ends) - 1) + [True]:
            self._blame(request, response, f"the stream does not end with its last line: {ends}")

    def _check_accepted(self, request, response, operation):
        body = self._resolved(operation.get("requestBody", {})).get("content", {}).get("application/json")
        if body is None or not request.complete:
            return
        for fault in self._errors(body["schema"], json.loads(request.body)):
            self._blame(request, response, f"an accepted request: {fault}")
