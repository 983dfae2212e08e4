"""The gaps between the tokens of streams, alone and while another model of the same server embeds texts.

usage: measure_mixed_load.py PORT DECODER ENCODER TEXT_FILE [--streams 4] [--clients 4] [--texts 10000] [--batch 16]

DECODER and ENCODER are names of models that the server on PORT has. Prints percentiles, and the ratio of both p99s.
"""
import argparse
import http.client
import json
import random
import threading
import time

SECONDS_ALONE = 15


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("port", type=int)
    parser.add_argument("decoder")
    parser.add_argument("encoder")
    parser.add_argument("text_file")
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--texts", type=int, default=10000)
    parser.add_argument("--batch", type=int, default=16)
    return parser.parse_args()


def make_corpus(path, count):
    with open(path, encoding="utf-8") as file:
        words = file.read().split()
    draw = random.Random(1)
    starts = (draw.randrange(len(words) - 64) for _ in range(count))
    return [" ".join(words[start:start + draw.choice([8, 16, 32, 64])]) for start in starts]


def post(connection, path, body):
    connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    response = connection.getresponse()
    if response.status != 200:
        raise RuntimeError(f"{path}: {response.status} {response.read(300)!r}")
    return response


class Streams:
    """Streams one after the other in each of several threads, until stop(), which returns the gaps in seconds."""

    def __init__(self, port, model, count):
        self.port, self.model = port, model
        self.stopped = threading.Event()
        self.gaps = []
        self.threads = [threading.Thread(target=self.run) for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self):
        body = {"model": self.model, "prompt": "Once upon a time", "max_tokens": 400, "stream": True, "ignore_eos": True,
                "temperature": 0}
        while not self.stopped.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
            response = post(connection, "/v1/completions", body)
            last = None
            while not self.stopped.is_set() and (line := response.readline()):
                if not line.startswith(b"data: {"):
                    continue
                now = time.perf_counter()
                if last is not None:
                    self.gaps.append(now - last)
                last = now
            connection.close()

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join()
        return sorted(self.gaps)


def embed(port, model, corpus, clients, batch):
    """The seconds that it takes."""
    batches = iter([corpus[i:i + batch] for i in range(0, len(corpus), batch)])
    lock = threading.Lock()

    def work():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        while True:
            with lock:
                texts = next(batches, None)
            if texts is None:
                return
            post(connection, "/v1/embeddings", {"model": model, "input": texts, "encoding_format": "base64"}).read()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


def report(name, gaps):
    quantile = lambda part: 1e3 * gaps[min(len(gaps) - 1, int(part * len(gaps)))]
    print(f"{name}: {len(gaps)} gaps, p50 {quantile(0.5):.2f}, p90 {quantile(0.9):.2f}, p99 {quantile(0.99):.2f}, "
          f"p99.9 {quantile(0.999):.2f}, at most {quantile(1):.2f} ms", flush=True)
    return quantile(0.99)


def main():
    arguments = read_arguments()
    corpus = make_corpus(arguments.text_file, arguments.texts)
    everything = (arguments.port, arguments.encoder, corpus, arguments.clients, arguments.batch)
    print(f"embedding alone: {len(corpus) / embed(*everything):.0f} texts/s", flush=True)
    streams = Streams(arguments.port, arguments.decoder, arguments.streams)
    time.sleep(SECONDS_ALONE)
    alone = report("streams alone", streams.stop())
    streams = Streams(arguments.port, arguments.decoder, arguments.streams)
    print(f"embedding beside streams: {len(corpus) / embed(*everything):.0f} texts/s", flush=True)
    beside = report("streams beside", streams.stop())
    print(f"p99 beside / p99 alone: {beside / alone:.2f}")


if __name__ == "__main__":
    main()
