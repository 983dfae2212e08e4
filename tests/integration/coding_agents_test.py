"""Coding agents as their users start them, headless, against a scripted model:
`coding_agents_test.py --weft SCRIPTED_SERVER --model MODEL --modules DIRECTORY --aider DIRECTORY --venv DIRECTORY`.

Each reads a file, edits it and says so, is told that its prompt is too long, and is stopped while the model speaks. Claude Code speaks
/v1/messages, Codex /v1/responses, opencode, Continue and aider /v1/chat/completions. Each has an empty home and no network but the
loopback."""

import json
import os
import signal
import subprocess

import client_packages
from harness import main, options
from node_packages import install, node_version
from scripted_case import BROKEN, LAST_WORDS, MENDED, TASK, ScriptedCase, call, isolate

LONG_STORY = "Once upon a time. " * 5000
AIDER_REQUIREMENTS = os.path.join(client_packages.HERE, "aider_requirements.txt")
# Whatever asks for another address is refused at once, also where isolate() is not possible.
NO_WAY_OUT = {"HTTP_PROXY": "http://127.0.0.1:9", "HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}


def program(*path):
    return os.path.abspath(os.path.join(options.modules, "node_modules", *path))


class Tasks:
    """What each agent is tested with: `command` starts it, and `scene` is what the model then says in `turn_count` turns."""

    model = "demo"
    last_words = LAST_WORDS
    turn_count = 3
    least_prompt_tokens = 0  # of the first turn
    known_refusals = set()  # (path, status) of what the agent may ask for and Weft does not have: those that docs/API.md names
    context_words = ""  # what the agent then says,
    context_status = 1  # and its exit status

    def start(self, server):
        command, environment = self.command(f"http://127.0.0.1:{server.port}")
        return subprocess.Popen(command, cwd=self.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env={"PATH": os.environ["PATH"], "HOME": self.home, **NO_WAY_OUT, **environment})

    def finish(self, agent):
        """Its exit status and what it wrote."""
        try:
            output, _ = agent.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            agent.kill()
            raise AssertionError(f"the agent did not end: {agent.communicate()[0]}") from None
        return agent.returncode, output

    def stop(self, agent):
        """As who presses Ctrl-C until it is gone: at the first, some only stop what they do."""
        for _ in range(60):
            agent.send_signal(signal.SIGINT)
            try:
                agent.communicate(timeout=5)
                return
            except subprocess.TimeoutExpired:
                pass
        agent.kill()
        raise AssertionError(f"the agent did not end: {agent.communicate()[0]}")

    def is_turn(self, exchange):
        """Whether this belongs to the conversation, and is no question beside it, as for its title."""
        return exchange.body is not None and TASK in json.dumps(exchange.body) and "tools" in exchange.body

    def refusals(self, exchanges):
        return {(each.path, each.status) for each in exchanges if each.status >= 400}

    def test_a_file_is_mended(self):
        server = self.serve(self.scene(), flags=["--any-model-name"])
        status, output = self.finish(self.start(server))
        self.assertEqual((status, self.file_text()), (0, MENDED), output + server.output())
        self.assertIn(self.last_words, output)
        exchanges = self.exchanges(server)
        self.assertLessEqual(self.refusals(exchanges), self.known_refusals)
        self.assertNotIn("ignored_fields", server.output())
        turns = [each for each in exchanges if self.is_turn(each)]
        self.assertEqual([each.is_streamed for each in turns], [True] * self.turn_count)
        self.assertGreaterEqual(turns[0].prompt_tokens or 0, self.least_prompt_tokens)
        self.assert_only_new_is_computed(turns)
        print(f"tokens of prompts, and cached: {[(each.prompt_tokens, each.cached_tokens) for each in turns]}")

    def test_a_context_that_is_too_small(self):
        server = self.serve(self.scene(), context=2048, flags=["--any-model-name"])
        status, output = self.finish(self.start(server))
        self.assertEqual((status, self.file_text()), (self.context_status, BROKEN), output)
        self.assertIn(self.context_words, output)
        refusals = self.refusals(self.exchanges(server)) - self.known_refusals
        self.assertEqual({status for _, status in refusals}, {400})

    def test_it_is_stopped(self):
        server = self.serve(((TASK,), [LONG_STORY]), flags=["--any-model-name"])
        agent = self.start(server)
        server.await_sequences(lambda count: count > 0)
        self.stop(agent)
        server.await_gone_client()
        self.assertEqual(self.file_text(), BROKEN)


class ClaudeCode(Tasks, ScriptedCase):
    least_prompt_tokens = 20000
    context_words = "Prompt is too long"
    known_refusals = {("/api/hello", 404)}

    def command(self, url):
        return ([program("@anthropic-ai", "claude-code-linux-x64", "claude"), "--print", "--model", self.model, "--permission-mode",
                 "acceptEdits", TASK],
                {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none"})

    def scene(self):
        return ((TASK, '"name": "Edit"'),
                ["I read it first.\n" + call("Read", file_path=self.file),
                 call("Edit", file_path=self.file, old_string="a - b", new_string="a + b"), LAST_WORDS])


class Codex(Tasks, ScriptedCase):
    least_prompt_tokens = 15000
    context_words = "Codex ran out of room in the model's context window"

    def command(self, url):
        provider = f'{{name="Weft",base_url="{url}/v1",env_key="WEFT_KEY",wire_api="responses"}}'
        return ([program("@openai", "codex-linux-x64", "vendor", "x86_64-unknown-linux-musl", "bin", "codex"), "exec",
                 "--skip-git-repo-check", "--sandbox", "danger-full-access", "--model", self.model, "--config", 'model_provider="weft"',
                 "--config", f"model_providers.weft={provider}", TASK],
                {"WEFT_KEY": "none"})

    def scene(self):
        return ((TASK, '"name": "exec_command"'),
                ["I read it first.\n" + call("exec_command", cmd="cat add.py"),
                 call("exec_command", cmd="sed -i 's/a - b/a + b/' add.py"), LAST_WORDS])


class CodexWithPatches(Codex):
    """For a model that it knows, its tool for edits is a custom one, whose texts a grammar describes."""

    model = "gpt-5.5"

    def scene(self):
        patch = "*** Begin Patch\n*** Update File: add.py\n@@\n def add(a, b):\n-    return a - b\n+    return a + b\n*** End Patch\n"
        return ((TASK, '"name": "apply_patch"'),
                ["I read it first.\n" + call("exec_command", cmd="cat add.py"), call("apply_patch", input=patch), LAST_WORDS])


class Opencode(Tasks, ScriptedCase):
    least_prompt_tokens = 15000
    context_words = "This model's maximum context length is 2048 tokens"

    def command(self, url):
        config = os.path.join(self.home, "opencode.json")
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Weft", "options": {"baseURL": url + "/v1", "apiKey": "none"},
                    "models": {self.model: {}}}
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"provider": {"weft": provider}}, file)
        return ([program("opencode-linux-x64-baseline", "bin", "opencode"), "run", "--model", "weft/" + self.model, TASK],
                {"OPENCODE_CONFIG": config, "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
                 "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"})

    def scene(self):
        return ((TASK, '"name": "edit"'),
                ["I read it first.\n" + call("read", filePath=self.file),
                 call("edit", filePath=self.file, oldString="a - b", newString="a + b"), LAST_WORDS])


