#!/usr/bin/env python3
"""The parts of tests/tools/compare_peers that need no peer: reading what engines print, results that are gone on with, the table."""

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
import unittest.mock

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "compare_peers")
sys.path.insert(0, TOOL)

import cells  # noqa: E402
import engines  # noqa: E402
import importlib.util  # noqa: E402
import machine  # noqa: E402
import results  # noqa: E402
import stream_worker  # noqa: E402
from installation import ModelFiles, Unavailable  # noqa: E402

spec = importlib.util.spec_from_file_location("compare_peers_main", os.path.join(TOOL, "__main__.py"))
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)

MACHINE = {"cpu": "A", "flags": ["avx2"], "cores": 2, "memory_gib": 4, "threads": 2}
RATE = {"instructions": "AVX2", "giga_operations_per_s": 100.0}
LIMITS = {"dram_read_gb_per_s": 20.0, "int8": RATE, "bf16": RATE, "float32": RATE}
MODEL = cells.MODELS["llama-1b-q4_0"]
PREFILL, DECODE = cells.parse_row("prefill-512"), cells.parse_row("decode-16")

BATCHED_BENCH = """
main: n_kv_max = 2560, n_batch = 2048, n_ubatch = 512, flash_attn = 1, is_pp_shared = 1, is_tg_separate = 0, n_threads = 2

|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   128 |     32 |   16 |   2560 |    1.234 |   103.73 |   10.240 |    50.00 |   11.474 |    55.78 |
"""


class FakeEngine:
    """Says on stdout what it is asked to; `speed` None: it fails."""

    def __init__(self, name, speed):
        self.name, self.speed, self.version, self.measured = name, speed, "1.0", 0

    def prepare(self):
        return self.version

    def command(self, model, row):
        self.measured += 1
        return ["echo", str(self.speed)] if self.speed else ["sh", "-c", "echo no such type >&2; exit 1"]

    def tokens_per_s(self, row, output):
        return float(output)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "out.jsonl")

    def results(self, **changes):
        return results.Results(self.path, {**MACHINE, **changes}, lambda: LIMITS)

    def arguments(self, rounds=3, retry_failed=False):
        return argparse.Namespace(models=[MODEL], rows=[PREFILL, DECODE], rounds=rounds, prefix=[], timeout=60,
                                  retry_failed=retry_failed)

    def measure(self, found, chosen, rounds=3, retry_failed=False):
        with contextlib.redirect_stderr(io.StringIO()):
            program.measure_all(found, self.arguments(rounds, retry_failed), chosen, {})


class Cells(unittest.TestCase):
    def test_rows(self):
        self.assertEqual((PREFILL.kind, PREFILL.size, PREFILL.context), ("prefill", 512, 0))
        self.assertEqual((DECODE.kind, DECODE.size, DECODE.context), ("decode", 16, cells.USUAL_CONTEXT))
        deep = cells.parse_row("decode-4@8192")
        self.assertEqual((deep.context, deep.name, deep.title), (8192, "decode-4@8192", "decode 4 behind 8,192"))
        for name in cells.ROWS:
            self.assertEqual(cells.parse_row(name).name, name)
        for name in ("decode", "decode-0", "prefill-512@128", "decode-1@", "xdecode-1"):
            with self.assertRaisesRegex(ValueError, f"row '{name}': expected"):
                cells.parse_row(name)

    def test_an_unknown_model_is_named(self):
        with self.assertRaisesRegex(ValueError, "model 'llama-1b-q9': expected one of .*llama-1b-q4_0"):
            cells.parse_models(["llama-1b-q9"])


