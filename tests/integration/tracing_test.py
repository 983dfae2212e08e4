"""Logs in JSON, W3C trace context, and spans over OTLP/HTTP as a collector gets them:
`tracing_test.py --weft BINARY --model MODEL --venv DIRECTORY`."""

import http.client
import json
import os
import socket
import subprocess
import tempfile
import time
import unittest

from harness import main, options
from weft_server import WeftServer

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SERVER, INTERNAL = 2, 1  # kinds of spans


def traceparent(trace=TRACE, flags="01"):
    return f"00-{trace}-{PARENT}-{flags}"


def serve(*arguments, **environment):
    return WeftServer(options.weft, ["--model", options.model, "--served-model-name", "demo", "--log-format", "json", *arguments],
                      {"OTEL_BSP_SCHEDULE_DELAY": "20", **environment})


def ask(server, method, path, body=None, **headers):
    """(status, headers, text); `user_agent="x"` sends the header User-Agent."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json", **sent})
        response = connection.getresponse()
        return response.status, response.headers, response.read().decode()
    finally:
        connection.close()


def events_of(server):
    """The log so far, every line of which is a JSON object."""
    return [json.loads(line) for line in server.output().splitlines()]


def access_line(server, request_id):
    """The line is written after the answer."""
    deadline = time.monotonic() + 60
    while True:
        found = [event for event in events_of(server) if event.get("request_id") == request_id]
        if found:
            return found[0]
        if time.monotonic() > deadline:
            raise AssertionError(f"no access line for {request_id}:\n{server.output()}")
        time.sleep(0.01)


class Logs(unittest.TestCase):
    def test_every_line_is_an_object_whatever_clients_send(self):
        with serve() as server:
            with socket.create_connection(("127.0.0.1", server.process_port)) as raw:
                raw.sendall(b"GET /\xff\xc3\"\\{} HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: hostile\r\n\r\n")
                self.assertTrue(raw.recv(100).startswith(b"HTTP/1.1 404"))
            line = access_line(server, "hostile")
            self.assertEqual((line["method"], line["path"], line["status"]), ("GET", "/\ufffd\ufffd\"\\{}", 404))
            self.assertEqual((line["level"], line["message"]), ("info", "request"))
            self.assertRegex(line["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")
            self.assertGreater(line["duration_ms"], 0)
            self.assertIn({"model": "demo", "address": f"http://127.0.0.1:{server.process_port}"}.items(),
                          [{key: event[key] for key in ("model", "address")}.items() for event in events_of(server)
                           if event["message"] == "serving"])

    def test_requests_carry_their_callers_trace(self):
        with serve() as server:
            for header, state, goes_on in ((traceparent(), "a=1", True), (traceparent(flags="00"), "bad state", True),
                                           (traceparent().upper(), "", False), ("ff" + traceparent()[2:], "", False)):
                _, headers, _ = ask(server, "GET", "/v1/models", traceparent=header, tracestate=state)
                line = access_line(server, headers["X-Request-Id"])
                self.assertEqual(line["trace_id"] == TRACE, goes_on, header)
                self.assertRegex(line["trace_id"], "^[0-9a-f]{32}$")
                self.assertRegex(line["span_id"], "^[0-9a-f]{16}$")
                self.assertNotIn(line["span_id"], (PARENT, "0" * 16))

    def test_text_has_the_same_names(self):
        with WeftServer(options.weft, ["--model", options.model]) as server:
            ask(server, "GET", "/v1/models", X_Request_Id="plain", traceparent=traceparent())
            deadline = time.monotonic() + 60
            while "request_id=plain" not in server.output() and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertRegex(server.output(), f" info request request_id=plain client=127.0.0.1:[0-9]+ method=GET path=/v1/models status=200"
                                              f" duration_ms=[0-9.]+ .*trace_id={TRACE} span_id=[0-9a-f]{{16}}\n")

    def test_a_start_that_fails_says_so_in_json(self):
        failed = subprocess.run([options.weft, "serve", "--model", "/nowhere"], env={**os.environ, "WEFT_LOG_FORMAT": "json"},
                                capture_output=True, text=True, check=False)
        self.assertEqual(failed.returncode, 1)
        self.assertEqual(json.loads(failed.stderr)["level"], "error")


class Spans(unittest.TestCase):
    def setUp(self):
        from otlp_collector import Collector, attributes_of

        self.Collector, self.attributes_of = Collector, attributes_of

    def check_tree(self, spans, names):
        """One span of HTTP with these children, one after the other in its time."""
        root, children = spans[0], spans[1:]
        self.assertEqual(root.kind, SERVER)
        self.assertEqual([child.name for child in children], names)
        at = root.start_time_unix_nano
        for child in children:
            self.assertEqual(child.kind, INTERNAL)
            self.assertEqual((child.trace_id, child.parent_span_id), (root.trace_id, root.span_id))
            self.assertLessEqual(at, child.start_time_unix_nano)
            self.assertLessEqual(child.start_time_unix_nano, child.end_time_unix_nano)
            at = child.end_time_unix_nano
        self.assertLessEqual(at, root.end_time_unix_nano)
        ids = [span.span_id for span in spans]
        self.assertEqual(len(set(ids)), len(ids))
        return root, [self.attributes_of(span) for span in spans]

    def test_the_tree_of_a_request(self):
        with self.Collector() as collector, serve("--otlp-endpoint", collector.url) as server:
            before = time.time_ns()
            status, headers, text = ask(
                server, "POST", "/v1/completions?a=b", {"prompt": "Once upon a time", "max_tokens": 12, "ignore_eos": True, "n": 2, "seed": 7},
                traceparent=traceparent(), tracestate="x=1, y=2", User_Agent="tester/1")
            self.assertEqual(status, 200)
            usage = json.loads(text)["usage"]
            spans = collector.await_spans(4)
            root, (http_, queue, prefill, decode) = self.check_tree(spans, ["queue", "prefill", "decode"])
            self.assertLess(before - 1_000_000_000, root.start_time_unix_nano)
            self.assertLess(root.end_time_unix_nano, time.time_ns() + 1_000_000_000)
            self.assertGreater(spans[3].end_time_unix_nano, spans[3].start_time_unix_nano)

            self.assertEqual((root.trace_id.hex(), root.parent_span_id.hex(), root.trace_state), (TRACE, PARENT, "x=1,y=2"))
            self.assertEqual(root.flags, 0x301)  # sampled, and the parent is elsewhere
            self.assertEqual([span.flags for span in spans[1:]], [0x101] * 3)
            self.assertEqual(root.name, "POST /v1/completions")
            self.assertEqual(root.status.code, 0)
            self.assertEqual(http_.pop("client.address"), http_.pop("network.peer.address"))
            self.assertGreater(http_.pop("network.peer.port"), 0)
            self.assertEqual(http_, {
                "http.request.method": "POST", "url.scheme": "http", "url.path": "/v1/completions",
                "http.route": "/v1/completions", "http.response.status_code": 200, "network.protocol.version": "1.1",
                "user_agent.original": "tester/1", "http.response.header.x-request-id": [headers["X-Request-Id"]],
                "gen_ai.operation.name": "text_completion", "gen_ai.provider.name": "weft", "gen_ai.request.model": "demo",
                "gen_ai.response.model": "demo", "gen_ai.request.max_tokens": 12, "gen_ai.request.temperature": 1,
                "gen_ai.request.top_p": 1, "gen_ai.request.choice.count": 2, "gen_ai.request.seed": 7,
                "gen_ai.usage.input_tokens": usage["prompt_tokens"], "gen_ai.usage.output_tokens": 24,
                "gen_ai.usage.cache_read.input_tokens": 0, "gen_ai.response.finish_reasons": ["length", "length"]})
            self.assertEqual(queue, {})
            self.assertEqual(prefill["gen_ai.usage.input_tokens"], usage["prompt_tokens"])
            self.assertEqual(decode, {"gen_ai.usage.output_tokens": 24, "gen_ai.response.finish_reasons": ["length", "length"]})

            line = access_line(server, headers["X-Request-Id"])
            self.assertEqual((line["trace_id"], line["span_id"]), (TRACE, root.span_id.hex()))
            self.assertEqual(collector.resources[0]["service.name"], "weft")

    def test_every_endpoint(self):
        chat = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 4}
        generated = ["queue", "prefill", "decode"]
        cases = [
            ("POST", "/v1/chat/completions", {**chat, "stream": True}, "POST /v1/chat/completions", 200, generated),
            ("POST", "/v1/messages", chat, "POST /v1/messages", 200, generated),
            ("POST", "/v1/responses", {"input": "Hi", "max_output_tokens": 4}, "POST /v1/responses", 200, generated),
            ("POST", "/v1/embeddings", {"input": ["a", "b"]}, "POST /v1/embeddings", 200, ["queue", "prefill"]),
            ("POST", "/v1/completions", {"prompt": "a", "temperature": 9}, "POST /v1/completions", 400, []),
            ("GET", "/v1/models/demo", None, "GET /v1/models/{id}", 200, []),
            ("GET", "/nothing", None, "GET", 404, []),
            ("BREW", "/nothing", None, "HTTP", 404, []),
        ]
        with self.Collector() as collector, serve("--otlp-endpoint", collector.url) as server:
            for probe in ("/health", "/ready", "/metrics"):
                ask(server, "GET", probe, traceparent=traceparent())
            for number, (method, path, body, name, status, children) in enumerate(cases, 1):
                with self.subTest(name=name, status=status):
                    trace = f"{number:032x}"
                    self.assertEqual(ask(server, method, path, body, traceparent=traceparent(trace))[0], status)
                    spans = collector.await_spans(1 + len(children), trace)
                    root, attributes = self.check_tree(spans, children)
                    self.assertEqual(root.name, name)
                    self.assertEqual(attributes[0]["http.response.status_code"], status)
                    self.assertEqual("gen_ai.request.model" in attributes[0], bool(children))
                    self.assertEqual("http.route" in attributes[0], "nothing" not in path)
            self.assertEqual(len(collector.spans), sum(1 + len(case[5]) for case in cases))  # none of probes
            self.assertEqual(attributes[0]["http.request.method_original"], "BREW")

    def test_work_in_the_background_belongs_to_the_request_that_began_it(self):
        with self.Collector() as collector, serve("--otlp-endpoint", collector.url) as server:
            status, _, _ = ask(server, "POST", "/v1/responses", {"input": "Hi", "max_output_tokens": 8, "background": True})
            self.assertEqual(status, 200)
            spans = collector.await_spans(4)
            root = next(span for span in spans if span.kind == SERVER)
            self.assertEqual(root.parent_span_id, b"")
            children = [span for span in spans if span is not root]
            self.assertEqual([span.name for span in children], ["queue", "prefill", "decode"])
            for child in children:
                self.assertEqual((child.trace_id, child.parent_span_id), (root.trace_id, root.span_id))

    def test_what_is_not_sampled_is_not_sent(self):
        for sampler, argument, sampled in (("", "", [True, True, False]), ("always_off", "", [False] * 3), ("always_on", "", [True] * 3),
                                           ("parentbased_traceidratio", "0", [False, True, False])):
            with self.subTest(sampler=sampler), self.Collector() as collector:
                with serve(OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, OTEL_TRACES_SAMPLER=sampler, OTEL_TRACES_SAMPLER_ARG=argument) as server:
                    for number, sent in enumerate(({}, {"traceparent": traceparent(flags="01")}, {"traceparent": traceparent(flags="00")})):
                        ask(server, "GET", "/v1/models", **{"x-request-id": f"n{number}"}, **sent)
                ids = {self.attributes_of(span)["http.response.header.x-request-id"][0] for span in collector.spans}
                self.assertEqual(ids, {f"n{number}" for number, kept in enumerate(sampled) if kept})

    def test_variables_of_opentelemetry(self):
        with self.Collector() as collector:
            with serve(OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url + "/v1/traces", OTEL_EXPORTER_OTLP_HEADERS="api-key=a%20b",
                       OTEL_SERVICE_NAME="mine", OTEL_RESOURCE_ATTRIBUTES="service.name=other,region=x", OTEL_EXPORTER_OTLP_PROTOCOL="grpc") as server:
                ask(server, "GET", "/v1/models")
                collector.await_spans(1)
                self.assertEqual(collector.headers[0]["api-key"], "a b")
                resource = collector.resources[0]
                self.assertEqual((resource["service.name"], resource["region"]), ("mine", "x"))
                self.assertEqual(len([event for event in events_of(server) if "http/json only" in event["message"]]), 1)
        with self.Collector() as collector:
            with serve("--otlp-endpoint", collector.url, OTEL_SDK_DISABLED="true") as server:
                ask(server, "GET", "/v1/models")
            self.assertEqual(collector.bodies, [])
        failed = subprocess.run([options.weft, "serve", "--otlp-endpoint", "collector:4318"], capture_output=True, text=True, check=False)
        self.assertEqual(failed.returncode, 1)
        self.assertIn("--otlp-endpoint: 'collector:4318/v1/traces' is no URL", failed.stderr)

    def test_a_collector_that_is_busy_is_asked_again(self):
        with self.Collector(answers=[(503, {"Retry-After": "1"}), (429, {})]) as collector:
            with serve("--otlp-endpoint", collector.url) as server:
                ask(server, "GET", "/v1/models")
                started = time.monotonic()
                collector.await_spans(1)
                self.assertGreater(time.monotonic() - started, 1)
                self.assertEqual(collector.bodies[0], collector.bodies[2])
                _, metrics = server.request("GET", "/metrics")
                self.assertIn('weft_trace_spans_total{result="failed"} 0\n', metrics)

    def test_the_end_waits_for_the_last_spans(self):
        with self.Collector() as collector:
            with serve("--otlp-endpoint", collector.url, OTEL_BSP_SCHEDULE_DELAY="3600000") as server:
                server.complete(prompt="a", max_tokens=2, ignore_eos=True)
                self.assertEqual(collector.spans, [])
            self.assertEqual(len(collector.spans), 4)

    def test_a_collector_that_is_not_there_or_does_not_answer_hurts_nobody(self):
        with socket.socket() as absent, socket.socket() as silent:
            absent.bind(("127.0.0.1", 0))  # so that nobody else listens there
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            for place in (absent, silent):
                endpoint = f"http://127.0.0.1:{place.getsockname()[1]}"
                with serve("--otlp-endpoint", endpoint, OTEL_BSP_MAX_QUEUE_SIZE="8") as server:
                    for _ in range(10):
                        server.complete(prompt="a", max_tokens=2, ignore_eos=True)
                    _, metrics = server.request("GET", "/metrics")
                    self.assertRegex(metrics, r'weft_trace_spans_total\{result="dropped"\} [1-9]')
                    began = time.monotonic()
                self.assertLess(time.monotonic() - began, 30)

    def test_over_tls(self):
        with tempfile.TemporaryDirectory() as directory:
            certificate, key = os.path.join(directory, "cert.pem"), os.path.join(directory, "key.pem")
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            with self.Collector(certificate=(certificate, key)) as collector:
                with serve("--otlp-endpoint", collector.url, OTEL_EXPORTER_OTLP_CERTIFICATE=certificate) as server:
                    ask(server, "GET", "/v1/models")
                    collector.await_spans(1)
                with serve("--otlp-endpoint", collector.url) as server:  # nobody vouches for it
                    ask(server, "GET", "/v1/models")
                    deadline = time.monotonic() + 60
                    while "certificate verify failed" not in server.output() and time.monotonic() < deadline:
                        time.sleep(0.01)
                    self.assertIn("certificate verify failed", server.output())
                self.assertEqual(len(collector.spans), 1)


if __name__ == "__main__":
    main("model", "venv")
