"""`weft loadtest` against a real server, and its reports: the JSON and CSV read back, the HTML looked at in a browser (Debian's
chromium-headless-shell, or any Chromium or Chrome; skipped without one). WEFT_SCREENSHOTS=DIRECTORY keeps the pictures."""

import csv
import html.parser
import json
import os
import subprocess
import tempfile
import unittest

from harness import ServedCase, main, options
from headless_browser import Browser, find_browser

VOID_ELEMENTS = {"meta", "link", "br"}
# Of a machine that is busy with other tests: whether its client kept up is not what is tested here.
PATIENT = ["--max-lag", "60000", "--max-cpu", "1"]

# What a person would see at a glance, asked of the browser: marks outside of their plot, texts on texts, boxes wider than the page.
LOOK = """(() => {
  const faults = [], name = (e) => (e.textContent || e.className.baseVal || e.className || e.tagName).slice(0, 40);
  const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
  const plots = [...document.querySelectorAll("svg")].map((svg) => {
    const frame = svg.getBoundingClientRect();
    const marks = [...svg.querySelectorAll(".line,.dot,.fill,.span")];
    for (const mark of marks) if (!inside(mark.getBoundingClientRect(), frame)) faults.push("mark outside: " + name(mark));
    const texts = [...svg.querySelectorAll("text")], boxes = texts.map((text) => text.getBoundingClientRect());
    texts.forEach((text, i) => {
      if (!inside(boxes[i], frame)) faults.push("text outside: " + name(text) + " in " + svg.getAttribute("aria-label"));
      for (let k = 0; k < i; ++k) if (overlap(boxes[i], boxes[k]))
        faults.push(`"${name(text)}" on "${name(texts[k])}" in ${svg.getAttribute("aria-label")}`);
    });
    return {title: svg.getAttribute("aria-label"), marks: marks.length, texts: texts.length, width: frame.width,
            hits: svg.querySelectorAll(".hit title, .row title").length, least: Math.min(...boxes.map((box) => box.height))};
  });
  if (document.documentElement.scrollWidth > innerWidth) faults.push("the page is wider than the window");
  for (const box of document.querySelectorAll("h1,.sub,.verdict,.card,figcaption,.legend,footer"))
    if (box.scrollWidth > box.clientWidth + 1) faults.push("too narrow for its text: " + name(box));
  return {plots, faults, background: getComputedStyle(document.body).backgroundColor};
})()"""


def loadtest(*arguments, status=0):
    """stdout of a load test, whose exit status must be `status`."""
    done = subprocess.run([options.weft, "loadtest", *arguments], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != status:
        raise AssertionError(f"weft loadtest ended with {done.returncode}, not {status}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


class Balance(html.parser.HTMLParser):
    """Every element that begins ends, in the right order."""

    def __init__(self, text):
        super().__init__()
        self.open = []
        self.seen = set()
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.seen.add(tag)
        for name, value in attrs:
            assert not name.startswith("on"), (tag, name)
            assert name not in ("src", "href") or value == "data:,", (tag, name, value)
        if tag not in VOID_ELEMENTS:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-3:])
        self.open.pop()


