"""Encoders that transformers has no class for, as their papers and their authors' code define them, written out over torch's arrays.

Parameters have the names under which checkpoints are published. What is computed is plain: every text by itself, no masks, no caches.
"""

import math

import torch
from torch import nn
from torch.nn import functional
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import BaseModelOutput, SequenceClassifierOutput
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS


def heads(x, count):
    """(1, positions, width) as (1, heads, positions, width / heads)"""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def attend(q, k, v, bias=0.0):
    """Softmax of the scaled scores and their bias, over all positions: (1, positions, width)"""
    scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1]) + bias
    return torch.matmul(scores.softmax(-1), v).transpose(1, 2).flatten(-2)


def norm(config):
    return nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)


class Block(nn.Module):
    """A part of a model under one name, made of named parts."""

    def __init__(self, /, **parts):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


# --- Jina's BERT: https://arxiv.org/abs/2310.19923 ---

class JinaBertConfig(PreTrainedConfig):
    model_type = "jina_bert"


def alibi(head_count, length):
    """-slope |i - j|; slopes 2^(-8 (h + 1) / heads), and of a number that is no power of two, the rest of every second one of twice the power."""
    def of_power(count):
        return [2.0 ** (-8.0 * (head + 1) / count) for head in range(count)]
    power = 2 ** int(math.log2(head_count))
    slopes = of_power(power) + of_power(2 * power)[::2][:head_count - power]
    positions = torch.arange(length)
    return -torch.tensor(slopes)[:, None, None] * (positions[:, None] - positions[None]).abs()


class JinaBertLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        size, width, own = config.hidden_size, config.intermediate_size, {}
        if config.qk_post_norm:
            own = {"layer_norm_q": norm(config), "layer_norm_k": norm(config)}
        projections = {"query": nn.Linear(size, size), "key": nn.Linear(size, size), "value": nn.Linear(size, size)}
        self.attention = Block(**{"self": Block(**projections, **own)}, output=Block(dense=nn.Linear(size, size), LayerNorm=norm(config)))
        if config.qk_post_norm:
            self.mlp = Block(up_gated_layer=nn.Linear(size, 2 * width, bias=False), down_layer=nn.Linear(width, size))
            self.layer_norm_1, self.layer_norm_2 = norm(config), norm(config)
        else:
            self.mlp = Block(gated_layers=nn.Linear(size, 2 * width, bias=False), wo=nn.Linear(width, size), layernorm=norm(config))
        self.config = config

    def forward(self, x):
        own, out, count = getattr(self.attention, "self"), self.attention.output, self.config.num_attention_heads
        q, k, v = own.query(x), own.key(x), own.value(x)
        if self.config.qk_post_norm:
            q, k = own.layer_norm_q(q), own.layer_norm_k(k)
        attended = attend(heads(q, count), heads(k, count), heads(v, count), alibi(count, x.shape[1]))
        y = out.LayerNorm(out.dense(attended) + x)
        activation = functional.relu if self.config.feed_forward_type == "reglu" else functional.gelu
        if not self.config.qk_post_norm:
            gate, up = self.mlp.gated_layers(y).chunk(2, dim=-1)
            return self.mlp.layernorm(self.mlp.wo(activation(gate) * up) + y)
        y = self.layer_norm_1(x + y)
        up, gate = self.mlp.up_gated_layer(y).chunk(2, dim=-1)
        return self.layer_norm_2(y + self.mlp.down_layer(up * activation(gate)))


class JinaBertModel(PreTrainedModel):
    config_class = JinaBertConfig
    base_model_prefix = "bert"

    def __init__(self, config):
        super().__init__(config)
        size = config.hidden_size
        self.embeddings = Block(word_embeddings=nn.Embedding(config.vocab_size, size),
                                token_type_embeddings=nn.Embedding(config.type_vocab_size, size), LayerNorm=norm(config))
        self.encoder = Block(layer=nn.ModuleList(JinaBertLayer(config) for _ in range(config.num_hidden_layers)))
        self.pooler = Block(dense=nn.Linear(size, size))
        self.post_init()

    def forward(self, input_ids, token_type_ids):
        e = self.embeddings
        x = e.LayerNorm(e.word_embeddings(input_ids) + e.token_type_embeddings(token_type_ids))
        for layer in self.encoder.layer:
            x = layer(x)
        return BaseModelOutput(last_hidden_state=x)


