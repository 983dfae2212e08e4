"""What Schemathesis, which knows nothing of Weft, makes of proto/openapi.json: requests that the description allows and requests that
it rules out, thousands of each, against a real server: `described_api_test.py --weft BINARY --model MODEL`."""

import os
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "integration"))

from client_packages import make_venv, skip  # noqa: E402
from harness import ServedCase, main, options  # noqa: E402

CHECKS = ("not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "negative_data_rejection", "unsupported_method")
EXAMPLES = os.environ.get("WEFT_SCHEMATHESIS_EXAMPLES", "200")  # random ones an operation


# What is refused by name, as llama-server does it, is no fault of the server.
CONFIG = """
[checks]
not_a_server_error.expected-statuses = ["2xx", "4xx", "501"]
"""
# Without parameters; and POST to them is refused so, too, and not as a method that nobody knows.
LEFT_OUT = ("/props", "/lora-adapters")

VENV = os.path.abspath(os.path.join(HERE, "..", "..", "build", "schemathesis"))


def prepare():
    python, reason = make_venv(VENV, os.path.join(HERE, "requirements.txt"))
    if python is None:
        skip(reason)


class DescribedApi(ServedCase):
    def test_every_operation_does_what_its_description_says(self):
        self.server.port = self.server.process_port  # not through the relay, which keeps every byte
        url = f"http://127.0.0.1:{self.server.port}"
        with open(os.path.join(VENV, "schemathesis.toml"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
        run = subprocess.run(
            [os.path.join(VENV, "bin", "st"), "run", url + "/openapi.json", "--url", url, "--checks", ",".join(CHECKS),
             "--max-examples", EXAMPLES, "--request-timeout", "120", "--phases", "coverage,fuzzing", "--no-color",
             *(argument for path in LEFT_OUT for argument in ("--exclude-path", path))],
            cwd=VENV, capture_output=True, text=True, check=False, timeout=7000)  # it keeps a cache where it runs
        print("\n".join(run.stdout.splitlines()[-25:]))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(self.server.request("GET", "/health")[0], 200)


if __name__ == "__main__":
    main("model", prepare=prepare)
