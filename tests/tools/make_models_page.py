#!/usr/bin/env python3
"""Prints docs/MODELS.md: every class of transformers' causal-LM table, served or not; and the encoders, their classifiers and the
encoder-decoders that are served.

What is served is read from model/families/families.cc and tests/model/parity_fixture.h; why the rest is not stands here.

usage: pip install -r requirements-parity.txt
       make_models_page.py > docs/MODELS.md
"""

import json
import pathlib
import re
import sys

import transformers
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARITY = ROOT / "tests/model/fixtures/parity"

NO_BLOCK = "no block is missing; nobody has written the family yet"
ENCODER = "encoders and their decoders (norm on the sum, token types, masks over all positions)"
CROSS = "attention to an encoder's or another tower's output"
RECURRENT = "a recurrent state"
SPARSE = "attention to chosen positions (an indexer)"
UNKNOWN = "not looked at yet"
MISSING = {
    NO_BLOCK: "AfmoeForCausalLM GraniteMoeSWAForCausalLM GraniteSWAForCausalLM MiMoV2FlashForCausalLM MiniCPM3ForCausalLM "
              "YoutuForCausalLM LongcatFlashForCausalLM OpenAIGPTLMHeadModel AriaTextForCausalLM JetMoeForCausalLM "
              "Gemma4UnifiedForCausalLM ModernBertDecoderForCausalLM",
    ENCODER: "BertGenerationDecoder BertLMHeadModel BigBirdForCausalLM CamembertForCausalLM Data2VecTextForCausalLM ElectraForCausalLM "
             "ErnieForCausalLM MegatronBertForCausalLM RemBertForCausalLM RoCBertForCausalLM RoFormerForCausalLM RobertaForCausalLM "
             "RobertaPreLayerNormForCausalLM XLMRobertaForCausalLM XLMRobertaXLForCausalLM XLMWithLMHeadModel XLNetLMHeadModel "
             "XmodForCausalLM ReformerModelWithLMHead GitForCausalLM",
    CROSS: "BartForCausalLM BigBirdPegasusForCausalLM BlenderbotForCausalLM BlenderbotSmallForCausalLM MBartForCausalLM MarianForCausalLM "
           "MvpForCausalLM PLBartForCausalLM PegasusForCausalLM ProphetNetForCausalLM TrOCRForCausalLM WhisperForCausalLM "
           "MllamaForCausalLM MusicgenForCausalLM MusicgenMelodyForCausalLM MoshiForCausalLM",
    RECURRENT: "BambaForCausalLM FalconMambaForCausalLM JambaForCausalLM KimiLinearForCausalLM "
               "MambaForCausalLM MiniMaxForCausalLM OlmoHybridForCausalLM RecurrentGemmaForCausalLM RwkvForCausalLM "
               "Zamba2ForCausalLM ZambaForCausalLM xLSTMForCausalLM BailingHybridForCausalLM",
    SPARSE: "DeepseekV32ForCausalLM DeepseekV4ForCausalLM GlmMoeDsaForCausalLM",
    "weights of three values": "BitNetForCausalLM",
    "scores that are the difference of two softmaxes": "DiffLlamaForCausalLM",
    "a segment embedding and a Chinese text's own positions": "CpmAntForCausalLM",
    "sinusoids in another order": "CTRLLMHeadModel",
    "several streams of the residual (AltUp), activations cut by their distribution": "Gemma3nForCausalLM Gemma3nForConditionalGeneration",
    "images": "Emu3ForCausalLM FuyuForCausalLM GotOcr2ForConditionalGeneration Phi4MultimodalForCausalLM "
              "MossTranscribeDiarizeForConditionalGeneration MiniMaxM3VLForCausalLM",
    "bytes in patches": "BltForCausalLM",
}
TOWERS = {  # classes whose text is served: the fixture that shows it
    "Gemma3ForConditionalGeneration": "gemma3_conditional", "Gemma4ForConditionalGeneration": "gemma4_conditional",
    "Gemma4UnifiedForConditionalGeneration": "", "Llama4ForConditionalGeneration": "llama4_conditional",
    "Mistral3ForConditionalGeneration": "mistral3_conditional", "Qwen3_5ForConditionalGeneration": "",
    "Qwen3_5MoeForConditionalGeneration": "qwen3_5_moe_conditional",
}


