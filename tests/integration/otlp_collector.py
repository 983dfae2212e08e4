"""An OpenTelemetry collector for tests: takes OTLP/HTTP in JSON, holds every request against OTLP's own schema (the package
opentelemetry-proto) and keeps the spans."""

import base64
import http.server
import json
import ssl
import threading
import time

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

ID_BYTES = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def as_protobuf(body):
    """The request as its Protobuf message; raises if it is not one, or if there is anything in it that the schema has not.
    OTLP's JSON has ids in hexadecimal digits, Protobuf's has bytes in base64."""
    document = json.loads(body)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ID_BYTES.keys() & span.keys():
                    digits = bytes.fromhex(span[name])
                    if len(digits) != ID_BYTES[name] or not any(digits):
                        raise AssertionError(f"{name} is {span[name]}")
                    span[name] = base64.b64encode(digits).decode()
                if not isinstance(span["kind"], int):
                    raise AssertionError("an enumeration is a number in OTLP's JSON")
    return json_format.Parse(json.dumps(document), trace_service_pb2.ExportTraceServiceRequest(), ignore_unknown_fields=False)


def value_of(any_value):
    """Of an attribute, as Python has it."""
    kind = any_value.WhichOneof("value")
    if kind == "array_value":
        return [value_of(value) for value in any_value.array_value.values]
    return getattr(any_value, kind)


def attributes_of(message):
    keys = [attribute.key for attribute in message.attributes]
    if len(set(keys)) != len(keys):
        raise AssertionError(f"a key comes twice: {keys}")
    return {attribute.key: value_of(attribute.value) for attribute in message.attributes}


class Collector:
    """Listens on `url` for a `with` block. `answers`: (status, headers) for the first requests; the others are taken."""

    def __init__(self, answers=(), certificate=None):
        self.answers = list(answers)
        self.headers, self.bodies, self.resources, self.spans, self.faults = [], [], [], [], []
        self._arrived = threading.Condition()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        host = "127.0.0.1" if certificate is None else "localhost"
        self.url = f"http{'' if certificate is None else 's'}://{host}:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self._server.shutdown()
        self._server.server_close()
        if kind is None and self.faults:
            raise AssertionError(f"not what OTLP says: {self.faults[0]}")

    def _handler(collector):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, headers = collector.take(self.path, dict(self.headers), body)
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", "Content-Length": "2", **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        return Handler

    def take(self, path, headers, body):
        with self._arrived:
            status, answer_headers = self.answers.pop(0) if self.answers else (200, {})
            self.headers.append(headers)
            self.bodies.append(body)
            try:
                if path != "/v1/traces" or headers.get("Content-Type") != "application/json":
                    raise AssertionError(f"a request for {path} with {headers}")
                message = as_protobuf(body)
                if status == 200:
                    for resource in message.resource_spans:
                        self.resources.append(attributes_of(resource.resource))
                        self.spans += [span for scope in resource.scope_spans for span in scope.spans]
            except Exception as fault:  # the test's thread raises it
                self.faults.append(repr(fault))
            self._arrived.notify_all()
            return status, answer_headers

    def await_spans(self, count, trace_id=None):
        """The spans, of one trace if it is named, once there are so many; in the order of their times."""
        def found():
            return [span for span in self.spans if trace_id in (None, span.trace_id.hex())]
        deadline = time.monotonic() + 60
        with self._arrived:
            while len(found()) < count and not self.faults:
                if not self._arrived.wait(deadline - time.monotonic()):
                    raise AssertionError(f"{len(found())} spans came, not {count}")
            return sorted(found(), key=lambda span: (span.start_time_unix_nano, -span.end_time_unix_nano))