class Continue(Tasks, ScriptedCase):
    OLDEST_NODE = 20
    least_prompt_tokens = 3000
    context_words = "This model's maximum context length is 2048 tokens"

    def setUp(self):
        if node_version() < self.OLDEST_NODE:
            self.skipTest(f"node is {node_version()}, but Continue needs {self.OLDEST_NODE} or newer")
        super().setUp()

    def command(self, url):
        config = os.path.join(self.home, "config.yaml")
        model = {"name": "Weft", "provider": "openai", "model": self.model, "apiBase": url + "/v1", "apiKey": "none",
                 "roles": ["chat"], "capabilities": ["tool_use"]}
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"name": "Weft", "version": "0.0.1", "schema": "v1", "models": [model]}, file)  # YAML, too
        return ["node", program("@continuedev", "cli", "dist", "cn.js"), "--print", "--auto", "--config", config, TASK], {}

    def scene(self):
        return ((TASK, '"name": "Edit"'),
                ["I read it first.\n" + call("Read", filepath=self.file),
                 call("Edit", file_path=self.file, old_string="a - b", new_string="a + b"), LAST_WORDS])


class Aider(Tasks, ScriptedCase):
    """It knows no tools: edits are texts of a form that it asks for. It does not ask for usage."""

    last_words = "Applied edit to add.py"
    turn_count = 1
    context_words = "has hit a token limit"
    context_status = 0

    def command(self, url):
        return ([os.path.join(os.path.abspath(options.aider), "bin", "aider"), "--model", "openai/" + self.model, "--no-git", "--yes-always",
                 "--no-check-update", "--analytics-disable", "--edit-format", "diff", "--message", TASK, "add.py"],
                {"OPENAI_API_BASE": url + "/v1", "OPENAI_API_KEY": "none"})

    def scene(self):
        return ((TASK, "SEARCH/REPLACE"),
                ["add.py\n```python\n<<<<<<< SEARCH\n    return a - b\n=======\n    return a + b\n>>>>>>> REPLACE\n```\n"])

    def is_turn(self, exchange):
        return exchange.path == "/v1/chat/completions"


def prepare():
    if "WEFT_TEST_ISOLATED" not in os.environ:
        install("agents", os.path.abspath(options.modules))
        python, reason = client_packages.make_venv(os.path.abspath(options.aider), AIDER_REQUIREMENTS)
        if python is None:
            client_packages.skip(reason)
    isolate()


if __name__ == "__main__":
    main("model", "modules", "aider", "venv", prepare=prepare)
