"""Makes the parity fixtures of encoders, of classifiers over them and over decoders, of rankers, and of encoder-decoders."""

import json
import zlib

import numpy as np
import torch

from parity_files import BYTE_TOKENS, write_hugging_face
from parity_models import FIXTURES, LLAMA_CPP
from parity_reference import (
    BF16_TOLERANCE, F32_TOLERANCE, SIZE_LIMIT, difference, made_with, make_model, rounded_operands, size_of, smallest_influence)


def write_model(name, directory, converter):
    model = make_model(name)
    write_hugging_face(directory / "hf", name, model)
    if FIXTURES[name].gguf == LLAMA_CPP:
        converter.convert(directory / "hf", directory / "model.gguf", name)
    return model


def drawer(name, model):
    """Draws so many tokens, of which none is padding: that has no position in transformers."""
    random = np.random.default_rng([zlib.crc32(name.encode()), 1])
    tokens = [token for token in range(BYTE_TOKENS) if token != model.config.pad_token_id]
    return lambda count: random.choice(tokens, count).tolist()


def write_expected(name, directory, model, rows, last_outcome, record):
    """`rows`, `last_outcome`: of a model, what the tests compare, and what has to show each tensor and change."""
    expected = rows(model)
    with rounded_operands(model):
        error = difference(rows(model), expected)
    influence, what = smallest_influence(name, model, last_outcome)
    kind = "hidden" if FIXTURES[name].is_encoder else "logits"
    expected.numpy().astype("<f4").tofile(directory / f"{kind}.f32")
    (directory / "expected.json").write_text(json.dumps({
        "made_with": made_with(name), "bf16_error": round(error, 4), "smallest_influence": round(influence, 3),
        "hidden_size" if FIXTURES[name].is_encoder else "vocab_size": expected.shape[1], **record}) + "\n")
    size = size_of(directory)
    print(f"{name}: bf16 error {error:.4f}, smallest influence {influence:.3f} ({what}), {size} bytes", flush=True)
    assert influence > 20 * F32_TOLERANCE and error < 0.85 * BF16_TOLERANCE and size <= SIZE_LIMIT


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
    """What counts: logits of a classifier or of a head for masked tokens, otherwise hidden states."""
    if model.base_model is model:
        return hidden_states(model, tokens)
    with torch.no_grad():
        return model(**inputs(model, tokens)).logits[0]


def seen(name, logits):
    return logits[-1, FIXTURES[name].answers] if FIXTURES[name].answers else logits


def make_encoder(name, directory, converter):
    model = write_model(name, directory, converter)
    draw = drawer(name, model)
    texts = [draw(length) for length in FIXTURES[name].prompt_lengths]
    record = {"texts": texts}
    if FIXTURES[name].answers:
        record["logits"] = [seen(name, outcome(model, tokens)).tolist() for tokens in texts]
    elif name.endswith("_masked"):
        record["weights"] = [outcome(model, tokens).amax(0).relu().log1p().tolist() for tokens in texts]
    elif model.base_model is not model:
        record["logits"] = [outcome(model, tokens).tolist() for tokens in texts]
    write_expected(name, directory, model, lambda model: torch.cat([hidden_states(model, tokens) for tokens in texts]),
                   lambda model: seen(name, outcome(model, texts[-1])), record)


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
    model = write_model(name, directory, converter)
    draw = drawer(name, model)
    start = model.config.decoder_start_token_id
    cases = [(draw(length), [start, *draw(2 + length // 4)]) for length in FIXTURES[name].prompt_lengths]
    rows = lambda model: torch.cat([target_logits(model, *case) for case in cases])
    stepwise = torch.cat([stepwise_logits(model, *case) for case in cases])
    assert difference(stepwise, rows(model)) < 1e-5  # the reference agrees with itself
    write_expected(name, directory, model, rows, lambda model: target_logits(model, *cases[-1]),
                   {"cases": [{"source": source, "target": target} for source, target in cases]})
