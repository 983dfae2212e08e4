"""Matrices as libraries store them in quantised checkpoints: packed by the library, and dequantised by its own code with float32 scales.

Each function here takes a matrix (float32, outputs x inputs) and returns its tensors, by their names behind the module's, and the float32
matrix that they stand for. Where code times scale is not exact in float32, that matrix has the library's order of roundings.
How scales are chosen is no matter of the format: here by the largest magnitude or the range of a group.
"""

import os

import bitsandbytes as bnb
import mlx.core as mx
import numpy as np
import torch
from compressed_tensors.compressors import BaseCompressor
from compressed_tensors.compressors.nvfp4 import unpack_fp4_from_uint8
from compressed_tensors.compressors.pack_quantized import pack_to_int32, unpack_from_int32
from compressed_tensors.quantization.lifecycle.forward import dequantize
from compressed_tensors.quantization.utils import calculate_qparams, generate_gparam
from gptqmodel.nn_modules.qlinear.torch import TorchLinear
from gptqmodel.nn_modules.qlinear.torch_awq import AwqTorchLinear
from gptqmodel.quantization.awq.utils.packing_utils import dequantize_gemm
from gptqmodel.utils.model import convert_gptq_v1_to_v2_format_module, convert_gptq_v2_to_v1_format_module
from transformers import FineGrainedFP8Config
from transformers.integrations.finegrained_fp8 import Fp8Quantize, _dequantize_fp8_weight

os.environ["GPTQMODEL_DISABLE_PACK_EXT"] = "1"  # which it would compile first


def linear(weight):
    rows, columns = weight.shape
    module = torch.nn.Linear(columns, rows, bias=False)
    module.weight = torch.nn.Parameter(weight, requires_grad=False)
    return module


def affine(weight, groups, bits, symmetric):
    """(weight, scales, zero points), the latter two for outputs x groups, scales as f16 holds them.

    groups: the group of each column. What codes from 0 to 2^bits - 1 cannot hold is cut off the weight, for the libraries do not all do it.
    """
    groups, largest = groups.long(), 2**bits - 1
    extremes = [weight[:, groups == group].aminmax(dim=1) for group in range(int(groups.max()) + 1)]
    low, high = (torch.stack(values, 1) for values in zip(*extremes))
    low, high = low.clamp(max=0), high.clamp(min=0)
    if symmetric:
        scales = (2 * torch.maximum(-low, high) / largest).half().float()
        zeros = torch.full_like(scales, 2**(bits - 1))
    else:
        scales = ((high - low) / largest).half().float()
        zeros = (-low / scales).round()
    scale, zero = scales[:, groups], zeros[:, groups]
    return weight.clamp(-zero * scale, (largest - zero) * scale), scales, zeros


def gptq(name, weight, bits, group_size, symmetric, act_order=False, version=1):
    """GPTQModel's; group_size -1: a group a row; act_order: groups of columns in a random order, as one by their importance is."""
    rows, columns = weight.shape
    options = dict(bits=bits, group_size=group_size, sym=symmetric, desc_act=act_order, in_features=columns, out_features=rows)
    groups = torch.arange(columns, dtype=torch.int32) // (columns if group_size == -1 else group_size)
    if act_order:
        groups = groups[torch.from_numpy(np.random.default_rng(columns).permutation(columns))]
    cut, scales, zeros = affine(weight, groups, bits, symmetric)
    packed = TorchLinear(**options)
    packed.pack_block(linear(cut), scales, zeros, groups)
    if version == 1:
        convert_gptq_v2_to_v1_format_module(packed, packed)
    tensors = {part: getattr(packed, part).clone() for part in ("qweight", "qzeros", "scales", "g_idx")}
    read = TorchLinear(**options).eval()
    read.load_state_dict(tensors)
    if version == 1:
        convert_gptq_v1_to_v2_format_module(read, bits, torch.int32)
    read.scales = read.scales.float()
    return tensors, read.dequantize_weight().T.contiguous()


