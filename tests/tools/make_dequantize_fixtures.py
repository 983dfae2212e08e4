#!/usr/bin/env python3
"""Writes tests/model/formats/fixtures/dequantize.bin: random blocks of every tensor type that Weft
computes with, and what the numpy implementation in PyPI's gguf makes of them.

The expected values are compared bit for bit. gguf's expressions round where ggml's do: one product
per scale, one per element, then one subtraction or addition (it writes d * q where ggml writes
q * d, which is the same number). Scales are finite, as ggml's quantisers leave them.

usage: pip install -r requirements-dequantize.txt; make_dequantize_fixtures.py

The file is a list of records, little-endian:
    u32 ggml type, u32 elements, u32 bytes; the blocks' bytes; float32 expected[elements]
"""
import pathlib
import struct

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

OUT = pathlib.Path(__file__).parent.parent / "model/formats/fixtures/dequantize.bin"

# Where a block keeps its half-precision scales (byte offsets), and how many blocks to write.
HALVES = {
    Type.Q8_0: ([0], 32), Type.Q4_0: ([0], 32), Type.Q4_1: ([0, 2], 32), Type.Q5_0: ([0], 32),
    Type.Q5_1: ([0, 2], 32), Type.Q4_K: ([0, 2], 12), Type.Q5_K: ([0, 2], 12), Type.Q6_K: ([208], 12),
}
MXFP4_BLOCKS = 32
LATER_HALVES = {
    Type.IQ4_NL: ([0], 32), Type.IQ4_XS: ([0], 12), Type.Q3_K: ([108], 12), Type.Q2_K: ([80, 82], 12),
    Type.TQ2_0: ([64], 12), Type.TQ1_0: ([52], 12), Type.IQ3_S: ([0], 12), Type.IQ3_XXS: ([0], 12),
    Type.IQ2_S: ([0], 32), Type.IQ2_XS: ([0], 16), Type.IQ2_XXS: ([0], 12), Type.IQ1_S: ([0], 64),
}
IQ1_M_BLOCKS = 12
NVFP4_BLOCKS = 48
# Zeros, the smallest and largest subnormals, the smallest normal, one, the largest: both signs.
EDGE_HALVES = np.array([0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x3C00,
                        0xBC00, 0x7BFF, 0xFBFF], np.uint16)
EDGE_FLOATS = np.array([0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x3F800000,
                        0x7F7FFFFF, 0xFF7FFFFF], np.uint32)


def finite_halves(rng, count):
    halves = rng.integers(0, 0x7C00, count, dtype=np.uint16)
    return halves | rng.integers(0, 2, count, dtype=np.uint16) << np.uint16(15)


def quantised_blocks(rng, type_):
    offsets, count = {**HALVES, **LATER_HALVES}[type_]
    block_bytes = gguf.GGML_QUANT_SIZES[type_][1]
    blocks = rng.integers(0, 256, (count, block_bytes), dtype=np.uint8)
    for index, offset in enumerate(offsets):
        halves = finite_halves(rng, count)
        # The edges meet each other in different pairs: the second scale's list is turned by 5.
        halves[:len(EDGE_HALVES)] = np.roll(EDGE_HALVES, 5 * index)[:count]
        blocks[:, offset:offset + 2] = halves.view(np.uint8).reshape(count, 2)
    blocks[-1, [i for i in range(block_bytes) if not any(o <= i < o + 2 for o in offsets)]] = 0xFF
    name_every_entry(type_, blocks)
    return blocks.reshape(-1)


