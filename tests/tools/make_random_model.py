#!/usr/bin/env python3
"""Writes a GGUF file of a real model's shape with random weights, for comparisons of speed.

How fast an engine is does not depend on what the weights are, so every engine that reads GGUF can be timed on the same file
without a download. The figures in docs/PERFORMANCE.md and docs/BENCHMARKS.md are of such files. Which tensors have more bits
in q4_k_m is llama.cpp's rule (src/llama-quant.cpp). The vocabulary is made up: 256 bytes, an end token, then t257, t258, ...

usage: pip install -r requirements-dequantize.txt
       make_random_model.py SHAPE QUANTISATION FILE        llama-1b q4_k_m, olmoe-7b q4_k_m, qwen3-0.6b q8_0, ...
"""

import argparse
import dataclasses
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

CONTEXT_LENGTH = 32768
END_TOKEN = 256
ROWS_AT_ONCE_BYTES = 1 << 26
DECAY = "decay"


@dataclasses.dataclass(frozen=True)
class Latent:
    """DeepSeek's attention: https://arxiv.org/abs/2405.04434"""
    rank: int
    plain_size: int  # of a head's query, beside the rotated part
    rotated_size: int
    value_size: int


@dataclasses.dataclass(frozen=True)
class DeltaNet:
    """Linear attention in all layers but every fourth: https://arxiv.org/abs/2412.06464"""
    key_heads: int
    value_heads: int
    head_size: int = 128
    convolution: int = 4
    period: int = 4

    @property
    def keys(self):
        return self.key_heads * self.head_size

    @property
    def values(self):
        return self.value_heads * self.head_size


@dataclasses.dataclass(frozen=True)
class Shape:
    architecture: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    feed_forward: int  # of an expert, where there are experts
    vocabulary: int
    rope_base: float
    experts: int = 0
    experts_used: int = 0
    tied_embeddings: bool = True
    query_norm: str = ""  # "head": over each head; "all": over all heads together
    mlp_norm: str = "ffn_norm"
    output_norms: bool = False  # of what attention and MLP give
    window: int = 0
    biases_and_sinks: bool = False
    latent: Latent | None = None
    delta_net: DeltaNet | None = None
    rotated_size: int = 0  # of a head; 0: all of it
    shared_experts: int = 0
    dense_layers: int = 0  # the first ones have no experts
    dense_feed_forward: int = 0
    other_keys: tuple = ()  # of the architecture: (name, value)

    @property
    def query_size(self):
        return self.heads * (self.latent.plain_size + self.latent.rotated_size if self.latent else self.head_size)

    @property
    def attended_size(self):
        return self.heads * (self.latent.value_size if self.latent else self.head_size)


def yarn(factor):
    return ("rope.scaling.type", "yarn"), ("rope.scaling.factor", factor), ("rope.scaling.original_context_length", 4096)


def sections():  # of rotated pairs: time, height, width
    return (("rope.dimension_sections", [11, 11, 10, 0]),)


