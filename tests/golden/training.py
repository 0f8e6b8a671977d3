"""What is recorded of a module: weights, output, loss, every gradient, and three steps of Adam and of AdamW.

Each module is also run in PyTorch's f32, and drawn anew until that is close to its own f64. The first steps of Adam go
by the sign of a gradient more than by its size: where one happens to be nearly 0, rounding decides, in Reel as in
PyTorch.
"""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from common import INF, normal

MAX_NORM = 0.1  # of clipping
F32_ERROR = 1e-6  # at most, of PyTorch; the tests allow Reel 1e-5


def redraw(module):
    """Random weights, about as large as PyTorch's, but also where it starts with ones and zeros."""
    for key, weight in module.named_parameters():
        fan_in = weight[0].numel() if weight.dim() > 1 and "emb" not in key else 4
        mean = 1 if "norm" in key and "weight" in key else 0
        weight.data.copy_((mean + normal(*weight.shape, scale=fan_in ** -0.5)).float())


def train(start, loss_of, optimizer_class, **options):
    """Three steps with clipping: the norms before it, and the weights after."""
    module = copy.deepcopy(start)
    optimizer = optimizer_class(module.parameters(), lr=1e-2, betas=(0.9, 0.98), **options)
    norms = []
    for _ in range(3):
        optimizer.zero_grad()
        loss_of(module).backward()
        norms.append(nn.utils.clip_grad_norm_(module.parameters(), MAX_NORM))
        optimizer.step()
    assert min(norms) > 1.2 * MAX_NORM, "clipping must bite"
    return {"norms": torch.stack(norms), **module.state_dict()}


def outcome(module, forward, loss, inputs, indices):
    """Everything that comes out of a module: output, loss, gradients, and where the optimizers take it."""
    leaves = [x.clone().requires_grad_() for x in inputs]
    y = forward(module, *leaves, *indices)
    module.zero_grad()
    loss(y).backward()
    result = {"output": y, "loss": loss(y)}
    result.update({f"grad_input.{i}": x.grad for i, x in enumerate(leaves)})
    state = module.state_dict(keep_vars=True)  # a tied tensor under both of its names
    result.update({f"grad.{key}": p.grad.clone() for key, p in state.items() if p.requires_grad})
    for kind, optimizer, options in ("adam", torch.optim.Adam, {}), ("adamw", torch.optim.AdamW, {"weight_decay": 0.1}):
        trained = train(module, lambda m: loss(forward(m, *inputs, *indices)), optimizer, **options)
        result.update({f"{kind}.{key}": value for key, value in trained.items()})
    return result


def difference(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


def record(group, name, module, *inputs, indices=(), goal=None, forward=lambda module, *args: module(*args), loss=None):
    """Adds a module's case to the group: what it reads (numbers, and integers as `indices`), and all that comes out.
    Without a loss it is the output times a random goal, summed."""
    if loss is None:
        goal = normal(*forward(module, *inputs, *indices).shape)
        loss = lambda y, goal: (y * goal.to(y.dtype)).sum()

    error, draws = INF, 0
    while not error <= F32_ERROR:
        redraw(module)
        result = outcome(module, forward, lambda y: loss(y, goal), inputs, indices)
        single = outcome(copy.deepcopy(module).float(), forward, lambda y: loss(y, goal), [x.float() for x in inputs],
                         indices)
        error = max(difference(single[key].double(), value) for key, value in result.items())
        draws += 1
    assert all(value.any() for value in result.values()), "zeros would prove nothing"
    print(f"  {name}: PyTorch's f32 is within {error:.1e} of its f64 in draw {draws}")
    group.update({f"{name}.input.{i}": x.float() for i, x in enumerate(inputs)})
    group.update({f"{name}.ids.{i}": index.float() for i, index in enumerate(indices)})
    group[f"{name}.goal"] = goal.float()
    group.update({f"{name}.weight.{key}": value.float() for key, value in module.state_dict().items()})
    group.update({f"{name}.{key}": value for key, value in result.items()})


def nll(log_probs, goal):
    return F.nll_loss(log_probs.flatten(0, -2), goal.flatten())
