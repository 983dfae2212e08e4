"""The reference of the parity fixtures: a family's tiny random model, the error of bf16 arithmetic in it, and what its outcome shows."""

import contextlib
import copy
import inspect
import re
import zlib

import numpy as np
import torch
import transformers
from transformers.models.llama import modeling_llama
from transformers.models.phi3 import modeling_phi3

import parity_definitions
from parity_files import LLAMA_CPP_COMMIT, TORCH_TYPES, mxfp4
from parity_models import FIXTURES, LLAMA_CPP

F32_TOLERANCE = 1e-4  # of the float32 test: L2 of the error over L2 of the logits
BF16_TOLERANCE = 2e-2
SIZE_LIMIT = 150000  # bytes of a fixture that llama.cpp's converter made


def is_transposed(model, name, parameter):
    """Whether a matrix's rows are its inputs."""
    owner = model.get_submodule(name.rpartition(".")[0])
    return type(owner).__name__ == "Conv1D" or (parameter.ndim == 3 and getattr(owner, "is_transposed", "Llama4" in type(owner).__name__))


def standard_deviation(name, parameter, config, transposed):
    """Scales that make every layer's contribution to the residual stream O(1) and attention neither flat nor one-hot."""
    shape = parameter.shape
    if re.search(r"(embed_tokens|embed_in|wte|word_embeddings|shared)\.weight$", name):
        return 0.6 if config.tie_word_embeddings else 1.0
    if re.search(r"(embed_positions|wpe|position_embeddings|token_type_embeddings)\.weight$", name):
        return 0.5
    if name.endswith("bias") or len(shape) < 2:
        return 0.5
    gains = {"q_proj": 1.3, "k_proj": 1.3, "v_proj": 1.5, "o_proj": 1.5, "gate_proj": 1.4, "up_proj": 1.4, "gate_up_proj": 1.4,
             "down_proj": 1.6, "lm_head": 2.0, "gate": 2.0, "router": 2.0}
    owner = name.split(".")[-2] if name.endswith(".weight") else name.split(".")[-1]
    return gains.get(owner, 1.4) * (shape[-2] if transposed else shape[-1])**-0.5


def is_factor(name):
    return re.search(r"norm|LayerNorm|(^|\.)ln_|layer_scalar|router\.(scale|per_expert_scale)", name) is not None


def fill(name, model):
    """Random values for all that the files hold, rounded to the type that they have there: both formats hold the very same values."""
    fixture, config = FIXTURES[name], model.config.get_text_config()
    parameters = dict(model.named_parameters())
    buffers = {n: t for n, t in model.state_dict().items() if n in dict(model.named_buffers()) and t.is_floating_point()}
    for tensor_name, tensor in {**buffers, **parameters}.items():
        if re.search(r"act_fn\.(beta|eps)$", tensor_name) or (fixture.constant and re.search(fixture.constant, tensor_name)):
            continue  # Apertus' constants, and others'
        random = np.random.default_rng([zlib.crc32(name.encode()), zlib.crc32(tensor_name.encode())])
        shape = tuple(tensor.shape)
        if is_factor(tensor_name) and not tensor_name.endswith("bias"):
            values = random.uniform(0.7, 1.3, shape) - (fixture.plus_one and not tensor_name.endswith("linear_attn.norm.weight"))
        else:
            deviation = standard_deviation(tensor_name, tensor, config, is_transposed(model, tensor_name, tensor))
            values = random.standard_normal(shape) * deviation
        for pattern, gain in fixture.gains.items():
            values = values * gain if re.search(pattern, tensor_name) else values
        if fixture.mxfp4 and re.search(fixture.mxfp4, tensor_name):
            values = mxfp4(values.swapaxes(1, 2))[2].swapaxes(1, 2).copy()
        tensor.copy_(torch.from_numpy(values.astype(np.float32)).to(TORCH_TYPES[fixture.element_type]).float())


