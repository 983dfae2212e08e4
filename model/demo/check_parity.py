"""Check an exported file: our model and Hugging Face's give the same logits,
and the file keeps to its limits.

    python check_parity.py [weft-demo.gguf]
"""

import sys
from pathlib import Path

import gguf
import torch

from export import load_model
from reference import hf_model, tokenizer_of

MAX_BYTES = 8_000_000
TEXT = ("Once upon a time there was a fox. <|im_start|>user\nWhat is 2 + 3?"
        "<|im_end|>\n<tool_call>\n{\"name\": \"add\"}\n</tool_call> äöü 漢字 🦊 ")


def check_logits(path):
    """Largest difference of the two implementations' logits."""
    torch.manual_seed(0)
    ours, theirs = load_model(path), hf_model(path)
    ids = torch.randint(0, ours.cfg.vocab_size, (2, ours.cfg.context))
    with torch.no_grad():
        left, right = ours(ids)[0], theirs(ids).logits
    worst = (left - right).abs().max().item()
    print(f"largest difference of logits: {worst:.2e} "
          f"(logits from {right.min():.1f} to {right.max():.1f})")
    assert worst < 2e-3


def check_tokenizer(path):
    """Any text comes back from its tokens."""
    tokenizer, _ = tokenizer_of(path)
    ids = tokenizer.encode(TEXT).ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == TEXT
    print(f"{len(TEXT)} characters in {len(ids)} tokens and back")


def check_file(path):
    """Size, and the length of every row that is stored as blocks."""
    size = path.stat().st_size
    assert size <= MAX_BYTES, size
    for tensor in gguf.GGUFReader(path).tensors:
        if tensor.tensor_type == gguf.GGMLQuantizationType.Q8_0:
            assert tensor.shape[0] % 256 == 0, tensor.name
    print(f"{size} bytes of at most {MAX_BYTES}")


def main():
    here = Path(__file__).resolve().parent
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else here / "weft-demo.gguf"
    check_file(path)
    check_tokenizer(path)
    check_logits(path)


if __name__ == "__main__":
    main()
