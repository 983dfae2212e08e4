#!/usr/bin/env python3
"""Weft's encoders beside ONNX Runtime, OpenVINO and llama.cpp on this machine: the tables of docs/PERFORMANCE.md.

usage: pip install -r requirements-encoder-peers.txt
       compare_encoders.py prepare MODELS --converter llama.cpp/convert_hf_to_gguf.py
       compare_encoders.py measure MODELS --weft build/release/bin/weft --rounds 3 --results FILE
       compare_encoders.py table FILE...

`measure` appends a JSON object a line to FILE: of every round, model and engine (a process of its own, one after the other), the
texts/s of each length and number at once. Bare runtimes get token ids and give vectors; sentence-transformers gets texts.
"""

import argparse
import collections
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np

import encoder_peers

MODELS = ("minilm", "bge-base")
LENGTHS = (16, 128, 512)
BATCHES = (1, 64)
WEFT = {"weft": ["--weights", "q8_0", "--kv-type", "q8"], "weft-kv-bf16": ["--weights", "q8_0"], "weft-bf16": []}
LEAST_SECONDS = 1.0


def measure_peer(directory, name):
    """Texts/s by (tokens, texts)."""
    peer = encoder_peers.PEERS[name](directory)
    random = np.random.default_rng(1)
    found = []
    for length in LENGTHS:
        for texts in BATCHES:
            ids = random.integers(1000, 30000, (texts, length), dtype=np.int64)
            peer.encode(ids[:8])  # warms up what depends on the shape
            if texts * length < 4096:
                peer.encode(ids)
            times = []
            while sum(times) < LEAST_SECONDS:
                start = time.perf_counter()
                peer.encode(ids)
                times.append(time.perf_counter() - start)
            found.append({"tokens": length, "texts": texts, "texts_per_s": texts / statistics.median(times)})
    return found


def measure_weft(binary, directory, options):
    command = [binary, "bench", "--model", directory, "--threads", str(encoder_peers.THREADS), "--no-limits", "--json", *options,
               "--prompt-tokens", ",".join(map(str, LENGTHS)), "--batch", ",".join(map(str, BATCHES))]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = [json.loads(line) for line in output.splitlines()]
    return [{key: row[key] for key in ("tokens", "texts", "texts_per_s")} for row in rows]


def measure(args):
    names = args.engines.split(",") if args.engines else [*WEFT, *encoder_peers.PEERS]
    for round_number in range(args.rounds):
        for model in args.only.split(",") if args.only else MODELS:
            directory = os.path.join(args.models, model)
            for name in names:
                if name in WEFT:
                    found = measure_weft(args.weft, directory, WEFT[name])
                else:
                    command = [sys.executable, __file__, "one", directory, name]
                    run = subprocess.run(command, check=True, capture_output=True, text=True)
                    found = json.loads(run.stdout.splitlines()[-1])
                with open(args.results, "a", encoding="utf-8") as file:
                    for each in found:
                        file.write(json.dumps({"round": round_number, "model": model, "engine": name, **each}) + "\n")
                print(model, name, [round(each["texts_per_s"], 1) for each in found], flush=True)


def table(args):
    cells = collections.defaultdict(list)
    for path in args.files:
        with open(path, encoding="utf-8") as file:
            for line in file:
                row = json.loads(line)
                cells[row["model"], row["tokens"], row["texts"], row["engine"]].append(row["texts_per_s"])
    engines = list(dict.fromkeys(key[3] for key in cells))
    peers = [name for name in engines if name not in WEFT]
    print("| model, tokens, texts at once |", " | ".join(engines), "| weft / best peer |")
    print("|" + "---|" * (len(engines) + 2))
    for place in dict.fromkeys(key[:3] for key in cells):
        middle = {name: statistics.median(cells[*place, name]) for name in engines if cells[*place, name]}
        best = max(middle[name] for name in peers if name in middle)
        figures = [f"{middle[name]:.4g}" if name in middle else "" for name in engines]
        print(f"| {place[0]}, {place[1]}, {place[2]} |", " | ".join(figures), f"| {middle['weft'] / best:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("prepare")
    one.add_argument("models")
    one.add_argument("--converter", default="")
    one = commands.add_parser("measure")
    one.add_argument("models")
    one.add_argument("--weft", required=True)
    one.add_argument("--rounds", type=int, default=3)
    one.add_argument("--results", required=True)
    one.add_argument("--engines", default="", help="some of " + ",".join([*WEFT, *encoder_peers.PEERS]))
    one.add_argument("--only", default="", help="some of " + ",".join(MODELS))
    one = commands.add_parser("table")
    one.add_argument("files", nargs="+")
    one = commands.add_parser("one")
    one.add_argument("directory")
    one.add_argument("name")
    args = parser.parse_args()
    if args.command == "prepare":
        encoder_peers.prepare(args.models, args.converter)
    elif args.command == "one":
        print(json.dumps(measure_peer(args.directory, args.name)))
    else:
        {"measure": measure, "table": table}[args.command](args)


if __name__ == "__main__":
    main()
