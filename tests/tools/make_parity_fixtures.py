#!/usr/bin/env python3
"""Makes the parity fixtures: for each family and variant a tiny random checkpoint and its logits.

A fixture is a folder in tests/model/fixtures/parity/ with
  hf/            the checkpoint as a Hugging Face directory
  model.gguf     the same weights as GGUF, by llama.cpp's converter (where it knows the family; the first ones by a writer here)
  expected.json  prompts, greedy continuations, margins; the shape of logits.f32
  logits.f32     float32, little endian: for each prompt its logits at every position (prefill), then the logits of
                 every step of the continuation (one token a step, with transformers' cache); of an encoder hidden.f32 instead:
                 for each text the hidden state of every position, the second half of it being a second text where there are types;
                 a classifier's logits are in expected.json

parity_models.py has the families, parity_files.py writes the files, parity_converter.py runs llama.cpp's converter.
Weights are drawn from numpy's PCG64, one stream a tensor. Prompts are searched token by token so that at every position
  * the likeliest token leads by 10 x the tolerance of the float32 test, and by 4 x the error that bf16 arithmetic makes there,
  * the last expert chosen leads the first one left out by 10 x the error that bf16 arithmetic makes in the router's logits.
Each tensor's values reversed, and each change of the configuration named as visible, must change the logits by 20 x the tolerance.
A found prompt is kept: making the fixtures again reads it from expected.json, unless --search.

usage: pip install -r requirements-parity.txt; a checkout of llama.cpp at parity_files.LLAMA_CPP_COMMIT, outside this repository
       make_parity_fixtures.py --llama-cpp DIRECTORY [--search] [NAME ...]   writes the fixtures
       make_parity_fixtures.py --llama-cpp DIRECTORY --check [NAME ...]      compares with the committed ones: same weight bytes,
                                                                             logits within 1e-6
"""

import argparse
import contextlib
import copy
import filecmp
import json
import pathlib
import re
import shutil
import sys
import tempfile
import zlib

import numpy as np
import torch
import transformers
from transformers.models.llama import modeling_llama
from transformers.models.phi3 import modeling_phi3
from transformers.models.phimoe import modeling_phimoe

from parity_files import BYTE_TOKENS, LLAMA_CPP_COMMIT, TORCH_TYPES, Converter, mxfp4, write_gguf, write_hugging_face
from parity_models import FIXTURES, LLAMA_CPP

DIRECTORY = pathlib.Path(__file__).resolve().parent.parent / "model" / "fixtures" / "parity"
CANDIDATES = 48  # tokens tried at once at a position of a prompt
SEARCH_STEPS = 400
F32_TOLERANCE = 1e-4  # of the float32 test: L2 of the error over L2 of the logits
BF16_TOLERANCE = 2e-2
SIZE_LIMIT = 150000  # bytes of a fixture that llama.cpp's converter made


# --- the model ---

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
            values = random.uniform(0.7, 1.3, shape) - fixture.plus_one
        else:
            deviation = standard_deviation(tensor_name, tensor, config, is_transposed(model, tensor_name, tensor))
            values = random.standard_normal(shape) * deviation
        for pattern, gain in fixture.gains.items():
            values = values * gain if re.search(pattern, tensor_name) else values
        if fixture.mxfp4 and re.search(fixture.mxfp4, tensor_name):
            values = mxfp4(values.swapaxes(1, 2))[2].swapaxes(1, 2).copy()
        tensor.copy_(torch.from_numpy(values.astype(np.float32)).to(TORCH_TYPES[fixture.element_type]).float())


def make_model(name, **changes):
    model_class = getattr(transformers, FIXTURES[name].model)
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
def reference(name):
    """Llama with partial rotary: transformers has it only in families with other weights, so Phi-3's functions stand in."""
    saved = modeling_llama.apply_rotary_pos_emb, modeling_llama.LlamaRotaryEmbedding.compute_default_rope_parameters
    if name == "llama_partial_rotary":
        modeling_llama.apply_rotary_pos_emb = modeling_phi3.apply_rotary_pos_emb
        modeling_llama.LlamaRotaryEmbedding.compute_default_rope_parameters = staticmethod(
            modeling_phi3.Phi3RotaryEmbedding.compute_default_rope_parameters)
    try:
        yield
    finally:
        modeling_llama.apply_rotary_pos_emb, modeling_llama.LlamaRotaryEmbedding.compute_default_rope_parameters = saved


