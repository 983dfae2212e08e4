#!/usr/bin/env python3
"""Makes the fixtures of quantised checkpoints: Hugging Face directories as GPTQModel, AutoAWQ, compressed-tensors, transformers,
bitsandbytes and MLX store a tiny random model, and what these libraries read from them.

A fixture is a folder in tests/model/fixtures/quantized/ with the directory's files (config.json, model.safetensors, tokenizer.json) and
  expected.safetensors   each quantised matrix in float32 under the name of the plain one, by its library's own code;
                         tokens (I64) and logits (positions x vocabulary) of transformers' float32 model with these matrices

quantized_fixtures.py has the fixtures, quantized_formats.py packs matrices and dequantises them.
Weights are drawn from numpy's PCG64, one stream a tensor; some columns are larger, as outliers of real models are.

usage: pip install -r requirements-quantized.txt; pip install --no-deps gptqmodel==7.7.0 (needs no GPU)
       make_quantized_fixtures.py [NAME ...]           writes the fixtures
       make_quantized_fixtures.py --check [NAME ...]   compares with the committed ones: the same bytes, logits within 1e-6 of the largest
"""

import argparse
import copy
import json
import pathlib
import re
import shutil
import sys
import tempfile
import zlib

import numpy as np
import safetensors.torch
import torch
import transformers

from parity_files import write_tokenizer
from quantized_fixtures import FIXTURES, SIZES

DIRECTORY = pathlib.Path(__file__).resolve().parent.parent / "model" / "fixtures" / "quantized"
TOKENS = 12
OUTLIERS = 3  # of the columns of a matrix, and how much larger these are
OUTLIER_GAIN = 6.0


def random_values(fixture_name, tensor_name, shape):
    random = np.random.default_rng([zlib.crc32(fixture_name.encode()), zlib.crc32(tensor_name.encode())])
    if len(shape) == 1:
        return torch.from_numpy(random.uniform(0.7, 1.3, shape).astype(np.float32))
    is_embedding = "embed_tokens" in tensor_name
    values = random.standard_normal(shape) * (0.6 if is_embedding else 1.4 * shape[1]**-0.5)
    if not is_embedding:
        values[:, random.choice(shape[1], OUTLIERS, replace=False)] *= OUTLIER_GAIN
    return torch.from_numpy(values.astype(np.float32))


def load(config, tensors):
    """transformers' model of these tensors, which have the names of published files."""
    with tempfile.TemporaryDirectory() as directory:
        copy.deepcopy(config).save_pretrained(directory)
        safetensors.torch.save_file(tensors, pathlib.Path(directory) / "model.safetensors", metadata={"format": "pt"})
        model_class = getattr(transformers, config.architectures[0])
        model, report = model_class.from_pretrained(directory, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    assert not any(report.values()), report
    return model.eval()


def published_shapes(config):
    """The names and shapes of a checkpoint's tensors."""
    with tempfile.TemporaryDirectory() as directory:
        getattr(transformers, config.architectures[0])(copy.deepcopy(config)).save_pretrained(directory)
        tensors = safetensors.torch.load_file(pathlib.Path(directory) / "model.safetensors")
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def make(name, directory):
    fixture = FIXTURES[name]
    config = getattr(transformers, fixture.model).config_class(**copy.deepcopy({**SIZES, **fixture.sizes}))
    config.architectures, config.dtype = [fixture.model], fixture.element_type
    stored, read, expected = {}, {}, {}
    for tensor_name, shape in published_shapes(config).items():
        values, module = random_values(name, tensor_name, shape), tensor_name.removesuffix(".weight")
        if len(shape) == 1 or re.search(fixture.plain, module):
            stored[tensor_name] = values.to(fixture.element_type)
            read[tensor_name] = stored[tensor_name].float()
            continue
        parts, matrix = fixture.quantize(module, values)
        assert matrix.dtype == torch.float32 and matrix.shape == values.shape
        error = float((matrix - values).norm() / values.norm())
        assert error < 0.3, (tensor_name, error)  # of outliers beside small values; a wrong code costs more
        stored |= {f"{module}.{part}": value.contiguous() for part, value in parts.items()}
        read[tensor_name] = expected[tensor_name] = matrix.contiguous()
    tokens = torch.from_numpy(np.random.default_rng(zlib.crc32(name.encode())).integers(0, 256, TOKENS))
    with torch.no_grad():
        logits = load(config, read)(tokens[None]).logits[0]
    directory.mkdir(parents=True)
    writer = "mlx" if fixture.key == "quantization" else "pt"
    safetensors.torch.save_file(stored, directory / "model.safetensors", metadata={"format": writer})
    safetensors.torch.save_file({**expected, "tokens": tokens, "logits": logits.contiguous()}, directory / "expected.safetensors")
    config.save_pretrained(directory)
    said = json.loads((directory / "config.json").read_text())
    said |= {key: fixture.quantization for key in {fixture.key, "quantization_config"}}  # MLX's has it twice
    (directory / "config.json").write_text(json.dumps(said, indent=2, sort_keys=True) + "\n")
    write_tokenizer(directory, config.vocab_size, indented=False)
    size = sum(path.stat().st_size for path in directory.iterdir())
    print(f"{name}: {size} bytes, logits of {float(logits.std()):.2f}, {len(expected)} matrices")


def check(name, made):
    """True if the committed fixture is the one just made."""
    committed, good = DIRECTORY / name, True
    for path in sorted(made.iterdir()):
        if path.name != "expected.safetensors" and path.read_bytes() != (committed / path.name).read_bytes():
            print(f"{name}: {path.name} differs")
            good = False
    ours, theirs = (safetensors.torch.load_file(directory / "expected.safetensors") for directory in (made, committed))
    difference = float((ours["logits"] - theirs["logits"]).abs().max() / theirs["logits"].abs().max())
    for tensor_name in sorted((ours.keys() | theirs.keys()) - {"logits"}):
        if tensor_name not in ours or tensor_name not in theirs or not torch.equal(ours[tensor_name], theirs[tensor_name]):
            print(f"{name}: {tensor_name} of expected.safetensors differs")
            good = False
    print(f"{name}: largest difference of the logits {difference:.1e}")
    return good and difference <= 1e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    good = True
    for name in arguments.names or FIXTURES:
        with tempfile.TemporaryDirectory() as scratch:
            made = pathlib.Path(scratch) / name
            make(name, made)
            if arguments.check:
                good = check(name, made) and good
            else:
                shutil.rmtree(DIRECTORY / name, ignore_errors=True)
                shutil.copytree(made, DIRECTORY / name)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
