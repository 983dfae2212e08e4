#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets gguf and safetensors: small honest files, and the index of a
sharded directory. Standard library only.

usage: make_model_file_seeds.py
"""
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).parent / "corpus"


def string(text):
    return struct.pack("<Q", len(text)) + text.encode()


def gguf(version, entries, tensors, alignment=32):
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries))
    for key, type_, value in entries:
        head += string(key) + struct.pack("<I", type_) + value
    data = b""
    for name, type_, dims, content in tensors:
        head += string(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, type_, len(data))
        data += content + b"\0" * (-len(content) % alignment)
    return head + (b"\0" * (-len(head) % alignment) + data if tensors else b"")


def array(type_, count, content):
    return struct.pack("<IQ", type_, count) + content


def gguf_seeds():
    numbers = [(f"k{type_}", type_, struct.pack("<" + format_, 1)) for type_, format_ in
               enumerate("BbHhIif?") ] + [("k10", 10, struct.pack("<Q", 1 << 63)),
                                          ("k11", 11, struct.pack("<q", -1)),
                                          ("k12", 12, struct.pack("<d", 0.5))]
    arrays = [(f"a{type_}", 9, array(type_, 2, struct.pack("<2" + format_, 1, 0)))
              for type_, format_ in [*enumerate("BbHhIif?"), (10, "Q"), (11, "q"), (12, "d")]]
    texts = [("general.architecture", 8, string("llama")),
             ("tokens", 9, array(8, 2, string("a") + string("bc")))]
    blocks = {0: (1, 4), 1: (1, 2), 30: (1, 2), 8: (32, 34), 2: (32, 18), 3: (32, 20), 6: (32, 22),
              7: (32, 24), 12: (256, 144), 13: (256, 176), 14: (256, 210)}
    tensors = [(f"t{type_}", type_, (per, 2), bytes(2 * size))
               for type_, (per, size) in blocks.items()]
    alignment = [("general.alignment", 4, struct.pack("<I", 8))]
    yield "metadata", gguf(3, texts + numbers, [])
    yield "arrays", gguf(2, arrays, [])
    yield "tensors", gguf(3, texts, tensors)
    yield "aligned", gguf(3, alignment, [("a", 0, (3,), bytes(12)), ("b", 0, (1, 2, 1, 1), bytes(8))], 8)


def safetensors(header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


def safetensors_seeds():
    header = {"__metadata__": {"format": "pt"},
              "a": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
              "b": {"dtype": "BF16", "shape": [], "data_offsets": [8, 10]},
              "c": {"dtype": "F16", "shape": [1], "data_offsets": [10, 12]}}
    whole = safetensors(header, bytes(12))
    yield "file", whole
    yield "without_length", whole[8:]
    yield "empty", safetensors({}, b"")
    yield "index", json.dumps({"metadata": {"total_size": 12, "x": [None, -1, 0.5, True]},
                               "weight_map": {"a": "model-1.safetensors"}}).encode()


SIZES = {"F32": 4, "F16": 2, "BF16": 2, "U8": 1, "I8": 1, "I32": 4, "U32": 4, "I64": 8, "F8_E4M3": 1}


def quantised(**tensors):
    """A file of one layer, l, with tensors of (type, shape) or (type, shape, content)."""
    header, data = {}, b""
    for name, (dtype, shape, *content) in tensors.items():
        size = SIZES[dtype]
        for dimension in shape:
            size *= dimension
        begin = len(data)
        data += content[0] if content else bytes(size)
        end = "." + name[2:] if name.startswith("__") else name
        header["l" + end] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, len(data)]}
    return safetensors(header, data)


def quantised_seeds():
    yield "gptq", quantised(__qweight=("I32", [4, 8]), __qzeros=("I32", [1, 1]), __scales=("F16", [1, 8]),
                            __g_idx=("I32", [32]))
    yield "awq", quantised(__qweight=("I32", [32, 1]), __qzeros=("I32", [1, 1]), __scales=("F16", [1, 8]))
    yield "packed", quantised(__weight_packed=("I32", [2, 4]), __weight_scale=("BF16", [2, 1]),
                              __weight_shape=("I64", [2], struct.pack("<2q", 2, 32)))
    yield "int8", quantised(__weight=("I8", [2, 32]), __weight_scale=("F32", [2, 1]), __SCB=("F32", [2]))
    yield "fp8", quantised(__weight=("F8_E4M3", [3, 5]), __weight_scale_inv=("F32", [2, 3]))
    state = json.dumps({"quant_type": "nf4", "blocksize": 64, "shape": [2, 64]}).encode()
    yield "nf4", quantised(**{"__weight": ("U8", [64, 1]), "__weight.absmax": ("F32", [2]),
                              "__weight.quant_map": ("F32", [16]),
                              "__weight.quant_state.bitsandbytes__nf4": ("U8", [len(state)], state)})
    yield "mlx", quantised(__weight=("U32", [2, 4]), __scales=("BF16", [2, 1]), __biases=("BF16", [2, 1]))
    yield "mxfp4", quantised(_blocks=("U8", [1, 2, 1, 16]), _scales=("U8", [1, 2, 1]))
    yield "nvfp4", quantised(__weight=("U8", [2, 8]), __weight_scale=("F8_E4M3", [2, 1]), __weight_scale_2=("F32", [1]))


def main():
    for target, seeds in (("gguf", gguf_seeds()), ("safetensors", [*safetensors_seeds(), *quantised_seeds()])):
        (CORPUS / target).mkdir(parents=True, exist_ok=True)
        for name, content in seeds:
            (CORPUS / target / name).write_bytes(content)


if __name__ == "__main__":
    main()
