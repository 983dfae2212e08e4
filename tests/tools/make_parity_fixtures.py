#!/usr/bin/env python3
"""Makes the parity fixtures: for each family and variant a tiny random checkpoint and its logits.

A fixture is a folder in tests/model/fixtures/parity/ with
  hf/            the checkpoint as a Hugging Face directory
  model.gguf     the same weights as GGUF, by llama.cpp's converter (where it knows the family; the first ones by a writer here)
  expected.json  prompts, greedy continuations, margins; the shape of logits.f32
  logits.f32     float32, little endian: for each prompt its logits at every position (prefill), then the logits of
                 every step of the continuation (one token a step, with transformers' cache); of an encoder hidden.f32 instead:
                 for each text the hidden state of every position, the second half of it being a second text where there are types;
                 a classifier's logits are in expected.json

parity_models.py has the families, parity_reference.py makes their models, parity_decoders.py and parity_encoders.py the fixtures of
these; parity_files.py writes the files, parity_converter.py runs llama.cpp's converter.
Weights are drawn from numpy's PCG64, one stream a tensor. Prompts are searched token by token so that at every position
  * the likeliest token leads by 10 x the tolerance of the float32 test, and by 4 x the error that bf16 arithmetic makes there,
  * the last expert chosen leads the first one left out by 10 x the error that bf16 arithmetic makes in the router's logits.
Each tensor's values reversed, and each change of the configuration named as visible, must change the logits by 20 x the tolerance.
A found prompt is kept: making the fixtures again reads it from expected.json, unless --search.

usage: pip install -r requirements-parity.txt; a checkout of llama.cpp at parity_files.LLAMA_CPP_COMMIT, outside this repository
       make_parity_fixtures.py --llama-cpp DIRECTORY [--search] [NAME ...]   writes the fixtures
       make_parity_fixtures.py --llama-cpp DIRECTORY --check [NAME ...]      compares with the committed ones: same weight bytes,
                                                                             logits within 1e-6
"""

import argparse
import filecmp
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import torch
import transformers

from parity_decoders import make_decoder
from parity_encoders import make_encoder, make_encoder_decoder
from parity_files import Converter
from parity_models import FIXTURES

DIRECTORY = pathlib.Path(__file__).resolve().parent.parent / "model" / "fixtures" / "parity"


def check(name, made):
    """True if the committed fixture is the one just made."""
    committed, good = DIRECTORY / name, True
    files = sorted(p.relative_to(made) for p in made.rglob("*") if p.is_file() and p.suffix in (".safetensors", ".gguf"))
    for path in files:
        if not filecmp.cmp(made / path, committed / path, shallow=False):
            print(f"{name}: {path} differs")
            good = False
    numbers = "hidden.f32" if FIXTURES[name].is_encoder else "logits.f32"
    ours, theirs = (np.fromfile(d / numbers, "<f4") for d in (made, committed))
    error = np.abs(ours - theirs).max() / np.abs(theirs).max() if ours.shape == theirs.shape else np.inf
    print(f"{name}: {len(files)} weight files compared, largest difference of {numbers} {error:.1e}")
    return good and error <= 1e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--llama-cpp")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    good, converter = True, Converter(arguments.llama_cpp)
    for name in arguments.names or FIXTURES:
        record = DIRECTORY / name / "expected.json"
        is_decoder = not FIXTURES[name].is_encoder and not FIXTURES[name].is_encoder_decoder
        keep = record.exists() and not arguments.search and is_decoder
        prompts = [case["prompt"] for case in json.loads(record.read_text())["cases"]] if keep else None
        with tempfile.TemporaryDirectory() as scratch:
            made = pathlib.Path(scratch) / name
            if FIXTURES[name].is_encoder:
                make_encoder(name, made, converter)
            elif FIXTURES[name].is_encoder_decoder:
                make_encoder_decoder(name, made, converter)
            else:
                make_decoder(name, made, prompts, converter)
            if arguments.check:
                good = check(name, made) and good
            else:
                shutil.rmtree(DIRECTORY / name, ignore_errors=True)
                shutil.copytree(made, DIRECTORY / name)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