class Outputs(unittest.TestCase):
    def setUp(self):
        arguments = argparse.Namespace(weft="weft", llama_cpp="bin", ik_llama_cpp=None, ik_random_tokens=False, threads=2)
        self.engines = engines.make_engines(arguments, ModelFiles("none"))

    def test_weft(self):
        output = ('{"test":"prefill","tokens":1,"tokens_per_s":7.0}\n'
                  '{"test":"decode","batch":16,"context":128,"tokens_per_s":49.5}\n')
        self.assertEqual(self.engines["weft"].tokens_per_s(DECODE, output), 49.5)
        self.assertEqual(self.engines["weft"].tokens_per_s(PREFILL, output), 7.0)

    def test_llama_bench(self):
        output = 'a warning\n[\n  {"build_commit": "0c1e570", "n_prompt": 512, "avg_ts": 29.25, "stddev_ts": 0.0}\n]\n'
        self.assertEqual(self.engines["llama.cpp"].tokens_per_s(PREFILL, output), 29.25)
        self.assertEqual(self.engines["llama.cpp"].tokens_per_s(cells.parse_row("decode-1"), output), 29.25)

    def test_what_is_decoded_alone_comes_behind_a_context(self):
        arguments = argparse.Namespace(weft="weft", llama_cpp="bin", ik_llama_cpp="bin", ik_random_tokens=False, threads=2)
        row = cells.parse_row("decode-1@8192")
        for name, behind in (("llama.cpp", ["-n", "32", "-d", "8192"]), ("ik_llama.cpp", ["-n", "0", "-gp", "8192,32"])):
            engine = engines.make_engines(arguments, ModelFiles("none"))[name]
            with unittest.mock.patch.object(engine, "_program", str), unittest.mock.patch.object(engine.models, "gguf", str):
                command = engine.command(MODEL, row)
            self.assertIn(" ".join(behind), " ".join(map(str, command)))

    def test_streams_of_a_mixture_want_tokens_that_differ(self):
        mixture, alone = cells.MODELS["qwen3moe-10b-q4_k_m"], cells.parse_row("decode-1")
        for random_tokens in (False, True):
            arguments = argparse.Namespace(weft="weft", llama_cpp="bin", ik_llama_cpp="bin", ik_random_tokens=random_tokens, threads=2)
            engine = engines.make_engines(arguments, ModelFiles("none"))["ik_llama.cpp"]
            with unittest.mock.patch.object(engine, "_program", str), unittest.mock.patch.object(engine.models, "gguf", str):
                for model, row in ((mixture, alone), (mixture, PREFILL), (MODEL, DECODE)):
                    engine.command(model, row)
                if random_tokens:
                    engine.command(mixture, DECODE)
                else:
                    with self.assertRaisesRegex(Unavailable, "the same experts.*--ik-random-tokens"):
                        engine.command(mixture, DECODE)

    def test_a_table_on_stderr_is_read(self):
        engine = self.engines["ik_llama.cpp"]
        with tempfile.TemporaryDirectory() as engine.directory:
            for name in ("llama-bench", "llama-batched-bench"):
                path = os.path.join(engine.directory, name)
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\necho 'x '\ncat >&2 << EOF\n{BATCHED_BENCH}EOF\n")
                os.chmod(path, 0o755)
            with unittest.mock.patch.object(engine.models, "gguf", str):
                output, _ = program.run(engine.command(MODEL, DECODE), 10)
        self.assertEqual(engine.tokens_per_s(DECODE, output), 50.0)

    def test_llama_batched_bench(self):
        self.assertEqual(self.engines["llama.cpp"].tokens_per_s(DECODE, BATCHED_BENCH), 50.0)
        with self.assertRaisesRegex(ValueError, "printed no row"):
            engines.batched_bench_speed("\n".join(BATCHED_BENCH.splitlines()[:-1]))

    def test_a_python_peer(self):
        self.assertEqual(self.engines["openvino"].tokens_per_s(DECODE, 'loading\n{"tokens_per_s": 3.5}\n'), 3.5)

    def test_what_is_not_given_is_unavailable(self):
        with self.assertRaisesRegex(Unavailable, "--ik-llama-cpp"):
            self.engines["ik_llama.cpp"].prepare()
        with self.assertRaisesRegex(Unavailable, "Hugging Face directory"):
            self.engines["vllm"].command(MODEL, PREFILL)


