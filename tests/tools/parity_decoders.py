"""Makes the parity fixtures of decoders: prompts that leave no doubt about their greedy continuations, and the logits of both."""

import inspect
import json
import zlib

import numpy as np
import torch
from transformers.models.phimoe import modeling_phimoe

from parity_files import BYTE_TOKENS, write_gguf, write_hugging_face
from parity_models import FIXTURES, LLAMA_CPP
from parity_reference import (
    BF16_TOLERANCE, F32_TOLERANCE, SIZE_LIMIT, difference, made_with, make_model, reference, replaced, rounded_operands, size_of,
    smallest_influence)

CANDIDATES = 48  # tokens tried at once at a position of a prompt
SEARCH_STEPS = 400


# --- the prompts ---

def logits_and_choices(model, tokens):
    """(batch, position, vocabulary) logits, and for each choice of experts what it was among and how many were chosen.

    The former is (batch, position, .., expert); how many is 0 where the signs decide.
    """
    choices, topk, mixer = [], torch.topk, modeling_phimoe.sparsemixer

    def keep(scores, k, *more, **keywords):
        if scores.numel() % (tokens.numel() * scores.shape[-1]) == 0 and k < scores.shape[-1]:
            kept = scores.detach().reshape(*tokens.shape, -1, scores.shape[-1])
            if bool((kept >= 0).all()):
                whole = torch.allclose(kept.sum(-1), torch.ones(()), atol=1e-3)
                kept = kept.log() - (kept.log().mean(-1, keepdim=True) if whole else 0)  # the logits, but for a constant
            choices.append((kept, k))
        return topk(scores, k, *more, **keywords)

    def keep_mixed(scores, jitter_eps, *more, **keywords):
        shape = (*tokens.shape, 1, scores.shape[-1])
        for rank in (1, 2):  # which is the best of those left, and which are left out of its weight
            best = torch.sort(scores, dim=-1, descending=True).values[:, rank - 1:rank]
            choices.append((scores.detach().reshape(shape), rank))
            choices.append((((best - scores) / scores.abs().clamp(min=best) - 2 * jitter_eps).detach().reshape(shape), 0))
        return mixer(scores, jitter_eps, *more, **keywords)

    with torch.no_grad(), replaced([(torch, "topk", keep), (torch.Tensor, "topk", keep), (modeling_phimoe, "sparsemixer", keep_mixed)]):
        logits = model(tokens, use_cache=False).logits
    return logits, choices


def margins_of(model, tokens):
    """For the last position of each row of tokens: the smallest ratio of a margin to what it must exceed (>= 1: good)."""
    exact, exact_choices = logits_and_choices(model, tokens)
    with rounded_operands(model):
        rough, rough_choices = logits_and_choices(model, tokens)
    exact, rough = exact[:, -1], rough[:, -1]
    best, second = torch.topk(exact, 2, dim=-1).values.unbind(-1)
    lead = best - second
    ratio = torch.minimum(lead / (10 * F32_TOLERANCE * exact.norm(dim=-1)), lead / (4 * (exact - rough).abs().amax(-1)))
    for (exact_scores, k), (rough_scores, _) in zip(exact_choices, rough_choices):
        exact_scores, rough_scores = exact_scores[:, -1], rough_scores[:, -1]
        error = (exact_scores - rough_scores).nan_to_num(0).abs()
        if k:
            ranked = torch.sort(exact_scores, dim=-1, descending=True).values
            lead, error = ranked[..., k - 1] - ranked[..., k], error.amax(-1)
        else:
            lead = exact_scores.abs()
        ratio = torch.minimum(ratio, (lead / (10 * error)).nan_to_num(0).flatten(1).amin(-1))
    return ratio, exact.argmax(-1)


def search_prompt(model, length, continuation_length, random):
    """A prompt, drawn token by token, at every position of which, and of its greedy continuation, the margins hold."""
    def candidates(prefix):
        drawn = torch.from_numpy(random.choice(BYTE_TOKENS, CANDIDATES, replace=False))
        return torch.cat([torch.tensor(prefix, dtype=torch.long).expand(CANDIDATES, -1), drawn[:, None]], dim=1)

    prompt = []
    for _ in range(SEARCH_STEPS):
        rows = candidates(prompt)
        ratio, best = margins_of(model, rows)
        rows, best = rows[ratio >= 1], best[ratio >= 1]
        if len(prompt) + 1 < length:
            prompt = rows[0].tolist() if len(rows) else prompt[:-1]
            continue
        for _ in range(continuation_length):
            if not len(rows):
                break
            rows = torch.cat([rows, best[:, None]], dim=1)
            ratio, best = margins_of(model, rows)
            rows, best = rows[ratio >= 1], best[ratio >= 1]
        if len(rows):
            return rows[0, :length].tolist()
        prompt = prompt[:-1]
    raise RuntimeError("no prompt found: the choices are too close, or bf16 errs too much")


