"""Weft beside the other engines for CPUs on this machine, in one interleaved run: `./weft bench compare-peers`.

Every measurement is a process of its own, which loads the model, warms up and measures one row once. A round goes over all models and
rows, and on each row over all engines, in an order that changes from row to row and from round to round; medians count. Peers and model
files (random weights of real shapes: speed does not depend on the values) are made when they are first needed, and kept in --cache:
llama.cpp is built from the sources that PyPI's llama-cpp-python ships, OpenVINO GenAI and vLLM are installed by pip in environments of
their own. What cannot be installed, or does not load a model, is a dash in the table, and a note says why.

Results are lines of JSON in OUT.jsonl, the table is OUT.md. A run that was interrupted, or that asks for more rows or rounds, measures
what is not there yet."""

import argparse
import contextlib
import datetime
import os
import signal
import subprocess
import sys
import time

import cells
import engines
import machine
import results
from installation import ModelFiles, Unavailable, say

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))
KEPT_ERROR = 300  # characters


def names(text):
    return [name for name in text.split(",") if name]


def parse_arguments(argv):
    cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "weft-peers")
    parser = argparse.ArgumentParser(prog="weft bench compare-peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog=f"models: {', '.join(cells.MODELS)}")
    parser.add_argument("--models", type=names, help="which, with commas between them (all; see below)")
    parser.add_argument("--rows", type=names, help="prefill-TOKENS, decode-STREAMS (behind 128 tokens) or decode-STREAMS@CONTEXT "
                                                   f"({','.join(cells.ROWS)})")
    parser.add_argument("--peers", type=names, help="columns of the table (all): weft,llama.cpp,ik_llama.cpp,ik_llama.cpp-rtr "
                                                    "(weights repacked at load),openvino,vllm")
    parser.add_argument("--rounds", type=int, help="of the whole table (5)")
    parser.add_argument("--quick", action="store_true", help=f"{','.join(cells.QUICK_MODELS)}; {','.join(cells.QUICK_ROWS)}; "
                                                             "weft,llama.cpp; one round; where nothing else is said")
    parser.add_argument("--threads", type=int, default=machine.cpu_count(), help="of every engine (all cores: %(default)s)")
    parser.add_argument("--weft", default=os.path.join(ROOT, "build", "release", "bin", "weft"), help="the binary (%(default)s)")
    parser.add_argument("--llama-cpp", metavar="DIR", help="llama.cpp's programs, instead of building them")
    parser.add_argument("--ik-llama-cpp", metavar="DIR", help="ik_llama.cpp's programs, which are never built here")
    parser.add_argument("--ik-random-tokens", action="store_true",
                        help="its llama-batched-bench was changed to draw tokens, as docs/PERFORMANCE.md says; otherwise streams of mixtures "
                             "are left out, since it gives all of them the same token, and thus the same experts")
    parser.add_argument("--prefix", type=lambda text: text.split(), default=[],
                        help="words before every measured command, as 'numactl --cpunodebind=0 --membind=0'")
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for one measurement (%(default).0f)")
    parser.add_argument("--retry-failed", action="store_true", help="measure again what failed")
    parser.add_argument("--table-only", action="store_true", help="measure nothing: the table of what is there")
    parser.add_argument("--cache", default=cache, help="folder of peers and models (%(default)s)")
    parser.add_argument("--out", default="compare-peers", help="results: OUT.jsonl and OUT.md (%(default)s)")
    arguments = parser.parse_args(argv)
    arguments.models = arguments.models or (cells.QUICK_MODELS if arguments.quick else list(cells.MODELS))
    arguments.rows = arguments.rows or (cells.QUICK_ROWS if arguments.quick else cells.ROWS)
    arguments.rounds = arguments.rounds or (1 if arguments.quick else 5)
    try:
        arguments.models = cells.parse_models(arguments.models)
        arguments.rows = [cells.parse_row(name) for name in arguments.rows]
    except ValueError as error:
        parser.error(str(error))
    return parser, arguments


def choose_engines(parser, arguments):
    known = engines.make_engines(arguments, ModelFiles(arguments.cache))
    chosen = arguments.peers or (["weft", "llama.cpp"] if arguments.quick else list(known))
    for name in chosen:
        if name not in known:
            parser.error(f"peer '{name}': expected some of {', '.join(known)}")
    return [known[name] for name in chosen]


def run(command, timeout):
    """(stdout, the processor time that it used in s); Unavailable, with the end of what it said, if it fails."""
    before = os.times()
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   errors="replace", start_new_session=True)
    except OSError as error:
        raise Unavailable(str(error)) from error
    try:
        output, errors = process.communicate(timeout=timeout)
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as error:
        with contextlib.suppress(ProcessLookupError):  # it may have ended meanwhile
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Unavailable(f"took more than {timeout:.0f} s") from error
    after = os.times()
    if process.returncode != 0:
        said = [line.strip() for line in (errors or output).splitlines() if line.strip()]
        raise Unavailable(f"ended with status {process.returncode}: {said[-1][-KEPT_ERROR:] if said else 'and said nothing'}")
    return output, after.children_user - before.children_user + after.children_system - before.children_system


