#!/usr/bin/env python3
"""One of encoder_peers.py's bare runtimes behind HTTP, with what a service needs to be quick and nothing else.

usage: pip install -r requirements-encoder-peers.txt
       serve_encoder_peer.py MODEL [--peer openvino-int8] [--port 8081] [--batch 64]

MODEL is a directory that `compare_encoders.py prepare` has made. GET /v1/models; POST /v1/embeddings with texts (not token ids),
in float or base64, or, for a classifier with one label, POST /v1/rerank. Texts that arrive while others are computed become the
next batch, of at most --batch, computed in pieces of similar length.
"""

import argparse
import asyncio
import base64
import concurrent.futures
import itertools
import json
import os

import numpy as np
import tokenizers
from aiohttp import web

import encoder_peers

SERVED = [name for name in encoder_peers.PEERS if name.startswith(("onnx-", "openvino"))]
SIMILAR_TOKENS = 32  # the lengths of a piece differ by less


class Batcher:
    """Computes on one thread what has come while it computed the last."""

    def __init__(self, peer, most_texts):
        self.peer = peer
        self.most_texts = most_texts
        self.waiting = asyncio.Queue()
        self.thread = concurrent.futures.ThreadPoolExecutor(max_workers=1)

    async def outputs(self, encodings):
        futures = [asyncio.get_running_loop().create_future() for _ in encodings]
        for each in zip(encodings, futures):
            self.waiting.put_nowait(each)
        return await asyncio.gather(*futures)

    async def run(self):
        loop = asyncio.get_running_loop()
        while True:
            batch = [await self.waiting.get()]
            while len(batch) < self.most_texts and not self.waiting.empty():
                batch.append(self.waiting.get_nowait())
            batch.sort(key=lambda each: len(each[0]))
            for _, piece in itertools.groupby(batch, key=lambda each: len(each[0]) // SIMILAR_TOKENS):
                encodings, futures = zip(*piece)
                try:
                    outputs = await loop.run_in_executor(self.thread, self.compute, encodings)
                except Exception as error:
                    outputs = [error] * len(futures)
                for output, future in zip(outputs, futures):
                    if future.done():  # its client has gone
                        continue
                    future.set_exception(output) if isinstance(output, Exception) else future.set_result(output)

    def compute(self, encodings):
        """A unit vector for each, the mean as the prepared models have it, or logits."""
        ids, mask, types = np.zeros((3, len(encodings), max(map(len, encodings))), dtype=np.int64)
        for row, encoding in enumerate(encodings):
            ids[row, :len(encoding)] = encoding.ids
            types[row, :len(encoding)] = encoding.type_ids
            mask[row, :len(encoding)] = 1
        outputs = self.peer.run(ids, mask, types)
        return encoder_peers.masked_mean_of(outputs, mask) if outputs.ndim == 3 else outputs


class Service:
    def __init__(self, directory, peer, most_texts):
        with open(os.path.join(directory, "config.json"), encoding="utf-8") as file:
            self.config = json.load(file)
        self.name = os.path.basename(os.path.normpath(directory))
        self.tokenizer = tokenizers.Tokenizer.from_file(os.path.join(directory, "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(self.config["max_position_embeddings"])
        self.batcher = Batcher(encoder_peers.PEERS[peer](directory), most_texts)

    async def outputs(self, texts):
        """Of texts or pairs, and how many tokens they have."""
        encodings = self.tokenizer.encode_batch_fast(texts)
        tokens = sum(map(len, encodings))
        return await self.batcher.outputs(encodings), {"prompt_tokens": tokens, "total_tokens": tokens}

    async def models(self, _):
        return web.json_response({"object": "list", "data": [{"id": self.name, "object": "model", "owned_by": "peer"}]})

    async def embeddings(self, request):
        body = await request.json()
        texts = body["input"]
        vectors, usage = await self.outputs([texts] if isinstance(texts, str) else texts)
        if body.get("encoding_format") == "base64":
            vectors = [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]
        else:
            vectors = [vector.tolist() for vector in vectors]
        data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        return web.json_response({"object": "list", "data": data, "model": self.name, "usage": usage})

    async def rerank(self, request):
        body = await request.json()
        logits, usage = await self.outputs([(body["query"], document) for document in body["documents"]])
        scores = 1 / (1 + np.exp(-np.array(logits, dtype=float)[:, 0]))
        results = [{"index": int(index), "relevance_score": scores[index]} for index in np.argsort(-scores, kind="stable")]
        return web.json_response({"model": self.name, "results": results, "usage": usage})

    async def start(self, app):
        app["batcher"] = asyncio.create_task(self.batcher.run())

    def app(self):
        app = web.Application(client_max_size=8 << 20)
        app.router.add_get("/v1/models", self.models)
        if self.config["architectures"][0].endswith("ForSequenceClassification"):
            app.router.add_post("/v1/rerank", self.rerank)
        else:
            app.router.add_post("/v1/embeddings", self.embeddings)
        app.on_startup.append(self.start)
        return app


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--peer", default="openvino-int8", choices=SERVED)
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--batch", type=int, default=64)
    args = parser.parse_args()
    service = Service(args.model, args.peer, args.batch)
    web.run_app(service.app(), host="127.0.0.1", port=args.port, access_log=None)


if __name__ == "__main__":
    main()
