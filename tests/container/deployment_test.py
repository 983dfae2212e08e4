"""The files that deployments are made of, as far as they can be checked without a container engine, and what the dashboard asks
for, against what a server shows: `deployment_test.py --weft BINARY --model MODEL --prometheus-package DIRECTORY`."""

import argparse
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import unittest

try:
    import yaml
except ModuleNotFoundError:
    print(f"skipped: {sys.executable} has no module yaml (Debian: python3-yaml)")
    sys.exit(77)

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
DOCKER = os.path.join(ROOT, "docker")
sys.path.insert(0, os.path.join(ROOT, "tests/integration"))
import prometheus_package  # noqa: E402 pylint: disable=wrong-import-position
from weft_server import WeftServer  # noqa: E402 pylint: disable=wrong-import-position

options = argparse.Namespace()
METRIC = re.compile(r"\b(?:weft_|vllm:)[a-zA-Z0-9_:]*")
GIVEN_LABELS = {"instance", "job", "le"}  # by Prometheus and by histograms


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def seconds(text):
    return float(re.fullmatch(r"(\d+)s", text)[1])


def shutdown_timeout_s():
    return int(re.search(r"--shutdown-timeout` \| (\d+) ", read("README.md"))[1])


class ImageDescription(unittest.TestCase):
    def setUp(self):
        text = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", read("docker/Dockerfile"), flags=re.MULTILINE))
        self.lines = [line for line in text.splitlines() if line.strip()]
        self.last_stage = self.lines[max(i for i, line in enumerate(self.lines) if line.startswith("FROM ")):]

    def test_the_version_is_the_projects(self):
        version = re.search(r"project\(weft VERSION (\S+)", read("CMakeLists.txt"))[1]
        self.assertIn(f"ARG VERSION={version}", self.lines)
        self.assertIn(f"image: weft:{version}\n", read("docker/kubernetes.yaml"))

    def test_the_user_is_a_number_that_is_not_roots(self):
        self.assertRegex("\n".join(self.last_stage), r"\nUSER [1-9]\d*:[1-9]\d*\n")

    def test_bases_are_named_by_version(self):
        stages = [re.search(r" AS (\S+)", line)[1] for line in self.lines if " AS " in line]
        for line in self.lines:
            if line.startswith("FROM "):
                base = line.split()[1]
                self.assertTrue(base in stages or base == "debian:bookworm-slim", line)

    def test_packages_come_without_their_recommendations_and_lists(self):
        for line in self.lines:
            if "apt-get install" in line:
                self.assertIn("--no-install-recommends", line)
                self.assertIn("rm -rf /var/lib/apt/lists/*", line)

    def test_what_is_copied_passes_dockerignore(self):
        allowed = [line[1:] for line in read(".dockerignore").splitlines() if line.startswith("!")]
        for path in allowed:
            self.assertTrue(os.path.exists(os.path.join(ROOT, path)), path)
        for line in self.lines:
            if line.startswith("COPY ") and "--from" not in line and line.split()[1] != ".":
                self.assertIn(line.split()[1], allowed)

    def test_the_bill_of_materials_says_what_is_compiled_in(self):
        text = "\n".join(self.lines)
        for package in ("libcli11-dev", "libexpected-dev", "nlohmann-json3-dev"):
            self.assertIn(package, read("weft"))
            self.assertIn(package, text)