class Streams(unittest.TestCase):
    """The worker's loops over an engine that computes one prompt a step, beside a token of each stream that runs."""

    class Engine:
        def __init__(self):
            self.waiting, self.running, self.steps, self.prompts = [], [], 0, []

        def add(self, tokens, most_tokens):
            self.prompts.append(tokens)
            self.waiting.append(most_tokens)

        def step(self):
            self.steps += 1
            if self.waiting:
                self.running.append(self.waiting.pop(0))
            tokens = len(self.running)
            self.running = [left - 1 for left in self.running if left > 1]
            return tokens

        def is_running(self):
            return bool(self.waiting or self.running)

    def test_all_streams_run_in_the_steps_that_count(self):
        engine = self.Engine()
        most_tokens = stream_worker.tokens_of_a_stream(4, 512, 8, 512)
        self.assertGreater(stream_worker.decode_speed(engine, 4, 512, 8, most_tokens), 0)
        self.assertEqual(engine.steps, 4 + stream_worker.UNCOUNTED_STEPS + 8)
        self.assertEqual(engine.step(), 4)  # nobody has ended
        self.assertEqual(len({tuple(tokens) for tokens in engine.prompts}), 4)

    def test_streams_that_end_before_the_last_begins_are_no_measurement(self):
        with self.assertRaisesRegex(SystemExit, "never ran all 4 streams"):
            stream_worker.decode_speed(self.Engine(), 4, 512, 8, 2)

    def test_streams_that_end_before_the_last_step_are_no_measurement(self):
        most_tokens = stream_worker.tokens_of_a_stream(1, 512, 8, 512)
        engine = self.Engine()
        self.assertGreater(stream_worker.decode_speed(engine, 1, 512, 8, most_tokens), 0)
        self.assertFalse(engine.is_running())
        with self.assertRaisesRegex(SystemExit, "1 streams got 7 tokens in 8 steps"):
            stream_worker.decode_speed(self.Engine(), 1, 512, 8, most_tokens - 1)

    def test_the_second_prompt_counts(self):
        engine = self.Engine()
        self.assertGreater(stream_worker.prefill_speed(engine, 32), 0)
        self.assertEqual([len(tokens) for tokens in engine.prompts], [32, 32])

    def test_one_stream_may_have_all_of_the_context(self):
        self.assertLessEqual(32640 + stream_worker.tokens_of_a_stream(1, 32640, cells.DECODE_STEPS, 512), 32768)


