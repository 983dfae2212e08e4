#!/usr/bin/env python3
"""Runs llama.cpp's converter over checkpoints: a process of its own, because its gguf package is not the one that is pinned here.

usage: parity_converter.py LLAMA_CPP_DIRECTORY
Reads one JSON object a line, {"directory", "file", "type", "name", "plain_config"}, and answers each with a line: "done"
or what went wrong. Its vocabulary is patched: an unknown BPE pre-tokenizer is "gpt-2" (the converter refuses a hash that it does
not know), a ranker's answers are two of its tokens, and families with a vocabulary of their own kind get the fixtures' byte-level one. All else
is as the converter has it.
"""

import json
import logging
import pathlib
import sys

import torch
import transformers

AUTO_TOKENIZER = transformers.AutoTokenizer
# llama.cpp's file types
ANSWERS = (5, 6)  # of rankers: relevant, not relevant
FILE_TYPES = {"F32": "ALL_F32", "F16": "MOSTLY_F16", "BF16": "MOSTLY_BF16"}


def subclasses(model):
    return {model}.union(*map(subclasses, model.__subclasses__()))


def patch(model):
    """Of all text models, those that conversion has loaded."""
    def pre_tokenizer(self, tokenizer):
        return "gpt-2"

    def answers(self):
        self.is_rerank, self.is_tied_embeddings = True, self.hparams["tie_word_embeddings"]
        self.token_true_id, self.token_false_id = ANSWERS

    for subclass in subclasses(model):
        if hasattr(subclass, "_find_rerank_config"):
            subclass._find_rerank_config = answers
        subclass.get_vocab_base_pre, subclass.set_vocab = pre_tokenizer, model._set_vocab_gpt2
        subclass._is_tokenizer_xlmroberta = lambda self: False  # asked by nomic-bert alone


class NoConfig:
    """In the place of transformers' AutoConfig: the converter then reads config.json itself."""

    @staticmethod
    def from_pretrained(*arguments, **more):
        raise OSError("config.json is to be read as it is")


def convert(conversion, gguf, request):
    base = sys.modules["conversion.base"]
    base.AutoConfig = NoConfig if request["plain_config"] else transformers.AutoConfig
    hparams = conversion.ModelBase.load_hparams(pathlib.Path(request["directory"]), False)
    architecture = conversion.get_model_architecture(hparams, conversion.ModelType.TEXT)
    model_class = conversion.get_model_class(architecture)
    patch(base.TextModel)
    if hasattr(model_class, "opt_num_mtp_layers"):  # Qwen's, which insists on layers that guess further ahead
        model_class.no_mtp = not hparams.get("mtp_num_hidden_layers")
        # transformers takes a class of its own for some of them, with a token that no file has.
        transformers.AutoTokenizer = transformers.PreTrainedTokenizerFast
    model = model_class(
        pathlib.Path(request["directory"]), getattr(gguf.LlamaFileType, FILE_TYPES[request["type"]]),
        pathlib.Path(request["file"]), model_name=request["name"])
    model.write()
    transformers.AutoTokenizer = AUTO_TOKENIZER


def main():
    llama_cpp = pathlib.Path(sys.argv[1])
    sys.path[:0] = [str(llama_cpp / "gguf-py"), str(llama_cpp)]
    import conversion
    import gguf
    answers, sys.stdout = sys.stdout, sys.stderr
    logging.basicConfig(level=logging.ERROR, stream=sys.stderr)
    torch.set_num_threads(1)
    for line in sys.stdin:
        try:
            with torch.inference_mode():
                convert(conversion, gguf, json.loads(line))
            answer = "done"
        except Exception as error:  # the caller names the fixture
            logging.exception("not converted")
            answer = f"{type(error).__name__}: {error}".replace("\n", " ")
        print(answer, file=answers, flush=True)


if __name__ == "__main__":
    main()
