"""What the tests of this folder share: their command line, and a server for all the cases of a class."""

import argparse
import sys
import unittest

from client_packages import REQUIREMENTS, enter_venv
from weft_server import WeftServer

OPTIONS = {
    "weft": "the binary",
    "model": "the model file to serve; the bundled one unless the test says otherwise",
    "chat-model": "the bundled model, where --model is another one",
    "scripted": "the server of a model that says what a script says",
    "shared": "the optional data set beside the project",
    "modules": "where npm's packages are installed",
    "prometheus-package": "where Debian's package of Prometheus is unpacked",
    "aider": "where aider's Python packages are installed",
    "parity": "the directory of the small models that parity is tested with",
    "venv": "where the Python packages are installed",
}

options = argparse.Namespace()  # what main() found


def main(*names, packages_required=True, requirements=REQUIREMENTS, prepare=lambda: None):
    """Runs the tests of the calling script. `names`: the options that it takes besides --weft. With "venv" it runs inside an
    environment of client_packages.py, which has the `requirements`; `packages_required`: it is skipped where that cannot be had.
    `prepare` may skip it too."""
    parser = argparse.ArgumentParser()
    for name in ("weft", *names):
        parser.add_argument(f"--{name}", required=True, help=OPTIONS[name])
    _, rest = parser.parse_known_args(namespace=options)
    if "venv" in names:
        enter_venv(options.venv, packages_required, requirements)
    prepare()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


class ServedCase(unittest.TestCase):
    """`server` answers as "demo" while the cases of the class run."""

    model_option = "model"
    serve_arguments = ()

    @classmethod
    def setUpClass(cls):
        model = getattr(options, cls.model_option)
        cls.server = cls.enterClassContext(
            WeftServer(options.weft, ["--model", model, "--served-model-name", "demo", *cls.serve_arguments]))


    def assert_noticed(self, leave):
        """`leave` begins an exchange and goes away before its end. The log gives it the status 499, and nothing is computed any more. It is
        called again where that is not so: the bundled model is fast, and the client may have been too late."""
        before = self.server.output().count(" status=499 ")
        for _ in range(5):
            leave()
            self.server.await_sequences(lambda count: count == 0)
            if self.server.output().count(" status=499 ") > before:
                return
        self.fail(f"the log has no new status 499:\n{self.server.output()}")


class OpenAiCase(ServedCase):
    """`client` is the official OpenAI client, `openai` its package."""

    @classmethod
    def setUpClass(cls):
        import openai

        super().setUpClass()
        cls.openai = openai
        cls.client = cls.enterClassContext(
            openai.OpenAI(base_url=f"http://127.0.0.1:{cls.server.port}/v1", api_key="none", max_retries=0))
