"""Measures a row with an engine that is a package of Python's, in its environment: compare_peers starts it.

usage: stream_worker.py openvino|vllm MODEL prefill|decode SIZE CONTEXT STEPS BATCH_TOKENS THREADS

Prints {"tokens_per_s": N} as its last line. Tokens are random and no two prompts alike, so that no cache of prefixes helps."""

import json
import os
import random
import sys
import time

FIRST_TOKEN, LAST_TOKEN = 300, 30000  # in every vocabulary, none of them special
UNCOUNTED_STEPS = 2  # the first ones of all streams together meet shapes that the engine has not seen


class OpenVino:
    """Continuous batching over a GGUF file or OpenVINO's own directory."""

    def __init__(self, path, batch_tokens, streams, positions, threads):
        import openvino_genai
        self.genai = openvino_genai
        scheduler = openvino_genai.SchedulerConfig()
        scheduler.max_num_batched_tokens = batch_tokens
        scheduler.max_num_seqs = streams
        scheduler.enable_prefix_caching = False
        self.pipeline = openvino_genai.ContinuousBatchingPipeline(path, scheduler, "CPU", {"INFERENCE_NUM_THREADS": threads})
        self.handles = []

    def add(self, tokens, most_tokens):
        import numpy
        import openvino
        config = self.genai.GenerationConfig()
        config.max_new_tokens = most_tokens
        config.ignore_eos = True
        prompt = openvino.Tensor(numpy.array([tokens], numpy.int64))
        self.handles.append(self.pipeline.add_request(len(self.handles), prompt, config))

    def step(self):
        """Streams that got a token."""
        self.pipeline.step()
        return sum(1 for handle in self.handles if handle.can_read() and handle.read())

    def is_running(self):
        return self.pipeline.has_non_finished_requests()


class Vllm:
    """vLLM's engine over a Hugging Face directory, without a tokenizer."""

    def __init__(self, path, batch_tokens, streams, positions, threads):
        os.environ["OMP_NUM_THREADS"] = str(threads)
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        import vllm
        self.vllm = vllm
        model = vllm.LLM(path, skip_tokenizer_init=True, dtype="bfloat16", max_num_batched_tokens=batch_tokens,
                         max_num_seqs=streams, max_model_len=positions, enable_prefix_caching=False)
        self.engine = model.llm_engine
        self.added = 0

    def add(self, tokens, most_tokens):
        params = self.vllm.SamplingParams(temperature=0, max_tokens=most_tokens, ignore_eos=True, detokenize=False)
        self.engine.add_request(str(self.added), {"prompt_token_ids": tokens}, params)
        self.added += 1

    def step(self):
        """Streams that got a token."""
        return sum(1 for output in self.engine.step() if output.outputs and output.outputs[0].token_ids)

    def is_running(self):
        return self.engine.has_unfinished_requests()


ENGINES = {"openvino": OpenVino, "vllm": Vllm}


def prompt(tokens):
    return [random.randint(FIRST_TOKEN, LAST_TOKEN) for _ in range(tokens)]


def finish(engine):
    while engine.is_running():
        engine.step()


def prefill_speed(engine, tokens):
    """The second prompt of two: the first one is the warm-up."""
    for _ in range(2):
        engine.add(prompt(tokens), 1)
        start = time.monotonic()
        finish(engine)
        seconds = time.monotonic() - start
    return tokens / seconds


def tokens_of_a_stream(streams, context, steps, batch_tokens):
    """Streams whose prompt is computed first go on while the others' are: they need tokens for these steps, too."""
    others_steps = 2 * ((streams - 1) * context // batch_tokens + 1) if streams > 1 else 0
    return others_steps + 1 + UNCOUNTED_STEPS + steps


def decode_speed(engine, streams, context, steps, most_tokens):
    """Of `steps` steps in which every stream got a token."""
    for _ in range(streams):
        engine.add(prompt(context), most_tokens)
    while engine.step() < streams:
        if not engine.is_running():
            raise SystemExit(f"the engine never ran all {streams} streams at once")
    for _ in range(UNCOUNTED_STEPS):
        engine.step()
    start = time.monotonic()
    tokens = sum(engine.step() for _ in range(steps))
    seconds = time.monotonic() - start
    if tokens < streams * steps:
        raise SystemExit(f"{streams} streams got {tokens} tokens in {steps} steps: some had to wait, or ended")
    return tokens / seconds


def main():
    name, path, kind = sys.argv[1:4]
    size, context, steps, batch_tokens, threads = map(int, sys.argv[4:])
    random.seed(1)
    if kind == "prefill":
        engine = ENGINES[name](path, batch_tokens, 1, size + 1, threads)
        speed = prefill_speed(engine, size)
    else:
        most_tokens = tokens_of_a_stream(size, context, steps, batch_tokens)
        engine = ENGINES[name](path, batch_tokens, size, context + most_tokens, threads)
        speed = decode_speed(engine, size, context, steps, most_tokens)
    print(json.dumps({"tokens_per_s": speed}), flush=True)
    os._exit(0)  # what is left of the streams is of no interest, and neither is how the engine ends


if __name__ == "__main__":
    main()
