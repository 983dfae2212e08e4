"""The official packages of OpenAI, Anthropic and Ollama for Node, and Vercel's AI SDK, against a weft process:
`node_client_test.py --weft BINARY --model MODEL --modules DIRECTORY --venv DIRECTORY`.

The packages are installed with npm, pinned by node/package-lock.json, into DIRECTORY on the first run. The test is skipped where
there is no node, or no registry."""

import os
import subprocess

from harness import ServedCase, main, options
from node_packages import install


class NodeClient(ServedCase):
    def run_tests(self, script):
        before = self.server.output()
        environment = {**os.environ, "WEFT_URL": f"http://127.0.0.1:{self.server.port}"}
        done = subprocess.run(["node", "--test", script], cwd=options.modules, env=environment,
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])
        self.assertIn(" status=499 ", self.server.output()[len(before):])

    def test_openai(self):
        self.run_tests("openai.test.mjs")

    def test_anthropic(self):
        self.run_tests("anthropic.test.mjs")

    def test_ollama(self):
        self.run_tests("ollama.test.mjs")

    def test_ai_sdk(self):
        self.run_tests("ai-sdk.test.mjs")


if __name__ == "__main__":
    main("model", "modules", "venv", packages_required=False, prepare=lambda: install("node", os.path.abspath(options.modules)))
