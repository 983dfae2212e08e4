#!/usr/bin/env python3
"""Writes a Hugging Face directory of a Llama of 0.97 billion weights, quantised as GPTQ (symmetric, with act-order or without)
or AWQ has it, with random codes and scales, for comparisons of speed. Tokenizer and vocabulary are a fixture's.

usage: make_random_quantized.py {gptq,gptq_act_order,awq} DIRECTORY

Needs numpy and safetensors (requirements-quantized.txt).
"""
import json
import pathlib
import shutil
import sys

import numpy
from safetensors.numpy import save_file

FIXTURES = pathlib.Path(__file__).parent.parent / "model" / "fixtures" / "quantized"
HIDDEN, FEED_FORWARD, KEY_VALUE, LAYERS, GROUP = 2048, 8192, 512, 16, 128


def words(rng, rows, columns):
    return rng.integers(-(1 << 31), 1 << 31, (rows, columns), dtype=numpy.int64).astype(numpy.int32)


def linear(scheme, rng, outputs, inputs):
    """The tensors of one layer, by the ends of their names."""
    groups = inputs // GROUP
    scales = (rng.random((groups, outputs), dtype=numpy.float32) * 0.002 + 0.001).astype(numpy.float16)
    if scheme == "awq":
        return {"scales": scales, "qweight": words(rng, inputs, outputs // 8), "qzeros": words(rng, groups, outputs // 8)}
    # Whoever reads the same inputs has the same order.
    order = numpy.random.default_rng(inputs).permutation(inputs) if scheme == "gptq_act_order" else numpy.arange(inputs)
    return {"scales": scales, "qweight": words(rng, inputs // 8, outputs),
            "qzeros": numpy.full((groups, outputs // 8), 0x77777777, dtype=numpy.int32),
            "g_idx": (order // GROUP).astype(numpy.int32)}


def tensors(scheme, vocabulary):
    rng = numpy.random.default_rng(1)
    shapes = {"self_attn.q_proj": (HIDDEN, HIDDEN), "self_attn.k_proj": (KEY_VALUE, HIDDEN),
              "self_attn.v_proj": (KEY_VALUE, HIDDEN), "self_attn.o_proj": (HIDDEN, HIDDEN),
              "mlp.gate_proj": (FEED_FORWARD, HIDDEN), "mlp.up_proj": (FEED_FORWARD, HIDDEN),
              "mlp.down_proj": (HIDDEN, FEED_FORWARD)}
    ones = numpy.ones(HIDDEN, numpy.float16)
    result = {"model.norm.weight": ones,
              "model.embed_tokens.weight": (rng.standard_normal((vocabulary, HIDDEN)) * 0.02).astype(numpy.float16)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        result[prefix + "input_layernorm.weight"] = ones
        result[prefix + "post_attention_layernorm.weight"] = ones
        for name, shape in shapes.items():
            for end, tensor in linear(scheme, rng, *shape).items():
                result[f"{prefix}{name}.{end}"] = tensor
    return result


def main():
    fixtures = {"gptq": "gptq_sym", "gptq_act_order": "gptq_act_order", "awq": "awq"}
    if len(sys.argv) != 3 or sys.argv[1] not in fixtures:
        sys.exit(__doc__)
    scheme, directory = sys.argv[1], pathlib.Path(sys.argv[2])
    fixture = FIXTURES / fixtures[scheme]
    directory.mkdir(parents=True, exist_ok=True)
    for file in fixture.glob("tokenizer*"):
        shutil.copy(file, directory)
    config = json.loads((fixture / "config.json").read_text())
    config.update(hidden_size=HIDDEN, intermediate_size=FEED_FORWARD, num_hidden_layers=LAYERS, num_attention_heads=32,
                  num_key_value_heads=8, head_dim=64, max_position_embeddings=4096, tie_word_embeddings=True)
    config["quantization_config"]["group_size"] = GROUP
    (directory / "config.json").write_text(json.dumps(config, indent=2))
    save_file(tensors(scheme, config["vocab_size"]), directory / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main()