def run(model, prompt, continuation_length):
    """Prefill logits, then the continuation step by step through transformers' cache: (rows, vocabulary), its tokens."""
    cache_name = "cache_params" if "cache_params" in inspect.signature(model.forward).parameters else "past_key_values"

    def step(token, cache):
        out = model(torch.tensor([[token]]), use_cache=True, **{cache_name: cache})
        return out.logits[0, -1], out[cache_name]

    with torch.no_grad():
        prefill = model(torch.tensor([prompt]), use_cache=True)
        logits, cache, tokens, steps = prefill.logits[0], prefill[cache_name], [], []
        one_by_one = []
        stepwise_cache = None
        for token in prompt:  # the reference agrees with itself
            row, stepwise_cache = step(token, stepwise_cache)
            one_by_one.append(row)
        assert torch.linalg.norm(torch.stack(one_by_one) - logits) < 1e-5 * torch.linalg.norm(logits)
        last = logits[-1]
        for _ in range(continuation_length):
            tokens.append(int(last.argmax()))
            last, cache = step(tokens[-1], cache)
            steps.append(last)
    return torch.cat([logits, torch.stack(steps)]).numpy(), tokens


# --- what the logits show ---

def smallest_margin(model, tokens):
    """Over all positions; the search's own measure, for the record."""
    return min(float(margins_of(model, torch.tensor([tokens[:n]]))[0]) for n in range(1, len(tokens) + 1))


def prefill(model, prompt):
    with torch.no_grad():
        return model(torch.tensor([prompt]), use_cache=False).logits


def bf16_error(model, prompt):
    """As the bf16 test measures it, nearly."""
    logits = prefill(model, prompt)
    with rounded_operands(model):
        return difference(prefill(model, prompt), logits)


def make_decoder(name, directory, prompts, converter):
    fixture, searched = FIXTURES[name], prompts is None
    with reference(name):
        model = make_model(name)
        write_hugging_face(directory / "hf", name, model)
        if fixture.gguf == LLAMA_CPP:
            converter.convert(directory / "hf", directory / "model.gguf", name)
        elif fixture.gguf:
            write_gguf(directory / "model.gguf", name, model)
        if searched:
            random = np.random.default_rng([zlib.crc32(name.encode()), 1])
            prompts = [search_prompt(model, length, fixture.continuation_length, random) for length in fixture.prompt_lengths]
        rows, cases, margin, error = [], [], float("inf"), 0.0
        for prompt in prompts:
            logits, continuation = run(model, prompt, fixture.continuation_length)
            rows.append(logits)
            cases.append({"prompt": prompt, "continuation": continuation})
            margin = min(margin, smallest_margin(model, prompt + continuation))
            error = max(error, bf16_error(model, prompt + continuation))
        influence, what = smallest_influence(name, model, lambda model: prefill(model, prompts[-1]))
    all_rows = np.concatenate(rows).astype("<f4")
    all_rows.tofile(directory / "logits.f32")
    (directory / "expected.json").write_text(json.dumps({
        "made_with": made_with(name),
        "smallest_margin": round(margin, 2),  # 1 is what the search demands, see parity_decoders.py
        "bf16_error": round(error, 4), "smallest_influence": round(influence, 3),
        "vocab_size": all_rows.shape[1], "logit_rows": len(all_rows), "cases": cases}) + "\n")
    size = size_of(directory)
    print(f"{name}: margin {margin:.2f}, bf16 error {error:.4f}, smallest influence {influence:.3f} ({what}), {size} bytes", flush=True)
    assert margin >= (1 if searched else 0.9), margin  # a kept prompt may stand on another machine's last bit
    assert influence > 20 * F32_TOLERANCE and error < 0.85 * BF16_TOLERANCE
    assert size <= SIZE_LIMIT or fixture.gguf not in (LLAMA_CPP, None)
