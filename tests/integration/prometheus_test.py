"""A real Prometheus scrapes the server: the target is up, nothing in the scrapes is wrong, and what its API answers is what the
traffic was. promtool has nothing to say against Weft's own names."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import xml.etree.ElementTree

import prometheus_package
from client_packages import skip
from harness import ServedCase, main, options
from weft_server import ProcessLog, await_match

REQUESTS, TOKENS = 6, 12
SCRAPE_INTERVAL_S = 2  # also the time that a scrape may take: enough on a machine that is busy with other tests
DRAW_DASHBOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docker/grafana/draw_dashboard.py")


class Prometheus:
    """Scrapes `target` for a `with` block."""

    def __init__(self, program, target):
        self.directory = tempfile.TemporaryDirectory()
        config = os.path.join(self.directory.name, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f"global: {{scrape_interval: {SCRAPE_INTERVAL_S}s, scrape_timeout: {SCRAPE_INTERVAL_S}s}}\n"
                       f"scrape_configs: [{{job_name: weft, static_configs: [{{targets: ['{target}']}}]}}]\n")
        self.log = ProcessLog()
        self.process = subprocess.Popen(
            [program, f"--config.file={config}", f"--storage.tsdb.path={self.directory.name}/data",
             "--web.listen-address=127.0.0.1:0", "--log.level=debug"],
            stdout=self.log.file, stderr=subprocess.STDOUT)
        await_match(self.process, self.log, "Server is ready to receive web requests")
        port = await_match(self.process, self.log, r'"Listening on" address=127\.0\.0\.1:(\d+)\n')[1]
        self.url = f"http://127.0.0.1:{port}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.log.close()
        self.directory.cleanup()

    def get(self, path, **parameters):
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        """The value of the one series; None: there is none."""
        series = self.get("query", query=expression)["result"]
        return float(series[0]["value"][1]) if len(series) == 1 else None

    def await_value(self, expression, value):
        deadline = time.monotonic() + 60
        while (found := self.query(expression)) != value:
            if time.monotonic() > deadline:
                raise AssertionError(f"{expression} is {found}, not {value}; Prometheus says:\n{self.warnings()}")
            time.sleep(0.1)

    def warnings(self):
        return [line for line in self.log.text().splitlines()
                if "level=warn" in line or "level=error" in line or "append failed" in line]


class PrometheusTest(ServedCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.prometheus = cls.enterClassContext(Prometheus(options.prometheus, f"127.0.0.1:{cls.server.process_port}"))
        cls.prometheus.await_value("up", 1)
        threads = [threading.Thread(target=cls.server.complete, kwargs={
            "prompt": "Once upon a time", "max_tokens": TOKENS, "ignore_eos": True, "seed": seed}) for seed in range(REQUESTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        cls.prometheus.await_value('sum(weft_choices_finished_total{model="demo"})', REQUESTS)
        cls.prometheus.await_value("count_over_time(weft_choices_finished_total{reason='length'}[1m]) >= bool 2", 1)  # rates need two

    def test_every_target_is_up_and_no_scrape_had_a_fault(self):
        targets = self.prometheus.get("targets")["activeTargets"]
        self.assertEqual([(target["health"], target["lastError"]) for target in targets], [("up", "")])
        self.assertEqual(self.prometheus.query("min_over_time(up[1m])"), 1)
        self.assertEqual([line for line in self.prometheus.warnings() if "scrape" in line], [])

    def test_the_series_tell_what_the_traffic_was(self):
        for expression, value in {
                'weft_completion_tokens_total{model="demo"}': REQUESTS * TOKENS,
                'vllm:generation_tokens_total{model_name="demo",engine="0"}': REQUESTS * TOKENS,
                'vllm:request_success_total{model_name="demo",finished_reason="length"}': REQUESTS,
                'vllm:e2e_request_latency_seconds_count{model_name="demo"}': REQUESTS,
                'vllm:inter_token_latency_seconds_count{model_name="demo"}': REQUESTS * (TOKENS - 1),
                'weft_http_requests_total{route="/v1/completions",status="200"}': REQUESTS,
                "vllm:num_requests_running": 0,
                "vllm:num_requests_waiting": 0,
                "vllm:kv_cache_usage_perc": 0,
                'count(weft_memory_bytes{model="demo"} > 0)': 3,  # and what no model has for itself
                "count(weft_memory_bytes > 0)": 4,
                "count(vllm:cache_config_info)": 1,
        }.items():
            with self.subTest(expression):
                self.prometheus.await_value(expression, value)

    def test_the_expressions_of_dashboards_give_numbers(self):
        for expression in (
                'histogram_quantile(0.99, sum by(le) (vllm:time_to_first_token_seconds_bucket{model_name="demo"}))',
                'histogram_quantile(0.5, sum by(le) (weft_inter_token_latency_seconds_bucket{model="demo"}))',
                'weft_engine_needed_seconds_total{resource="memory"} / ignoring(resource) weft_engine_step_duration_seconds_sum',
                "weft_engine_arithmetic_ratio", "weft_engine_bandwidth_ratio", "weft_machine_read_bytes_per_second"):
            with self.subTest(expression):
                value = self.prometheus.query(expression)
                self.assertIsNotNone(value)
                self.assertGreater(value, 0)

    def test_the_dashboard_can_be_drawn(self):
        with tempfile.TemporaryDirectory() as directory:
            picture = os.path.join(directory, "dashboard.svg")
            subprocess.run([sys.executable, DRAW_DASHBOARD, "--prometheus", self.prometheus.url, "--minutes", "1", "--step", "1", picture],
                           check=True)
            drawn = xml.etree.ElementTree.parse(picture).getroot()
        space = "{http://www.w3.org/2000/svg}"
        titles = {text.text for text in drawn.iter(space + "text") if text.get("class") in ("title", "row")}
        with open(os.path.join(os.path.dirname(DRAW_DASHBOARD), "dashboards", "weft.json"), encoding="utf-8") as file:
            self.assertEqual(titles, {panel["title"] for panel in json.load(file)["panels"]})
        self.assertGreater(len(list(drawn.iter(space + "polyline"))), 40)

    def test_promtool_accepts_the_text(self):
        status, text = self.server.request("GET", "/metrics")
        self.assertEqual(status, 200)
        check = subprocess.run([options.promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        self.assertIn(check.returncode, (0, 3), check.stderr)  # 3: it parsed, and there are remarks on style
        # vLLM's names are what they are: a colon, and a histogram that ends in _total.
        self.assertEqual([line for line in check.stderr.splitlines() if not line.startswith("vllm:")], [])


def prepare():
    programs, reason = prometheus_package.find(options.prometheus_package)
    if programs is None:
        skip(reason)
    options.prometheus, options.promtool = programs


if __name__ == "__main__":
    main("model", "prometheus-package", prepare=prepare)
