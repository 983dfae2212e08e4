"""What is measured: models, which are a shape in a quantisation, and rows, which are a number of tokens or of streams."""

import dataclasses
import re

DECODE_STEPS = 32
USUAL_CONTEXT = 128  # positions that streams have behind them, where a row does not say

# Shapes of make_random_model.py, as docs/PERFORMANCE.md calls them.
TITLES = {
    "qwen3-0.6b": "dense 0.6B (Qwen3)",
    "qwen3-0.6b-2-layers": "dense 0.6B (Qwen3), 2 layers",
    "llama-1b": "dense 1.2B (Llama)",
    "llama-8b": "dense 8B (Llama)",
    "olmoe-7b": "MoE 7B (OLMoE, 64 experts, 8 run)",
    "qwen3moe-10b": "MoE 10B (Qwen3, 128 experts, 8 run)",
    "gpt-oss-4-layers": "gpt-oss, 4 layers",
}
MIXTURES = ("olmoe-7b", "qwen3moe-10b", "gpt-oss-4-layers")  # whose speed depends on how many experts the tokens of a step choose


@dataclasses.dataclass(frozen=True)
class Model:
    shape: str
    quantisation: str

    @property
    def name(self):
        return f"{self.shape}-{self.quantisation}"

    @property
    def title(self):
        return f"{TITLES[self.shape]} {self.quantisation.upper()}"

    @property
    def is_mixture(self):
        return self.shape in MIXTURES


@dataclasses.dataclass(frozen=True)
class Row:
    kind: str  # "prefill" or "decode"
    size: int  # tokens of the prompt, or streams
    context: int  # positions behind which streams decode; 0 of a prefill

    @property
    def name(self):
        behind = f"@{self.context}" if self.kind == "decode" and self.context != USUAL_CONTEXT else ""
        return f"{self.kind}-{self.size}{behind}"

    @property
    def title(self):
        behind = f" behind {self.context:,}" if self.kind == "decode" and self.context != USUAL_CONTEXT else ""
        return f"{self.kind} {self.size:,}{behind}"


DENSE_QUANTISATIONS = ("q4_k_m", "q4_0", "q8_0", "bf16", "f16", "iq4_xs")
# Of few bits, whose speed is in unpacking them: one shape shows it.
FEW_BITS = ("q3_k", "q2_k", "iq4_nl", "iq3_s", "iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "iq1_s", "tq2_0", "tq1_0")
MODELS = {model.name: model for model in (
    *(Model(shape, quantisation) for shape in ("qwen3-0.6b", "llama-1b", "llama-8b") for quantisation in DENSE_QUANTISATIONS),
    *(Model("qwen3-0.6b", quantisation) for quantisation in FEW_BITS),
    Model("qwen3-0.6b-2-layers", "q8_0"), Model("olmoe-7b", "q4_k_m"), Model("qwen3moe-10b", "q4_k_m"), Model("gpt-oss-4-layers", "mxfp4"))}
# The longest context is what make_random_model.py's files have, less what is decoded.
ROWS = ("prefill-512", "prefill-4096", "decode-1", "decode-4", "decode-16", "decode-64", "decode-1@8192", "decode-4@8192",
        "decode-1@32640")
QUICK_MODELS = ("qwen3-0.6b-q4_k_m",)
QUICK_ROWS = ("prefill-512", "decode-1", "decode-16")


def parse_row(name):
    """prefill-TOKENS, decode-STREAMS or decode-STREAMS@CONTEXT."""
    found = re.fullmatch(r"(prefill)-([1-9]\d{0,6})|(decode)-([1-9]\d{0,6})(?:@([1-9]\d{0,6}))?", name)
    if not found:
        raise ValueError(f"row '{name}': expected prefill-TOKENS, decode-STREAMS or decode-STREAMS@CONTEXT")
    if found[1]:
        return Row("prefill", int(found[2]), 0)
    return Row("decode", int(found[4]), int(found[5] or USUAL_CONTEXT))


def parse_models(names):
    for name in names:
        if name not in MODELS:
            raise ValueError(f"model '{name}': expected one of {', '.join(MODELS)}")
    return [MODELS[name] for name in names]
