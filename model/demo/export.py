"""Write a checkpoint of train.py as a GGUF file (Q8_0), and read it back.

    python export.py                    # build/demo -> weft-demo.gguf
    python export.py --out /tmp/try.gguf
"""

import argparse
import json
from pathlib import Path

import gguf
import numpy as np
import torch

from model import Config, Model
from vocab import CONTROL, END, STOP, TEMPLATE, USER_DEFINED

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
Q8_0 = gguf.GGMLQuantizationType.Q8_0
# Our names in a block, and GGUF's.
IN_BLOCK = {
    "attn_norm.weight": "attn_norm.weight", "ffn_norm.weight": "ffn_norm.weight",
    "attn.q_proj.weight": "attn_q.weight", "attn.k_proj.weight": "attn_k.weight",
    "attn.v_proj.weight": "attn_v.weight", "attn.o_proj.weight": "attn_output.weight",
    "attn.q_norm.weight": "attn_q_norm.weight",
    "attn.k_norm.weight": "attn_k_norm.weight",
    "ffn.router.weight": "ffn_gate_inp.weight", "ffn.gate": "ffn_gate_exps.weight",
    "ffn.up": "ffn_up_exps.weight", "ffn.down": "ffn_down_exps.weight",
}


def tensor_names(cfg):
    """Our parameter name for each GGUF tensor, in file order."""
    names = {"token_embd.weight": "embed.weight"}
    for i in range(cfg.layers):
        for ours, theirs in IN_BLOCK.items():
            names[f"blk.{i}.{theirs}"] = f"blocks.{i}.{ours}"
    names["output_norm.weight"] = "norm.weight"
    return names


def add_general(writer):
    """What the model is and where it comes from."""
    writer.add_type(gguf.GGUFType.MODEL)
    writer.add_name("Weft Demo")
    writer.add_description("A tiny mixture of experts that tells short tales, "
                           "shipped with Weft for trying it out")
    writer.add_license("apache-2.0")
    writer.add_size_label("8x0.8M")
    writer.add_languages(["en"])
    writer.add_tags(["text-generation"])
    writer.add_custom_alignment(32)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q8_0)
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)


def add_shape(writer, cfg):
    """The keys under 'qwen3moe.'."""
    writer.add_block_count(cfg.layers)
    writer.add_context_length(cfg.context)
    writer.add_embedding_length(cfg.hidden)
    writer.add_feed_forward_length(cfg.expert_ff * cfg.experts_used)
    writer.add_vocab_size(cfg.vocab_size)
    writer.add_head_count(cfg.heads)
    writer.add_head_count_kv(cfg.kv_heads)
    writer.add_key_length(cfg.head_dim)
    writer.add_value_length(cfg.head_dim)
    writer.add_layer_norm_rms_eps(cfg.norm_eps)
    writer.add_rope_freq_base(cfg.rope_base)
    writer.add_expert_count(cfg.experts)
    writer.add_expert_used_count(cfg.experts_used)
    writer.add_expert_feed_forward_length(cfg.expert_ff)


def add_tokenizer(writer, path):
    """Tokens, their types, merges, special ids and the chat template."""
    saved = json.loads(path.read_text())
    ids = dict(saved["model"]["vocab"])
    ids.update({t["content"]: t["id"] for t in saved["added_tokens"]})
    tokens = sorted(ids, key=ids.get)
    assert list(map(ids.get, tokens)) == list(range(len(tokens)))
    kinds = dict.fromkeys(CONTROL, gguf.TokenType.CONTROL)
    kinds.update(dict.fromkeys(USER_DEFINED, gguf.TokenType.USER_DEFINED))
    merges = [m if isinstance(m, str) else " ".join(m)
              for m in saved["model"]["merges"]]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types([kinds.get(t, gguf.TokenType.NORMAL) for t in tokens])
    writer.add_token_merges(merges)
    writer.add_bos_token_id(ids[END])
    writer.add_eos_token_id(ids[STOP])
    writer.add_pad_token_id(ids[END])
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def add_tensors(writer, cfg, weights):
    """Matrices as Q8_0; norms and routers, which are small, as they are."""
    for theirs, ours in tensor_names(cfg).items():
        data = weights[ours].float().numpy()
        if data.ndim < 2 or "ffn_gate_inp" in theirs:
            writer.add_tensor(theirs, data.astype(np.float32))
        else:
            writer.add_tensor(theirs, gguf.quants.quantize(data, Q8_0),
                              raw_dtype=Q8_0)


def write(checkpoint, tokenizer, out):
    """One GGUF file from a checkpoint and its tokenizer."""
    parts = torch.load(checkpoint, weights_only=True)
    cfg = Config(**parts["config"])
    writer = gguf.GGUFWriter(out, "qwen3moe")
    add_general(writer)
    add_shape(writer, cfg)
    add_tokenizer(writer, tokenizer)
    add_tensors(writer, cfg, parts["model"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return parts


def read(path):
    """The config and the dequantised float32 weights of a GGUF file."""
    reader = gguf.GGUFReader(path)

    def value(key):
        return reader.get_field("qwen3moe." + key).contents()
    weights = {t.name: torch.from_numpy(np.array(
        gguf.quants.dequantize(t.data, t.tensor_type), dtype=np.float32))
        for t in reader.tensors}
    cfg = Config(
        vocab_size=weights["token_embd.weight"].shape[0],
        hidden=value("embedding_length"), layers=value("block_count"),
        heads=value("attention.head_count"),
        kv_heads=value("attention.head_count_kv"),
        head_dim=value("attention.key_length"), experts=value("expert_count"),
        experts_used=value("expert_used_count"),
        expert_ff=value("expert_feed_forward_length"),
        context=value("context_length"), rope_base=value("rope.freq_base"),
        norm_eps=value("attention.layer_norm_rms_epsilon"))
    return cfg, weights


def load_model(path):
    """Our model with the weights of a GGUF file."""
    cfg, weights = read(path)
    model = Model(cfg)
    model.load_state_dict({ours: weights[theirs]
                           for theirs, ours in tensor_names(cfg).items()})
    return model.eval()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--build", type=Path, default=ROOT / "build/demo")
    p.add_argument("--out", type=Path, default=HERE / "weft-demo.gguf")
    args = p.parse_args()
    parts = write(args.build / "checkpoint.pt", args.build / "tokenizer.json",
                  args.out)
    print(f"{args.out}: {args.out.stat().st_size} bytes; step {parts['step']}, "
          f"{parts['tokens']} tokens, {parts['seconds'] / 60:.1f} minutes, "
          f"held out {parts['held']}")


if __name__ == "__main__":
    main()
