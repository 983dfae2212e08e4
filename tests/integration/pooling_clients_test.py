"""Cohere's Python client and OpenAI's against weft processes with small encoders, rankers and classifiers:
`pooling_clients_test.py --weft BINARY --parity DIRECTORY --venv DIRECTORY`. The clients are installed from PyPI (see
client_packages.py); DIRECTORY holds the models that parity is tested with."""

import base64
import os
import struct
import unittest

from harness import main, options
from weft_server import WeftServer

DOCUMENTS = ["the warp is held under tension", "a cat sat on the mat", "", "the weft crosses the warp"]
QUERY = "what crosses the warp"
TEXTS = [text or "loom" for text in DOCUMENTS]  # the fixtures have no tokens that would stand for an empty text


def serve(name):
    return WeftServer(options.weft, ["--model", os.path.join(options.parity, name, "hf"), "--served-model-name", "tested",
                                     "--memory", "1GiB"])


class Cohere(unittest.TestCase):
    def test_rerank(self):
        import cohere
        with serve("jina_reranker_v2") as server:
            for kind in (cohere.ClientV2, cohere.Client):  # /v2/rerank and /v1/rerank
                client = kind("none", base_url=f"http://127.0.0.1:{server.port}")
                answer = client.rerank(model="tested", query=QUERY, documents=DOCUMENTS)
                self.assertEqual(sorted(result.index for result in answer.results), [0, 1, 2, 3])
                scores = [result.relevance_score for result in answer.results]
                self.assertEqual(scores, sorted(scores, reverse=True))
                self.assertGreater(answer.meta.tokens.input_tokens, 0)
                best = client.rerank(model="tested", query=QUERY, documents=DOCUMENTS, top_n=2)
                self.assertEqual([result.index for result in best.results], [result.index for result in answer.results[:2]])
            with self.assertRaises(cohere.BadRequestError) as refused:
                client.rerank(model="tested", query=QUERY, documents=[])
            self.assertEqual(refused.exception.body["error"]["param"], "documents")
            with self.assertRaises(cohere.NotFoundError):
                client.rerank(model="other", query=QUERY, documents=DOCUMENTS)


class OpenAi(unittest.TestCase):
    def client(self, server):
        import openai
        return openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)

    def test_formats(self):
        with serve("bert") as server:
            client = self.client(server)
            default = client.embeddings.create(model="tested", input=DOCUMENTS[:2])  # the client asks for base64
            floats = client.embeddings.create(model="tested", input=DOCUMENTS[:2], encoding_format="float")
            for one, other in zip(default.data, floats.data):
                self.assertEqual([struct.unpack("f", struct.pack("f", x))[0] for x in other.embedding], list(one.embedding))
            scaled = client.embeddings.create(model="tested", input=DOCUMENTS[0], encoding_format="int8")
            largest = max(abs(x) for x in floats.data[0].embedding)
            for whole, x in zip(scaled.data[0].embedding, floats.data[0].embedding):
                self.assertLess(abs(whole - x * 127 / largest), 0.501)
            bits = client.embeddings.create(model="tested", input=DOCUMENTS[0], encoding_format="ubinary")
            self.assertEqual(int(bits.data[0].embedding[0]) >> 7, int(floats.data[0].embedding[0] > 0))
            raw = server.request("POST", "/v1/embeddings", {"input": DOCUMENTS[0], "encoding_format": "base64"})[1]
            self.assertEqual(len(base64.b64decode(raw["data"][0]["embedding"])), 4 * len(floats.data[0].embedding))

    def test_truncation(self):
        import openai
        with serve("bert") as server:
            client = self.client(server)
            lengthy = "weft " * 400
            with self.assertRaises(openai.BadRequestError) as refused:
                client.embeddings.create(model="tested", input=lengthy)
            self.assertEqual(refused.exception.code, "context_length_exceeded")
            cut = client.embeddings.create(model="tested", input=lengthy, extra_body={"truncate_prompt_tokens": -1})
            self.assertGreater(cut.usage.truncated_tokens, 0)
            self.assertGreater(cut.usage.prompt_tokens, 0)


class OtherShapes(unittest.TestCase):
    """Everything is held against proto/openapi.json when a server is left."""

    def test_rankers(self):
        with serve("jina_reranker_v2") as server:
            ranked = server.request("POST", "/rerank", {"query": QUERY, "texts": DOCUMENTS, "return_text": True})[1]
            scores = server.request("POST", "/v1/score", {"text_1": QUERY, "text_2": DOCUMENTS})[1]["data"]
            for result in ranked:
                self.assertEqual(result["text"], DOCUMENTS[result["index"]])
                self.assertEqual(result["score"], scores[result["index"]]["score"])
            status, refused = server.request("POST", "/v1/completions", {"prompt": "a"})
            self.assertEqual(status, 400)
            self.assertIn("it serves /v1/rerank", refused["error"]["message"])

    def test_classifiers(self):
        with serve("bert_classifier") as server:
            whole = server.request("POST", "/classify", {"input": TEXTS})[1]
            self.assertEqual(len(whole["data"]), 4)
            for entry, predictions in zip(whole["data"], server.request(
                    "POST", "/predict", {"inputs": [[text] for text in TEXTS]})[1]):
                self.assertEqual(predictions[0]["label"], entry["label"])
            pooled = server.request("POST", "/pooling", {"input": TEXTS[0]})[1]
            self.assertEqual(pooled["data"][0]["data"], whole["data"][0]["probs"])

    def test_embeddings(self):
        with serve("bert") as server:
            vectors = server.request("POST", "/embed", {"inputs": TEXTS})[1]
            self.assertEqual(len(vectors), 4)
            self.assertEqual(server.request("POST", "/embed_sparse", {"inputs": "a"})[0], 400)
            score = server.request("POST", "/score", {"text_1": QUERY, "text_2": QUERY})[1]["data"][0]["score"]
            self.assertAlmostEqual(score, 1, places=9)

    def test_sparse(self):
        with serve("distilbert_masked") as server:
            for entries in server.request("POST", "/embed_sparse", {"inputs": TEXTS})[1]:
                tokens = [entry["index"] for entry in entries]
                self.assertEqual(tokens, sorted(set(tokens)))


if __name__ == "__main__":
    main("parity", "venv")