class Compose(unittest.TestCase):
    def setUp(self):
        self.compose = yaml.safe_load(read("docker/compose.yaml"))

    def test_what_is_mounted_is_there(self):
        for name, service in self.compose["services"].items():
            for volume in service["volumes"]:
                source = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", volume).split(":")[0]
                if "/" in source:
                    self.assertTrue(os.path.exists(os.path.join(DOCKER, source)), f"{name}: {volume}")
                else:
                    self.assertIn(source, self.compose["volumes"])

    def test_images_are_named_by_version(self):
        for name, service in self.compose["services"].items():
            if name != "weft":
                self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+$")

    def test_weft_may_do_nothing_that_it_needs_not(self):
        weft = self.compose["services"]["weft"]
        self.assertTrue(weft["read_only"])
        self.assertEqual(weft["cap_drop"], ["ALL"])
        self.assertIn("no-new-privileges:true", weft["security_opt"])
        self.assertIn(f"USER {weft['user']}\n", read("docker/Dockerfile"))
        self.assertGreater(seconds(weft["stop_grace_period"]), shutdown_timeout_s())

    def test_ports_are_open_to_this_machine_only(self):
        for service in self.compose["services"].values():
            for port in service["ports"]:
                self.assertRegex(port, r"^(\$\{\w+:-)?127\.0\.0\.1:")

    def test_prometheus_finds_weft_and_grafana_finds_prometheus(self):
        services = self.compose["services"]
        prometheus = yaml.safe_load(read("docker/prometheus/prometheus.yml"))
        address = re.match(r"--metrics-address 0\.0\.0\.0:(\d+) ", services["weft"]["command"])
        self.assertEqual(prometheus["scrape_configs"][0]["static_configs"], [{"targets": [f"weft:{address[1]}"]}])
        self.assertNotIn(address[1], "".join(services["weft"]["ports"]), "the metrics of all keys are open to everybody")
        for name in prometheus["rule_files"]:
            self.assertTrue(os.path.exists(os.path.join(DOCKER, "prometheus", name)))
        source = yaml.safe_load(read("docker/grafana/provisioning/datasources/prometheus.yaml"))["datasources"][0]
        self.assertEqual(source["url"], "http://prometheus:9090")
        self.assertIn("prometheus", services)
        self.assertEqual(source["jsonData"]["timeInterval"].split()[0], prometheus["global"]["scrape_interval"])
        provider = yaml.safe_load(read("docker/grafana/provisioning/dashboards/weft.yaml"))["providers"][0]
        self.assertIn(f"./grafana/dashboards:{provider['options']['path']}:ro", services["grafana"]["volumes"])
        home = services["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
        self.assertEqual(home, provider["options"]["path"] + "/weft.json")


class Kubernetes(unittest.TestCase):
    def test_the_deployment(self):
        deployment, service = yaml.safe_load_all(read("docker/kubernetes.yaml"))
        pod = deployment["spec"]["template"]["spec"]
        container = pod["containers"][0]
        self.assertEqual(service["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"])
        self.assertEqual(deployment["spec"]["selector"]["matchLabels"], deployment["spec"]["template"]["metadata"]["labels"])
        self.assertTrue(pod["securityContext"]["runAsNonRoot"])
        user = f"{pod['securityContext']['runAsUser']}:{pod['securityContext']['runAsGroup']}"
        self.assertIn(f"USER {user}\n", read("docker/Dockerfile"))
        self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
        self.assertFalse(container["securityContext"]["allowPrivilegeEscalation"])
        self.assertEqual(container["securityContext"]["capabilities"], {"drop": ["ALL"]})
        self.assertEqual(container["resources"]["limits"], container["resources"]["requests"])
        self.assertEqual(container["startupProbe"]["httpGet"]["path"], "/ready")
        self.assertEqual(container["readinessProbe"]["httpGet"]["path"], "/ready")
        self.assertEqual(container["livenessProbe"]["httpGet"], {"path": "/health", "port": "metrics"})
        ports = {port["name"]: port["containerPort"] for port in container["ports"]}
        self.assertEqual(container["args"], ["--metrics-address", f"0.0.0.0:{ports['metrics']}"])
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        self.assertEqual(annotations["prometheus.io/port"], str(ports["metrics"]))
        self.assertEqual([port["targetPort"] for port in service["spec"]["ports"]], ["http"])
        pause_s = int(container["lifecycle"]["preStop"]["exec"]["command"][1])
        self.assertGreater(pod["terminationGracePeriodSeconds"], pause_s + shutdown_timeout_s())


def shown_metrics():
    """Of a server that has answered something of every kind: name -> labels."""
    with WeftServer(options.weft, ["--model", options.model]) as server:
        server.complete(prompt="Once upon a time", max_tokens=24, temperature=0)
        server.complete(prompt="Once upon a time", max_tokens=24, temperature=0)
        server.stream(prompt="Once upon a time there was a fox", max_tokens=24)
        server.request("GET", "/nowhere")
        text = server.request("GET", "/metrics")[1]
    shown = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, _, rest = line.partition("{") if "{" in line else (line.split()[0], "", "")
            shown.setdefault(name, set()).update(re.findall(r'(\w+)="', rest))
    return shown


class Dashboard(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dashboard = json.loads(read("docker/grafana/dashboards/weft.json"))
        cls.panels = [panel for panel in cls.dashboard["panels"] if panel["type"] != "row"]
        cls.shown = shown_metrics()

    def assert_shown(self, expression, legend=""):
        names = METRIC.findall(expression)
        self.assertTrue(names, expression)
        for name in names:
            self.assertTrue(name in self.shown, f"/metrics does not show {name}: {expression}")
            used = re.findall(r"\b(\w+)(?:=|!=)~?\"", expression) + re.findall(r"\{\{(\w+)\}\}", legend)
            used += [label for group in re.findall(r"by \(([\w, ]+)\)", expression) for label in group.split(", ")]
            for label in used:
                self.assertIn(label, self.shown[name] | GIVEN_LABELS, f"{expression}: {name} has no such label")

    def test_is_what_its_script_writes(self):
        script = runpy.run_path(os.path.join(DOCKER, "grafana/make_dashboard.py"))
        self.assertEqual(self.dashboard, script["dashboard"](), "run docker/grafana/make_dashboard.py")

    def test_asks_for_metrics_that_there_are(self):
        for panel in self.panels:
            for target in panel["targets"]:
                with self.subTest(panel=panel["title"]):
                    self.assert_shown(target["expr"], target["legendFormat"])
        for variable in self.dashboard["templating"]["list"]:
            if variable["type"] == "query":
                self.assert_shown(variable["query"]["query"])

    def test_alerts_ask_for_metrics_that_there_are(self):
        rules = yaml.safe_load(read("docker/prometheus/alerts.yml"))["groups"][0]["rules"]
        for rule in rules:
            with self.subTest(alert=rule["alert"]):
                if "up{" not in rule["expr"]:
                    self.assert_shown(rule["expr"])
                self.assertIn(rule["alert"], read("docs/OPERATIONS.md"), "docs/OPERATIONS.md says nothing about it")

    def test_panels_do_not_overlap(self):
        taken = set()
        for panel in self.dashboard["panels"]:
            place = panel["gridPos"]
            self.assertLessEqual(place["x"] + place["w"], 24)
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            self.assertFalse(taken & cells, panel["title"])
            taken |= cells
        self.assertEqual(len({panel["id"] for panel in self.dashboard["panels"]}), len(self.dashboard["panels"]))


class TheirOwnTools(unittest.TestCase):
    """What reads the files has nothing to say against them."""

    def check(self, *command, **environment):
        done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_prometheus_takes_its_configuration(self):
        programs, reason = prometheus_package.find(options.prometheus_package)
        if programs is None:
            self.skipTest(f"promtool on docker/prometheus: {reason}")
        self.check(programs[1], "check", "config", os.path.join(DOCKER, "prometheus/prometheus.yml"))
        self.check(programs[1], "check", "rules", os.path.join(DOCKER, "prometheus/alerts.yml"))

    def test_docker_compose_reads_its_file(self):
        version = ["docker", "compose", "version"]
        if shutil.which("docker") is None or subprocess.run(version, capture_output=True, check=False).returncode != 0:
            self.skipTest("docker compose on docker/compose.yaml: there is none here")
        config = ["docker", "compose", "-f", os.path.join(DOCKER, "compose.yaml"), "config", "--quiet"]
        self.check(*config)
        self.check(*config, WEFT_MODELS="/models", WEFT_ARGUMENTS="--model /models/model.gguf", WEFT_CPUS="8", WEFT_MEMORY="6g")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft", required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--prometheus-package", required=True, help="where Debian's package of Prometheus is unpacked")
    arguments, rest = parser.parse_known_args()
    options.__dict__.update(arguments.__dict__)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
