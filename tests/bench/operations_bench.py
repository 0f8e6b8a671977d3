"""Times single operations of PyTorch: the twin of operations_bench.cpp, with the same arguments and output."""

import sys
import time

import torch
import torch.nn.functional as F

threads, R, C = map(int, sys.argv[1:])
torch.set_num_threads(threads)
torch.manual_seed(1)
x, y = torch.randn(R, C), torch.randn(R, C)
positive, row, column, weight = x * x + 0.1, torch.randn(C), torch.randn(R, 1), torch.randn(C, C)
mask, labels, words = torch.randint(2, (R, C)).bool(), torch.randint(C, (R,)), torch.randint(5000, (R,))

OPERATIONS = {
    "exp": (torch.exp, x),
    "log": (torch.log, positive),
    "sqrt": (torch.sqrt, positive),
    "abs": (torch.abs, x),
    "sin": (torch.sin, x),
    "tanh": (torch.tanh, x),
    "sigmoid": (torch.sigmoid, x),
    "erf": (torch.erf, x),
    "relu": (torch.relu, x),
    "gelu": (F.gelu, x),
    "gelu_tanh": (lambda a: F.gelu(a, approximate="tanh"), x),
    "silu": (F.silu, x),
    "add": (torch.add, x, y),
    "add_row": (torch.add, x, row),
    "add_transposed": (lambda a, b: a.t() + b, torch.randn(C, R), y),
    "add_heads": (lambda a, b: a.transpose(1, 2) + b, torch.randn(R // 32, 8, 32, C // 8),
                  torch.randn(R // 32, 32, 8, C // 8)),
    "mul": (torch.mul, x, y),
    "mul_column": (torch.mul, x, column),
    "mul_number": (lambda a: a * 2.5, x),
    "div": (torch.div, x, positive),
    "pow_3": (lambda a: a ** 3, x),
    "pow": (torch.pow, positive, x),
    "maximum": (torch.maximum, x, y),
    "where": (lambda a, b: torch.where(mask, a, b), x, y),
    "masked_fill": (lambda a: a.masked_fill(mask, -1), x),
    "tril": (torch.tril, x),
    "sum": (torch.sum, x),
    "sum_0": (lambda a: a.sum(0), x),
    "sum_1": (lambda a: a.sum(1), x),
    "var_1": (lambda a: a.var(1), x),
    "max_0": (lambda a: a.max(0).values, x),
    "max_1": (lambda a: a.max(1).values, x),
    "softmax_0": (lambda a: a.softmax(0), x),
    "softmax": (lambda a: a.softmax(1), x),
    "log_softmax": (lambda a: a.log_softmax(1), x),
    "cross_entropy": (lambda a: F.cross_entropy(a, labels), x),
    "layer_norm": (lambda a, scale, shift: F.layer_norm(a, (C,), scale, shift), x, row, 2 * row),
    "dropout": (lambda a: F.dropout(a, 0.1), x),
    "transpose": (lambda a: a.t().contiguous(), x),
    "slice": (lambda a: a[:, ::2].contiguous(), x),
    "cat_0": (lambda *parts: torch.cat(parts, 0), x, y),
    "cat_1": (lambda *parts: torch.cat(parts, 1), x, y),
    "gather": (lambda a: a.gather(1, labels[:, None]), x),
    "embedding": (lambda table: F.embedding(words, table), torch.randn(5000, C)),
    "linear": (F.linear, x, weight, row),
    "linear_relu": (lambda x, weight, row: torch.relu(F.linear(x, weight, row)), x, weight, row),
    "linear_1_row": (F.linear, torch.randn(1, C), weight, row),
    "conv1d": (lambda *inputs: F.conv1d(*inputs, padding=1), torch.randn(R // 32, C, 32), torch.randn(C, C, 3), row),
}


def best_microseconds(run):
    """As best_seconds() of ceilings.h finds it."""
    best, runs, begin = float("inf"), 0, time.perf_counter()
    while runs < 3 or time.perf_counter() - begin < 0.06:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
        runs += 1
    return 1e6 * best


for name, (run, *inputs) in OPERATIONS.items():
    with torch.no_grad():
        forward = best_microseconds(lambda: run(*inputs))
    leaves = [a.clone().requires_grad_() for a in inputs]
    weights = torch.randn(run(*leaves).shape)

    def step():
        (run(*leaves) * weights).sum().backward()
        for leaf in leaves:
            leaf.grad = None

    print(name, f"{forward:.3f} {best_microseconds(step):.3f}", flush=True)
