"""Writes a parity fixture's files: the Hugging Face directory, and the GGUF by llama.cpp's converter or by the writer here."""

import copy
import json
import os
import pathlib
import re
import subprocess
import sys

import gguf
import numpy as np
import safetensors.torch
import tokenizers
import torch
import transformers

from parity_models import FIXTURES, FUSED_EXPERTS, LLAMA_CPP, NULL, SHARDED

LLAMA_CPP_COMMIT = "0c1e57098bba43ac29e6e3b677cdceebdd22334f"
BYTE_TOKENS = 256
TORCH_TYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def vocabulary(size):
    """GPT-2's spelling of the 256 bytes, a few merges, two control tokens, fillers."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    spelling, extra = {}, 0
    for byte in range(BYTE_TOKENS):
        if byte in printable:
            spelling[byte] = chr(byte)
        else:
            spelling[byte], extra = chr(256 + extra), extra + 1
    merges = [("t", "h"), ("th", "e"), ("\u0120", "a")]
    tokens = [spelling[byte] for byte in range(BYTE_TOKENS)] + ["<|begin|>", "<|end|>"] + [a + b for a, b in merges]
    tokens += [f"<filler{i}>" for i in range(size - len(tokens))]
    return tokens, merges


def write_tokenizer(directory, size, indented):
    tokens, merges = vocabulary(size)
    regular = {token: i for i, token in enumerate(tokens) if i < 256 or 258 <= i < 258 + len(merges)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={t: i for i, t in enumerate(tokens)}, merges=merges))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    tokenizer.add_special_tokens(["<|begin|>", "<|end|>"])
    assert len(regular) == 256 + len(merges) and tokenizer.get_vocab_size() == size
    tokenizer.save(str(directory / "tokenizer.json"), pretty=indented)
    (directory / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<|begin|>", "eos_token": "<|end|>", "add_bos_token": False,
        "model_max_length": 128}, indent=1) + "\n")


MXFP4_VALUES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def mxfp4(values):
    """(..., count) as blocks (..., count / 32, 16), of two values the first in the low bits; exponents; the values that they hold."""
    grouped = values.reshape(*values.shape[:-1], -1, 32)
    exponents = np.ceil(np.log2(np.abs(grouped).max(-1) / 6))
    codes = np.abs(grouped[..., None] / np.exp2(exponents)[..., None, None] - MXFP4_VALUES).argmin(-1).astype(np.uint8)
    held = MXFP4_VALUES[codes] * np.exp2(exponents)[..., None]
    return codes[..., ::2] | codes[..., 1::2] << 4, (exponents + 127).astype(np.uint8), held.reshape(values.shape).astype(np.float32)


def write_mxfp4(path, pattern):
    """Matrices of experts, inputs before outputs, as OpenAI published them: outputs first, in MXFP4."""
    tensors = safetensors.torch.load_file(path)
    for name in [name for name in tensors if re.search(pattern, name)]:
        blocks, scales, _ = mxfp4(tensors.pop(name).float().numpy().swapaxes(1, 2))
        tensors[name + "_blocks"], tensors[name + "_scales"] = torch.from_numpy(blocks), torch.from_numpy(scales)
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})


def rename(path, fixture):
    """To the names that published files have, with projections joined as they have them."""
    tensors = safetensors.torch.load_file(path)
    for pattern, whole in fixture.joined.items():
        words = re.search(r"\((.*)\)", pattern)[1].split("|")
        for name in [name for name in tensors if (found := re.search(pattern, name)) and found[1] == words[0]]:
            parts = [tensors.pop(name.replace(words[0], word)) for word in words]
            tensors[re.sub(pattern, whole, name)] = torch.cat(parts)
    for pattern, name in fixture.renamed.items():
        tensors = {re.sub(pattern, name, key): value for key, value in tensors.items()}
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})


def write_adapters(path, count, rank=2):
    """PyTorch's parametrizations of all matrices: the matrix under a name of its own, and factors of what is added to it."""
    tensors = safetensors.torch.load_file(path)
    random = np.random.default_rng(1)
    for name in [name for name in tensors if tensors[name].ndim == 2]:
        matrix, owner = tensors.pop(name), name.removesuffix("weight")
        rows, columns = matrix.shape
        shapes = {"A": (count, rank, columns), "B": (count, rows, rank)}
        if "embeddings" in name:
            shapes = {"A": (count, rows, rank), "B": (count, rank, columns)}
        tensors[owner + "parametrizations.weight.original"] = matrix
        for half, shape in shapes.items():
            values = torch.from_numpy(random.standard_normal(shape).astype(np.float32))
            tensors[f"{owner}parametrizations.weight.0.lora_{half}"] = values.to(matrix.dtype)
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})


