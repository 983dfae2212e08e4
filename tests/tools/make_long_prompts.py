#!/usr/bin/env python3
"""What transformers makes of a prompt of 700 tokens with the models that keep a state, for tests/model/long_prompt_test.cc.

Writes tests/model/fixtures/long_prompts/: prompt.json has the tokens, and the positions whose logits NAME.f32 has, float32, little
endian, one after the other. The models are those of the parity fixtures.

usage: pip install -r requirements-parity.txt; make_long_prompts.py
"""

import json
import pathlib

import numpy as np
import torch
import transformers

from parity_decoders import prefill
from parity_files import BYTE_TOKENS
from parity_reference import make_model, reference

DIRECTORY = pathlib.Path(__file__).resolve().parent.parent / "model" / "fixtures" / "long_prompts"
NAMES = ("falcon_h1", "granitehybrid", "granitehybrid_moe", "lfm2", "lfm2_moe", "mamba2", "nemotron_h", "nemotron_h_moe", "qwen3_5",
         "qwen3_5_moe", "qwen3_next")
POSITIONS = (63, 64, 255, 511, 698, 699)  # transformers computes chunks of 64, or of 256


def main():
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    DIRECTORY.mkdir(exist_ok=True)
    tokens = np.random.default_rng(700).choice(BYTE_TOKENS, POSITIONS[-1] + 1).tolist()
    (DIRECTORY / "prompt.json").write_text(json.dumps({"tokens": tokens, "positions": POSITIONS}) + "\n")
    for name in NAMES:
        with reference(name):
            logits = prefill(make_model(name), tokens)[0, list(POSITIONS)].numpy().astype("<f4")
        logits.tofile(DIRECTORY / f"{name}.f32")
        print(f"{name}: {logits.shape}", flush=True)


if __name__ == "__main__":
    main()