SHAPES = {
    "llama-1b": Shape("llama", 16, 2048, 32, 8, 64, 8192, 128256, 5e5),
    "llama-8b": Shape("llama", 32, 4096, 32, 8, 128, 14336, 128256, 5e5, tied_embeddings=False),
    "qwen3-0.6b": Shape("qwen3", 28, 1024, 16, 8, 128, 3072, 151936, 1e6, query_norm="head"),
    # So few layers and tokens that a long context is a matter of minutes, in which these layers' attention takes the time.
    "qwen3-0.6b-2-layers": Shape("qwen3", 2, 1024, 16, 8, 128, 3072, 4096, 1e6, query_norm="head"),
    "gemma3-1b": Shape("gemma3", 26, 1152, 4, 1, 256, 6912, 262144, 1e6, query_norm="head", output_norms=True, window=512),
    "olmoe-7b": Shape("olmoe", 16, 2048, 16, 16, 128, 1024, 50304, 1e4, 64, 8, False, "all"),
    "qwen3moe-10b": Shape("qwen3moe", 16, 2048, 32, 4, 128, 768, 151936, 1e6, 128, 8, False, "head"),
    "qwen3-30b": Shape("qwen3moe", 48, 2048, 32, 4, 128, 768, 151936, 1e6, 128, 8, False, "head"),
    "qwen35-0.8b": Shape("qwen35", 24, 1024, 8, 2, 256, 3584, 248320, 1e7, query_norm="head", mlp_norm="post_attention_norm",
                         delta_net=DeltaNet(16, 16), rotated_size=64, other_keys=sections()),
    "qwen35-4b": Shape("qwen35", 32, 2560, 16, 4, 256, 9216, 248320, 1e7, query_norm="head", mlp_norm="post_attention_norm",
                       delta_net=DeltaNet(16, 32), rotated_size=64, other_keys=sections()),
    # Cut to so many of their 40, 24 and 27 layers.
    "qwen35-35b-a3b-8-layers": Shape("qwen35moe", 8, 2048, 16, 2, 256, 512, 248320, 1e7, 256, 8, False, "head",
                                     "post_attention_norm", shared_experts=1, delta_net=DeltaNet(16, 32), rotated_size=64,
                                     other_keys=(*sections(), ("expert_shared_feed_forward_length", 512))),
    "gpt-oss-4-layers": Shape("gpt-oss", 4, 2880, 64, 8, 64, 2880, 201088, 1.5e5, 32, 4, False,
                              mlp_norm="post_attention_norm", window=128, biases_and_sinks=True, other_keys=yarn(32.0)),
    "deepseek-v2-lite-8-layers": Shape("deepseek2", 8, 2048, 16, 1, 576, 1408, 102400, 1e4, 64, 6, False,
                                       latent=Latent(512, 128, 64, 128), shared_experts=2, dense_layers=1,
                                       dense_feed_forward=10944,
                                       other_keys=(*yarn(40.0), ("rope.scaling.yarn_log_multiplier", 0.0707),
                                                   ("expert_gating_func", 1),
                                                   # llama.cpp does without it only where there are 26 or 27 layers.
                                                   ("attention.q_lora_rank", 0))),
}
QUANTISATIONS = {"bf16": Type.BF16, "f16": Type.F16, "q8_0": Type.Q8_0, "q4_0": Type.Q4_0, "q4_k_m": Type.Q4_K,
                 "mxfp4": Type.MXFP4}
# Where a block keeps its scale, and the standard deviation that random blocks have under a scale of 1.
SCALES = {Type.IQ4_NL: (0, 67), Type.IQ4_XS: (0, 1250), Type.Q3_K: (108, 43.6), Type.TQ2_0: (64, 1.12), Type.TQ1_0: (52, 0.82),
          Type.IQ3_S: (0, 141), Type.IQ3_XXS: (0, 143), Type.IQ2_S: (0, 56), Type.IQ2_XS: (0, 56), Type.IQ2_XXS: (0, 53),
          Type.IQ1_S: (0, 7.2)}
QUANTISATIONS |= {kind.name.lower(): kind for kind in (*SCALES, Type.Q2_K)}