class JinaBertForSequenceClassification(PreTrainedModel):
    config_class = JinaBertConfig
    base_model_prefix = "bert"

    def __init__(self, config):
        super().__init__(config)
        self.bert = JinaBertModel(config)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels)
        self.post_init()

    def forward(self, **inputs):
        first = self.bert(**inputs).last_hidden_state[:, 0]
        return SequenceClassifierOutput(logits=self.classifier(torch.tanh(self.bert.pooler.dense(first))))


# --- NTK's scaling of RoPE, of Alibaba's new-impl: https://kexue.fm/archives/9706 ---

def ntk_frequencies(config, device=None, **_):
    """For transformers' table of rotations: the frequencies, and the factor of cosines and sines."""
    rope = config.rope_parameters
    size, factor = config.hidden_size // config.num_attention_heads, rope["factor"]
    pair = torch.arange(size // 2, dtype=torch.float64)
    if "mixed_b" in rope:
        slower = torch.exp(math.log(factor) / (size / 2) ** rope["mixed_b"] * (pair + 1) ** rope["mixed_b"])
        return (rope["rope_theta"] ** (-2 * pair / size) / slower).float(), 1.0
    return ((rope["rope_theta"] * factor) ** (-2 * pair / size) / factor ** (2 / size)).float(), 1.0


ROPE_INIT_FUNCTIONS["ntk"] = ntk_frequencies


# --- Nomic's mixture: https://arxiv.org/abs/2502.07972 ---

class NomicMoeConfig(PreTrainedConfig):
    model_type = "nomic_moe"


def rotated(x, base):
    """(.., positions, size): pairs of the halves turned by position base^(-2i / size)"""
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * base ** (-torch.arange(half) / half)[None]
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()], -1)


class NomicExperts(nn.Module):
    """Of each position the likeliest experts, weighed by their probabilities among all; one bias for them together."""

    def __init__(self, config):
        super().__init__()
        rows = config.num_experts * config.n_inner
        self.router = Block(layer=nn.Linear(config.n_embd, config.num_experts, bias=False))
        self.experts = Block(mlp=Block(w1=nn.Parameter(torch.empty(rows, config.n_embd)), w2=nn.Parameter(torch.empty(rows, config.n_embd))),
                             bias=nn.Parameter(torch.zeros(config.n_embd)))
        self.config = config

    def forward(self, x):
        share, chosen = torch.topk(self.router.layer(x).softmax(-1), self.config.moe_top_k, dim=-1)
        w1, w2 = (w.unflatten(0, (self.config.num_experts, -1)) for w in (self.experts.mlp.w1, self.experts.mlp.w2))
        rows = []
        for row, shares, experts in zip(x[0], share[0], chosen[0]):
            given = [p * torch.matmul(functional.gelu(torch.matmul(row[None], w1[e].T)), w2[e])[0] for p, e in zip(shares, experts)]
            rows.append(sum(given) + self.experts.bias)
        return torch.stack(rows)[None]


class NomicMlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(config.n_embd, config.n_inner), nn.Linear(config.n_inner, config.n_embd)

    def forward(self, x):
        return self.fc2(functional.gelu(self.fc1(x)))


class NomicMoeLayer(nn.Module):
    def __init__(self, config, index):
        super().__init__()
        size = config.n_embd
        self.attn = Block(Wqkv=nn.Linear(size, 3 * size), out_proj=nn.Linear(size, size))
        self.mlp = NomicExperts(config) if index % config.moe_every_n_layers == 1 else NomicMlp(config)
        self.norm1, self.norm2 = (nn.LayerNorm(size, eps=config.layer_norm_epsilon) for _ in range(2))
        self.config = config

    def forward(self, x):
        q, k, v = (heads(part, self.config.n_head) for part in self.attn.Wqkv(x).chunk(3, dim=-1))
        base = self.config.rotary_emb_base
        x = self.norm1(x + self.attn.out_proj(attend(rotated(q, base), rotated(k, base), v)))
        return self.norm2(x + self.mlp(x))


class NomicMoeModel(PreTrainedModel):
    config_class = NomicMoeConfig
    base_model_prefix = "none"

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = Block(word_embeddings=nn.Embedding(config.vocab_size, config.n_embd),
                                token_type_embeddings=nn.Embedding(config.type_vocab_size, config.n_embd))
        self.emb_ln = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)
        self.encoder = Block(layers=nn.ModuleList(NomicMoeLayer(config, i) for i in range(config.n_layer)))
        self.post_init()

    def forward(self, input_ids):
        x = self.emb_ln(self.embeddings.word_embeddings(input_ids) + self.embeddings.token_type_embeddings.weight[0])
        for layer in self.encoder.layers:
            x = layer(x)
        return BaseModelOutput(last_hidden_state=x)