def measure(engine, model, row, arguments):
    """A record of it, or of why there is none."""
    record = {"model": model.name, "row": row.name, "engine": engine.name, "version": engine.version,
              "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")}
    try:
        command = engine.command(model, row)
        watch = machine.OthersWatch()
        start = time.monotonic()
        output, own_cpu_seconds = run([*arguments.prefix, *command], arguments.timeout)
        seconds = time.monotonic() - start
        others_share, stolen_share = watch.shares(own_cpu_seconds, seconds)
        return {**record, "tokens_per_s": engine.tokens_per_s(row, output), "seconds": round(seconds, 1),
                "load_before": round(watch.load, 2), "others_share": others_share, "stolen_share": stolen_share}
    except Unavailable as error:
        return {**record, "reason": str(error)}
    except (ValueError, LookupError, StopIteration) as error:
        return {**record, "reason": f"its output was not understood: {error!r}"}


def schedule(arguments, chosen):
    """(round, model, row, engine) in the order in which they are measured."""
    for number in range(arguments.rounds):
        for index, (model, row) in enumerate((model, row) for model in arguments.models for row in arguments.rows):
            first = (number + index) % len(chosen)
            for engine in chosen[first:] + chosen[:first]:
                yield number, model, row, engine


def prepare(chosen, wanted):
    """Engines that are wanted learn their version; {engine: why it is not there} of the others."""
    unavailable = {}
    for engine in chosen:
        if engine.name in wanted:
            try:
                engine.version = engine.prepare()
            except (Unavailable, OSError, subprocess.CalledProcessError) as error:
                unavailable[engine.name] = str(error)
                say(f"without {engine.name}: {error}")
    return unavailable


def measure_all(found, arguments, chosen, unavailable):
    failed = set()  # in this run
    for number, model, row, engine in schedule(arguments, chosen):
        cell = (model.name, row.name, engine.name)
        if engine.name in unavailable or cell in failed or found.is_done(*cell, number, arguments.retry_failed):
            continue
        record = {**measure(engine, model, row, arguments), "round": number}
        found.add(record)
        if "reason" in record:
            failed.add(cell)
            said = record["reason"]
        else:
            said = f"{results.number(record['tokens_per_s'])} tokens/s in {record['seconds']:.0f} s"
            if record["others_share"] > results.MOST_OTHERS_SHARE:
                said += f"; WARNING: others used {record['others_share']:.0%} of the machine"
        say(f"round {number + 1}, {model.name}, {row.name}, {engine.name}: {said}")


def main():
    parser, arguments = parse_arguments(sys.argv[1:])
    chosen = choose_engines(parser, arguments)
    os.makedirs(arguments.cache, exist_ok=True)
    try:
        found = results.Results(arguments.out + ".jsonl", {**machine.describe(), "threads": arguments.threads},
                                lambda: machine.limits(arguments.prefix, arguments.weft, arguments.threads))
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        parser.error(str(error))
    unavailable = {}
    if not arguments.table_only:
        wanted = {engine.name for number, model, row, engine in schedule(arguments, chosen)
                  if not found.is_done(model.name, row.name, engine.name, number, arguments.retry_failed)}
        unavailable = prepare(chosen, wanted)
        measure_all(found, arguments, chosen, unavailable)
    lines = results.table(found, arguments.models, arguments.rows, [engine.name for engine in chosen], unavailable)
    text = results.report(found, lines)
    with open(arguments.out + ".md", "w", encoding="utf-8") as file:
        file.write(text)
    print(text, end="")


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # the measured process, in a session of its own, is ended too
    try:
        main()
    except KeyboardInterrupt:
        say("interrupted; the same command goes on from here")
        sys.exit(130)