CLASSIFIER = "ForSequenceClassification"


def families():
    """class -> GGUF's name of it, and the function that describes it"""
    text = (ROOT / "model/families/families.cc").read_text()
    return {name: (gguf, function)  # a GGUF name alone is another form of a class that has a row
            for gguf, name, function in re.findall(r'\{"([^"]*)",\s+"([^"]*)",\s+"[^"]*",\s+(Describe\w+)', text) if name}


def with_classifiers():
    """The functions that describe a classifier, too."""
    found = set()
    for path in (ROOT / "model/families").glob("*.cc"):
        parts = re.split(r"^ModelDescription (Describe\w+)\(Hyperparameters& h\) \{", path.read_text(), flags=re.MULTILINE)
        found |= {function for function, body in zip(parts[1::2], parts[2::2]) if re.search(r"Add\w*Classifier\(", body)}
    return found


def fixtures():
    """class -> its fixtures"""
    found = {}
    for config in sorted(PARITY.glob("*/hf/config.json")):
        name = json.loads(config.read_text())["architectures"][0]
        found.setdefault(re.sub("ForMaskedLM$", "Model", name), []).append(config.parent.parent)
    return found


def masked_fixtures():
    """class with a head for masked tokens -> the fixtures that show it"""
    found = {}
    for config in sorted(PARITY.glob("*_masked/hf/config.json")):
        found.setdefault(json.loads(config.read_text())["architectures"][0], []).append(config.parent.parent)
    return found


def row(name, served, shown):
    folders = shown.get(name, [])
    in_gguf = served.get(name, ("",))[0] or any((folder / "model.gguf").exists() for folder in folders)
    checked = ", ".join(folder.name for folder in folders) or "-"
    return f"| `{name}`{' (its text)' if name in TOWERS else ''} | safetensors{', GGUF' if in_gguf else ''} | {checked} |"


def section(title, rows, after=""):
    lines = "\n".join(rows)
    print(f"""
## {title}: {len(rows)}

| class | formats | checked by fixtures |
|---|---|---|
{lines}""" + (f"\n\n{after}" if after else ""))