def make_model(name, **changes):
    model_class = getattr(parity_definitions, FIXTURES[name].model, None) or getattr(transformers, FIXTURES[name].model)
    config = model_class.config_class(**copy.deepcopy({**FIXTURES[name].config, **changes}))
    # Falcon's eager attention adds ALiBi twice, once with the mask.
    config._attn_implementation = "sdpa" if getattr(config, "alibi", False) else "eager"
    config._experts_implementation = "eager"
    model = model_class(config).eval()
    if FIXTURES[name].has_own_head:
        model.lm_head.weight = torch.nn.Parameter(torch.empty_like(model.lm_head.weight))
    with torch.no_grad():
        fill(name, model)
    return model


@contextlib.contextmanager
def replaced(replacements):
    """(owner, attribute, value) of each thing replaced for a while."""
    saved = [(owner, attribute, inspect.getattr_static(owner, attribute)) for owner, attribute, _ in replacements]
    try:
        for owner, attribute, value in replacements:
            setattr(owner, attribute, value)
        yield
    finally:
        for owner, attribute, value in saved:
            setattr(owner, attribute, value)


def reference(name):
    """Llama with partial rotary: transformers has it only in families with other weights, so Phi-3's functions stand in."""
    if name != "llama_partial_rotary":
        return contextlib.nullcontext()
    return replaced([
        (modeling_llama, "apply_rotary_pos_emb", modeling_phi3.apply_rotary_pos_emb),
        (modeling_llama.LlamaRotaryEmbedding, "compute_default_rope_parameters",
         staticmethod(modeling_phi3.Phi3RotaryEmbedding.compute_default_rope_parameters))])


def rounded_operands(model):
    """Matrix products over operands rounded to bf16, the router's apart: what the bf16 arithmetic does, but for its sums' order."""
    routers = {parameter.data_ptr() for tensor_name, parameter in model.named_parameters()
               if re.search(r"\.(gate|router|router\.\w+)\.weight$", tensor_name)}
    linear = torch.nn.functional.linear
    rounded = lambda x: x.bfloat16().float()

    def rounded_linear(x, weight, bias=None):
        if weight.data_ptr() in routers:
            return linear(x, weight, bias)
        return linear(rounded(x), rounded(weight), bias)

    def last_two(function):
        def with_rounded(*operands, **more):
            more = {name: rounded(value) if name in ("batch1", "batch2") else value for name, value in more.items()}
            return function(*operands[:-2], *(operands[-2:] if "batch1" in more else map(rounded, operands[-2:])), **more)
        return with_rounded

    products = [(torch, "matmul"), (torch, "bmm"), (torch, "addmm"), (torch, "baddbmm"), (torch.Tensor, "matmul"),
                (torch.Tensor, "__matmul__"), (torch.Tensor, "baddbmm"), (torch.Tensor, "bmm")]
    return replaced([(torch.nn.functional, "linear", rounded_linear)] +
                    [(owner, function, last_two(getattr(owner, function))) for owner, function in products])


def difference(changed, logits):
    return float((changed - logits).norm() / logits.norm())


def smallest_influence(name, model, outcome):
    """Of a tensor with its values in reverse order, and of a change of the configuration, on a model's outcome: (difference, of what)."""
    expected, found = outcome(model), []
    for tensor_name, tensor in model.state_dict().items():
        if not tensor.is_floating_point() or (FIXTURES[name].unseen and re.search(FIXTURES[name].unseen, tensor_name)):
            continue
        with torch.no_grad():
            kept = tensor.clone()
            tensor.copy_(kept.flip(tuple(range(kept.ndim))) if kept.numel() > 1 else kept * 0.5)
            found.append((difference(outcome(model), expected), tensor_name))
            tensor.copy_(kept)
    for change in FIXTURES[name].visible:
        found.append((difference(outcome(make_model(name, **change)), expected), str(change)))
    return min(found)


def made_with(name):
    versions = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    return {**versions, "llama.cpp": LLAMA_CPP_COMMIT} if FIXTURES[name].gguf == LLAMA_CPP else versions


def size_of(directory):
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
