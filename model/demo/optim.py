"""Muon for the matrices inside the layers, AdamW for everything else."""

from collections import defaultdict

import torch


def orthogonalise(g, steps=5):
    """Newton-Schulz iteration on a stack of matrices [n, rows, columns]."""
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g.to(torch.bfloat16)
    x = x / (x.float().norm(dim=(-2, -1), keepdim=True) + 1e-7).to(x.dtype)
    flip = x.shape[-2] > x.shape[-1]
    if flip:
        x = x.mT
    for _ in range(steps):
        gram = x @ x.mT
        x = a * x + (b * gram + c * gram @ gram) @ x
    return (x.mT if flip else x).to(g.dtype)


class Muon(torch.optim.Optimizer):
    """Momentum whose step is made orthogonal; 3-D weights are stacks."""

    def __init__(self, params, lr, momentum=0.95, weight_decay=0.01):
        super().__init__(params, dict(lr=lr, momentum=momentum,
                                      weight_decay=weight_decay))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            by_shape = defaultdict(list)
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["momentum"] = torch.zeros_like(p)
                state["momentum"].lerp_(p.grad, 1 - group["momentum"])
                by_shape[p.shape[-2:]].append(p)
            for shape, params in by_shape.items():
                self.update(group, shape, params)

    def update(self, group, shape, params):
        """One step for all matrices of a shape together."""
        steps = [p.grad.lerp(self.state[p]["momentum"], group["momentum"])
                 .reshape(-1, *shape) for p in params]
        whole = orthogonalise(torch.cat(steps))
        scale = max(1.0, shape[0] / shape[1]) ** 0.5
        for p, u in zip(params, whole.split([len(s) for s in steps])):
            p.mul_(1 - group["lr"] * group["weight_decay"])
            p.add_(u.view_as(p), alpha=-group["lr"] * scale)


def make_optimizers(model, muon_lr, adam_lr):
    """The two optimizers; each group keeps its full rate as 'top'."""
    matrices, others, gains = [], [], []
    for name, p in model.named_parameters():
        inner = p.dim() >= 2 and "embed" not in name and "router" not in name
        (matrices if inner else gains if p.dim() == 1 else others).append(p)
    # The gains of the query and key norms bound how sharply a head can look;
    # they start at 1 and must rise, so norm gains learn faster.
    adam = [dict(params=others, lr=adam_lr), dict(params=gains, lr=3 * adam_lr)]
    made = [Muon(matrices, lr=muon_lr),
            torch.optim.AdamW(adam, betas=(0.9, 0.95), weight_decay=0.0)]
    for optimizer in made:
        for group in optimizer.param_groups:
            group["top"] = group["lr"]
    return made
