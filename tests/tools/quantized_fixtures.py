"""The fixtures of quantised checkpoints: a model's sizes, how its matrices are stored, and what config.json says of that."""

import dataclasses
import functools
import typing

import compressed_tensors
import mlx.core as mx
import torch
import transformers
from compressed_tensors.quantization import QuantizationConfig
from compressed_tensors.quantization.quant_scheme import preset_name_to_scheme

from quantized_formats import awq, bnb_4bit, bnb_8bit, compressed, fp8_blocks, gptq, mlx

SIZES = dict(num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, head_dim=16, vocab_size=264, max_position_embeddings=128,
             bos_token_id=256, eos_token_id=257, pad_token_id=None, tie_word_embeddings=True)
SMALL = dict(hidden_size=64, intermediate_size=32)
SQUARE = dict(hidden_size=64, intermediate_size=64)  # whole groups of 64 in each row, or two of 32
WIDE = dict(hidden_size=128, intermediate_size=256, num_attention_heads=8)  # of 128, which most published checkpoints have


@dataclasses.dataclass(frozen=True)
class Fixture:
    quantize: typing.Callable  # of (module's name, matrix): one of quantized_formats.py
    quantization: dict  # what config.json says
    sizes: dict = dataclasses.field(default_factory=dict)  # where they differ from SIZES
    model: str = "LlamaForCausalLM"  # class in transformers
    element_type: torch.dtype = torch.bfloat16  # of what is not quantised
    plain: str = r"lm_head|embed_tokens|mlp\.gate$"  # pattern of the modules whose matrices are not
    key: str = "quantization_config"


def gptq_fixture(bits, group_size, symmetric, act_order=False, version=1, sizes=SMALL):
    """As GPTQModel writes it."""
    return Fixture(
        functools.partial(gptq, bits=bits, group_size=group_size, symmetric=symmetric, act_order=act_order, version=version),
        {"bits": bits, "checkpoint_format": "gptq" if version == 1 else "gptq_v2", "desc_act": act_order, "group_size": group_size,
         "lm_head": False, "pack_dtype": "int32", "quant_method": "gptq", "sym": symmetric,
         "meta": {"damp_percent": 0.05, "quantizer": ["gptqmodel:7.7.0"], "true_sequential": True}},
        sizes, element_type=torch.float16)


def awq_fixture(group_size, skipped=None, **more):
    """As AutoAWQ writes it."""
    return Fixture(functools.partial(awq, group_size=group_size),
                   {"bits": 4, "group_size": group_size, "modules_to_not_convert": skipped, "quant_method": "awq", "version": "gemm",
                    "zero_point": True}, element_type=torch.float16, **more)


def compressed_fixture(compression, preset, changes={}, sizes=SMALL, act_order=False, **more):
    """As llm-compressor writes it; changes: of the scheme of weights that compressed-tensors has under the preset's name."""
    scheme = preset_name_to_scheme(preset, ["Linear"])
    scheme.weights = scheme.weights.model_copy(update=changes)
    config = QuantizationConfig(
        config_groups={"group_0": scheme}, format=compression, quantization_status="compressed", ignore=["lm_head"])
    said = {**config.model_dump(mode="json"), "version": compressed_tensors.__version__, "sparsity_config": {}, "transform_config": {}}
    if act_order:
        weights = said["config_groups"]["group_0"]["weights"]
        weights |= {"actorder": "group", "block_structure": None, "observer": "minmax", "observer_kwargs": {}}
        said["version"] = "0.9.2"  # of those who wrote this
    return Fixture(functools.partial(compressed, scheme=scheme, compression=compression, act_order=act_order, **more), said, sizes)


def bnb_4bit_fixture(kind, nested, sizes):
    """As transformers writes it."""
    said = transformers.BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=kind, bnb_4bit_use_double_quant=nested).to_dict()
    return Fixture(functools.partial(bnb_4bit, kind=kind, nested=nested), said, sizes, element_type=torch.float16)


def mlx_fixture(element_type, group_size, bits, overrides={}, **more):
    """As mlx-lm writes it: embeddings and head are quantised, too."""
    half = {mx.bfloat16: torch.bfloat16, mx.float16: torch.float16}[element_type]
    return Fixture(functools.partial(mlx, element_type=element_type, group_size=group_size, bits=bits, overrides=overrides),
                   {"group_size": group_size, "bits": bits, "mode": "affine", **overrides},
                   element_type=half, plain="^$", key="quantization", **more)


FIXTURES = {
    "gptq_sym": gptq_fixture(4, 128, True, sizes=WIDE),
    "gptq_v2_asym": gptq_fixture(4, 32, False, version=2),
    "gptq_act_order": gptq_fixture(4, 32, True, act_order=True, sizes=SQUARE),
    "gptq_8bit": gptq_fixture(8, -1, True),
    "awq": awq_fixture(128, sizes=WIDE),
    "moe_awq": awq_fixture(32, skipped=["gate"], model="Qwen3MoeForCausalLM",
                           sizes=dict(hidden_size=64, intermediate_size=64, moe_intermediate_size=32, num_experts=4, num_experts_per_tok=2,
                                      decoder_sparse_step=1, norm_topk_prob=True)),
    "ct_w4a16": compressed_fixture("pack-quantized", "W4A16", sizes=WIDE),
    "ct_w4a16_asym": compressed_fixture("pack-quantized", "W4A16_ASYM", {"group_size": 32}),
    "ct_w4a16_act_order": compressed_fixture("pack-quantized", "W4A16", {"group_size": 32}, sizes=SQUARE, act_order=True),
    "ct_w8a16": compressed_fixture("pack-quantized", "W8A16", {"group_size": None, "strategy": "channel"},
                                   {**SMALL, "tie_word_embeddings": False}),
    "ct_w8a8": compressed_fixture("int-quantized", "W8A8", scale_type=torch.float32),
    "ct_fp8": compressed_fixture("float-quantized", "FP8_DYNAMIC"),
    "ct_fp8_tensor": compressed_fixture("float-quantized", "FP8", input_scale=0.03125),
    "ct_nvfp4": compressed_fixture("nvfp4-pack-quantized", "NVFP4A16", scale_type=torch.float32),
    # As Qwen3-FP8 and DeepSeek-V3 have it. Queries: 2 x 2 blocks, of which one is whole.
    "fp8_block": Fixture(
        fp8_blocks, {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
        dict(hidden_size=160, intermediate_size=32, num_attention_heads=10)),
    # Queries: 320 blocks of 64, and so two of the 256 that share a scale of scales.
    "bnb_nf4": bnb_4bit_fixture("nf4", True, {**SQUARE, "num_attention_heads": 8, "num_key_value_heads": 1, "head_dim": 40}),
    # down_proj: 96 columns, and so blocks that end in the middle of a row.
    "bnb_nf4_plain": bnb_4bit_fixture("nf4", False, dict(hidden_size=64, intermediate_size=96)),
    "bnb_fp4": bnb_4bit_fixture("fp4", True, SQUARE),
    "bnb_int8": Fixture(bnb_8bit, transformers.BitsAndBytesConfig(load_in_8bit=True).to_dict(), SMALL, element_type=torch.float16),
    "mlx_4bit": mlx_fixture(mx.bfloat16, 64, 4, sizes=SQUARE),
    "mlx_4bit_f16": mlx_fixture(mx.float16, 32, 4, sizes={**SMALL, "tie_word_embeddings": False}),
    "mlx_mixed": mlx_fixture(mx.bfloat16, 32, 4, {"model.layers.0.self_attn.v_proj": {"group_size": 64, "bits": 8}}, sizes=SMALL),
}