# --- the prompts ---

@contextlib.contextmanager
def replaced(replacements):
    """(owner, attribute, value) of each thing replaced for a while."""
    saved = [(owner, attribute, getattr(owner, attribute)) for owner, attribute, _ in replacements]
    try:
        for owner, attribute, value in replacements:
            setattr(owner, attribute, value)
        yield
    finally:
        for owner, attribute, value in saved:
            setattr(owner, attribute, value)


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
    with torch.no_grad():
        prefill = model(torch.tensor([prompt]), use_cache=True)
        logits, cache, tokens, steps = prefill.logits[0], prefill.past_key_values, [], []
        one_by_one = []
        stepwise_cache = None
        for token in prompt:  # the reference agrees with itself
            out = model(torch.tensor([[token]]), past_key_values=stepwise_cache, use_cache=True)
            stepwise_cache = out.past_key_values
            one_by_one.append(out.logits[0, -1])
        assert torch.linalg.norm(torch.stack(one_by_one) - logits) < 1e-5 * torch.linalg.norm(logits)
        last = logits[-1]
        for _ in range(continuation_length):
            tokens.append(int(last.argmax()))
            out = model(torch.tensor([[tokens[-1]]]), past_key_values=cache, use_cache=True)
            cache, last = out.past_key_values, out.logits[0, -1]
            steps.append(last)
    return torch.cat([logits, torch.stack(steps)]).numpy(), tokens


# --- what the logits show ---

def smallest_margin(model, tokens):
    """Over all positions; the search's own measure, for the record."""
    return min(float(margins_of(model, torch.tensor([tokens[:n]]))[0]) for n in range(1, len(tokens) + 1))


def prefill(model, prompt):
    with torch.no_grad():
        return model(torch.tensor([prompt]), use_cache=False).logits


def difference(changed, logits):
    return float((changed - logits).norm() / logits.norm())


def bf16_error(model, prompt):
    """As the bf16 test measures it, nearly."""
    logits = prefill(model, prompt)
    with rounded_operands(model):
        return difference(prefill(model, prompt), logits)


def smallest_influence(name, model, prompt):
    """Of a tensor with its values in reverse order, and of a change of the configuration, on the logits: (difference, of what)."""
    logits, found = prefill(model, prompt), []
    for tensor_name, tensor in model.state_dict().items():
        if not tensor.is_floating_point() or (FIXTURES[name].unseen and re.search(FIXTURES[name].unseen, tensor_name)):
            continue
        with torch.no_grad():
            kept = tensor.clone()
            tensor.copy_(kept.flip(tuple(range(kept.ndim))) if kept.numel() > 1 else kept * 0.5)
            found.append((difference(prefill(model, prompt), logits), tensor_name))
            tensor.copy_(kept)
    for change in FIXTURES[name].visible:
        found.append((difference(prefill(make_model(name, **change), prompt), logits), str(change)))
    return min(found)


# --- encoders ---