def name_every_entry(type_, blocks):
    """Of a type with a grid: from the first block on, each of its entries is there once."""
    if type_ == Type.IQ2_XXS:
        blocks[:8, 2:66].reshape(8, 8, 8)[:, :, :4] = np.arange(256).reshape(8, 8, 4)
    elif type_ == Type.IQ2_XS:
        words = blocks[:, 2:66].copy().view(np.uint16)
        blocks[:, 2:66] = (words & 0xFE00 | np.arange(512, dtype=np.uint16).reshape(words.shape)).view(np.uint8)
    elif type_ == Type.IQ2_S:
        entries = np.arange(1024).reshape(32, 8, 4)
        blocks[:, 2:34] = (entries & 255).reshape(32, 32)
        blocks[:, 66:74] = ((entries >> 8) << np.array([0, 2, 4, 6])).sum(-1)
    elif type_ == Type.IQ3_XXS:
        blocks[:4, 2:66] = np.arange(256).reshape(4, 64)
    elif type_ == Type.IQ3_S:
        entries = np.arange(512).reshape(8, 8, 8)
        blocks[:8, 2:66] = (entries & 255).reshape(8, 64)
        blocks[:8, 66:74] = ((entries >> 8) << np.arange(8)).sum(-1)
    elif type_ == Type.IQ1_S:
        entries = np.arange(2048).reshape(64, 8, 4)
        blocks[:, 2:34] = (entries & 255).reshape(64, 32)
        words = blocks[:, 34:50].copy().view(np.uint16)
        high = ((entries >> 8) << np.array([0, 3, 6, 9])).sum(-1).astype(np.uint16)
        blocks[:, 34:50] = (words & 0xF000 | high).view(np.uint8)


# The half-precision scale lies in the highest bits of four words.
def iq1_m_blocks(rng):
    blocks = rng.integers(0, 256, (IQ1_M_BLOCKS, gguf.GGML_QUANT_SIZES[Type.IQ1_M][1]), dtype=np.uint8)
    words = blocks[:, 48:56].copy().view(np.uint16)
    scales = EDGE_HALVES[:IQ1_M_BLOCKS, None] >> np.array([0, 4, 8, 12], np.uint16) & np.uint16(15)
    blocks[:, 48:56] = (words & 0x0FFF | scales << np.uint16(12)).view(np.uint8)
    return blocks.reshape(-1)


# Scales are floats of a byte, of which every one is.
def nvfp4_blocks(rng):
    blocks = rng.integers(0, 256, (NVFP4_BLOCKS, gguf.GGML_QUANT_SIZES[Type.NVFP4][1]), dtype=np.uint8)
    blocks[:4, :4] = np.array([[0, 1, 7, 8], [9, 0x77, 0x78, 0x7E], [0x7F, 0x80, 0x81, 0xFE], [0xFF, 0x38, 0x40, 0x30]])
    return blocks.reshape(-1)


# Scales are exponents, of which every byte is one; at the edges values are denormal or overflow.
def mxfp4_blocks(rng):
    blocks = rng.integers(0, 256, (MXFP4_BLOCKS, gguf.GGML_QUANT_SIZES[Type.MXFP4][1]), dtype=np.uint8)
    blocks[:8, 0] = [0, 1, 2, 3, 127, 128, 254, 255]
    return blocks.reshape(-1)


def plain_elements(rng, type_):
    if type_ == Type.F16:
        return np.concatenate([EDGE_HALVES, finite_halves(rng, 116)]).view(np.uint8)
    floats = np.concatenate([EDGE_FLOATS, rng.standard_normal(120).astype(np.float32).view(np.uint32)])
    return floats.view(np.uint8) if type_ == Type.F32 else (floats >> 16).astype(np.uint16).view(np.uint8)


ODD_BLOCKS = {Type.MXFP4: mxfp4_blocks, Type.IQ1_M: iq1_m_blocks, Type.NVFP4: nvfp4_blocks}


def main():
    rng = np.random.default_rng(20240917)
    with open(OUT, "wb") as file:
        for type_ in (Type.F32, Type.F16, Type.BF16, *HALVES, Type.MXFP4, *LATER_HALVES, Type.IQ1_M, Type.NVFP4):
            if type_ in ODD_BLOCKS:
                data = ODD_BLOCKS[type_](rng)
            elif type_ in HALVES or type_ in LATER_HALVES:
                data = quantised_blocks(rng, type_)
            else:
                data = plain_elements(rng, type_)
            with np.errstate(over="ignore"):
                expected = gguf.quants.dequantize(data, type_).astype(np.float32)
            assert not np.isnan(expected).any()
            file.write(struct.pack("<III", type_, expected.size, data.size))
            file.write(data.tobytes() + expected.tobytes())


if __name__ == "__main__":
    main()