class Resuming(Folder):
    def test_a_measured_cell_is_not_measured_again(self):
        fast, slow = FakeEngine("weft", 20.0), FakeEngine("llama.cpp", 10.0)
        self.measure(self.results(), [fast, slow], rounds=1)
        self.assertEqual((fast.measured, slow.measured), (2, 2))
        self.measure(self.results(), [fast, slow], rounds=3)
        self.assertEqual((fast.measured, slow.measured), (6, 6))
        self.measure(self.results(), [fast, slow], rounds=3)
        self.assertEqual((fast.measured, slow.measured), (6, 6))

    def test_what_fails_is_tried_once_and_again_if_asked(self):
        broken = FakeEngine("openvino", None)
        self.measure(self.results(), [broken])
        self.measure(self.results(), [broken])
        self.assertEqual(broken.measured, 2)  # once a row
        _, reasons = self.results().figures()
        self.assertIn("no such type", reasons[MODEL.name, PREFILL.name, "openvino"])
        self.measure(self.results(), [broken], retry_failed=True)
        self.assertEqual(broken.measured, 2 + 2)
        broken.speed = 5.0
        self.measure(self.results(), [broken], retry_failed=True)
        self.assertEqual(broken.measured, 2 + 2 + 6)
        self.assertEqual(self.results().figures()[1], {})
        self.measure(self.results(), [broken])
        self.assertEqual(broken.measured, 2 + 2 + 6)

    def test_a_line_cut_off_is_measured_again(self):
        engine = FakeEngine("weft", 20.0)
        self.measure(self.results(), [engine], rounds=1)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write('{"model": "llama-1b-q4_0", "ro')
        self.assertEqual(len(self.results().records), 2)
        self.measure(self.results(), [engine], rounds=2)
        self.assertEqual(len(self.results().records), 4)

    def test_broken_lines_and_other_machines_are_refused(self):
        self.measure(self.results(), [FakeEngine("weft", 20.0)], rounds=1)
        with self.assertRaisesRegex(ValueError, "another machine or number of threads: found .*'threads': 2.*expected .*'threads': 4"):
            self.results(threads=4)
        with open(self.path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        with open(self.path, "w", encoding="utf-8") as file:
            file.write("\n".join([lines[0], "{", *lines[1:]]))
        with self.assertRaisesRegex(ValueError, "line 2: "):
            self.results()


class Order(Folder):
    def test_every_engine_is_first_as_often(self):
        chosen = [FakeEngine(name, 1.0) for name in ("a", "b", "c")]
        steps = list(program.schedule(self.arguments(rounds=3), chosen))
        self.assertEqual(len(steps), 3 * 2 * 3)
        firsts = [engine.name for _, _, _, engine in steps[::3]]
        self.assertEqual({name: firsts.count(name) for name in "abc"}, {"a": 2, "b": 2, "c": 2})
        self.assertEqual([number for number, _, _, _ in steps], sorted(number for number, _, _, _ in steps))


class Failures(Folder):
    def test_a_process_that_takes_too_long_is_ended(self):
        with self.assertRaisesRegex(Unavailable, "took more than 0 s"):
            program.run(["sleep", "60"], 0.2)

    def test_output_that_is_not_understood_is_a_reason(self):
        engine = FakeEngine("weft", "nothing")
        record = program.measure(engine, MODEL, PREFILL, self.arguments())
        self.assertIn("not understood", record["reason"])


class Table(Folder):
    def add(self, found, engine, row, speeds, **others):
        for number, speed in enumerate(speeds):
            found.add({"model": MODEL.name, "row": row.name, "engine": engine, "version": engine + " 1", "round": number,
                       "tokens_per_s": speed, **others})

    def test_medians_spread_ratio_and_reasons(self):
        found = self.results()
        self.add(found, "weft", PREFILL, [300.0, 100.0, 200.0])
        self.add(found, "llama.cpp", PREFILL, [80.0, 90.0, 100.4])
        self.add(found, "vllm", PREFILL, [50.0])
        self.add(found, "llama.cpp", DECODE, [9.876])
        found.add({"model": MODEL.name, "row": DECODE.name, "engine": "weft", "version": "weft 1", "round": 0,
                   "reason": "ended with status 1: no such type"})
        lines = results.table(found, [MODEL], [PREFILL, DECODE], ["weft", "llama.cpp", "vllm", "openvino"], {"openvino": "no wheel."})
        self.assertEqual(lines, [
            "| | Weft | llama.cpp | vllm | openvino | Weft / best peer |",
            "|---|---|---|---|---|---|",
            "| dense 1.2B (Llama) Q4_0, prefill 512 | 200 (100..300) | 90.0 (80.0..100) | 50.0 | - (1) | 2.22 |",
            "| decode 16 | - (2) | 9.88 | - (3) | - (1) | - |",
            "", "(1) openvino: no wheel.", "(2) weft: ended with status 1: no such type.", "(3) vllm: not measured."])
        text = results.report(found, lines)
        self.assertIn("20.0 GB/s", text)
        self.assertIn("weft: weft 1.", text)
        self.assertIn("up to 3 interleaved rounds", text)
        self.assertNotIn("Others used", text)

    def test_others_on_the_machine_are_reported(self):
        found = self.results()
        self.add(found, "weft", PREFILL, [1.0, 2.0], others_share=0.2)
        self.assertIn("Others used the machine in 2 of 2 measurements, up to 20% of it.", results.report(found, []))

    def test_own_processor_time_is_nobody_elses(self):
        watch = machine.OthersWatch()
        others, stolen = watch.shares(own_cpu_seconds=1e9, wall_seconds=1.0)
        self.assertEqual(others, 0.0)
        self.assertGreaterEqual(stolen, 0.0)
        self.assertTrue(json.dumps(machine.describe()))


if __name__ == "__main__":
    unittest.main()