def inputs(model, tokens):
    types = torch.zeros(1, len(tokens), dtype=torch.long)
    types[0, len(tokens) // 2:] = 1
    more = {"token_type_ids": types} if getattr(model.config, "type_vocab_size", 0) > 1 else {}
    return {"input_ids": torch.tensor([tokens]), **more}


def hidden_states(model, tokens):
    with torch.no_grad():
        return model.base_model(**inputs(model, tokens)).last_hidden_state[0]


def outcome(model, tokens):
    """What counts: a classifier's logits, otherwise hidden states."""
    if model.base_model is model:
        return hidden_states(model, tokens)
    with torch.no_grad():
        return model(**inputs(model, tokens)).logits[0]


def smallest_hidden_influence(name, model, tokens):
    expected, found = outcome(model, tokens), []
    for tensor_name, tensor in model.state_dict().items():
        if not tensor.is_floating_point() or (FIXTURES[name].unseen and re.search(FIXTURES[name].unseen, tensor_name)):
            continue
        with torch.no_grad():
            kept = tensor.clone()
            tensor.copy_(kept.flip(tuple(range(kept.ndim))))
            found.append((difference(outcome(model, tokens), expected), tensor_name))
            tensor.copy_(kept)
    for change in FIXTURES[name].visible:
        found.append((difference(outcome(make_model(name, **change), tokens), expected), str(change)))
    return min(found)


def make_encoder(name, directory, converter):
    fixture, model = FIXTURES[name], make_model(name)
    write_hugging_face(directory / "hf", name, model)
    if fixture.gguf == LLAMA_CPP:
        converter.convert(directory / "hf", directory / "model.gguf", name)
    random = np.random.default_rng([zlib.crc32(name.encode()), 1])
    # Padding has no position in transformers.
    tokens = [token for token in range(BYTE_TOKENS) if token != model.config.pad_token_id]
    texts = [random.choice(tokens, length).tolist() for length in fixture.prompt_lengths]
    rows = torch.cat([hidden_states(model, tokens) for tokens in texts])
    with rounded_operands(model):
        error = difference(torch.cat([hidden_states(model, tokens) for tokens in texts]), rows)
    influence, what = smallest_hidden_influence(name, model, texts[-1])
    rows.numpy().astype("<f4").tofile(directory / "hidden.f32")
    made_with = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    if fixture.gguf == LLAMA_CPP:
        made_with["llama.cpp"] = LLAMA_CPP_COMMIT
    record = {"made_with": made_with, "bf16_error": round(error, 4), "smallest_influence": round(influence, 3),
              "hidden_size": rows.shape[1], "texts": texts}
    if model.base_model is not model:
        record["logits"] = [outcome(model, tokens).tolist() for tokens in texts]
    (directory / "expected.json").write_text(json.dumps(record) + "\n")
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    print(f"{name}: bf16 error {error:.4f}, smallest influence {influence:.3f} ({what}), {size} bytes", flush=True)
    assert influence > 20 * F32_TOLERANCE and error < 0.85 * BF16_TOLERANCE and size <= SIZE_LIMIT


# --- encoder-decoders ---

def target_logits(model, source, target):
    with torch.no_grad():
        return model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target]), use_cache=False).logits[0]


def stepwise_logits(model, source, target):
    """Token by token, through transformers' cache."""
    cache, rows = None, []
    with torch.no_grad():
        states = model.get_encoder()(input_ids=torch.tensor([source]))
        for token in target:
            out = model(encoder_outputs=states, decoder_input_ids=torch.tensor([[token]]), past_key_values=cache, use_cache=True)
            cache = out.past_key_values
            rows.append(out.logits[0, -1])
    return torch.stack(rows)


