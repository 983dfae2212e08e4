"""The commands that need no server: `commands_test.py --weft BINARY --model MODEL`."""

import json
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from harness import main, options
from weft_server import WeftServer

ENCODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../model/fixtures/parity/bert/model.gguf")
DECODER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../model/fixtures/parity/qwen2/hf")
RANKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../model/fixtures/parity/jina_reranker_v2/hf")
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../README.md")


def weft(*arguments, stdin=""):
    """(exit status, stdout, stderr)"""
    done = subprocess.run([options.weft, *arguments], input=stdin, capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout, done.stderr


class Usage(unittest.TestCase):
    def test_help_lists_every_command(self):
        status, text, _ = weft("--help")
        self.assertEqual(status, 0)
        for command in ("serve", "chat", "generate", "embed", "rerank", "batch", "bench", "inspect", "tokenize", "pull", "models", "rm", "doctor", "completions", "loadtest"):
            self.assertIn(f"\n  {command} ", text)
            self.assertEqual(weft(command, "--help")[0], 0)

    def test_doctor(self):
        status, text, err = weft("doctor", "--no-measure", "--json")
        self.assertEqual((status, err), (0, ""))
        report = json.loads(text)
        self.assertEqual([finding["about"] for finding in report["findings"]][0], "processor")
        self.assertNotIn("limits", report)
        limits = json.loads(weft("doctor", "--seconds", "1", "--json")[1])["limits"]
        self.assertGreater(limits["read_bytes_per_s"], 0)
        self.assertGreater(limits["float32"]["operations_per_s"], 0)
        self.assertRegex(weft("doctor", "--no-measure")[1], r"^(good|note|problem) +processor ")

    def test_shells_complete_what_help_says(self):
        bash = """source <(weft completions bash); try() { COMPREPLY=(); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _weft; echo "${COMPREPLY[*]}"; }
            try weft se; try weft serve --unix-socket-m; try weft generate --compute bf16p; try weft 'x;y' --"""
        fish = """weft completions fish | source; complete -C 'weft se' | string replace -r '\\t.*' ''; complete -C 'weft serve --unix-socket-m'
            complete -C 'weft generate --compute bf16p'; complete -C 'weft "x;y" --'"""
        zsh = """autoload -Uz compinit; compinit -D; source <(weft completions zsh); compadd() { shift; print -r -- ${(M)@:#$word*}; }
            _describe() { print -r -- ${(M)${(P)2}:#$word*} | sed 's/:.*//'; }
            try() { words=("$@"); CURRENT=$#; word=${@[-1]}; _weft; }
            try weft se; try weft serve --unix-socket-m; try weft generate --compute bf16p; try weft 'x;y' --"""
        for shell, script in (("bash", bash), ("fish", fish), ("zsh", zsh)):
            with self.subTest(shell=shell):
                if shutil.which(shell) is None:
                    print(f"no {shell} here")
                    continue
                done = subprocess.run([shell, "-c", script], capture_output=True, text=True, timeout=60, check=False,
                                      env={**os.environ, "PATH": os.path.dirname(os.path.abspath(options.weft)) + ":" + os.environ["PATH"]})
                self.assertEqual((done.stdout.split(), done.stderr), (["serve", "--unix-socket-mode", "bf16pair"], ""))

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
                          ["bench", "--batch", "0"], ["rerank", "--query", "a", "--queries", "b"], ["inspect", "--colour"], ["serve", "--port", "70000"]):
            with self.subTest(arguments=arguments):
                status, out, err = weft(*arguments)
                self.assertEqual((status, out, err.count("\n")), (2, "", 1), err)

    def test_help_has_no_values_of_flags(self):
        for command in (["generate"], ["embed"], ["rerank"], ["batch"], ["bench"], ["tokenize"], ["inspect"], ["health"], ["serve"],
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
        for command in (["generate", "--prompt", "a"], ["embed", "/dev/null"], ["rerank", "--query", "a", "/dev/null"], ["bench"], ["tokenize", "a"], ["serve"]):
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


def read_npy(path):
    """(shape, rows) of float32."""
    with open(path, "rb") as file:
        magic, size = file.read(8), struct.unpack("<H", file.read(2))[0]
        header = file.read(size).decode()
        numbers = [number for (number,) in struct.iter_unpack("<f", file.read())]
    shape = tuple(int(each) for each in re.search(r"'shape': \((\d+), (\d+)\)", header).groups())
    assert (magic, (size + 10) % 64) == (b"\x93NUMPY\x01\x00", 0) and "'descr': '<f4', 'fortran_order': False" in header, header
    return shape, [numbers[row * shape[1]:(row + 1) * shape[1]] for row in range(shape[0])]


def float32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


def check_load(case, server, *arguments):
    """A load test with 5 texts a request; each answer is the same alone."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps({"prompt": f"weft {i}"}) + "\n" for i in range(17))
        file.flush()
        status, out, err = weft("loadtest", "--url", f"http://127.0.0.1:{server.process_port}", "--json", "--requests", "40",
                                "--prompts", file.name, "--verify", "all", "--max-lag", "100000", "--max-cpu", "100", "--no-progress",
                                *arguments)
    case.assertEqual(status, 0, out + err)
    report = json.loads(out)
    case.assertEqual((report["succeeded"], report["texts"], report["correctness"]), (40, 200, {"verified": 40, "mismatched": 0}))
    case.assertGreater(report["prompt_tokens"], 400)


class Embed(unittest.TestCase):
    def embed(self, *arguments, stdin=""):
        """([vector, ...], stderr)"""
        status, out, err = weft("embed", "--model", ENCODER, "--threads", "2", *arguments, stdin=stdin)
        self.assertEqual(status, 0, err)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual([line["index"] for line in lines], list(range(len(lines))))
        return [line["embedding"] for line in lines], err

    def test_a_corpus_is_its_texts(self):
        texts = [f"{'the fox ' * (i % 9)}number {i}" for i in range(700)] + [" ", "Größe — naïve"]
        vectors, err = self.embed(stdin="".join(text + "\n" for text in texts))
        self.assertEqual(len(vectors), len(texts))
        self.assertRegex(err, r"^702 texts of [\d,]+ tokens in \d+\.\d s: [\d.,]+ texts/s\n$")
        self.assertTrue(all(abs(sum(number * number for number in vector) - 1) < 1e-5 for vector in vectors))
        for i in (0, 8, 333, 700, 701):
            self.assertEqual(self.embed("--quiet", stdin=texts[i] + "\n"), ([vectors[i]], ""), i)

    def test_formats_and_files(self):
        with tempfile.TemporaryDirectory() as directory:
            path, out = os.path.join(directory, "a.jsonl"), os.path.join(directory, "a.npy")
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(json.dumps({"id": i, "text": f"text {i}"}) + "\n" for i in range(20))
            lines, _ = self.embed(stdin="".join(f"text {i}\n" for i in range(20)))
            self.assertEqual(self.embed("--jsonl", "text", path)[0], lines)
            self.assertEqual(self.embed("--jsonl", "text", path, path)[0], lines + lines)
            self.assertEqual(self.embed("--jsonl", "text", path, "--format", "npy", "--output", out)[0], [])
            self.assertEqual(sorted(os.listdir(directory)), ["a.jsonl", "a.npy"])
            shape, rows = read_npy(out)
            self.assertEqual(shape, (20, len(lines[0])))
            self.assertEqual(rows, [[float32(number) for number in line] for line in lines])
            self.embed("--jsonl", "text", path, "-o", os.path.join(directory, "lines"))
            with open(os.path.join(directory, "lines"), encoding="utf-8") as file:
                self.assertEqual([json.loads(line)["embedding"] for line in file], lines)
            short, _ = self.embed("--jsonl", "text", path, "--dimensions", "4", "--no-normalize", "--pooling", "cls", "--prompt", "a: ")
            self.assertEqual({len(vector) for vector in short}, {4})

    def test_as_a_server_answers_and_a_load_test_sees(self):
        texts = ["a fox", " ", "the loom <mask> [SEP] of a weaver"]
        with WeftServer(options.weft, ["--model", ENCODER, "--threads", "2"]) as server:
            status, answer = server.request("POST", "/v1/embeddings", {"input": texts})
            self.assertEqual(status, 200, answer)
            vectors, _ = self.embed(stdin="".join(text + "\n" for text in texts))
            self.assertEqual(vectors, [entry["embedding"] for entry in answer["data"]])
            check_load(self, server, "--endpoint", "embeddings", "--texts-per-request", "5")

    def test_prompts_of_the_model(self):
        with tempfile.TemporaryDirectory() as directory:
            model = os.path.join(directory, "model")
            directory_of_encoder = os.path.join(os.path.dirname(ENCODER), "hf")
            shutil.copytree(directory_of_encoder, model)
            with open(os.path.join(model, "config_sentence_transformers.json"), "w", encoding="utf-8") as file:
                json.dump({"prompts": {"query": "find: ", "document": ""}, "default_prompt_name": "query"}, file)
            embed = lambda *arguments: weft("embed", "--quiet", "--model", model, *arguments, stdin="fox\n")
            plain, asked = (weft("embed", "--quiet", "--model", directory_of_encoder, stdin=text) for text in ("fox\n", "find: fox\n"))
            self.assertNotEqual(plain, asked)
            for arguments, expected in (([], asked), (["--prompt-name", "query"], asked), (["--prompt-name", "document"], plain),
                                        (["--prompt", ""], plain), (["--prompt", "find: "], asked)):
                with self.subTest(arguments=arguments):
                    self.assertEqual(embed(*arguments), expected)
            status, _, err = embed("--prompt-name", "code")
            self.assertEqual(status, 1)
            self.assertIn("there is no prompt 'code': the model's files have 'document', 'query'", err)

    def test_mistakes_are_told_and_leave_no_file(self):
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "out.npy")
            for arguments, stdin, message in (
                    (["/nowhere/texts"], "", "/nowhere/texts: cannot read it: No such file or directory"),
                    (["--format", "npy"], "a\n", "--output must be a file"),
                    (["--dimensions", "4096", "-o", out], "a\n", "--dimensions is 4096, but this model's embeddings have"),
                    (["--jsonl", "text", "-o", out], '{"text": "a"}\n{"text": 1}\n', "standard input:2: expected a JSON object"),
                    (["-o", out], "a\n\n", "standard input:2: the text is empty, and this model has no token that begins one"),
                    (["-o", out], "a\n" + "b " * 5000 + "\n", "standard input:2: the text has 10000 tokens"),
                    (["-o", "/dev/full"], "a\n", "/dev/full: cannot write it: No space left on device")):
                with self.subTest(message=message):
                    status, text, err = weft("embed", "--model", ENCODER, "--quiet", *arguments, stdin=stdin)
                    self.assertEqual((status, text, err.count("\n")), (1, "", 1), err)
                    self.assertTrue(err.startswith("weft embed: "), err)
                    self.assertIn(message, err)
                    self.assertEqual(os.listdir(directory), [])
            _, err = self.embed("--truncate", "--quiet", stdin="a\n" + "b " * 5000 + "\n")
            self.assertRegex(err, r"^1 of the texts were too long: [\d,]+ of their tokens were dropped\n$")
            marian = os.path.join(os.path.dirname(ENCODER), "../marian/hf")
            status, text, err = weft("embed", "--model", marian, stdin="a\n")
            self.assertEqual((status, text), (1, ""), err)
            self.assertIn("the model makes no embeddings", err)

    def test_a_reader_that_leaves_and_an_interruption(self):
        command = [options.weft, "embed", "--model", ENCODER, "--quiet", "--threads", "1"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(b"a\n")
            process.stdin.flush()
            self.assertEqual(json.loads(process.stdout.readline())["index"], 0)  # at once: nothing else is to be had
            process.stdout.close()
            process.stdin.write(b"b\n")
            process.stdin.close()
            self.assertEqual(process.stderr.read(), b"weft embed: standard output: cannot write it: Broken pipe\n")
            self.assertEqual(process.wait(60), 1)
        with tempfile.TemporaryDirectory() as directory:
            out = os.path.join(directory, "out.npy")
            with subprocess.Popen([*command, "--format", "npy", "-o", out], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                process.stdin.write(b"a\n")
                process.stdin.flush()
                deadline = time.monotonic() + 60
                while not os.listdir(directory) and time.monotonic() < deadline:
                    time.sleep(0.01)
                self.assertNotIn("out.npy", os.listdir(directory))
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.stderr.read().decode(), f"weft: interrupted; {out} was not written\n")
                self.assertEqual(process.wait(60), 128 + signal.SIGINT)
            self.assertEqual(os.listdir(directory), [])


class Rerank(unittest.TestCase):
    DOCUMENTS = [f"{word} number {i}" for i, word in enumerate(("fox", "loom", "weft and warp", "", "thread") * 30)]

    def rerank(self, *arguments, documents):
        status, out, err = weft("rerank", "--model", RANKER, "--threads", "2", "--quiet", *arguments,
                                stdin="".join(text + "\n" for text in documents))
        self.assertEqual((status, err), (0, ""), err)
        return [json.loads(line) for line in out.splitlines()]

    def test_documents_in_the_order_of_their_scores(self):
        rows = self.rerank("--query", "what is a loom", documents=self.DOCUMENTS)
        self.assertEqual(sorted(row["index"] for row in rows), list(range(len(self.DOCUMENTS))))
        self.assertEqual(rows, sorted(rows, key=lambda row: (-row["score"], row["index"])))
        self.assertTrue(all(0 < row["score"] < 1 for row in rows))
        for row in (rows[0], rows[77], rows[-1]):  # alone as in the crowd
            self.assertEqual(self.rerank("--query", "what is a loom", documents=[self.DOCUMENTS[row["index"]]]), [{**row, "index": 0}])
        top = self.rerank("--query", "what is a loom", "--top-n", "3", "--with-documents", documents=self.DOCUMENTS)
        self.assertEqual(top, [{**row, "document": self.DOCUMENTS[row["index"]]} for row in rows[:3]])
        raw = self.rerank("--query", "what is a loom", "--raw-scores", documents=self.DOCUMENTS)
        self.assertEqual([row["index"] for row in raw], [row["index"] for row in rows])
        self.assertNotEqual(raw, rows)
        self.assertEqual(self.rerank("--query", "a", documents=[]), [])
        with tempfile.TemporaryDirectory() as directory:
            queries = os.path.join(directory, "queries")
            with open(queries, "w", encoding="utf-8") as file:
                file.write("a fox\nwhat is a loom\n")
            both = self.rerank("--queries", queries, documents=self.DOCUMENTS)
            self.assertEqual(both[:150], [{"query": 0, **row} for row in self.rerank("--query", "a fox", documents=self.DOCUMENTS)])
            self.assertEqual(both[150:], [{"query": 1, **row} for row in rows])

    def test_as_a_server_answers_and_a_load_test_sees(self):
        documents = self.DOCUMENTS[:20]
        with WeftServer(options.weft, ["--model", RANKER, "--threads", "2"]) as server:
            status, answer = server.request("POST", "/v1/rerank", {"query": "what is a loom", "documents": documents})
            self.assertEqual(status, 200, answer)
            rows = self.rerank("--query", "what is a loom", documents=documents)
            self.assertEqual([(row["index"], row["score"]) for row in rows],
                             [(result["index"], result["relevance_score"]) for result in answer["results"]])
            check_load(self, server, "--endpoint", "rerank", "--documents-per-request", "5")

    def test_mistakes_are_told(self):
        long = "b " * 3000
        for arguments, stdin, message in (
                (["--model", ENCODER], "a\n", f"{ENCODER}: the model does not rank"),
                (["--model", RANKER, "--instruction", "b"], "a\n", "--instruction: this model reads a query and a document"),
                # The fixture's context is shorter than the prompt that it would be a ranker with.
                (["--model", DECODER], "a\n", "the model does not rank"),
                (["--model", DECODER, "--task", "rerank"], "a\n", "standard input:1: query and document have"),
                (["--model", RANKER], f"a\n{long}\n", "standard input:2: query and document have"),
                (["--model", RANKER, "/nowhere/texts"], "", "/nowhere/texts: cannot read it")):
            with self.subTest(message=message):
                status, text, err = weft("rerank", "--query", "a", "--quiet", *arguments, stdin=stdin)
                self.assertEqual((status, text, err.count("\n")), (1, "", 1), err)
                self.assertIn(message, err)
        status, _, err = weft("rerank", "--model", RANKER, "--query", "a", "--quiet", "--truncate", stdin=f"a\n{long}\n")
        self.assertEqual(status, 0, err)
        self.assertRegex(err, r"^1 of the texts were too long: [\d,]+ of their tokens were dropped\n$")


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
