"""Whether streams feel a batch: `batch_pace_test.py --weft BINARY --model MODEL`. The load generator's streams run with and without
a batch beside them, in turn, so that whatever else the machine does falls on both; of the gaps between their tokens the worst ones
(the 99th percentile of each run) are compared. WEFT_PACE_ROUNDS says how often (6); a machine that others use needs more."""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))

from weft_server import WeftServer  # noqa: E402

ROUNDS = int(os.environ.get("WEFT_PACE_ROUNDS", "6"))
MOST = 1.05


def gaps(weft, port):
    """The gaps between tokens of three streams at a time, in ms: {"p50", "p99", "max", ...}."""
    done = subprocess.run([weft, "loadtest", "--url", f"http://127.0.0.1:{port}", "--concurrency", "3", "--requests", "9", "--warmup", "1",
                           "--prompt-tokens", "16", "--max-tokens", "200", "--ignore-eos", "--no-progress", "--json"],
                          capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["latency_ms"]["itl"]


def create_batch(server):
    """One of thousands of lines, with prompts to be computed as well as texts."""
    lines = "".join(json.dumps({"custom_id": str(i), "method": "POST", "url": "/v1/completions", "body": {
        "prompt": f"{i} " * 200, "max_tokens": 100, "ignore_eos": True}}) + "\n" for i in range(5000))
    form = ('--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--b\r\nContent-Disposition: form-data; '
            f'name="file"; filename="in.jsonl"\r\n\r\n{lines}\r\n--b--\r\n')
    connection = http.client.HTTPConnection("127.0.0.1", server.process_port, timeout=60)
    connection.request("POST", "/v1/files", form, {"Content-Type": "multipart/form-data; boundary=b"})
    file = json.loads(connection.getresponse().read())
    _, batch = server.request("POST", "/v1/batches",
                              {"input_file_id": file["id"], "endpoint": "/v1/completions", "completion_window": "24h"})
    return batch["id"]


def done_of(server, batch):
    return server.request("GET", f"/v1/batches/{batch}")[1]["request_counts"]["completed"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--weft", required=True)
    parser.add_argument("--model", required=True)
    options = parser.parse_args()
    worst = {"alone": [], "beside a batch": []}
    typical = {"alone": [], "beside a batch": []}
    with tempfile.TemporaryDirectory() as directory, WeftServer(
            options.weft, ["--model", options.model, "--files-dir", os.path.join(directory, "files")]) as server:
        gaps(options.weft, server.process_port)  # what a step costs is learned
        for _ in range(ROUNDS):
            for case in worst:
                batch = create_batch(server) if case != "alone" else None
                while batch and done_of(server, batch) == 0:  # it runs, and its steps are known
                    time.sleep(0.05)
                found = gaps(options.weft, server.process_port)
                worst[case].append(found["p99"])
                typical[case].append(found["p50"])
                if batch:
                    done = done_of(server, batch)
                    server.request("POST", f"/v1/batches/{batch}/cancel", {})
                    while server.request("GET", f"/v1/batches/{batch}")[1]["status"] != "cancelled":
                        time.sleep(0.05)
                    print(f"{done} lines of the batch were done", flush=True)
    for case, values in worst.items():
        print(f"{case}: worst gaps {', '.join(f'{value:.2f}' for value in values)} ms, "
              f"typical gap {statistics.median(typical[case]):.2f} ms")
    ratio = statistics.median(worst["beside a batch"]) / statistics.median(worst["alone"])
    print(f"the worst gap beside a batch is {ratio:.3f} of the worst one alone; {MOST} is allowed")
    return 0 if ratio <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