def make_encoder_decoder(name, directory, converter):
    fixture, model = FIXTURES[name], make_model(name)
    write_hugging_face(directory / "hf", name, model)
    if fixture.gguf == LLAMA_CPP:
        converter.convert(directory / "hf", directory / "model.gguf", name)
    random = np.random.default_rng([zlib.crc32(name.encode()), 1])
    # Padding has no position in transformers.
    tokens = [token for token in range(BYTE_TOKENS) if token != model.config.pad_token_id]
    start = model.config.decoder_start_token_id
    cases = [(random.choice(tokens, length).tolist(), [start, *random.choice(tokens, 2 + length // 4).tolist()])
             for length in fixture.prompt_lengths]
    rows = torch.cat([target_logits(model, *case) for case in cases])
    assert difference(torch.cat([stepwise_logits(model, *case) for case in cases]), rows) < 1e-5  # the reference agrees with itself
    with rounded_operands(model):
        error = difference(torch.cat([target_logits(model, *case) for case in cases]), rows)
    found, expected = [], target_logits(model, *cases[-1])
    for tensor_name, tensor in model.state_dict().items():
        if not tensor.is_floating_point() or (fixture.unseen and re.search(fixture.unseen, tensor_name)):
            continue
        with torch.no_grad():
            kept = tensor.clone()
            tensor.copy_(kept.flip(tuple(range(kept.ndim))))
            found.append((difference(target_logits(model, *cases[-1]), expected), tensor_name))
            tensor.copy_(kept)
    for change in fixture.visible:
        found.append((difference(target_logits(make_model(name, **change), *cases[-1]), expected), str(change)))
    influence, what = min(found)
    rows.numpy().astype("<f4").tofile(directory / "logits.f32")
    made_with = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    if fixture.gguf == LLAMA_CPP:
        made_with["llama.cpp"] = LLAMA_CPP_COMMIT
    (directory / "expected.json").write_text(json.dumps({
        "made_with": made_with, "bf16_error": round(error, 4), "smallest_influence": round(influence, 3), "vocab_size": rows.shape[1],
        "cases": [{"source": source, "target": target} for source, target in cases]}) + "\n")
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    print(f"{name}: bf16 error {error:.4f}, smallest influence {influence:.3f} ({what}), {size} bytes", flush=True)
    assert influence > 20 * F32_TOLERANCE and error < 0.85 * BF16_TOLERANCE and size <= SIZE_LIMIT


def make(name, directory, prompts, converter):
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
        influence, what = smallest_influence(name, model, prompts[-1])
    all_rows = np.concatenate(rows).astype("<f4")
    all_rows.tofile(directory / "logits.f32")
    made_with = {"torch": torch.__version__.split("+")[0], "transformers": transformers.__version__}
    if fixture.gguf == LLAMA_CPP:
        made_with["llama.cpp"] = LLAMA_CPP_COMMIT
    (directory / "expected.json").write_text(json.dumps({
        "made_with": made_with,
        "smallest_margin": round(margin, 2),  # 1 is what the search demands, see make_parity_fixtures.py
        "bf16_error": round(error, 4), "smallest_influence": round(influence, 3),
        "vocab_size": all_rows.shape[1], "logit_rows": len(all_rows), "cases": cases}) + "\n")
    size = sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
    print(f"{name}: margin {margin:.2f}, bf16 error {error:.4f}, smallest influence {influence:.3f} ({what}), {size} bytes", flush=True)
    assert margin >= (1 if searched else 0.9), margin  # a kept prompt may stand on another machine's last bit
    assert influence > 20 * F32_TOLERANCE and error < 0.85 * BF16_TOLERANCE
    assert size <= SIZE_LIMIT or fixture.gguf not in (LLAMA_CPP, None)


def check(name, made):
    """True if the committed fixture is the one just made."""
    committed, good = DIRECTORY / name, True
    files = sorted(p.relative_to(made) for p in made.rglob("*") if p.is_file() and p.suffix in (".safetensors", ".gguf"))
    for path in files:
        if not filecmp.cmp(made / path, committed / path, shallow=False):
            print(f"{name}: {path} differs")
            good = False
    numbers = "hidden.f32" if FIXTURES[name].is_encoder else "logits.f32"
    ours, theirs = (np.fromfile(d / numbers, "<f4") for d in (made, committed))
    error = np.abs(ours - theirs).max() / np.abs(theirs).max() if ours.shape == theirs.shape else np.inf
    print(f"{name}: {len(files)} weight files compared, largest difference of {numbers} {error:.1e}")
    return good and error <= 1e-6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--llama-cpp")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    good, converter = True, Converter(arguments.llama_cpp)
    for name in arguments.names or FIXTURES:
        record = DIRECTORY / name / "expected.json"
        is_decoder = not FIXTURES[name].is_encoder and not FIXTURES[name].is_encoder_decoder
        keep = record.exists() and not arguments.search and is_decoder
        prompts = [case["prompt"] for case in json.loads(record.read_text())["cases"]] if keep else None
        with tempfile.TemporaryDirectory() as scratch:
            made = pathlib.Path(scratch) / name
            if FIXTURES[name].is_encoder:
                make_encoder(name, made, converter)
            elif FIXTURES[name].is_encoder_decoder:
                make_encoder_decoder(name, made, converter)
            else:
                make(name, made, prompts, converter)
            if arguments.check:
                good = check(name, made) and good
            else:
                shutil.rmtree(DIRECTORY / name, ignore_errors=True)
                shutil.copytree(made, DIRECTORY / name)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
