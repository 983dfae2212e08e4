"""The commands that need no server: `commands_test.py --weft BINARY --model MODEL`."""

import json
import os
import re
import resource
import subprocess
import tempfile
import unittest

from harness import main, options

README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../README.md")


def weft(*arguments, stdin=""):
    """(exit status, stdout, stderr)"""
    done = subprocess.run([options.weft, *arguments], input=stdin, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


class Usage(unittest.TestCase):
    def test_help_lists_every_command(self):
        status, text, _ = weft("--help")
        self.assertEqual(status, 0)
        for command in ("serve", "generate", "bench", "inspect", "tokenize", "loadtest"):
            self.assertIn(f"\n  {command} ", text)
            self.assertEqual(weft(command, "--help")[0], 0)

    def test_readme_lists_the_options_of_serve(self):
        known = set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", weft("serve", "--help")[1], re.MULTILINE)) - {"--help"}
        self.assertIn("--model", known)
        with open(README, encoding="utf-8") as file:
            table = re.search(r"Those of `serve`:\n\n((?:\|.*\n)+)", file.read())[1]
        named = re.findall(r"`(--[a-z-]+)", "".join(row.split("|")[1] for row in table.splitlines()))
        self.assertEqual(sorted(named), sorted(known))

    def test_the_load_generator_is_a_program_of_its_own_too(self):
        program = os.path.join(os.path.dirname(options.weft), "weft-loadtest")
        for command in ([], ["sweep"], ["compare"]):
            done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertEqual((done.returncode, done.stdout), weft("loadtest", *command, "--help")[:2])
            self.assertIn("--url", done.stdout)

    def test_mistakes_are_one_line_on_stderr(self):
        for arguments in (["weave"], ["generate"], ["generate", "--prompt", "a", "--prompt-file", "b"],
                          ["bench", "--batch", "0"], ["inspect", "--colour"], ["serve", "--port", "70000"]):
            with self.subTest(arguments=arguments):
                status, out, err = weft(*arguments)
                self.assertEqual((status, out, err.count("\n")), (2, "", 1), err)

    def test_help_has_no_values_of_flags(self):
        for command in (["generate"], ["bench"], ["tokenize"], ["inspect"], ["health"], ["serve"],
                        ["loadtest"], ["loadtest", "sweep"], ["loadtest", "compare"]):
            with self.subTest(command=command):
                status, text, _ = weft(*command, "--help")
                self.assertEqual(status, 0)
                self.assertNotRegex(text, r"\{(true|false)\}|=\[")

    def test_a_bad_chat_template_is_named_before_the_model_is_looked_at(self):
        with tempfile.TemporaryDirectory() as directory:
            pipe = os.path.join(directory, "pipe")
            os.mkfifo(pipe)
            bad = os.path.join(directory, "bad.jinja")
            with open(bad, "w", encoding="utf-8") as file:
                file.write("{% if %}")
            for path in (directory, pipe, bad, "/nowhere/template"):
                with self.subTest(path=path):
                    status, out, err = weft("serve", "--model", "/nowhere/model.gguf", "--chat-template", path)
                    self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
                    self.assertTrue(err.startswith(f"weft serve: --chat-template {path}: "), err)

    def test_what_is_no_regular_file_is_refused_at_once(self):
        with tempfile.TemporaryDirectory() as directory:
            pipe = os.path.join(directory, "model.gguf")
            os.mkfifo(pipe)
            os.mkfifo(os.path.join(directory, "config.json"))
            for arguments, path in (
                    (["generate", "--prompt", "a", "--model", pipe], pipe),
                    (["tokenize", "--model", pipe, "a"], pipe),
                    (["inspect", "/dev/zero"], "/dev/zero"),
                    (["inspect", directory], os.path.join(directory, "config.json")),
                    (["serve", "--model", pipe], pipe),
                    (["serve", "--api-key-file", pipe], pipe)):
                with self.subTest(arguments=arguments):
                    status, out, err = weft(*arguments)
                    self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
                    self.assertRegex(err, re.escape(path) + ": is a (named pipe|device), expected a regular file")

    def test_a_start_that_finds_no_memory_ends(self):
        def limit(size):
            return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))

        def run(mebibytes, *arguments):
            done = subprocess.run([options.weft, *arguments], capture_output=True, text=True, timeout=120, check=False,
                                  preexec_fn=limit(mebibytes << 20))
            return done.returncode, done.stdout, done.stderr

        for mebibytes in (80, 100, 120, 150):
            with self.subTest(mebibytes=mebibytes):
                status, out, err = run(mebibytes, "serve", "--model", "/nowhere/model.gguf")
                self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
                self.assertIn("/nowhere/model.gguf", err)
                # More threads than there can be stacks for.
                status, out, err = run(mebibytes, "generate", "--prompt", "a", "-n", "1", "--model", options.model, "--threads", "64")
                self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
                status, out, err = run(mebibytes, "generate", "--prompt", "a", "-n", "1", "--model", options.model, "--compute", "f32")
                self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
                self.assertIn("--compute f32 needs an address space without limit", err)

    def test_a_missing_model_is_named(self):
        for command in (["generate", "--prompt", "a"], ["bench"], ["tokenize", "a"], ["serve"]):
            with self.subTest(command=command):
                status, out, err = weft(*command, "--model", "/nowhere/model.gguf")
                self.assertEqual((status, out, err.count("\n")), (1, "", 1), err)
                self.assertIn("/nowhere/model.gguf", err)