def random_rows(rng, kind, count, width, deviation):
    """`count` rows of `width` weights as the file has them; standard deviation about as asked."""
    if kind in (Type.F32, Type.F16, Type.BF16):
        weights = rng.standard_normal((count, width), np.float32) * np.float32(deviation)
        if kind == Type.BF16:
            return (weights.view(np.uint32) >> 16).astype(np.uint16)
        return weights if kind == Type.F32 else weights.astype(np.float16)
    block_weights, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, (count, width // block_weights, block_bytes), np.uint8)

    def scale(offset, value):
        scales = (value * rng.uniform(0.5, 1.5, blocks.shape[:2])).astype(np.float16)
        blocks[:, :, offset:offset + 2] = scales[:, :, None].view(np.uint8)

    # Quantised weights are evenly spread integers q times a scale d: the deviation of q is that of its range.
    if kind == Type.Q4_0:  # d (q - 8), q of 4 bits
        scale(0, deviation / 4.6)
    elif kind == Type.Q5_0:  # d (q - 16), q of 5 bits
        scale(0, deviation / 9.2)
    elif kind == Type.Q8_0:  # d q, q of 8 bits
        scale(0, deviation / 74)
    elif kind == Type.Q4_K:  # d s q - m t, q of 4 bits, s and t of 6, so that the mean of s q is 7.5 that of t
        scale(0, deviation / (32 * 4.6))
        scale(2, deviation / (32 * 4.6) * 7.5)
    elif kind == Type.Q5_K:  # d s q - m t, likewise, q of 5 bits
        scale(0, deviation / (32 * 9.2))
        scale(2, deviation / (32 * 9.2) * 15.5)
    elif kind == Type.MXFP4:  # 2^(e - 128) times an integer of 4 bits, whose deviation is 5.85
        blocks[:, :, 0] = 128 + round(np.log2(deviation / 5.85))
    elif kind == Type.Q2_K:  # d s q - m t, q of 2 bits, s and t of 4, so that the mean of s q is 1.5 that of t
        scale(80, deviation / 14)
        scale(82, deviation / 14 * 1.5)
    elif kind in SCALES:
        offset, of_one = SCALES[kind]
        scale(offset, deviation / of_one)
    elif kind == Type.Q6_K:  # d s (q - 32), q of 6 bits, s of 8
        scale(208, deviation / (74 * 18.5))
    return blocks.reshape(count, -1)


def tensors_of(shape, base):
    """(name, type, dimensions with that of the rows' weights last, standard deviation; None: a norm's weights, near 1; DECAY:
    below 0)"""
    for name, kind, dimensions, deviation in tensors_of_any_width(shape, base):
        # Rows that are no multiple of a K-quant's block: what llama.cpp takes instead.
        if dimensions[-1] % gguf.GGML_QUANT_SIZES[kind][0]:
            kind = {Type.Q4_K: Type.Q5_0, Type.Q6_K: Type.Q8_0}.get(kind, Type.IQ4_NL)
        yield name, kind, dimensions, deviation


def tensors_of_any_width(shape, base):
    is_mixed = base == Type.Q4_K
    feed_forward = base
    if base == Type.MXFP4:  # as in gpt-oss, where it is the experts' type alone
        base = Type.Q8_0
    head = Type.Q6_K if base in (Type.Q4_0, Type.Q4_K, Type.Q2_K, *SCALES) else base
    unit = shape.hidden ** -0.5

    def more_bits(layer, kind):
        eighth = shape.layers // 8
        chosen = layer < eighth or layer >= 7 * shape.layers // 8 or (layer - eighth) % 3 == 2
        return Type.Q6_K if is_mixed and chosen else kind

    if shape.tied_embeddings:
        yield "token_embd.weight", head, (shape.vocabulary, shape.hidden), 1.0
    else:
        yield "token_embd.weight", base, (shape.vocabulary, shape.hidden), 4 * unit
        yield "output.weight", head, (shape.vocabulary, shape.hidden), 4 * unit
    yield "output_norm.weight", Type.F32, (shape.hidden,), None
    for layer in range(shape.layers):
        block = f"blk.{layer}."
        yield block + "attn_norm.weight", Type.F32, (shape.hidden,), None
        if shape.delta_net and (layer + 1) % shape.delta_net.period:
            yield from delta_net_tensors(shape, block, base, Type.Q5_K if is_mixed else base)
        else:
            yield from attention_tensors(shape, block, base, more_bits(layer, base))
        yield f"{block}{shape.mlp_norm}.weight", Type.F32, (shape.hidden,), None
        yield from mlp_tensors(shape, layer, block, feed_forward, more_bits(layer, feed_forward))
        if shape.output_norms:
            yield block + "post_attention_norm.weight", Type.F32, (shape.hidden,), None
            yield block + "post_ffw_norm.weight", Type.F32, (shape.hidden,), None


def attention_tensors(shape, block, base, value_kind):
    unit = shape.hidden ** -0.5
    query, key, attended = shape.query_size, shape.kv_heads * shape.head_size, shape.attended_size
    with_gate = 2 if shape.delta_net else 1  # of what attention gives
    yield block + "attn_q.weight", base, (with_gate * query, shape.hidden), unit
    if shape.latent:
        rank = shape.latent.rank
        yield block + "attn_kv_a_mqa.weight", base, (key, shape.hidden), unit
        yield block + "attn_kv_a_norm.weight", Type.F32, (rank,), None
        yield block + "attn_k_b.weight", base, (shape.heads, rank, shape.latent.plain_size), rank ** -0.5
        yield block + "attn_v_b.weight", value_kind, (shape.heads, shape.latent.value_size, rank), rank ** -0.5
    else:
        yield block + "attn_k.weight", base, (key, shape.hidden), unit
        yield block + "attn_v.weight", value_kind, (key, shape.hidden), unit
    yield block + "attn_output.weight", base, (shape.hidden, attended), attended ** -0.5
    if shape.query_norm:
        for_heads = shape.query_norm == "head"
        yield block + "attn_q_norm.weight", Type.F32, (shape.head_size if for_heads else query,), None
        yield block + "attn_k_norm.weight", Type.F32, (shape.head_size if for_heads else key,), None
    if shape.biases_and_sinks:
        for name, size in (("q", query), ("k", key), ("v", key), ("output", shape.hidden)):
            yield f"{block}attn_{name}.bias", Type.F32, (size,), 0.1
        yield block + "attn_sinks.weight", Type.F32, (shape.heads,), 1.0


def delta_net_tensors(shape, block, base, projection_kind):
    net = shape.delta_net
    unit = shape.hidden ** -0.5
    channels = 2 * net.keys + net.values
    yield block + "attn_qkv.weight", projection_kind, (channels, shape.hidden), unit
    yield block + "attn_gate.weight", base, (net.values, shape.hidden), unit
    yield block + "ssm_conv1d.weight", Type.F32, (channels, net.convolution), 0.5
    yield block + "ssm_dt.bias", Type.F32, (net.value_heads,), 1.0
    yield block + "ssm_a", Type.F32, (net.value_heads,), DECAY
    yield block + "ssm_beta.weight", Type.F32, (net.value_heads, shape.hidden), unit
    yield block + "ssm_alpha.weight", base, (net.value_heads, shape.hidden), unit
    yield block + "ssm_norm.weight", Type.F32, (net.head_size,), None
    yield block + "ssm_out.weight", base, (shape.hidden, net.values), net.values ** -0.5


def mlp_tensors(shape, layer, block, kind, down_kind):
    unit = shape.hidden ** -0.5

    def matrices(suffix, experts, width):
        for name in ("gate", "up"):
            yield f"{block}ffn_{name}{suffix}.weight", kind, (*experts, width, shape.hidden), unit
        yield f"{block}ffn_down{suffix}.weight", down_kind, (*experts, shape.hidden, width), width ** -0.5

    if not shape.experts:
        yield from matrices("", (), shape.feed_forward)
        return
    if layer < shape.dense_layers:
        yield from matrices("", (), shape.dense_feed_forward)
        return
    yield block + "ffn_gate_inp.weight", Type.F32, (shape.experts, shape.hidden), 2 * unit
    yield from matrices("_exps", (shape.experts,), shape.feed_forward)
    if shape.shared_experts:
        yield from matrices("_shexp", (), shape.shared_experts * shape.feed_forward)
        if shape.delta_net:
            yield block + "ffn_gate_inp_shexp.weight", Type.F32, (shape.hidden,), unit
    if shape.biases_and_sinks:
        yield block + "ffn_gate_inp.bias", Type.F32, (shape.experts,), 0.1
        for name, size in (("gate", shape.feed_forward), ("up", shape.feed_forward), ("down", shape.hidden)):
            yield f"{block}ffn_{name}_exps.bias", Type.F32, (shape.experts, size), 0.1


def spelling_of_bytes():
    """GPT-2's letters for bytes: https://github.com/openai/gpt-2, src/encoder.py"""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + i) for i, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


