#!/usr/bin/env python3
"""Writes tests/model/fixtures/relative_buckets.json: the buckets that transformers gives to relative positions.

For each number of buckets, largest distance and direction: where in -600 .. 600 a new bucket begins, as [distance, bucket] pairs.

usage: pip install -r requirements-parity.txt; make_relative_bucket_fixture.py
"""

import json
import pathlib

import torch
import transformers
from transformers.models.t5.modeling_t5 import T5Attention

SIZES = [(32, 128), (32, 64), (32, 256), (32, 500), (8, 20), (12, 64), (14, 50), (20, 100), (4, 16), (64, 128), (64, 1000), (128, 512),
         (100, 300)]
REACH = 600


def runs(count, max_distance, causal):
    distances = torch.arange(-REACH, REACH + 1)
    buckets = T5Attention._relative_position_bucket(distances, bidirectional=not causal, num_buckets=count, max_distance=max_distance)
    pairs = list(zip(distances.tolist(), buckets.tolist()))
    return [pairs[0], *(now for before, now in zip(pairs, pairs[1:]) if before[1] != now[1])]


def main():
    cases = [{"count": count, "max_distance": max_distance, "is_causal": causal, "runs": runs(count, max_distance, causal)}
             for count, max_distance in SIZES for causal in (False, True)]
    record = {"made_with": {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}, "reach": REACH,
              "cases": cases}
    path = pathlib.Path(__file__).resolve().parent.parent / "model" / "fixtures" / "relative_buckets.json"
    path.write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
