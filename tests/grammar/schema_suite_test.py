#!/usr/bin/env python3
"""JSON-Schema-Test-Suite, as the source of PyPI's jsonschema has it: `schema_suite_test.py --replay BINARY`.

No instance that is invalid may be accepted, and most cases must go as they should: the others are refused by name. The archive stays in
$XDG_CACHE_HOME/weft-tests (or that of ~/.cache); where the registry is out of reach, the test is skipped."""

import argparse
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

REQUIREMENT = "jsonschema==4.26.0"
ARCHIVE = "jsonschema-4.26.0.tar.gz"
SHA256 = "0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326"
# Folder of json/tests: the least percentage of its cases that goes as it should.
LEAST = {"draft2020-12": 85, "draft7": 85, "draft4": 85, "draft2019-09": 80}
SKIPPED = 77


def find_archive():
    """(path, "") or (None, why)."""
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "weft-tests"
    cache.mkdir(parents=True, exist_ok=True)
    archive = cache / ARCHIVE
    if not archive.exists():
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            pip = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--no-binary",
                                  ":all:", "-d", scratch, REQUIREMENT], capture_output=True, text=True, check=False)
            if pip.returncode != 0:
                return None, f"{REQUIREMENT} cannot be had: {pip.stderr.strip().splitlines()[-1:]}"
            os.replace(pathlib.Path(scratch) / ARCHIVE, archive)
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        raise RuntimeError(f"{archive} has another SHA-256 than {SHA256}")
    return archive, ""


def number(report, name):
    return float(re.search(rf"^\s*{name}\s+\d*\s*([\d.]+)%?$", report, re.MULTILINE).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replay", required=True)
    arguments = parser.parse_args()
    archive, reason = find_archive()
    if archive is None:
        print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    good = True
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(archive) as files:
            members = [member for member in files.getmembers() if "/json/tests/draft" in member.name]
            files.extractall(directory, members=members, filter="data")
        for draft, least in LEAST.items():
            tests = next(pathlib.Path(directory).glob(f"*/json/tests/{draft}"))
            replay = subprocess.run([arguments.replay, tests, "--free-order", "--failures"], capture_output=True, text=True, check=False)
            right = number(replay.stdout, "as they should")
            accepted = number(replay.stdout, "wrongly accepted")
            print(f"{draft}: {right}% of the cases as they should, {accepted:.0f} invalid instances accepted")
            if replay.returncode != 0 or accepted or right < least:
                good = False
                print(replay.stdout, replay.stderr)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