def file_type_of(quantisation):
    """What most tensors are, in general.file_type's numbers; OpenVINO reads no file without."""
    numbers = {kind.name.removeprefix("MOSTLY_").lower(): kind for kind in gguf.LlamaFileType}
    return next(numbers[name] for name in (quantisation, quantisation + "_s", quantisation + "_moe") if name in numbers)


def add_metadata(writer, name, shape, quantisation):
    writer.add_name(f"{name}, random weights")
    writer.add_file_type(file_type_of(quantisation))
    writer.add_block_count(shape.layers)
    writer.add_context_length(CONTEXT_LENGTH)
    writer.add_embedding_length(shape.hidden)
    writer.add_feed_forward_length(shape.dense_feed_forward or shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_head_count_kv(shape.kv_heads)
    writer.add_key_length(shape.head_size)
    writer.add_rope_freq_base(shape.rope_base)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_vocab_size(shape.vocabulary)
    if shape.latent:
        writer.add_value_length(shape.latent.rank)
        writer.add_kv_lora_rank(shape.latent.rank)
        writer.add_key_length_mla(shape.latent.plain_size + shape.latent.rotated_size)
        writer.add_value_length_mla(shape.latent.value_size)
        writer.add_rope_dimension_count(shape.latent.rotated_size)
    else:
        writer.add_value_length(shape.head_size)
        writer.add_rope_dimension_count(shape.rotated_size or shape.head_size)
    if shape.delta_net:
        writer.add_ssm_conv_kernel(shape.delta_net.convolution)
        writer.add_ssm_state_size(shape.delta_net.head_size)
        writer.add_ssm_group_count(shape.delta_net.key_heads)
        writer.add_ssm_time_step_rank(shape.delta_net.value_heads)
        writer.add_ssm_inner_size(shape.delta_net.values)
        writer.add_full_attention_interval(shape.delta_net.period)
    if shape.window:
        writer.add_sliding_window(shape.window)
    if shape.experts:
        writer.add_expert_count(shape.experts)
        writer.add_expert_used_count(shape.experts_used)
        writer.add_expert_feed_forward_length(shape.feed_forward)
    if shape.shared_experts and not shape.delta_net:
        writer.add_expert_shared_count(shape.shared_experts)
        writer.add_leading_dense_block_count(shape.dense_layers)
        writer.add_expert_weights_scale(1.0)
    for key, value in shape.other_keys:
        add = {str: writer.add_string, float: writer.add_float32, int: writer.add_uint32,
               list: writer.add_array}[type(value)]
        add(f"{shape.architecture}.{key}", value)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(spelling_of_bytes() + ["<|end|>"] + [f"t{i}" for i in range(END_TOKEN + 1, shape.vocabulary)])
    kinds = [gguf.TokenType.NORMAL] * shape.vocabulary
    kinds[END_TOKEN] = gguf.TokenType.CONTROL
    writer.add_token_types(kinds)
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(END_TOKEN)
    writer.add_bos_token_id(END_TOKEN)
    writer.add_add_bos_token(False)


def row_bytes(kind, width):
    block_weights, block_bytes = gguf.GGML_QUANT_SIZES[kind]
    if width % block_weights:
        raise SystemExit(f"{kind.name}: rows of {width} weights are no multiple of blocks of {block_weights}")
    return width // block_weights * block_bytes


def write_tensor(out, rng, kind, rows, width, deviation):
    at_once = max(1, ROWS_AT_ONCE_BYTES // (4 * width))
    for begin in range(0, rows, at_once):
        count = min(at_once, rows - begin)
        if deviation == DECAY:
            out.write((-rng.uniform(0.5, 8, (count, width))).astype(np.float32).tobytes())
        elif deviation is None:
            out.write((1 + 0.1 * rng.standard_normal((count, width), np.float32)).tobytes())
        else:
            out.write(random_rows(rng, kind, count, width, deviation).tobytes())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("quantisation", choices=QUANTISATIONS)
    parser.add_argument("file")
    arguments = parser.parse_args()
    shape = SHAPES[arguments.shape]
    tensors = list(tensors_of(shape, QUANTISATIONS[arguments.quantisation]))

    writer = gguf.GGUFWriter(arguments.file, shape.architecture)
    add_metadata(writer, arguments.shape, shape, arguments.quantisation)
    for name, kind, dimensions, _ in tensors:
        size = int(np.prod(dimensions[:-1], dtype=np.int64)) * row_bytes(kind, dimensions[-1])
        writer.add_tensor_info(name, dimensions, np.dtype(np.float32), size, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    out = writer.fout[0]
    rng = np.random.default_rng(1)
    for done, (name, kind, dimensions, deviation) in enumerate(tensors):
        if sys.stderr.isatty():
            print(f"\r{done + 1} of {len(tensors)} tensors ", end="", file=sys.stderr)
        writer.write_padding(out, out.tell())
        write_tensor(out, rng, kind, int(np.prod(dimensions[:-1], dtype=np.int64)), dimensions[-1], deviation)
    writer.write_padding(out, out.tell())
    writer.close()
    if sys.stderr.isatty():
        print(file=sys.stderr)


if __name__ == "__main__":
    main()
