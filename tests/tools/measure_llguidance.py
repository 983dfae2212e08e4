#!/usr/bin/env python3
"""What llguidance's masks take, over the very tokens that schema_replay has replayed:

  schema_replay maskbench/data --every 40 --vocabulary FILE --write-tokens tokens.jsonl
  pip install -r tests/tools/requirements-llguidance.txt
  tests/tools/measure_llguidance.py tokens.jsonl --vocabulary FILE

FILE is a GGUF file with a SentencePiece vocabulary of the BPE kind, or a folder with a tekken.json
(that of PyPI's mistral-common has no special_tokens: put in Mistral's, as its models' files do).
llguidance encodes what its grammar forces and then allows the first of these tokens alone, which
spares it masks; --no-forcing: it does not. Times are of the thread, around the one call that
compiles or that fills a mask. As in MaskBench's runner, each instance has a copy of what was
compiled.
"""

import argparse
import base64
import json
import os
import resource
import time

import gguf
import llguidance
import llguidance.numpy
import numpy
import sentencepiece
from sentencepiece import sentencepiece_model_pb2 as model_pb2


class SentencePieceVocabulary:
    """What llguidance asks a tokenizer for, of a GGUF file."""

    def __init__(self, path):
        fields = gguf.GGUFReader(path).fields
        texts = fields["tokenizer.ggml.tokens"].contents()
        scores = fields["tokenizer.ggml.scores"].contents()
        types = fields["tokenizer.ggml.token_type"].contents()
        self.eos_token_id = fields["tokenizer.ggml.eos_token_id"].contents()
        self.bos_token_id = fields["tokenizer.ggml.bos_token_id"].contents()
        model = model_pb2.ModelProto()
        model.trainer_spec.model_type = model_pb2.TrainerSpec.BPE
        model.trainer_spec.byte_fallback = True
        model.normalizer_spec.name = "identity"
        model.normalizer_spec.add_dummy_prefix = False
        model.normalizer_spec.remove_extra_whitespaces = False
        self.tokens = []
        self.special_token_ids = []
        kinds = model_pb2.ModelProto.SentencePiece
        for token, (text, score, kind) in enumerate(zip(texts, scores, types)):
            model.pieces.add(piece=text, score=score, type=int(kind))
            if kind == kinds.BYTE:
                self.tokens.append(bytes([int(text[3:5], 16)]))
            else:
                self.tokens.append(text.replace("\u2581", " ").encode())
            if kind in (kinds.CONTROL, kinds.UNKNOWN):
                self.special_token_ids.append(token)
        self.model = sentencepiece.SentencePieceProcessor(
            model_proto=model.SerializeToString())

    def __call__(self, text):
        return self.model.encode(text)


def load_tokenizer(path, slices):
    if not os.path.isdir(path):
        wrapper = llguidance.TokenizerWrapper(SentencePieceVocabulary(path))
        return llguidance.LLTokenizer(wrapper, slices=slices)
    with open(os.path.join(path, "tekken.json")) as file:
        tekken = json.load(file)
    size = tekken["config"]["default_vocab_size"]
    special_count = tekken["config"]["default_num_special_tokens"]
    special = {f"<SPECIAL_{token}>": token for token in range(special_count)}
    for token in tekken["special_tokens"]:
        del special[f"<SPECIAL_{token['rank']}>"]
        special[token["token_str"]] = token["rank"]
    encoder = {base64.b64decode(token["token_bytes"]): special_count + token["rank"]
               for token in tekken["vocab"][:size - special_count]}
    return llguidance.LLTokenizer.from_tiktoken(
        encoder=encoder, special_tokens=special, pattern=tekken["config"]["pattern"],
        eos_token=special["</s>"], slices=slices)


def print_times(what, seconds, unit):
    times = numpy.sort(numpy.array(seconds)) * unit
    at = lambda share: times[int(share * (len(times) - 1))]
    print(f"{what} of thread time: {len(times)} times, average {times.mean():.3f}, "
          f"p50 {at(0.5):.3f}, p90 {at(0.9):.3f}, p99 {at(0.99):.3f}, p99.9 {at(0.999):.3f}, "
          f"worst {times[-1]:.3f}")


def replay(compiled, tokens, mask, masks):
    """Whether all of the tokens are accepted, and the text with them."""
    matcher = compiled.deep_copy()
    for token in tokens:
        start = time.thread_time()
        llguidance.numpy.fill_next_token_bitmask(matcher, mask, 0)
        masks.append(time.thread_time() - start)
        if not (int(mask[0, token // 32]) >> token % 32) & 1:
            return False
        if not matcher.consume_token(token):
            return False
    return matcher.is_accepting()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokens", help="what schema_replay --write-tokens has written")
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--no-forcing", action="store_true")
    parser.add_argument("--slices", choices=["general", "json"], default="general")
    options = parser.parse_args()
    with open(options.tokens) as file:
        instances = [json.loads(line) for line in file]
    slices = (llguidance.LLTokenizer.json_slices() if options.slices == "json"
              else llguidance.LLTokenizer.general_slices())
    tokenizer = load_tokenizer(options.vocabulary, slices)
    mask = llguidance.numpy.allocate_token_bitmask(1, tokenizer.vocab_size)

    compiles, masks, failed, refused = [], [], set(), set()
    wrongly_accepted = wrongly_refused = 0
    name = compiled = None
    for instance in instances:
        if instance["schema"] != name:
            name = instance["schema"]
            with open(name) as file:
                schema = json.load(file)["schema"]
            grammar = {"json_schema": schema}
            if options.no_forcing:
                grammar = {"lark_grammar": '%llguidance {"no_forcing": true}\n'
                                           f"start: %json {json.dumps(schema)}"}
            grammar = json.dumps({"grammars": [grammar]})
            start = time.thread_time()
            compiled = llguidance.LLMatcher(tokenizer, grammar, log_level=0)
            compiles.append(time.thread_time() - start)
            if compiled.is_error():
                refused.add(name)
        if name in refused:
            continue
        accepted = replay(compiled, instance["tokens"], mask, masks)
        if accepted != instance["valid"]:
            failed.add(name)
            wrongly_accepted += accepted
            wrongly_refused += not accepted

    count = len({instance["schema"] for instance in instances})
    print(f"schemas with instances that were replayed {count}, pass {count - len(failed | refused)},"
          f" refused {len(refused)}")
    print(f"instances {len(instances)}, wrongly accepted {wrongly_accepted}, "
          f"wrongly refused {wrongly_refused}")
    print_times("compile, ms", compiles, 1e3)
    print_times("mask, us", masks, 1e6)
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
