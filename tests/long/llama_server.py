"""Stands for llama-server in its own tests: takes its flags and becomes `weft serve` with those that mean the same:
`llama_server.py --weft BINARY --models DIRECTORY --templates DIRECTORY FLAGS...`. DIRECTORY is llama_server_models.py's; templates are
llama.cpp's models/templates. Flags that Weft has nothing for are left out: the tests that need them are not offered."""

import argparse
import os
import sys

# By what the tests' models are called.
MODELS = {"infill": "infill.gguf", "bert": "encoder.gguf", "reranker": "ranker.gguf"}
# llama-server's names of templates that it has built in.
TEMPLATES = {"llama3": "meta-llama-Llama-3.3-70B-Instruct.jinja", "command-r": "CohereForAI-c4ai-command-r-plus-tool_use.jinja"}


def read_flags():
    flags = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--weft", "--models", "--templates", "--port", "--host", "--temp", "--seed", "--ctx-size", "--parallel", "--alias",
                 "--batch-size", "--hf-repo", "--hf-file", "--model", "--api-key", "--chat-template", "--chat-template-file", "--pooling",
                 "--cors-origins", "--reasoning"):
        flags.add_argument(name)
    flags.add_argument("--kv-unified", action="store_true")  # each slot may have all of the context
    return flags.parse_known_args()[0]


def model_of(flags):
    asked = f"{flags.model} {flags.hf_repo} {flags.hf_file}"
    return os.path.join(flags.models, next((file for word, file in MODELS.items() if word in asked), "decoder.gguf"))


def template_of(flags):
    if flags.chat_template in TEMPLATES:
        return os.path.join(flags.templates, TEMPLATES[flags.chat_template])
    if flags.chat_template and flags.chat_template != "chatml":  # a text; ChatML is what there is without one
        path = os.path.join(flags.models, f"template-{flags.port}.jinja")
        with open(path, "w", encoding="utf-8") as file:
            file.write(flags.chat_template)
        return path
    return flags.chat_template_file


def main():
    flags = read_flags()
    slots = int(flags.parallel or 4)
    arguments = [flags.weft, "serve", "--model", model_of(flags), "--any-model-name", "--port", flags.port, "--host", flags.host,
                 "--max-sequences", str(slots), "--threads", "1", "--log-level", "warning"]
    if flags.ctx_size:
        arguments += ["--context", str(int(flags.ctx_size) // (1 if flags.kv_unified else slots))]
    if flags.batch_size:
        arguments += ["--max-batch-tokens", flags.batch_size]
    if "decoder" in model_of(flags) or "infill" in model_of(flags):
        arguments += ["--default", f"temperature={flags.temp}", "--default", f"seed={flags.seed}"]
        if template_of(flags):
            arguments += ["--chat-template", template_of(flags)]
        if flags.reasoning:
            # There auto lets models think whose templates know how to.
            arguments += ["--reasoning", "on" if flags.reasoning == "auto" else flags.reasoning]
    for name in (flags.alias or "").split(","):
        arguments += ["--served-model-name", name] if name else []
    if flags.pooling in ("last", "mean"):
        arguments += ["--pooling", flags.pooling]
    arguments += ["--cors-origin", flags.cors_origins or "*"]
    if flags.api_key:
        path = os.path.join(flags.models, f"keys-{flags.port}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"tests:{flags.api_key}\n")
        arguments += ["--api-key-file", path]
    os.execv(flags.weft, arguments)


if __name__ == "__main__":
    sys.exit(main())