def write_prediction_layer(path, of):
    """Qwen's layer that guesses tokens further ahead: a layer like this one, and what makes its input."""
    tensors = safetensors.torch.load_file(path)
    prefix = f"model.layers.{of}."
    tensors |= {"mtp.layers.0." + name.removeprefix(prefix): value.clone() for name, value in tensors.items() if name.startswith(prefix)}
    norm = tensors["model.norm.weight"]
    tensors |= {f"mtp.{name}.weight": norm.clone() for name in ("norm", "pre_fc_norm_embedding", "pre_fc_norm_hidden")}
    tensors["mtp.fc.weight"] = torch.zeros(len(norm), 2 * len(norm), dtype=norm.dtype)
    safetensors.torch.save_file(tensors, path, metadata={"format": "pt"})


def changed(config, changes):
    """With the changes' values, and without their keys that have none."""
    nested = {key: changed(config[key], value) if isinstance(config.get(key), dict) and isinstance(value, dict) else value
              for key, value in changes.items()}
    return {key: None if value is NULL else value
            for key, value in {**config, **nested}.items() if value is not None or key not in changes}


def write_hugging_face(directory, name, model):
    fixture = FIXTURES[name]
    directory.mkdir(parents=True)
    typed = copy.deepcopy(model).to(TORCH_TYPES[fixture.element_type])
    typed.save_pretrained(directory, max_shard_size="100KB" if name == SHARDED else "5GB", save_original_format=name != FUSED_EXPERTS)
    if fixture.mxfp4:
        write_mxfp4(directory / "model.safetensors", fixture.mxfp4)
    if fixture.renamed or fixture.joined:
        rename(directory / "model.safetensors", fixture)
    if fixture.predicts is not None:
        write_prediction_layer(directory / "model.safetensors", fixture.predicts)
    if fixture.adapters:
        write_adapters(directory / "model.safetensors", fixture.adapters)
    write_tokenizer(directory, model.config.get_text_config().vocab_size, indented=fixture.gguf not in (LLAMA_CPP, None))
    if fixture.published_class or fixture.published_config:
        config = json.loads((directory / "config.json").read_text())
        config["architectures"] = [fixture.published_class or fixture.model]
        config = changed(config, fixture.published_config)
        (directory / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


class Converter:
    """llama.cpp's converter in a process of its own, started when first needed."""

    def __init__(self, llama_cpp):
        self.llama_cpp, self.process = llama_cpp, None

    def convert(self, directory, path, name):
        if self.process is None:
            if self.llama_cpp is None:
                raise SystemExit(f"{name} needs --llama-cpp DIRECTORY, a checkout of llama.cpp at {LLAMA_CPP_COMMIT}")
            script = pathlib.Path(__file__).with_name("parity_converter.py")
            self.process = subprocess.Popen([sys.executable, script, self.llama_cpp], text=True, env={**os.environ, "TQDM_DISABLE": "1"},
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.process.stdin.write(json.dumps({
            "directory": str(directory), "file": str(path), "type": FIXTURES[name].element_type, "name": name,
            "plain_config": FIXTURES[name].plain_config}) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if answer != "done":
            raise RuntimeError(f"{name}: llama.cpp's converter: {answer}")


def permuted(weight, head_count):
    """Rows of each head reordered so that RoPE's pairs are neighbours, as llama.cpp's converter does it for Llama."""
    return weight.reshape(head_count, 2, weight.shape[0] // head_count // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def permuted_partial(weight, head_count, rotary_dim):
    heads = weight.reshape(head_count, -1, *weight.shape[1:]).copy()
    for i in range(head_count):
        heads[i, :rotary_dim] = permuted(heads[i, :rotary_dim], 1)
    return heads.reshape(weight.shape)


GGUF_NAMES = {
    "embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm", "q_proj": "attn_q", "k_proj": "attn_k", "v_proj": "attn_v", "o_proj": "attn_output",
    "q_norm": "attn_q_norm", "k_norm": "attn_k_norm", "gate_proj": "ffn_gate", "up_proj": "ffn_up", "down_proj": "ffn_down",
    "gate": "ffn_gate_inp",
}


def gguf_tensors(model, arch):
    """(GGUF name, numpy array) of every tensor."""
    config = model.config
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    rotary_dim = int(head_dim * config.rope_parameters.get("partial_rotary_factor", 1.0))
    for name, parameter in model.named_parameters():
        parts, value = name.split("."), parameter.detach().numpy()
        block = f"blk.{parts[2]}." if "layers" in parts else ""
        if parts[-1] == "gate_up_proj":
            gate, up = np.split(value, 2, axis=1)
            yield block + "ffn_gate_exps.weight", gate
            yield block + "ffn_up_exps.weight", up
        elif parts[-1] == "down_proj":
            yield block + "ffn_down_exps.weight", value
        else:
            if arch == "llama" and parts[-2] in ("q_proj", "k_proj"):
                heads = config.num_attention_heads if parts[-2] == "q_proj" else config.num_key_value_heads
                value = permuted_partial(value, heads, rotary_dim)
            yield block + GGUF_NAMES[parts[-2]] + "." + parts[-1], value
    if config.rope_parameters["rope_type"] == "llama3":
        yield "rope_freqs.weight", llama3_divisors(config, rotary_dim)


def llama3_divisors(config, rotary_dim):
    plain = 1.0 / (config.rope_parameters["rope_theta"] ** (torch.arange(0, rotary_dim, 2, dtype=torch.float32) / rotary_dim))
    scaled, _ = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](config)
    return (plain / scaled).numpy()


def write_gguf(path, name, model):
    arch, element_type = FIXTURES[name].gguf, FIXTURES[name].element_type
    config, parameters = model.config, model.config.rope_parameters
    writer = gguf.GGUFWriter(path, arch)
    writer.add_name(name)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(int(head_dim * parameters.get("partial_rotary_factor", 1.0)))
    writer.add_rope_freq_base(parameters["rope_theta"])
    if parameters["rope_type"] == "linear":
        writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
        writer.add_rope_scaling_factor(parameters["factor"])
    if parameters["rope_type"] == "yarn":
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(parameters["factor"])
        writer.add_rope_scaling_orig_ctx_len(parameters["original_max_position_embeddings"])
    if getattr(config, "sliding_window", None):
        writer.add_sliding_window(config.sliding_window)
    if hasattr(config, "num_experts_per_tok"):
        writer.add_expert_count(config.num_experts if hasattr(config, "num_experts") else config.num_local_experts)
        writer.add_expert_used_count(config.num_experts_per_tok)
        if hasattr(config, "moe_intermediate_size"):
            writer.add_expert_feed_forward_length(config.moe_intermediate_size)
    write_gguf_tokenizer(writer, config.vocab_size)
    stored = {"F32": np.float32, "F16": np.float16}.get(element_type)
    for tensor_name, value in gguf_tensors(model, arch):
        if value.ndim == 1 or "ffn_gate_inp" in tensor_name:
            writer.add_tensor(tensor_name, np.ascontiguousarray(value, np.float32))
        elif stored is None:
            bits = (np.ascontiguousarray(value, np.float32).view(np.uint32) >> 16).astype(np.uint16)
            writer.add_tensor(tensor_name, bits.view(np.uint8), raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(tensor_name, np.ascontiguousarray(value, stored))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def write_gguf_tokenizer(writer, size):
    tokens, merges = vocabulary(size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([gguf.TokenType.CONTROL if token in ("<|begin|>", "<|end|>") else gguf.TokenType.NORMAL for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_add_bos_token(False)
