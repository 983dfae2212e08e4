#!/usr/bin/env python3
"""Where the int8 arithmetic loses accuracy, and what would mend it: a Llama out of a GGUF file in float32 (torch), in which one kind of
product's input after the other is rounded as the kernels round it. Prints each case's divergence from the model without any rounding.

usage: simulate_int8_losses.py MODEL.gguf TEXT [TOKENS]

Needs torch, numpy and gguf (requirements-parity.txt, requirements-dequantize.txt) and tokenizers (requirements-tokenizers.txt).
"""
import math
import pathlib
import sys

import gguf
import numpy
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

WINDOW = 256
PRODUCTS = ("qkv", "attention output", "gate and up", "down", "head")
ATTENTION = ("query", "key", "value", "probability")


class Llama:
    """Weights and sizes; `logits` runs ids (windows, WINDOW) with `rounding`, a function of a tensor for each of PRODUCTS and ATTENTION."""

    def __init__(self, path):
        reader = gguf.GGUFReader(path)
        self.weights = {t.name: torch.from_numpy(numpy.array(gguf.dequantize(t.data, t.tensor_type), dtype=numpy.float32))
                        for t in reader.tensors}
        self.fields = {name: field.contents() for name, field in reader.fields.items()
                       if name.startswith(("llama.", "tokenizer.ggml.tokens", "tokenizer.ggml.merges"))}
        self.layers = self.fields["llama.block_count"]
        self.heads = self.fields["llama.attention.head_count"]
        self.kv_heads = self.fields["llama.attention.head_count_kv"]
        self.epsilon = self.fields["llama.attention.layer_norm_rms_epsilon"]

    def ids(self, text, count):
        tokens = {token: i for i, token in enumerate(self.fields["tokenizer.ggml.tokens"])}
        merges = [tuple(merge.split(" ")) for merge in self.fields["tokenizer.ggml.merges"]]
        tokenizer = Tokenizer(models.BPE(vocab=tokens, merges=merges))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
        return torch.tensor(tokenizer.encode(text).ids[:count // WINDOW * WINDOW]).view(-1, WINDOW)

    def norm(self, x, name):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + self.epsilon) * self.weights[name + "_norm.weight"]

    def rope(self, x):
        size = x.shape[-1]
        angles = torch.arange(WINDOW)[:, None] / self.fields["llama.rope.freq_base"] ** (torch.arange(0, size, 2) / size)
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack([even * angles.cos() - odd * angles.sin(), even * angles.sin() + odd * angles.cos()], -1).flatten(-2)

    def attention(self, x, layer, rounding):
        def split(name, heads):
            return (x @ self.weights[f"{layer}.{name}.weight"].T).unflatten(-1, (heads, -1)).transpose(1, 2)
        shared = self.heads // self.kv_heads
        query = rounding["query"](self.rope(split("attn_q", self.heads)))
        key = rounding["key"](self.rope(split("attn_k", self.kv_heads))).repeat_interleave(shared, 1)
        value = rounding["value"](split("attn_v", self.kv_heads)).repeat_interleave(shared, 1)
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        hidden = torch.full((WINDOW, WINDOW), -torch.inf).triu(1)
        out = rounding["probability"](torch.softmax(scores + hidden, -1)) @ value
        return rounding["attention output"](out.transpose(1, 2).flatten(-2)) @ self.weights[f"{layer}.attn_output.weight"].T

    def logits(self, ids, rounding):
        x = self.weights["token_embd.weight"][ids]
        for layer in (f"blk.{i}" for i in range(self.layers)):
            x = x + self.attention(rounding["qkv"](self.norm(x, layer + ".attn")), layer, rounding)
            inner = rounding["gate and up"](self.norm(x, layer + ".ffn"))
            gate = torch.nn.functional.silu(inner @ self.weights[layer + ".ffn_gate.weight"].T)
            up = inner @ self.weights[layer + ".ffn_up.weight"].T
            x = x + rounding["down"](gate * up) @ self.weights[layer + ".ffn_down.weight"].T
        head = self.weights.get("output.weight", self.weights["token_embd.weight"])
        return rounding["head"](self.norm(x, "output")) @ head.T


def exact(x):
    return x


def bf16(x):
    return x.to(torch.bfloat16).float()


def int8(size=32, again=0.0):
    """Codes of 8 bits in groups of `size`; of `again` of a row's groups, those with the largest scales and one at least, what that
    leaves is coded a second time."""
    def codes(groups):
        largest = groups.abs().amax(-1, keepdim=True).clamp_min(1e-30)
        return torch.round(groups * (127 / largest)) * (largest / 127), largest[..., 0]

    def apply(x):
        groups = x.unflatten(-1, (-1, size))
        rounded, scales = codes(groups)
        if again:
            count = max(1, round(again * scales.shape[-1]))
            chosen = torch.zeros_like(scales).scatter_(-1, scales.topk(count, -1).indices, 1.0)[..., None]
            rounded = rounded + chosen * codes(groups - rounded)[0]
        return rounded.flatten(-2)
    return apply


def head(x):
    """One scale a position and head, as the KV cache in q8 has them."""
    return int8(x.shape[-1])(x)


def rotated_head(x):
    """The same of x times the Hadamard matrix, which is turned back."""
    hadamard = torch.ones(1, 1)
    while len(hadamard) < x.shape[-1]:
        hadamard = torch.cat([torch.cat([hadamard, hadamard], 1), torch.cat([hadamard, -hadamard], 1)])
    hadamard /= math.sqrt(len(hadamard))
    return head(x @ hadamard) @ hadamard


def cases():
    attention = dict.fromkeys(ATTENTION, bf16)
    everywhere = {**dict.fromkeys(PRODUCTS, int8()), **attention}
    yield "int8, as it is", everywhere
    yield "only attention's operands, in bf16", attention
    for product in PRODUCTS:
        yield f"only the inputs of {product}", {product: int8()}
    yield "bf16, as it is", {**dict.fromkeys(PRODUCTS, bf16), **attention}
    yield "int8 in groups of 16", {**dict.fromkeys(PRODUCTS, int8(16)), **attention}
    yield "int8, one group of 20 coded twice", {**dict.fromkeys(PRODUCTS, int8(again=0.05)), **attention}
    yield "the same behind norms only", {**everywhere, **dict.fromkeys(("qkv", "gate and up", "head"), int8(again=0.05))}
    yield "int8, one group of 10 coded twice", {**dict.fromkeys(PRODUCTS, int8(again=0.1)), **attention}
    yield "only values, in 8 bits", {"value": head}
    yield "only keys, in 8 bits", {"key": head}
    yield "only keys, a scale for 32 elements", {"key": int8(32)}
    yield "only keys, a scale for 16 elements", {"key": int8(16)}
    yield "only keys, rotated", {"key": rotated_head}
    yield "only queries, in 8 bits", {"query": head}
    yield "only queries, rotated", {"query": rotated_head}


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    torch.set_grad_enabled(False)
    llama = Llama(sys.argv[1])
    count = int(sys.argv[3]) if len(sys.argv) == 4 else 2048
    ids = llama.ids(pathlib.Path(sys.argv[2]).read_text(encoding="utf-8")[:64 * count], count)
    nothing = dict.fromkeys(PRODUCTS + ATTENTION, exact)
    reference = torch.log_softmax(llama.logits(ids, nothing), -1)
    for name, rounding in cases():
        found = torch.log_softmax(llama.logits(ids, {**nothing, **rounding}), -1)
        divergence = (reference.exp() * (reference - found)).sum(-1)
        same = (reference.argmax(-1) == found.argmax(-1)).float().mean()
        print(f"{name:40} {divergence.mean():.2e}  {100 * same:.2f}%", flush=True)


if __name__ == "__main__":
    main()
