#!/usr/bin/env python3
"""`weft serve` beside its encoder peers behind HTTP (serve_encoder_peer.py), all driven by `weft loadtest`: docs/PERFORMANCE.md.

usage: pip install -r requirements-encoder-peers.txt
       compare_encoders.py prepare MODELS
       compare_encoder_servers.py MODELS --weft build/release/bin/weft [--rounds 3] [--seconds 10] [--requests 30]
           [--peers openvino-int8,...] [--weft-options='--weights q8_0'] [--embedder minilm] [--results FILE]

Servers run one at a time, in turns, on the cores that the load test uses too. Embeddings are asked for by 32 clients for so many
seconds, rankings by one, so many times. Prints a line a run, how well answers agree, then a table: medians over the rounds of the
runs that are valid. --results appends a JSON object a run to FILE.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import shlex
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np

import encoder_peers

CLIENTS = ["--endpoint", "embeddings", "--concurrency", "32", "--warmup", "64"]
RERANKER = "rerank-minilm"
EMBEDDING_LOADS = {
    "16 tokens": [*CLIENTS, "--prompt-tokens", "16"],
    "128 tokens": [*CLIENTS, "--prompt-tokens", "128"],
    "8 texts of 16 tokens": [*CLIENTS, "--prompt-tokens", "16", "--texts-per-request", "8"],
}
RERANK_LOADS = {
    "100 documents of 100 tokens": ["--endpoint", "rerank", "--concurrency", "1", "--warmup", "2", "--prompt-tokens", "100",
                                    "--documents-per-request", "100"],
}
MOST_START_SECONDS = 120
WORDS = "the old house stood by a river and in its garden grew one tree that gave no fruit for years until a child came".split()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(url, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as response:
        return json.load(response)


def server_command(args, server, directory, port):
    if server == "weft":
        return [args.weft, "serve", "--model", directory, "--port", str(port), "--threads", str(encoder_peers.THREADS),
                "--log-level", "warning", *shlex.split(args.weft_options)]
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "serve_encoder_peer.py")
    return [sys.executable, script, directory, "--peer", server, "--port", str(port)]


@contextlib.contextmanager
def running(args, server, model):
    """The URL of the server, which answers by then."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = server_command(args, server, os.path.join(args.models, model), port)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            latest = time.monotonic() + MOST_START_SECONDS
            while True:
                with contextlib.suppress(urllib.error.URLError):
                    ask(url + "/v1/models")
                    break
                if process.poll() is not None or time.monotonic() > latest:
                    raise RuntimeError(f"does not answer: {shlex.join(command)}")
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()


def sample_answer(url, model):
    """The vectors of some texts, a row each, or in one row the logits of some documents, less their mean."""
    draw = random.Random(1)
    texts = [" ".join(draw.choices(WORDS, k=length)) for length in (8, 16, 16, 32, 64, 100, 128, 300)]
    if model != RERANKER:
        data = ask(url + "/v1/embeddings", {"model": model, "input": texts})["data"]
        return np.array([each["embedding"] for each in data])
    results = ask(url + "/v1/rerank", {"model": model, "query": texts[0], "documents": texts[1:]})["results"]
    scores = np.array([each["relevance_score"] for each in sorted(results, key=lambda each: each["index"])])
    logits = np.log(scores / (1 - scores))
    return (logits - logits.mean())[None]


def least_cosine(left, right):
    return ((left * right).sum(axis=1) / (np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1))).min()


def run_load(args, url, options, seed):
    command = [args.weft, "loadtest", "--url", url, *options, "--seed", str(seed), "--no-progress", "--json"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(run.stdout) if run.stdout else {"failed": run.stderr}
    if report["failed"]:
        raise RuntimeError(f"{shlex.join(command)}: {report}")
    latency = report["latency_ms"]["e2e"]
    return {"requests": report["succeeded"], "texts_per_s": report["texts_per_s"], "p50_ms": latency["p50"],
            "p95_ms": latency["p95"], "faults": "; ".join(report["faults"])}


def measure_server(args, server, round_number, record):
    """Calls `record` of each load, and returns the server's answers, by model."""
    answers = {}
    amounts = {args.embedder: (EMBEDDING_LOADS, ["--duration", f"{args.seconds}s"]),
               RERANKER: (RERANK_LOADS, ["--requests", str(args.requests)])}
    for model, (loads, amount) in amounts.items():
        with running(args, server, model) as url:
            answers[model] = sample_answer(url, model)
            for load, options in loads.items():
                record({"round": round_number, "server": server, "model": model, "load": load,
                        **run_load(args, url, [*options, *amount], round_number)})
    return answers


def print_table(rows, servers):
    cells = collections.defaultdict(list)
    for row in rows:
        if not row["faults"]:
            cells[row["model"], row["load"], row["server"]].append(row)
    print("| model, load | server | texts/s | p50 ms | p95 ms | Weft's texts/s to its | Weft's p95 to its |")
    print("|---|---|---|---|---|---|---|")
    for model, load in dict.fromkeys((row["model"], row["load"]) for row in rows):
        weft = None
        for server in servers:
            found = cells[model, load, server]
            if not found:
                print(f"| {model}, {load} | {server} | no valid run |")
                continue
            texts, p50, p95 = (statistics.median(row[name] for row in found) for name in ("texts_per_s", "p50_ms", "p95_ms"))
            if server == "weft":
                weft = texts, p95
            ratios = f"{weft[0] / texts:.2f} | {weft[1] / p95:.2f}" if weft and server != "weft" else "|"
            print(f"| {model}, {load} | {server} | {texts:.4g} | {p50:.4g} | {p95:.4g} | {ratios} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models")
    parser.add_argument("--weft", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--requests", type=int, default=30)
    parser.add_argument("--peers", default="openvino-int8")
    parser.add_argument("--weft-options", default="--weights q8_0")
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--results")
    args = parser.parse_args()
    rows = []

    def record(row):
        rows.append(row)
        print(*(f"{value:.4g}" if isinstance(value, float) else value for value in row.values()), sep=", ", flush=True)
        if args.results:
            with open(args.results, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")

    servers = ["weft", *args.peers.split(",")]
    for round_number in range(args.rounds):
        answers = {}
        for server in servers if round_number % 2 == 0 else reversed(servers):
            answers[server] = measure_server(args, server, round_number, record)
        if round_number == 0:
            for server in servers[1:]:
                for model, values in answers[server].items():
                    print(f"{model}: least cosine of weft and {server} {least_cosine(values, answers['weft'][model]):.4f}")
    print_table(rows, servers)


if __name__ == "__main__":
    main()
