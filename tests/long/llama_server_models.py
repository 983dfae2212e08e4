"""The models that llama-server's own tests ask for, of which the Hub has the real ones: of the same kinds, with the vocabularies that
llama.cpp's sources bring (models/ggml-vocab-*.gguf) and tiny random weights, so that they say nothing and never come to an end by
themselves: `llama_server_models.py LLAMA_CPP DIRECTORY`."""

import os
import sys

import gguf
import numpy as np

SIZE, FEED_FORWARD, LAYERS, HEADS = 32, 64, 2, 2
CONTEXT = 8192
BYTES_END = 259  # of Llama's tokens: special ones, then bytes, then what was merged first
SPACE = "\u2581"

DECODER_LAYER = {"attn_norm.weight": (SIZE,), "attn_q.weight": (SIZE, SIZE), "attn_k.weight": (SIZE, SIZE),
                 "attn_v.weight": (SIZE, SIZE), "attn_output.weight": (SIZE, SIZE), "ffn_norm.weight": (SIZE,), "ffn_gate.weight": (FEED_FORWARD, SIZE),
                 "ffn_up.weight": (FEED_FORWARD, SIZE), "ffn_down.weight": (SIZE, FEED_FORWARD)}
ENCODER_LAYER = {"attn_q.weight": (SIZE, SIZE), "attn_q.bias": (SIZE,), "attn_k.weight": (SIZE, SIZE), "attn_k.bias": (SIZE,),
                 "attn_v.weight": (SIZE, SIZE), "attn_v.bias": (SIZE,), "attn_output.weight": (SIZE, SIZE), "attn_output.bias": (SIZE,),
                 "attn_output_norm.weight": (SIZE,), "attn_output_norm.bias": (SIZE,), "ffn_up.weight": (FEED_FORWARD, SIZE),
                 "ffn_up.bias": (FEED_FORWARD,), "ffn_down.weight": (SIZE, FEED_FORWARD), "ffn_down.bias": (SIZE,),
                 "layer_output_norm.weight": (SIZE,), "layer_output_norm.bias": (SIZE,)}


def small_vocabulary(tokens):
    """Of Llama's tokens some 500, so that texts have as many as with the models that the tests were written for."""
    characters = [i for i, token in enumerate(tokens) if len(token) == 1 and (token.isascii() or token == SPACE)]
    return [*range(BYTES_END), *range(BYTES_END, BYTES_END + 150), *(i for i in characters if i >= BYTES_END + 150)]


def copy_vocabulary(path, writer):
    """The tokenizer's keys; how many tokens it has."""
    reader = gguf.GGUFReader(path)
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    kept = small_vocabulary(tokens) if "llama-spm" in path else range(len(tokens))
    for name, field in reader.fields.items():
        if not name.startswith("tokenizer.") or name == "tokenizer.chat_template":
            continue
        value, kinds = field.contents(), field.types
        is_array = kinds[0] == gguf.GGUFValueType.ARRAY
        if is_array and len(value) == len(tokens):
            value = [value[i] for i in kept]
        writer.add_key_value(name, value, kinds[0], sub_type=kinds[1] if is_array else None)
    return len(kept)


def add_tensors(writer, shapes):
    random = np.random.default_rng(1)
    for name, shape in shapes.items():
        is_norm = "norm.weight" in name
        values = np.ones(shape) if is_norm else random.normal(0, 0.3, shape)
        if name == "output.weight":
            values[:BYTES_END] = 0  # no bytes that are no characters, where others are likely
        writer.add_tensor(name, values.astype(np.float32))


def write(path, architecture, vocabulary, shapes_of, keys):
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_context_length(CONTEXT if architecture == "llama" else 512)
    writer.add_embedding_length(SIZE)
    writer.add_feed_forward_length(FEED_FORWARD)
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    keys(writer)
    add_tensors(writer, shapes_of(copy_vocabulary(vocabulary, writer)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def layers(shapes):
    return {f"blk.{layer}.{name}": shape for layer in range(LAYERS) for name, shape in shapes.items()}


def decoder_shapes(tokens):
    return {"token_embd.weight": (tokens, SIZE), "output.weight": (tokens, SIZE), "output_norm.weight": (SIZE,), **layers(DECODER_LAYER)}


def encoder_shapes(tokens):
    return {"token_embd.weight": (tokens, SIZE), "position_embd.weight": (512, SIZE), "token_types.weight": (2, SIZE),
            "token_embd_norm.weight": (SIZE,), "token_embd_norm.bias": (SIZE,), **layers(ENCODER_LAYER)}


def ranker_shapes(tokens):
    return {**encoder_shapes(tokens), "cls.weight": (SIZE, SIZE), "cls.bias": (SIZE,), "cls.output.weight": (1, SIZE),
            "cls.output.bias": (1,)}


def decoder_keys(writer):
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(SIZE // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)


def encoder_keys(writer):
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)


def ranker_keys(writer):
    writer.add_layer_norm_eps(1e-12)
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.RANK)


def make(llama_cpp, directory):
    """Writes decoder.gguf, infill.gguf, encoder.gguf and ranker.gguf, those that are not there."""
    os.makedirs(directory, exist_ok=True)
    for name, architecture, vocabulary, shapes_of, keys in (
            ("decoder", "llama", "llama-spm", decoder_shapes, decoder_keys),
            ("infill", "llama", "starcoder", decoder_shapes, decoder_keys),
            ("encoder", "bert", "bert-bge", encoder_shapes, encoder_keys),
            ("ranker", "bert", "bert-bge", ranker_shapes, ranker_keys)):
        path = os.path.join(directory, name + ".gguf")
        if not os.path.exists(path):
            source = os.path.join(llama_cpp, "models", f"ggml-vocab-{vocabulary}.gguf")
            write(path + ".new", architecture, source, shapes_of, keys)
            os.rename(path + ".new", path)


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2])
