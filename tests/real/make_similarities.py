#!/usr/bin/env python3
"""Makes references/minilm.json, which real_encoder_test.py compares with: sentence-transformers' similarities, in float32.

usage: pip install -r ../tools/requirements-encoder-peers.txt
       make_similarities.py SHARED
"""

import json
import os
import sys

import sentence_transformers

import model_packages
import real_encoder


def main():
    sentences = real_encoder.read_sentences(sys.argv[1])
    models, reason = model_packages.find()
    if models is None:
        sys.exit(reason)
    model = sentence_transformers.SentenceTransformer(os.path.join(models, real_encoder.DIRECTORY), device="cpu")
    vectors = model.encode(sentences, normalize_embeddings=True).astype(float)
    found = [round(float(vectors[left] @ vectors[right]), 7) for left, right in real_encoder.pairs()]
    with open(real_encoder.REFERENCE, "w", encoding="utf-8") as file:
        json.dump({"sentences_sha256": real_encoder.digest(sentences), "similarities": found}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
