"""Write expected.json: what the exported file must answer, for tests.

For each prompt: its token ids, the 48 tokens that greedy choice gives (it goes
on after an end mark), and at each step the margin, which is the likeliest
logit less the next. They come from Hugging Face's Qwen3MoeForCausalLM in
float32 on the dequantised weights. An engine that rounds differently may
differ where a margin is small, and everything after that differs too.
"""

import argparse
import json
from pathlib import Path

import torch

from reference import hf_model, tokenizer_of
from tools import describe
from vocab import make_renderer

HERE = Path(__file__).resolve().parent
STEPS = 48


def user(text):
    return {"role": "user", "content": text}


def tool_turns():
    """A question, the call it led to and the tool's answer."""
    call = {"type": "function", "function": {
        "name": "get_weather", "arguments": {"city": "Paris"}}}
    return [user("What is the weather in Paris?"),
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "content": '{"sky": "sunny", "degrees": 21}'}]


PROMPTS = [
    dict(name="raw tale", text="Once upon a time there was a little fox"),
    dict(name="raw prose", text="The king's daughter went into the garden and"),
    dict(name="raw one token", text="Long"),
    dict(name="greeting", messages=[user("Hello!")]),
    dict(name="who", messages=[user("Who are you?")]),
    dict(name="sum", messages=[user("What is 3 + 4?")]),
    dict(name="tale", messages=[user("Tell me a tale about a fox.")]),
    dict(name="system", messages=[
        {"role": "system", "content": "You are a pirate."},
        user("What is the capital of France?")]),
    dict(name="turns", messages=[
        user("My name is Anna."),
        {"role": "assistant", "content": "Nice to meet you, Anna!"},
        user("What is my name?")]),
    dict(name="tool call", messages=tool_turns()[:1],
         tools=[describe("get_weather"), describe("add")]),
    dict(name="tool answer", messages=tool_turns(),
         tools=[describe("get_weather"), describe("add")]),
]


@torch.no_grad()
def greedy(model, ids):
    """Greedy tokens and margins after the prompt."""
    made, margins = [], []
    for _ in range(STEPS):
        logits = model(torch.tensor([ids + made])).logits[0, -1]
        best = logits.topk(2)
        made.append(best.indices[0].item())
        margins.append(round((best.values[0] - best.values[1]).item(), 4))
    return made, margins


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--model", type=Path, default=HERE / "weft-demo.gguf")
    p.add_argument("--out", type=Path, default=HERE / "expected.json")
    args = p.parse_args()
    model = hf_model(args.model)
    tokenizer, template = tokenizer_of(args.model)
    render = make_renderer(template)
    cases = []
    for prompt in PROMPTS:
        text = prompt.get("text") or render(
            prompt["messages"], prompt.get("tools"), add_generation_prompt=True)
        ids = tokenizer.encode(text).ids
        made, margins = greedy(model, ids)
        cases.append(dict(prompt, text=text, tokens=ids, greedy=made,
                          margins=margins, greedy_text=tokenizer.decode(
                              made, skip_special_tokens=False)))
        print(f"--- {prompt['name']}: {cases[-1]['greedy_text']!r}, "
              f"least margin {min(margins)}")
    lines = ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases)
    args.out.write_text(f'{{"model": "{args.model.name}", "steps": {STEPS}, '
                        f'"prompts": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
