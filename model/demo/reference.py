"""The exported model in Hugging Face's Qwen3MoeForCausalLM."""

import gguf
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

from export import read

IN_LAYER = {
    "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "ffn_gate_inp": "mlp.gate",
}


def hf_config(cfg):
    return Qwen3MoeConfig(
        vocab_size=cfg.vocab_size, hidden_size=cfg.hidden,
        intermediate_size=cfg.expert_ff * cfg.experts_used,
        num_hidden_layers=cfg.layers, num_attention_heads=cfg.heads,
        num_key_value_heads=cfg.kv_heads, head_dim=cfg.head_dim,
        max_position_embeddings=cfg.context, rms_norm_eps=cfg.norm_eps,
        rope_parameters={"rope_type": "default", "rope_theta": cfg.rope_base},
        num_experts=cfg.experts, num_experts_per_tok=cfg.experts_used,
        moe_intermediate_size=cfg.expert_ff, norm_topk_prob=True,
        decoder_sparse_step=1, tie_word_embeddings=True)


def hf_model(path):
    """Hugging Face's model with the dequantised weights of a GGUF file."""
    cfg, w = read(path)
    state = {"model.embed_tokens.weight": w["token_embd.weight"],
             "lm_head.weight": w["token_embd.weight"],
             "model.norm.weight": w["output_norm.weight"]}
    for i in range(cfg.layers):
        for theirs, ours in IN_LAYER.items():
            state[f"model.layers.{i}.{ours}.weight"] = w[f"blk.{i}.{theirs}.weight"]
        gate, up, down = (w[f"blk.{i}.ffn_{k}_exps.weight"]
                          for k in ("gate", "up", "down"))
        experts = f"model.layers.{i}.mlp.experts."
        state[experts + "gate_up_proj"] = torch.cat([gate, up], dim=1)
        state[experts + "down_proj"] = down
    model = Qwen3MoeForCausalLM(hf_config(cfg)).float().eval()
    model.load_state_dict(state)
    return model


def tokenizer_of(path):
    """The tokenizer, rebuilt from a GGUF file alone, and its template."""
    reader = gguf.GGUFReader(path)

    def value(key):
        return reader.get_field("tokenizer." + key).contents()
    tokens, kinds = value("ggml.tokens"), value("ggml.token_type")
    merges = [tuple(m.split(" ")) for m in value("ggml.merges")]
    plain = {t: i for i, t in enumerate(tokens) if kinds[i] == 1}
    tokenizer = Tokenizer(models.BPE(plain, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    for token, kind in zip(tokens, kinds):
        if kind != 1:
            tokenizer.add_tokens([AddedToken(token, special=kind == 3,
                                             normalized=False)])
    assert all(tokenizer.token_to_id(t) == i for i, t in enumerate(tokens))
    return tokenizer, value("chat_template")
