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
VENV = os.path.abspath(os.path.join(HERE, "..", "..", "build", "schemathesis"))


def prepare():
    python, reason = make_venv(VENV, os.path.join(HERE, "requirements.txt"))
    if python is None:
        skip(reason)


class DescribedApi(ServedCase):
    def test_every_operation_does_what_its_description_says(self):
        self.server.port = self.server.process_port  # not through the relay, which keeps every byte
        url = f"http://127.0.0.1:{self.server.port}"
        run = subprocess.run(
            [os.path.join(VENV, "bin", "st"), "run", url + "/openapi.json", "--url", url, "--checks", ",".join(CHECKS),
             "--max-examples", EXAMPLES, "--request-timeout", "120", "--phases", "coverage,fuzzing", "--no-color",
             "--exclude-path", "/watch"],  # which does not end
            cwd=VENV, capture_output=True, text=True, check=False, timeout=7000)  # it keeps a cache where it runs
        print("\n".join(run.stdout.splitlines()[-25:]))
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertEqual(self.server.request("GET", "/health")[0], 200)


if __name__ == "__main__":
    main("model", prepare=prepare)
