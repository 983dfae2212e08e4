"""The demo model: a small Qwen3-MoE decoder in plain PyTorch.

The arithmetic is that of Hugging Face's Qwen3MoeForCausalLM (check_parity.py
compares the two); only the layout differs, so that training is fast on a CPU:
the experts of a layer lie in three stacked tensors, and tokens are sorted by
expert so that each expert sees one dense matrix product.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    """Shape of the model. Every row length is a multiple of 256."""

    vocab_size: int = 1536
    hidden: int = 256
    layers: int = 4
    heads: int = 8
    kv_heads: int = 2
    head_dim: int = 32
    experts: int = 8
    experts_used: int = 2
    expert_ff: int = 256
    context: int = 1024
    rope_base: float = 10000.0
    norm_eps: float = 1e-6


class RMSNorm(nn.Module):
    """Root-mean-square norm over the last dimension."""

    def __init__(self, size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, x):
        return F.rms_norm(x.float(), (x.shape[-1],), self.weight, self.eps)


def rope_tables(cfg, length, device=None):
    """Cosine and sine tables [length, head_dim] for NeoX pairing."""
    half = torch.arange(0, cfg.head_dim, 2, device=device).float()
    freq = 1.0 / cfg.rope_base ** (half / cfg.head_dim)
    angle = torch.outer(torch.arange(length, device=device).float(), freq)
    angle = torch.cat([angle, angle], dim=-1)
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    """Turn x [batch, heads, time, head_dim] by its position."""
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-right, left], dim=-1) * sin


def causal_attention(q, k, v, block=128):
    """Attention of q [batch, heads, time, dim] on k, v of fewer heads.

    Query positions go in blocks, each against the keys up to its end. On a CPU
    in bfloat16 this takes less than half the time of the fused kernel.
    """
    batch, heads, time, dim = q.shape
    groups, each = k.shape[1], heads // k.shape[1]
    q = (q * dim ** -0.5).view(batch, groups, each, time, dim)
    outs = []
    for first in range(0, time, block):
        end = min(first + block, time)
        size = end - first
        part = q[:, :, :, first:end].reshape(batch, groups, each * size, dim)
        score = (part @ k[:, :, :end].mT).view(batch, groups, each, size, end)
        future = torch.full((size, end), float("-inf"), dtype=q.dtype)
        score = score + future.triu(first + 1)
        share = score.softmax(dim=-1, dtype=q.dtype)
        share = share.view(batch, groups, each * size, end)
        outs.append((share @ v[:, :, :end]).view(batch, groups, each, size, dim))
    return torch.cat(outs, dim=3).view(batch, heads, time, dim)


class Attention(nn.Module):
    """Grouped-query attention with RMS norm on each query and key head."""

    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        wide, narrow = cfg.heads * cfg.head_dim, cfg.kv_heads * cfg.head_dim
        self.q_proj = nn.Linear(cfg.hidden, wide, bias=False)
        self.k_proj = nn.Linear(cfg.hidden, narrow, bias=False)
        self.v_proj = nn.Linear(cfg.hidden, narrow, bias=False)
        self.o_proj = nn.Linear(wide, cfg.hidden, bias=False)
        self.q_norm = RMSNorm(cfg.head_dim, cfg.norm_eps)
        self.k_norm = RMSNorm(cfg.head_dim, cfg.norm_eps)

    def forward(self, x, rope):
        batch, time, _ = x.shape
        shape = (batch, time, -1, self.cfg.head_dim)
        v = self.v_proj(x).view(shape).transpose(1, 2)
        q = self.q_norm(self.q_proj(x).view(shape)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x).view(shape)).transpose(1, 2)
        q, k = rotate(q, *rope).to(v.dtype), rotate(k, *rope).to(v.dtype)
        out = causal_attention(q, k, v)
        return self.o_proj(out.transpose(1, 2).reshape(batch, time, -1))


class Experts(nn.Module):
    """Top-k of n SwiGLU experts: softmax, choice, weights normed to sum 1."""

    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.router = nn.Linear(cfg.hidden, cfg.experts, bias=False)
        inner = (cfg.experts, cfg.expert_ff, cfg.hidden)
        self.gate = nn.Parameter(torch.empty(inner))
        self.up = nn.Parameter(torch.empty(inner))
        self.down = nn.Parameter(
            torch.empty(cfg.experts, cfg.hidden, cfg.expert_ff))

    def route(self, flat):
        """Expert weights and choices of each token, and the balance loss."""
        with torch.autocast("cpu", enabled=False):
            probs = self.router(flat.float()).softmax(dim=-1)
        weight, choice = probs.topk(self.cfg.experts_used, dim=-1)
        weight = weight / weight.sum(dim=-1, keepdim=True)
        count = torch.bincount(choice.flatten(), minlength=self.cfg.experts)
        share = count.float() / choice.numel()
        balance = self.cfg.experts * (share * probs.mean(dim=0)).sum()
        return weight, choice, count, balance

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weight, choice, count, balance = self.route(flat)
        order = choice.flatten().argsort(stable=True)
        token = order // self.cfg.experts_used
        parts = flat.index_select(0, token).split(count.tolist())
        outs = []
        for i, part in enumerate(parts):
            inner = F.silu(F.linear(part, self.gate[i]))
            inner = inner * F.linear(part, self.up[i])
            outs.append(F.linear(inner, self.down[i]))
        out = torch.cat(outs).float()
        out = out * weight.flatten()[order].unsqueeze(-1)
        mixed = torch.zeros_like(flat, dtype=torch.float32)
        return mixed.index_add(0, token, out).view(x.shape), balance


class Block(nn.Module):
    """One layer: attention, then experts, each after a norm, both residual."""

    def __init__(self, cfg):
        super().__init__()
        self.attn_norm = RMSNorm(cfg.hidden, cfg.norm_eps)
        self.attn = Attention(cfg)
        self.ffn_norm = RMSNorm(cfg.hidden, cfg.norm_eps)
        self.ffn = Experts(cfg)

    def forward(self, x, rope):
        x = x + self.attn(self.attn_norm(x), rope)
        out, balance = self.ffn(self.ffn_norm(x))
        return x + out, balance


class Model(nn.Module):
    """The whole decoder; embeddings and output head share one matrix."""

    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.vocab_size, cfg.hidden)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.layers))
        self.norm = RMSNorm(cfg.hidden, cfg.norm_eps)
        cos, sin = rope_tables(cfg, cfg.context)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.init_weights()

    def init_weights(self):
        """Normal init; the matrices that write to the residual are smaller."""
        small = 0.02 / (2 * self.cfg.layers) ** 0.5
        for name, p in self.named_parameters():
            if p.dim() < 2:
                continue
            writes = name.endswith(("o_proj.weight", "ffn.down"))
            std = small if writes else 0.02
            if not writes and not name.startswith("embed"):
                std = 1.0 / p.shape[-1] ** 0.5
            nn.init.normal_(p, std=std)

    def forward(self, ids):
        """Logits [batch, time, vocab] and the mean balance loss."""
        rope = (self.cos[:ids.shape[1]], self.sin[:ids.shape[1]])
        x = self.embed(ids)
        total = 0.0
        for block in self.blocks:
            x, balance = block(x, rope)
            total = total + balance
        logits = F.linear(self.norm(x), self.embed.weight)
        return logits, total / len(self.blocks)
