"""Train the demo model on a CPU, for a given time.

    python train.py --minutes 90                # train, or go on if stopped
    python train.py --minutes 90 --fresh        # forget the checkpoint

The learning rate follows the clock: it rises over the first steps, stays, and
falls to zero over the last part of the budget. The checkpoint keeps the time
used so far, so a run that was stopped goes on where it was.
"""

import argparse
import os
import time
from dataclasses import asdict
from pathlib import Path

# Threads that wait must sleep: spinning ones cost half the speed on a machine
# whose cores are shared. Read when torch is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer

from data import Rows, read_prose, sample_texts, split_prose
from model import Config, Model
from optim import make_optimizers
from vocab import train_tokenizer

ROOT = Path(__file__).resolve().parents[2]
BALANCE = 0.01              # weight of the expert balance loss
TOKENS_PER_STEP = 4096
WARMUP_STEPS = 100
DECAY_SHARE = 0.45          # of the time budget, at its end


def parse_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--data", type=Path, default=ROOT / "../shared/data")
    p.add_argument("--build", type=Path, default=ROOT / "build/demo",
                   help="folder of the checkpoint, tokenizer and log")
    p.add_argument("--minutes", type=float, default=90)
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--muon-lr", type=float, default=0.008)
    p.add_argument("--adam-lr", type=float, default=0.0025)
    p.add_argument("--save-every", type=float, default=180, help="seconds")
    p.add_argument("--fresh", action="store_true")
    return p.parse_args()


def load_tokenizer(build, prose, vocab_size):
    """The tokenizer of this build folder; made if there is none."""
    path = build / "tokenizer.json"
    if not path.exists():
        tokenizer = train_tokenizer(sample_texts(prose, 12000), vocab_size)
        tokenizer.save(str(path))
    return Tokenizer.from_file(str(path))


def loss_of(model, ids, weights):
    """Weighted cross-entropy and the balance loss of one batch."""
    ids = torch.as_tensor(ids)
    with torch.autocast("cpu", torch.bfloat16):
        logits, balance = model(ids[:, :-1])
    each = F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(),
                           reduction="none")
    weights = torch.as_tensor(weights).flatten()
    return (each * weights).sum() / weights.sum(), balance


@torch.no_grad()
def validate(model, batches):
    """Mean loss on each kind of held-out rows."""
    return {name: loss_of(model, *batch)[0].item()
            for name, batch in batches.items()}


def rate(step, progress):
    """Share of the full learning rate: up, flat, then down to zero."""
    warm = min(1.0, (step + 1) / WARMUP_STEPS)
    return warm * min(1.0, max(0.0, 1 - progress) / DECAY_SHARE)


def save(path, model, optimizers, state):
    """Write the checkpoint in one move, so that readers see a whole one."""
    parts = dict(model=model.state_dict(), config=asdict(model.cfg),
                 optimizers=[o.state_dict() for o in optimizers], **state)
    torch.save(parts, path.with_suffix(".part"))
    os.replace(path.with_suffix(".part"), path)


def load(path, model, optimizers):
    """Take up a checkpoint; returns steps done, seconds used, tokens seen."""
    parts = torch.load(path, weights_only=True)
    model.load_state_dict(parts["model"])
    for optimizer, kept in zip(optimizers, parts["optimizers"]):
        tops = [group["top"] for group in optimizer.param_groups]
        optimizer.load_state_dict(kept)
        for group, top in zip(optimizer.param_groups, tops):
            group["top"] = top
    return {k: parts[k] for k in ("step", "seconds", "tokens")}


def train_step(model, optimizers, rows, step, progress):
    """One step; three of four have rows of half the length."""
    length = model.cfg.context >> (step % 4 > 0)
    ids, weights = rows.batch(step, TOKENS_PER_STEP // length, length)
    loss, balance = loss_of(model, ids, weights)
    (loss + BALANCE * balance).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] = group["top"] * rate(step, progress)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return loss.item(), balance.item()


def run(args, model, optimizers, rows, held, state, path):
    """Train until the time is used up."""
    budget = args.minutes * 60
    last = last_save = time.monotonic()
    smooth = None
    while state["seconds"] < budget:
        loss, balance = train_step(model, optimizers, rows, state["step"],
                                   state["seconds"] / budget)
        now = time.monotonic()
        state["seconds"] += now - last
        last = now
        state["step"] += 1
        state["tokens"] += TOKENS_PER_STEP
        smooth = loss if smooth is None else 0.95 * smooth + 0.05 * loss
        if state["step"] % 20 == 0:
            print(f"step {state['step']} min {state['seconds'] / 60:.1f} "
                  f"loss {smooth:.4f} balance {balance:.3f} "
                  f"tok/s {state['tokens'] / state['seconds']:.0f}", flush=True)
        done = state["seconds"] >= budget
        if now - last_save > args.save_every or done:
            last_save = now
            losses = validate(model, held)
            print("held out", {k: round(v, 4) for k, v in losses.items()}, flush=True)
            save(path, model, optimizers, dict(state, held=losses))


def main():
    args = parse_args()
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    args.build.mkdir(parents=True, exist_ok=True)
    path = args.build / "checkpoint.pt"
    prose, kept = split_prose(read_prose(args.data / "text/grimms-fairy-tales.txt"))
    cfg = Config()
    tokenizer = load_tokenizer(args.build, prose, cfg.vocab_size)
    model = Model(cfg)
    optimizers = make_optimizers(model, args.muon_lr, args.adam_lr)
    state = dict(step=0, seconds=0.0, tokens=0)
    if path.exists() and not args.fresh:
        state = load(path, model, optimizers)
        print("resumed at", state, flush=True)
    rows = Rows(tokenizer, prose)
    held = {"prose": Rows(tokenizer, kept, prose_share=1.0).batch(-1, 8, 512),
            "generated": Rows(tokenizer, kept, held=True, prose_share=0.0)
            .batch(-2, 16, 512)}
    run(args, model, optimizers, rows, held, state, path)


if __name__ == "__main__":
    main()
