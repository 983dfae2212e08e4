"""A Hugging Face directory of a GGUF file's BF16 weights, for engines that read no GGUF.

usage: hugging_face.py FILE DIRECTORY

Dense Llama and Qwen3 shapes; there is no tokenizer. The rows of Llama's Q and K stay in GGUF's order: weights are random, and speed does
not depend on what they are."""

import json
import os
import struct
import sys

import gguf

ARCHITECTURES = {"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"}
TYPES = {gguf.GGMLQuantizationType.BF16: "BF16", gguf.GGMLQuantizationType.F32: "F32"}
NAMES = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
LAYER_NAMES = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm", "attn_q": "self_attn.q_proj",
               "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
               "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj",
               "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj"}


def name_of(tensor):
    parts = tensor.name.removesuffix(".weight").split(".")
    name = f"model.layers.{parts[1]}.{LAYER_NAMES[parts[2]]}" if parts[0] == "blk" else NAMES[parts[0]]
    return name + ".weight"


def config_of(reader, architecture):
    def field(name):
        return reader.fields[f"{architecture}.{name}"].contents()

    return {"architectures": [ARCHITECTURES[architecture]], "model_type": architecture, "hidden_act": "silu", "torch_dtype": "bfloat16",
            "hidden_size": field("embedding_length"), "intermediate_size": field("feed_forward_length"),
            "num_hidden_layers": field("block_count"), "num_attention_heads": field("attention.head_count"),
            "num_key_value_heads": field("attention.head_count_kv"), "head_dim": field("attention.key_length"),
            "max_position_embeddings": field("context_length"), "rms_norm_eps": field("attention.layer_norm_rms_epsilon"),
            "rope_theta": field("rope.freq_base"), "vocab_size": field("vocab_size"), "bos_token_id": 256, "eos_token_id": 256,
            "tie_word_embeddings": all(tensor.name != "output.weight" for tensor in reader.tensors)}


def write_safetensors(path, tensors):
    head, at = {}, 0
    for tensor in tensors:
        size = tensor.data.nbytes
        head[name_of(tensor)] = {"dtype": TYPES[tensor.tensor_type], "shape": [int(size) for size in reversed(tensor.shape)],
                                 "data_offsets": [at, at + size]}
        at += size
    with open(path, "wb") as file:
        text = json.dumps(head).encode()
        file.write(struct.pack("<Q", len(text)) + text)
        for tensor in tensors:
            file.write(tensor.data.tobytes())


def main():
    source, directory = sys.argv[1:]
    reader = gguf.GGUFReader(source)
    architecture = reader.fields["general.architecture"].contents()
    if architecture not in ARCHITECTURES:
        raise SystemExit(f"{source}: architecture {architecture}, expected one of {', '.join(ARCHITECTURES)}")
    others = {tensor.tensor_type.name for tensor in reader.tensors if tensor.tensor_type not in TYPES}
    if others:
        raise SystemExit(f"{source}: tensors of {', '.join(sorted(others))}, expected BF16 and F32 alone")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config_of(reader, architecture), file, indent=1)
    write_safetensors(os.path.join(directory, "model.safetensors"), reader.tensors)


if __name__ == "__main__":
    main()