class Generate(unittest.TestCase):
    def test_the_same_seed_gives_the_same_text(self):
        command = ["generate", "--model", options.model, "--prompt", "Once upon a time", "-n", "24", "--seed", "3"]
        first, second = weft(*command), weft(*command)
        self.assertEqual(first[0], 0, first[2])
        self.assertEqual(first, second)
        self.assertGreater(len(first[1]), 1)
        self.assertNotEqual(first[1], weft(*command[:-1], "4")[1])

    def test_the_prompt_may_come_from_standard_input(self):
        arguments = ["generate", "--model", options.model, "-n", "8", "--temperature", "0"]
        self.assertEqual(weft(*arguments, "--prompt-file", "-", stdin="Hello"), weft(*arguments, "--prompt", "Hello"))

    def test_every_instruction_set_gives_the_same_text(self):
        command = [options.weft, "generate", "--model", options.model, "--prompt", "Once", "-n", "24"]
        texts = {}
        for isa in ("scalar", "avx2", "avx512"):
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env={"WEFT_ISA": isa})
            if done.returncode == 0:
                texts[isa] = done.stdout
            else:
                self.assertIn(isa, done.stderr)  # this machine lacks it, and the message says so
        self.assertIn("scalar", texts)
        self.assertEqual(len(set(texts.values())), 1, texts)


class Tokenize(unittest.TestCase):
    def test_ids_and_their_text(self):
        status, ids, _ = weft("tokenize", "--model", options.model, "Once upon")
        self.assertEqual(status, 0)
        status, lines, _ = weft("tokenize", "--model", options.model, "--show-text", "Once upon")
        rows = [line.split(maxsplit=1) for line in lines.splitlines()]
        self.assertEqual([row[0] for row in rows], ids.split())
        self.assertEqual("".join(json.loads(row[1]) for row in rows), "Once upon")


class Inspect(unittest.TestCase):
    def test_the_facts(self):
        status, text, error = weft("inspect", options.model)
        self.assertEqual(status, 0, error)
        for fact in ("qwen3moe", "Q8_0", "tokenizer", "KV cache"):
            self.assertIn(fact, text)


class Bench(unittest.TestCase):
    def test_json_rows(self):
        status, text, error = weft("bench", "--model", options.model, "--prompt-tokens", "32", "--generate-tokens", "2", "--batch", "1,3",
                                   "--repetitions", "1", "--json")
        self.assertEqual(status, 0, error)
        rows = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([(row["test"], row.get("tokens"), row.get("batch")) for row in rows],
                         [("prefill", 32, None), ("decode", None, 1), ("decode", None, 3)])
        self.assertTrue(all(row["tokens_per_s"] > 0 for row in rows))
        self.assertTrue(all(row["machine"]["dram_read_gb_per_s"] > 0 and row["limit_share"] > 0 for row in rows), rows)

    def test_contexts_mixed_load_and_a_profile(self):
        status, text, error = weft("bench", "--model", options.model, "--prompt-tokens", "8,40", "--generate-tokens", "2", "--batch", "2",
                                   "--context", "4,70", "--mixed", "2", "--mixed-prompt-tokens", "64", "--max-batch-tokens", "16",
                                   "--repetitions", "1", "--no-limits", "--profile", "--json")
        self.assertEqual(status, 0, error)
        rows = [json.loads(line) for line in text.splitlines()]
        self.assertEqual([(row["test"], row.get("tokens"), row.get("context")) for row in rows],
                         [("prefill", 8, None), ("prefill", 40, None), ("decode", None, 4), ("decode", None, 70), ("mixed", None, None)])
        self.assertFalse(any("machine" in row or "limit_share" in row for row in rows), rows)
        self.assertIn("router", rows[0]["profile"])
        mixed = rows[-1]
        self.assertEqual((mixed["streams"], mixed["prompt_tokens"]), (2, 64))
        self.assertGreaterEqual(mixed["worst_gap_ms"], mixed["median_gap_ms"])
        self.assertGreater(mixed["first_token_ms"], 0)

    def test_what_the_memory_does_not_hold_is_refused(self):
        status, text, error = weft("bench", "--model", options.model, "--batch", "4096", "--context", "1048576", "--no-limits")
        self.assertEqual((status, text, error.count("\n")), (1, "", 1), error)
        self.assertIn("KV cache", error)


if __name__ == "__main__":
    main("model")
