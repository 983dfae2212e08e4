"""Talk to an exported file, without a server.

    python sample.py "Tell me a tale about a fox." "What is 2 + 3?"
    python sample.py --raw "Once upon a time"
    python sample.py --set              # a fixed set of questions
"""

import argparse
from pathlib import Path

import torch

from export import load_model
from reference import tokenizer_of
from tools import describe
from vocab import CONTROL, make_renderer

HERE = Path(__file__).resolve().parent
SYSTEM = {"role": "system", "content": "You are a pirate."}
QUESTIONS = """Hello!|Who are you?|Tell me a tale about a fox.
Tell me a story about a dragon and a mouse.|Tell me a tale about a blorp.
Write a short tale about an owl who lost a silver key.|What can you do?
What is 3 + 4?|7 + 8|What is 9 - 5?|What is the opposite of hot?
What colour is the sky?|What does a cow say?|What is the capital of Japan?
Count to 7.|What comes after Wednesday?|Name three animals.|Say green bird.
Nela is 9 years old. Write it as JSON with name and age.|Why is the sky blue?
Thank you!|Goodbye""".replace("\n", "|").split("|")


@torch.no_grad()
def generate(model, ids, stops, limit=400, temperature=0.0, top_p=0.9):
    """Tokens after the prompt, until an end mark."""
    made = []
    while len(made) < limit and len(ids) + len(made) < model.cfg.context:
        logits = model(torch.tensor([ids + made]))[0][0, -1]
        if temperature <= 0:
            token = logits.argmax().item()
        else:
            probs, order = (logits / temperature).softmax(-1).sort(descending=True)
            probs[probs.cumsum(0) - probs > top_p] = 0
            token = order[torch.multinomial(probs, 1)].item()
        if token in stops:
            break
        made.append(token)
    return made


def fixed_set():
    """Dialogues that show each skill, as (messages, tools)."""
    def turns(*texts):
        return [{"role": ("user", "assistant")[i % 2], "content": t}
                for i, t in enumerate(texts)]
    tools = [describe("get_weather"), describe("add"), describe("set_timer")]
    call = {"function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}
    found = [(turns(q), None) for q in QUESTIONS]
    found += [([SYSTEM] + turns("What is the capital of Italy?"), None),
              (turns("My name is Bela.", "Nice to meet you, Bela!",
                     "What is 2 + 2?", "2 + 2 = 4", "What is my name?"), None)]
    found += [(turns(q), tools) for q in (
        "What is the weather in Hamburg?", "What is 412 + 95?",
        "Set a timer for 12 minutes.")]
    found.append((turns("How is the weather in Oslo?") + [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": '{"sky": "snowy", "degrees": -3}'}], tools))
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("prompts", nargs="*")
    p.add_argument("--model", type=Path, default=HERE / "weft-demo.gguf")
    p.add_argument("--raw", action="store_true", help="no chat template")
    p.add_argument("--set", action="store_true", help="the fixed set")
    p.add_argument("--temperature", type=float, default=0.0)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    model = load_model(args.model)
    tokenizer, template = tokenizer_of(args.model)
    render = make_renderer(template)
    stops = {tokenizer.token_to_id(t) for t in CONTROL}
    asked = [([{"role": "user", "content": t}], None) for t in args.prompts]
    for messages, tools in asked + (fixed_set() if args.set else []):
        last = messages[-1]["content"]
        text = last if args.raw else render(messages, tools, True)
        made = generate(model, tokenizer.encode(text).ids, stops,
                        temperature=args.temperature)
        print(f"> {last}\n{tokenizer.decode(made, skip_special_tokens=False)}\n")


if __name__ == "__main__":
    main()
