"""Optimizers, clipping and schedules, without a model."""

import math

import torch
from torch import nn

from common import normal


# What each of five steps reads of a matrix with three rows; optimizers_test.cpp has the same.
LAZY_ROWS = [0, 2], [1], [0, 1, 2], [2], [0, 1]


def optimizers():
    """Five steps of given gradients, for a matrix and a vector."""
    starts = [normal(3, 4), normal(5)]
    gradients = [normal(5, 3, 4), normal(5, 5)]
    result = {f"start.{i}": x.float() for i, x in enumerate(starts)}
    result.update({f"gradients.{i}": x.float() for i, x in enumerate(gradients)})

    def with_gradients(parameters, step):
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient[step].clone()
        return parameters

    def record(name, make):
        parameters = [x.clone().requires_grad_() for x in starts]
        optimizer = make(parameters)
        path = []
        for step in range(5):
            with_gradients(parameters, step)
            optimizer.step()
            path.append([parameter.detach().clone() for parameter in parameters])
        result.update({f"{name}.{i}": torch.stack(steps) for i, steps in enumerate(zip(*path))})

    optim = torch.optim
    record("sgd", lambda p: optim.SGD(p, lr=0.1))
    record("sgd_momentum", lambda p: optim.SGD(p, lr=0.1, momentum=0.9))
    record("sgd_decay", lambda p: optim.SGD(p, lr=0.1, weight_decay=0.1))
    record("sgd_momentum_decay", lambda p: optim.SGD(p, lr=0.1, momentum=0.5, weight_decay=0.1))
    record("adam", lambda p: optim.Adam(p, lr=0.01))
    record("adam_options", lambda p: optim.Adam(p, lr=0.1, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1))
    record("adamw", lambda p: optim.AdamW(p, lr=0.01, weight_decay=0.1))
    record("adamw_options", lambda p: optim.AdamW(p, lr=0.1, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.3))
    record("adamw_matrices", lambda p: optim.AdamW([{"params": p[:1], "weight_decay": 0.1},
                                                    {"params": p[1:], "weight_decay": 0.0}], lr=0.1))

    # Of the matrix, other rows each step. SparseAdam adds epsilon to the root before it corrects the bias, Adam and Reel
    # after it; so there is none to speak of. A vector's gradient is dense for Reel: it has no part in this.
    matrix = starts[0].clone().requires_grad_()
    lazy, path = optim.SparseAdam([matrix], lr=0.01, eps=1e-30), []
    for step, rows in enumerate(LAZY_ROWS):
        matrix.grad = torch.sparse_coo_tensor([rows], gradients[0][step][rows], matrix.shape)
        lazy.step()
        path.append(matrix.detach().clone())
    result["adam_lazy.0"] = torch.stack(path)

    for name, most in ("clip", 1.0), ("clip_none", 100.0):
        parameters = with_gradients([x.clone().requires_grad_() for x in starts], 0)
        result[f"{name}.norm"] = nn.utils.clip_grad_norm_(parameters, most)
        result.update({f"{name}.{i}": parameter.grad for i, parameter in enumerate(parameters)})

    cosine = lambda step: 1e-4 + (1e-3 - 1e-4) * (1 + math.cos(math.pi * min(step / 20, 1))) / 2
    warm = lambda rate, step, steps, then: rate * (step + 1) / (steps + 1) if step < steps else then(step - steps)
    schedules = {
        "constant": lambda step: 1e-3,
        "cosine": cosine,
        "inverse_sqrt": lambda step: 1e-3 * (11 / (11 + step)) ** 0.5,
        "warmup_cosine": lambda step: warm(1e-3, step, 5, cosine),
        "warmup_inverse_sqrt": lambda step: 1e-3 * min((step + 1) / 11, (11 / (step + 1)) ** 0.5),
    }
    for name, rate in schedules.items():
        result[f"schedule.{name}"] = torch.tensor([rate(step) for step in range(30)])
    return result
