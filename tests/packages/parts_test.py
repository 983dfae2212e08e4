"""What packages are made of: `parts_test.py --weft BINARY`."""

import argparse
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PACKAGES = os.path.join(ROOT, "packages")
UNIT = os.path.join(PACKAGES, "weft.service")
HIGHEST_EXPOSURE = 1.2  # as `systemd-analyze security` of Debian 12 rates the unit

options = argparse.Namespace()


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def output(*command, **environment):
    """What it says on stdout and stderr; raises unless it succeeds."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          env={**os.environ, **environment})
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


class Service(unittest.TestCase):
    def require_systemd_analyze(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze on packages/weft.service: it is not installed (Debian: systemd)")

    def test_systemd_understands_the_unit(self):
        self.require_systemd_analyze()
        with tempfile.TemporaryDirectory() as folder:
            here = os.path.join(folder, "weft.service")
            with open(here, "w", encoding="utf-8") as file:
                file.write(read("packages/weft.service").replace("/usr/bin/weft ", f"{options.weft} "))
            self.assertEqual(output("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", here), "")

    def test_the_unit_gives_the_server_little(self):
        self.require_systemd_analyze()
        said = output("systemd-analyze", "security", "--offline=true", "--no-pager", UNIT)
        exposure = float(re.search(r"Overall exposure level for weft\.service: ([\d.]+)", said)[1])
        self.assertLessEqual(exposure, HIGHEST_EXPOSURE, said)

    def test_running_requests_have_their_time(self):
        stop_s = int(re.search(r"^TimeoutStopSec=(\d+)$", read("packages/weft.service"), re.MULTILINE)[1])
        self.assertGreater(stop_s, int(re.search(r"--shutdown-timeout` \| (\d+) ", read("README.md"))[1]))

    def test_systemd_hears_when_it_has_started(self):
        self.assertIn("\nType=notify\n", read("packages/weft.service"))

    def test_settings_are_where_the_unit_reads_them(self):
        self.assertIn("\nEnvironmentFile=-/etc/default/weft\n", read("packages/weft.service"))
        self.assertEqual(read("packages/debian/conffiles"), "/etc/default/weft\n")
        self.assertIn("$WEFT_ARGUMENTS", read("packages/weft.service"))
        self.assertIn("\n#WEFT_ARGUMENTS=", read("packages/weft.default"))


class Changelog(unittest.TestCase):
    def test_begins_with_this_version(self):
        version = re.search(r"project\(weft VERSION (\S+)", read("CMakeLists.txt"))[1]
        self.assertTrue(read("packages/debian/changelog").startswith(f"weft ({version}) "))


class ManualPages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if shutil.which("help2man") is None:
            raise unittest.SkipTest("manual pages: help2man is not installed (Debian: help2man)")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        output(os.path.join(PACKAGES, "describe_commands.sh"), options.weft, cls.folder.name, SOURCE_DATE_EPOCH="0")
        cls.pages = os.path.join(cls.folder.name, "share/man/man1")
        cls.commands = re.findall(r"^  (\w+) {2,}", output(options.weft, "--help"), re.MULTILINE)

    def page(self, name):
        with gzip.open(os.path.join(self.pages, name + ".1.gz"), "rt", encoding="utf-8") as file:
            return file.read()

    def test_each_command_has_one(self):
        self.assertIn("serve", self.commands)
        expected = ["weft.1.gz"] + [f"weft-{command}.1.gz" for command in self.commands]
        self.assertEqual(sorted(os.listdir(self.pages)), sorted(expected))
        self.assertIn('\n.TH WEFT-SERVE "1" "1970-01-01" ', self.page("weft-serve"))
        self.assertIn("\n.SH NAME\nweft-serve \\- ", self.page("weft-serve"))
        for command in self.commands:
            self.assertIn(f".BR weft\\-{command} (1)", self.page("weft"))

    def test_they_have_the_options_that_help_lists(self):
        for command in self.commands:
            flags = re.findall(r"^ +(?:-\w,)?(--[a-z0-9-]+)", output(options.weft, command, "--help"), re.MULTILINE)
            self.assertIn("--help", flags)
            headings = re.findall(r"^\.TP\n(.*)", self.page(f"weft-{command}"), re.MULTILINE)
            described = [flag for heading in headings for flag in re.findall(r"--[a-z0-9-]+", heading.replace("\\-", "-"))]
            with self.subTest(command=command):
                self.assertEqual(set(flags) - set(described), set())

    def test_man_formats_them_without_a_warning(self):
        if shutil.which("man") is None:
            self.skipTest("man --warnings on the manual pages: man is not installed (Debian: man-db)")
        for name in os.listdir(self.pages):
            done = subprocess.run(["man", "--warnings", "--local-file", os.path.join(self.pages, name)], capture_output=True,
                                  check=True, env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "80"})
            self.assertEqual(done.stderr.decode(), "", name)
            self.assertIn(b"SEE ALSO", done.stdout)

    def test_mandoc_has_nothing_to_say(self):
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc -T lint on the manual pages: it is not installed (Debian: mandoc)")
        for name in os.listdir(self.pages):
            self.assertEqual(output("mandoc", "-T", "lint", "-W", "warning", os.path.join(self.pages, name)), "", name)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft", required=True)
    arguments, rest = parser.parse_known_args()
    options.weft = os.path.abspath(arguments.weft)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
