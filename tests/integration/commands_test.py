"""The commands that need no server: `commands_test.py --weft BINARY --model MODEL`."""

import argparse
import json
import subprocess
import sys
import unittest

options = None


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

    def test_mistakes_are_one_line_on_stderr(self):
        for arguments in (["weave"], ["generate"], ["generate", "--prompt", "a", "--prompt-file", "b"],
                          ["bench", "--batch", "0"], ["inspect", "--colour"], ["serve", "--port", "70000"]):
            with self.subTest(arguments=arguments):
                status, out, err = weft(*arguments)
                self.assertEqual((status, out, err.count("\n")), (2, "", 1), err)

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


def main():
    global options
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft", required=True, help="the binary")
    parser.add_argument("--model", required=True, help="the bundled model")
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)


if __name__ == "__main__":
    main()