def awq(name, weight, group_size):
    """AutoAWQ's "gemm", as GPTQModel goes on with it."""
    rows, columns = weight.shape
    cut, scales, zeros = affine(weight, torch.arange(columns) // group_size, 4, symmetric=False)
    packed = AwqTorchLinear(bits=4, group_size=group_size, sym=False, desc_act=False, in_features=columns, out_features=rows)
    packed.pack(linear(cut), scales, zeros)
    tensors = {part: getattr(packed, part) for part in ("qweight", "qzeros", "scales")}
    return tensors, dequantize_gemm(tensors["qweight"], tensors["qzeros"], tensors["scales"].float(), 4, group_size).T.contiguous()


def extremes(weight, arguments):
    """(low, high) of what shares a scale, in the shape of the scales."""
    if arguments.group_size:
        weight = weight.unflatten(1, (-1, arguments.group_size))
    if arguments.strategy == "tensor":
        return weight.min().reshape(1), weight.max().reshape(1)
    low, high = weight.aminmax(dim=-1, keepdim=not arguments.group_size)
    return low, high


def compressed(name, weight, scheme, compression, scale_type=torch.bfloat16, input_scale=None, act_order=False):
    """compressed-tensors'; a static input_scale is only for those who quantise activations.

    act_order: weight_g_idx says in which group a column is, as the library wrote it until 2025. This version cannot read that; 0.9.2 reads
    the same values.
    """
    arguments = scheme.weights
    columns = weight.shape[1]
    order = np.random.default_rng(columns).permutation(columns) if act_order else np.arange(columns)
    grouped = weight[:, order]
    state = {"weight": grouped}
    if arguments.strategy == "tensor_group":
        state["weight_global_scale"] = generate_gparam(weight.min(), weight.max())
    scale, zero = calculate_qparams(*extremes(grouped, arguments), arguments, state.get("weight_global_scale"))
    state |= {"weight_scale": scale.to(scale_type), "weight_zero_point": zero}
    compressor = BaseCompressor.get_value_from_registry(compression)
    tensors = compressor.compress(state, scheme)
    scale = tensors["weight_scale"].float()
    if compression == "nvfp4-pack-quantized":  # whose compressor computes in bf16
        codes = unpack_fp4_from_uint8(tensors["weight_packed"], *weight.shape, torch.float32)
        read = dequantize(codes, scale, args=arguments, global_scale=tensors["weight_global_scale"])
    else:
        read = compressor.decompress({**tensors, "weight_scale": scale}, scheme)["weight"]
    if act_order:
        back = np.argsort(order)
        codes = unpack_from_int32(tensors["weight_packed"], arguments.num_bits, weight.shape)
        tensors["weight_packed"] = pack_to_int32(codes[:, back].contiguous(), arguments.num_bits)
        tensors["weight_g_idx"] = torch.from_numpy((back // arguments.group_size).astype(np.int32))
        read = read[:, back].contiguous()
    if input_scale is not None:
        tensors["input_scale"] = torch.full((1,), input_scale, dtype=scale_type)
    return tensors, read


def fp8_blocks(name, weight):
    """transformers' FineGrainedFP8; it quantises whole blocks, and so gets the last ones filled with zeros."""
    rows, columns = weight.shape
    quantizer = Fp8Quantize(type("Quantizer", (), {"quantization_config": FineGrainedFP8Config()}))
    padded = torch.nn.functional.pad(weight, (0, -columns % 128, 0, -rows % 128))
    tensors = quantizer.convert({"weight": padded})
    tensors = {"weight": tensors["weight"][:rows, :columns].contiguous(), "weight_scale_inv": tensors["weight_scale_inv"]}
    return tensors, _dequantize_fp8_weight(tensors["weight"], tensors["weight_scale_inv"], [128, 128], torch.float32)


def bnb_4bit(name, weight, kind, nested):
    """bitsandbytes' nf4 or fp4; nested: with scales that are quantised themselves."""
    codes, state = bnb.functional.quantize_4bit(weight.half(), quant_type=kind, compress_statistics=nested)
    parts = state.as_dict(packed=True)
    read = bnb.functional.QuantState.from_dict(dict(parts), torch.device("cpu"))
    read.dtype = torch.float32
    return {"weight": codes, **{f"weight.{part}": value for part, value in parts.items()}}, bnb.functional.dequantize_4bit(codes, read)


def bnb_8bit(name, weight):
    """bitsandbytes' LLM.int8()."""
    module = bnb.nn.Linear8bitLt(weight.shape[1], weight.shape[0], bias=False, has_fp16_weights=False)
    module.weight = bnb.nn.Int8Params(weight.half(), requires_grad=False, has_fp16_weights=False)
    tensors = module.to("cpu").state_dict()
    return tensors, bnb.functional.int8_vectorwise_dequant(tensors["weight"], tensors["SCB"])


def mlx(name, weight, element_type, group_size, bits, overrides={}):
    """MLX's affine; overrides: {name of a module: {"group_size": ..., "bits": ...}}."""
    options = overrides.get(name, {"group_size": group_size, "bits": bits})
    packed = mx.quantize(mx.array(weight.numpy()).astype(element_type), **options)
    read = mx.dequantize(packed[0], packed[1].astype(mx.float32), packed[2].astype(mx.float32), **options)
    half = {mx.bfloat16: torch.bfloat16, mx.float16: torch.float16}[element_type]
    tensors = {"weight": torch.from_numpy(np.array(packed[0]))}
    for part, value in zip(("scales", "biases"), packed[1:]):
        tensors[part] = torch.from_numpy(np.array(value.astype(mx.float32))).to(half)
    return tensors, torch.from_numpy(np.array(read))