class Reports(ServedCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.url = f"http://127.0.0.1:{cls.server.process_port}"
        cls.directory = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="weft-reports-"))
        cls.run_path = os.path.join(cls.directory, "run.html")
        cls.csv_path = os.path.join(cls.directory, "run.csv")
        cls.sweep_path = os.path.join(cls.directory, "sweep.html")
        cls.compare_path = os.path.join(cls.directory, "compare.html")
        cls.compare_csv_path = os.path.join(cls.directory, "compare.csv")
        # An objective that is missed, one that is met, two profiles, hostile clients: all parts of the report.
        cls.run_json = json.loads(loadtest(
            "--url", cls.url, "--concurrency", "6", "--requests", "90", *PATIENT, "--json", "--html", cls.run_path, "--csv", cls.csv_path,
            "--profile", "name=chat,prompt-tokens=10-60,max-tokens=8-40", "--profile", "name=batch,prompt-tokens=100,max-tokens=12",
            "--hostile", "cancel=5%,malformed=5%", "--slo", "ttft_p99=1us,e2e_p99=600s", "--goodput", "ttft=600s", status=1))
        cls.sweep_json = json.loads(loadtest(
            "sweep", "--url", cls.url, "--concurrencies", "1,2,4", "--repeats", "2", "--requests", "12", "--max-tokens", "12", *PATIENT,
            "--slo", "ttft_p99=600s", "--json", "--html", cls.sweep_path))
        # Medians of enough requests: by the 99th percentile of a few a server can seem worse than itself.
        cls.compare_json = json.loads(loadtest(
            "compare", "--url", cls.url, "--against", cls.url, "--rounds", "3", "--requests", "60", "--max-tokens", "8", *PATIENT,
            "--figures", "output_tokens_per_s,requests_per_s,ttft_p50,itl_p50,e2e_p50", "--tolerance", "95%", "--json", "--html",
            cls.compare_path, "--csv", cls.compare_csv_path))

    def test_the_json_adds_up(self):
        run = self.run_json
        self.assertEqual((run["schema_version"], run["kind"], run["failed"]), (2, "run", 0), run["failures"])
        self.assertEqual(run["succeeded"] + run["hostile"], 90)
        self.assertEqual(sum(part["succeeded"] for part in run["profiles"].values()), run["succeeded"])
        self.assertEqual(sum(run["hostile_outcomes"].values()), run["hostile"])
        self.assertEqual([objective["met"] for objective in run["objectives"]], [False, True])
        self.assertEqual(run["goodput"]["met"], run["succeeded"])
        for name, figures in run["latency_ms"].items():
            order = [figures[key] for key in ("p50", "p90", "p95", "p99", "p999", "max")]
            self.assertEqual(order, sorted(order), name)
        self.assertLessEqual(run["latency_ms"]["ttft"]["p50"], run["latency_ms"]["e2e"]["p50"])

    def test_the_csv_has_a_line_a_request(self):
        with open(self.csv_path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(sorted(int(row["request"]) for row in rows), list(range(90)))
        self.assertEqual(sum(row["outcome"] == "ok" for row in rows), self.run_json["succeeded"])
        self.assertEqual(sum(int(row["output_tokens"]) for row in rows if row["outcome"] == "ok"), self.run_json["output_tokens"])

    def test_a_sweep_has_every_load(self):
        sweep = self.sweep_json
        self.assertEqual([step["load"] for step in sweep["steps"]], [1, 2, 4])
        self.assertTrue(all(len(step["runs"]) == 2 and step["keeps_objectives"] for step in sweep["steps"]))
        self.assertEqual((sweep["highest_kept"], sweep["limit_found"]), (4, False))

    def test_a_sweep_over_rates_has_arrivals(self):
        sweep = json.loads(loadtest(
            "sweep", "--url", self.url, "--rates", "20,40", "--arrivals", "gamma", "--burstiness", "0.5", "--repeats", "1", "--requests",
            "10", "--max-tokens", "4", *PATIENT, "--json"))
        self.assertEqual((sweep["load_unit"], [step["load"] for step in sweep["steps"]]), ("requests/s", [20, 40]))

    def test_a_server_is_not_worse_than_itself(self):
        comparison = self.compare_json
        self.assertEqual(("invalid" in comparison, comparison["worse"]), (False, False))
        with open(self.compare_csv_path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([(row["round"], row["side"]) for row in rows],
                         [(str(round), side) for round in (1, 2, 3) for side in ("candidate", "baseline")])
        runs = comparison["runs"]
        self.assertEqual([float(row["ttft_p50_ms"]) > 0 for row in rows], [True] * 6)
        self.assertAlmostEqual(float(rows[1]["e2e_p99_ms"]), runs["baseline"][0]["latency_ms"]["e2e"]["p99"], places=2)
        loadtest("compare", "--url", self.url, "--against", "http://127.0.0.1:1", "--rounds", "2", status=3)

    def test_mistakes_are_usage_errors(self):
        for arguments in (["--slo", "ttft=1s"], ["sweep", "--rates", "2,1"], ["sweep", "--rate", "3"], ["compare"],
                          ["sweep", "--rates", "1", "--concurrencies", "1"], ["--goodput", "ttft"], ["--max-error-rate", "7"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(loadtest(*arguments, status=2), "")
        for command in ([], ["sweep"], ["compare"]):
            self.assertIn("--slo", loadtest(*command, "--help"))

    def test_the_pages_are_well_formed_and_load_nothing(self):
        for path in (self.run_path, self.sweep_path, self.compare_path):
            with open(path, encoding="utf-8") as file:
                page = Balance(file.read())
            self.assertIn("svg", page.seen)
            self.assertFalse({"script", "img", "iframe", "object", "form"} & page.seen)

    def test_the_pages_look_right_in_a_browser(self):
        program = find_browser()
        if program is None:
            self.skipTest("looking at the reports of weft loadtest: no chromium-headless-shell, chromium or google-chrome")
        with Browser(program) as browser:
            for name, path, plot_count in (("run", self.run_path, 10), ("sweep", self.sweep_path, 6), ("compare", self.compare_path, 8)):
                backgrounds = set()
                for width in (1280, 400):
                    for dark in (False, True):
                        with self.subTest(page=name, width=width, dark=dark):
                            page = browser.open("file://" + path, width, dark=dark)
                            seen = page.evaluate(LOOK)
                            self.keep_picture(page, f"{name}-{width}-{'dark' if dark else 'light'}.png")
                            self.assertEqual((page.complaints, page.requests), ([], ["file://" + path]))
                            self.assertEqual(seen["faults"], [])
                            self.assertGreaterEqual(len(seen["plots"]), plot_count)
                            for plot in seen["plots"]:
                                self.assertGreater(plot["marks"], 0, plot)
                                self.assertGreater(plot["hits"], 0, plot)
                                self.assertGreater(plot["texts"], 4, plot)
                                self.assertGreater(plot["least"], 9, "texts too small to read")
                            backgrounds.add(seen["background"])
                self.assertEqual(len(backgrounds), 2, "dark is not light")

    def keep_picture(self, page, name):
        directory = os.environ.get("WEFT_SCREENSHOTS", self.directory)
        path = os.path.join(directory, name)
        page.screenshot(path)
        self.assertGreater(os.path.getsize(path), 20_000)


if __name__ == "__main__":
    main("model")