def main():
    table = {name for entry in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values() for name in ([entry] if isinstance(entry, str) else entry)}
    served, shown = families(), fixtures()
    why = {name: reason for reason, names in MISSING.items() for name in names.split()}
    unknown = set(why) & (set(served) | set(TOWERS))
    if unknown:
        sys.exit(f"served, yet said to lack something: {', '.join(sorted(unknown))}")
    rows, encoders, encoder_decoders, refused = [], [], [], []
    for name in sorted(table | set(served) | set(TOWERS), key=lambda name: (name.lower(), name)):
        if name not in served and name not in TOWERS:
            refused.append((why.get(name, UNKNOWN), name))
        elif name in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES.values():
            encoder_decoders.append(row(name, served, shown))
        elif name in table | set(TOWERS) or not name.endswith("Model"):
            rows.append(row(name, served, shown))
        else:
            encoders.append(row(name, served, shown))
    heads = with_classifiers()
    classifiers = [row(name.removesuffix("Model") + CLASSIFIER, {}, shown) for name in sorted(served) if served[name][1] in heads]
    decoder_classifiers = [row(name, {}, shown) for name in sorted(shown)
                           if name.endswith(CLASSIFIER) and name.removesuffix(CLASSIFIER) + "ForCausalLM" in served]
    masked = masked_fixtures()
    print(f"""# Models

Every class of the causal language models that transformers {transformers.__version__} knows, and the encoders, their classifiers and the
encoder-decoders that are served. A class that is served computes what transformers computes: the fixtures that are named are tiny random
checkpoints of it, of which each row of logits, or of hidden states, is compared, in float32 and bf16, in each format that is named
([PARITY.md](PARITY.md)); of a class that transformers does not have, with a definition of ours. GGUF means files of llama.cpp's converter.
Another class, or a checkpoint of a served one whose hyperparameters ask for something else, is refused by name.

Refused in each of them: `pytorch_model.bin`, which transformers' `save_pretrained` turns into safetensors, and what `quantization_config` names beside
these:

| `quantization_config` | what is read | bits of a weight in memory |
|---|---|---|
| `gptq` (AutoGPTQ, GPTQModel; `gptq` and `gptq_v2`) | 2, 4 and 8 bits, symmetric or not, any groups, act-order | 4 bits: 4.5 symmetric, 4.75 with zero points; 8: 8.5; act-order likewise in attention and dense MLPs; the rest 16 |
| `awq` (AutoAWQ, `gemm`) | 4 bits | 4.75 |
| `compressed-tensors` | `pack-quantized` (W4A16, W8A16), `int-quantized` (W8A8), `float-quantized` and `naive-quantized` (FP8 of tensors, channels, groups, blocks), `nvfp4-pack-quantized` | 4 bits: 4.75, 8: 9; NVFP4: 6; FP8: 16, or 9; the rest 16 |
| `fp8`, `fbgemm_fp8`, `modelopt` | FP8 (e4m3) of tensors, channels and blocks, as DeepSeek-V3 and Qwen3 have it; ModelOpt's NVFP4 | FP8: 16, or 9; NVFP4: 6 |
| `bitsandbytes` | nf4 and fp4, scales quantised or not; `LLM.int8()` | nf4 and fp4: 16, or 5; int8: 9 |
| MLX's (`quantization`) | affine, 2 to 8 bits, layers with bits of their own, stacks of experts | 4 bits: 5; the rest 16 |
| `mxfp4` (gpt-oss) | experts | 4.25 |

Each becomes what its library dequantises it to, bit for bit, and then what every other weight of as many bits is (`tests/model/quantized_test.cc`); 4 and 8 bits are multiplied in `int8` by default, but for FP8, nf4 and fp4, whose codes stand for floats: those are multiplied
as BF16 is, and held as it, which is faster, or, with `--weights file`, in the fewer bits of the table, with the same answers. Where rows are not made of whole blocks of 32 columns under one scale, and where nf4 or fp4 has a table of its own, a weight takes 16 bits. What takes 16 bits in memory, FP8, nf4 and
fp4 may be quantised while they are loaded (`--weights q8_0`). Activations are computed in Weft's own arithmetic: what a checkpoint says of theirs, and of an FP8 cache, is left out.

Made by `tests/tools/make_models_page.py`.""")
    section("Served, and generating", rows)
    section("Served, generating from a source (encoder-decoders)", encoder_decoders)
    section("Served, for embeddings", encoders,
            "Of an encoder's other classes `...ForMaskedLM` and `...ForPreTraining` serve without the head that is no part of embeddings, "
            "unless sparse\nvectors are made of it. Of a decoder's, `...Model` serves for embeddings, and `...ForCausalLM` with "
            "sentence-transformers' modules beside it.")
    section("Served, for sparse vectors (SPLADE)", [row(name, {}, masked) for name in sorted(masked)],
            "With sentence-transformers' `SpladePooling` in `modules.json`, or without any `modules.json`. Pooling is `max`; the activation "
            "`relu` or\n`log1p_relu`. Heads for masked tokens are read of BERT, RoBERTa, XLM-RoBERTa, CamemBERT, DistilBERT, MPNet and ModernBERT. Those of others "
            "(gte's `NewForMaskedLM`,\nNomic's, Jina's, EuroBERT's) are not: such a checkpoint serves for embeddings, and with `SpladePooling` it is refused.")
    section("Served, for labels (classifiers and rankers)", classifiers + decoder_classifiers,
            "Likewise `...ForSequenceClassification` of every other decoder: one matrix, `score`, over the last position. A classifier of one "
            "label ranks; its\nscore is a probability, unless the files name the activation `Identity`. Rankers that are decoders: "
            "Qwen3-Reranker in llama.cpp's GGUF, in\na directory with sentence-transformers' `LogitScore` and a chat template of the roles "
            "`query` and `document`, or in another with\n`--task rerank`; mxbai-rerank v2 with that. mxbai-rerank v1 is a DeBERTa-v2, "
            "which is refused by name, as are classifiers of encoder-decoders\n(T5, BART).")
    print(f"""
## Refused: {len(refused)}

| what is missing | classes |
|---|---|""")
    for reason in sorted({reason for reason, _ in refused}, key=lambda r: (r == UNKNOWN, r.lower())):
        print(f"| {reason} | {', '.join(f'`{name}`' for r, name in refused if r == reason)} |")


if __name__ == "__main__":
    main()
