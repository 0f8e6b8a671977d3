"""Every operation of autograd/ops.h but dropout, which draws numbers of its own."""

import torch
from torch.nn import functional as F

from common import INF, Cases, ids, normal, positive, values

case = Cases()


def arithmetic():
    for name in "add", "sub", "mul", "div":
        f = getattr(torch, name)
        case(name, f, normal(3, 7), positive(3, 7))
        case(f"{name}.broadcast", f, normal(2, 1, 5), positive(3, 1))
        case(f"{name}.zero_d", f, normal(), positive(4))
        case(f"{name}.transposed", lambda a, b: f(a.t(), b), normal(3, 5), positive(5, 3))
        case(f"{name}.empty", f, normal(0, 3), positive(1, 3))
        if name != "div":  # whose derivative is 0 but for rounding
            case(f"{name}.itself", lambda x: f(x, x), positive(9))
        case(f"{name}.number", lambda x: f(x, 2.5), positive(9))
        case(f"{name}.from_number", lambda x: f(torch.tensor(2.5), x), positive(9))
    case("neg", torch.neg, normal(4, 5))
    for exponent in 0, 0.5, 1, 2, 3, 2.5, -0.5, -2:
        case(f"pow.to_{exponent}", lambda x: x ** exponent, positive(11))
    for exponent in 0, 1, 2, 3, -1, -2:
        case(f"pow.negative_to_{exponent}", lambda x: x ** exponent, -positive(11))
    for exponent in 0, 1, 2, 3, 2.5:
        case(f"pow.zero_to_{exponent}", lambda x: x ** exponent, values(0, 1))
    case("pow", torch.pow, positive(3, 4), normal(3, 4))
    case("pow.broadcast", torch.pow, positive(3, 1), normal(5))
    case("pow.negative", torch.pow, -positive(4), values(-2, 1, 2, 3))
    case("pow.zero", torch.pow, values(0, 0, 0, 0), values(0, 1, 2, 2.5))
    case("maximum", torch.maximum, normal(3, 7), normal(3, 7))
    case("maximum.ties", torch.maximum, values(1, 2, 3, -1, 0), values(1, 3, 3, -1, -0.0))
    case("maximum.broadcast", torch.maximum, normal(3, 1), normal(2, 1, 4))
    case("add_in_place", lambda x, y: (x + y).detach(), normal(2, 3), normal(3))


def functions_of_one_number():
    for name in "exp", "sin", "cos", "tanh", "sigmoid", "erf", "relu", "gelu", "silu", "abs":
        f = getattr(torch, name, None) or getattr(F, name)
        case(name, f, normal(5, 7, scale=2))
        case(f"{name}.transposed", lambda x: f(x.t()), normal(3, 5))
    far = values(-1000, -200, -80, -20, -5, -1e-3, -0.0, 0, 1e-3, 5, 20, 80, 200, 1000)
    for name in "sin", "cos", "tanh", "sigmoid", "erf", "relu", "gelu", "silu", "abs":
        case(f"{name}.far", getattr(torch, name, None) or getattr(F, name), far)
    for name, x in ("exp.far", values(-80, -20, 0, 20)), ("exp.limits", values(-INF, 0, -1)):
        case(name, torch.exp, x)
    case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), normal(5, 7, scale=2))
    case("gelu_tanh.far", lambda x: F.gelu(x, approximate="tanh"), far)
    for name in "log", "sqrt":
        case(name, getattr(torch, name), positive(5, 7))
        case(f"{name}.far", getattr(torch, name), values(0, 1e-30, 1e-3, 1, 1e30))


def choices():
    case("where", lambda a, b, test: torch.where(test.bool(), a, b), normal(3, 5), normal(3, 5), indices=[ids(2, 3, 5)])
    case("where.broadcast", lambda a, b, test: torch.where(test.bool(), a, b), normal(2, 1, 5), normal(),
         indices=[ids(2, 3, 1)])
    case("masked_fill", lambda x, mask: x.masked_fill(mask.bool(), -7.5), normal(3, 5), indices=[ids(2, 3, 5)])
    case("masked_fill.broadcast", lambda x, mask: x.masked_fill(mask.bool(), -INF), normal(2, 3, 5),
         indices=[ids(2, 3, 1)])
    case("where.positive", lambda x, y: torch.where(x > 0, y, torch.zeros(())), normal(3, 5), normal(3, 5))
    case("where.positive.zero", lambda x, y: torch.where(x > 0, y, torch.zeros(())), values(0, -0.0, 1), normal(3))
    for name in "triu", "tril":
        f = getattr(torch, name)
        case(name, f, normal(5, 5))
        for diagonal in -7, -1, 1, 2, 7:
            case(f"{name}.batch_{diagonal}", lambda x: f(x, diagonal), normal(2, 4, 6))
    case("gt", torch.gt, values(1, 2, 3, INF, -0.0), values(1, 3, 2, INF, 0))
    case("eq", torch.eq, values(1, 2, 3, INF, -0.0), values(1, 3, 2, INF, 0))


def reductions():
    for name in "sum", "mean":
        f = getattr(torch, name)
        case(name, f, normal(3, 4, 5))
        case(f"{name}.first", lambda x: f(x, 0), normal(3, 4, 5))
        case(f"{name}.last", lambda x: f(x, -1), normal(3, 4, 5))
        case(f"{name}.outer", lambda x: f(x, (0, 2)), normal(3, 4, 5))
        case(f"{name}.kept", lambda x: f(x, (1, -1), keepdim=True), normal(3, 4, 5))
        case(f"{name}.transposed", lambda x: f(x.transpose(0, 2), 1), normal(3, 4, 5))
    case("sum.empty", lambda x: x.sum(0), normal(0, 3))
    case("var", lambda x: x.var(-1), normal(3, 7))
    case("var.population", lambda x: x.var(0, unbiased=False), normal(5, 3))
    case("var.kept", lambda x: x.var((0, 2), keepdim=True), normal(3, 4, 5))
    for name, x in ("max", normal(3, 4, 5)), ("max.ties", values(1, 3, 3, 2, 5, 5, 5, 5, 0, -1, 0, -1).reshape(3, 4)):
        for axis in 0, -1:
            case(f"{name}.axis_{axis}", lambda x: x.max(axis).values, x)
            case(f"arg{name}.axis_{axis}", lambda x: x.max(axis).indices, x)


def products():
    case("matmul", torch.matmul, normal(3, 5), normal(5, 4))
    case("matmul.one", torch.matmul, normal(1, 1), normal(1, 1))
    case("matmul.wide", torch.matmul, normal(2, 37), normal(37, 19))
    case("matmul.left_transposed", lambda a, b: a.t() @ b, normal(5, 3), normal(5, 4))
    case("matmul.right_transposed", lambda a, b: a @ b.t(), normal(3, 5), normal(4, 5))
    case("matmul.both_transposed", lambda a, b: a.t() @ b.t(), normal(5, 3), normal(4, 5))
    case("matmul.itself", lambda x: x @ x, normal(4, 4))
    case("matmul.batch", torch.matmul, normal(2, 3, 4, 5), normal(2, 3, 5, 2))
    case("matmul.one_matrix", torch.matmul, normal(2, 3, 5), normal(5, 4))
    case("matmul.one_matrix_left", torch.matmul, normal(3, 5), normal(2, 5, 4))
    case("matmul.broadcast", torch.matmul, normal(2, 1, 3, 5), normal(4, 5, 2))
    case("matmul.heads", lambda a, b: a.transpose(1, 2) @ b.permute(0, 2, 3, 1), normal(2, 4, 3, 5), normal(2, 4, 3, 5))
    case("matmul.vectors", torch.matmul, normal(7), normal(7))
    case("matmul.vector_left", torch.matmul, normal(5), normal(2, 5, 4))
    case("matmul.vector_right", torch.matmul, normal(2, 4, 5), normal(5))
    case("matmul.empty", torch.matmul, normal(3, 0), normal(0, 4))
    case("linear", F.linear, normal(6, 5), normal(3, 5), normal(3))
    case("linear.no_bias", F.linear, normal(6, 5), normal(3, 5))
    case("linear.vector", F.linear, normal(5), normal(3, 5), normal(3))
    case("linear.batch", F.linear, normal(2, 3, 5), normal(17, 5), normal(17))
    case("linear_relu", lambda x, w, b: F.relu(F.linear(x, w, b)), normal(6, 5), normal(17, 5), normal(17))
    case("linear_relu.no_bias", lambda x, w: F.relu(F.linear(x, w)), normal(2, 3, 5), normal(4, 5))
    case("linear.transposed", lambda x, w, b: F.linear(x.t(), w.t(), b), normal(5, 6), normal(5, 3), normal(3))
    case("conv1d", F.conv1d, normal(2, 3, 9), normal(4, 3, 3), normal(4))
    case("conv1d.no_bias", F.conv1d, normal(2, 3, 9), normal(4, 3, 3))
    case("conv1d.point", F.conv1d, normal(2, 3, 5), normal(4, 3, 1), normal(4))
    for name, options in (("stride", dict(stride=2)), ("padding", dict(padding=2)), ("dilation", dict(dilation=3)),
                          ("all", dict(stride=3, padding=4, dilation=2)), ("remainder", dict(stride=4, padding=1))):
        case(f"conv1d.{name}", lambda x, w, b: F.conv1d(x, w, b, **options), normal(2, 3, 10), normal(4, 3, 3),
             normal(4))


def views():
    case("view", lambda x: x.view(4, -1), normal(2, 6))
    case("view.of_slice", lambda x: x[:, 1:3].view(3, 2, 1, 1), normal(3, 5))
    case("reshape", lambda x: x.reshape(3, 8), normal(2, 3, 4))
    case("reshape.copy", lambda x: x.t().reshape(2, -1), normal(4, 5))
    case("permute", lambda x: x.permute(2, 0, 1), normal(2, 3, 4))
    case("transpose", lambda x: x.transpose(0, -1), normal(2, 3, 4))
    case("slice", lambda x: x[:, 1:4], normal(3, 6))
    case("slice.step", lambda x: x[1:9:3], normal(10, 2))
    case("slice.negative", lambda x: x[..., -4:-1], normal(2, 3, 6))
    case("slice.overlap", lambda x: x[1:] * x[:-1], normal(8))
    case("select", lambda x: x.select(1, 2), normal(3, 4, 2))
    case("select.negative", lambda x: x.select(0, -1), normal(3))
    case("expand", lambda x: x.expand(2, 3, 4), normal(3, 1))
    case("expand.keep", lambda x: x.expand(-1, 5), normal(3, 1))
    case("squeeze", lambda x: x.squeeze(1), normal(3, 1, 2))
    case("unsqueeze", lambda x: x.unsqueeze(-1), normal(3, 2))
    case("clone", lambda x: x.t().clone(), normal(3, 5))
    case("contiguous", lambda x: x.t().contiguous(), normal(3, 5))


def gathering():
    case("cat", lambda a, b: torch.cat([a, b]), normal(2, 3), normal(4, 3))
    case("cat.last", lambda a, b, c: torch.cat([a, b, c], -1), normal(2, 3), normal(2, 0), normal(2, 4))
    case("cat.itself", lambda x: torch.cat([x, x], 1), normal(2, 3))
    case("stack", lambda a, b: torch.stack([a, b]), normal(2, 3), normal(2, 3))
    case("stack.last", lambda a, b: torch.stack([a, b], -1), normal(2, 3), normal(2, 3))
    case("split", lambda x: torch.cat(x.split(2, 1)[::-1], 1), normal(3, 5))
    case("slice_scatter", lambda y: F.pad(y, (2, 2)), normal(3, 3))
    case("slice_scatter.step", lambda y: torch.zeros(8, 2).index_add(0, torch.tensor([1, 4, 7]), y), normal(3, 2))
    for axis in 0, 1, 2:
        x, y = [3, 4, 5], [3, 4, 5]
        y[axis] = 4
        case(f"gather.axis_{axis}", lambda x, index: x.gather(axis, index), normal(*x), indices=[ids(x[axis], *y)])
        x[axis] = 3
        case(f"scatter_add.axis_{axis}", lambda y, index: torch.zeros(x).scatter_add(axis, index, y),
             normal(*y), indices=[ids(3, *y)])
    case("embedding", lambda table, index: F.embedding(index, table), normal(5, 3), indices=[ids(5, 4)])
    case("embedding.batch", lambda table, index: F.embedding(index, table), normal(6, 9), indices=[ids(4, 3, 5)])
    case("embedding_sum", lambda y, index: torch.zeros(6, 4).index_add(0, index.flatten(), y.flatten(0, 1)),
         normal(3, 5, 4), indices=[ids(5, 3, 5)])


def nll(log_probs, targets, smoothing):
    """-log p of the target, of which `smoothing` is spread over all classes: the mean over what is not ignored."""
    counted = targets != -100
    picked = log_probs.gather(-1, targets.masked_fill(~counted, 0).unsqueeze(-1)).squeeze(-1)
    return -((1 - smoothing) * picked + smoothing * log_probs.mean(-1))[counted].mean()


def probabilities():
    hidden = normal(3, 6).masked_fill(ids(2, 3, 6).bool() & (torch.arange(6) > 0), -INF)
    for name in "softmax", "log_softmax":
        f = getattr(torch, name)
        case(name, lambda x: f(x, -1), normal(4, 7))
        case(f"{name}.first", lambda x: f(x, 0), normal(4, 7))
        case(f"{name}.middle", lambda x: f(x, 1), normal(2, 5, 3))
        case(f"{name}.long", lambda x: f(x, -1), normal(2, 67))
        case(f"{name}.single", lambda x: f(x, -1), normal(3, 1))
        case(f"{name}.large", lambda x: f(x, -1), values(1000, 999, -1000, 0, 1, 2, 3e4, -3e4, 1).reshape(3, 3))
        case(f"{name}.offset", lambda x: f(x, -1), values(3000, 3000.5, 2999, 2998))
        case(f"{name}.hidden", lambda x: f(x, -1), hidden)
    some = ids(5, 6)
    some[1] = some[4] = -100
    case("nll_loss", lambda x, t: F.nll_loss(x, t), normal(6, 5), indices=[ids(5, 6)])
    case("nll_loss.ignored", lambda x, t: F.nll_loss(x, t), normal(6, 5), indices=[some])
    case("nll_loss.ignore_2", lambda x, t: F.nll_loss(x, t, ignore_index=2), normal(9, 3), indices=[ids(3, 9)])
    case("nll_loss.smooth", lambda x, t: nll(x, t, 0.1), normal(6, 5), indices=[some])
    case("nll_loss.batch", lambda x, t: F.nll_loss(x.transpose(1, 2), t), normal(2, 3, 5), indices=[ids(5, 2, 3)])
    case("cross_entropy", lambda x, t: F.cross_entropy(x, t), normal(6, 5), indices=[ids(5, 6)])
    case("cross_entropy.ignored", lambda x, t: F.cross_entropy(x, t), normal(6, 5), indices=[some])
    case("cross_entropy.ignore_0", lambda x, t: F.cross_entropy(x, t, ignore_index=0), normal(9, 3),
         indices=[ids(3, 9)])
    case("cross_entropy.smooth", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.1), normal(6, 5),
         indices=[ids(5, 6)])
    case("cross_entropy.smooth_ignored", lambda x, t: F.cross_entropy(x, t, label_smoothing=0.3), normal(6, 5),
         indices=[some])
    case("cross_entropy.batch", lambda x, t: F.cross_entropy(x.transpose(1, 2), t, label_smoothing=0.2),
         normal(2, 3, 5), indices=[ids(5, 2, 3)])


def inner_parts():
    case("layer_norm", lambda x, w, b: F.layer_norm(x, (7,), w, b), normal(5, 7), normal(7), normal(7))
    case("layer_norm.plain", lambda x: F.layer_norm(x, (7,)), normal(5, 7))
    case("layer_norm.batch", lambda x, w, b: F.layer_norm(x, (33,), w, b), normal(2, 3, 33), normal(33), normal(33))
    case("layer_norm.epsilon", lambda x, w, b: F.layer_norm(x, (4,), w, b, 0.5), normal(3, 4), normal(4), normal(4))
    case("layer_norm.vector", lambda x, w, b: F.layer_norm(x, (6,), w, b), normal(6), normal(6), normal(6))
    case("layer_norm.constant", lambda x: F.layer_norm(x, (4,)), values(3, 3, 3, 3, 1, 2, 3, 4).reshape(2, 4))
    case("layer_norm.transposed", lambda x, w, b: F.layer_norm(x.t(), (5,), w, b), normal(5, 3), normal(5), normal(5))


def attend(q, k, v, scale, future=None, padding=None):
    """softmax(scale q k') v: of keys after query t + future, or where padding is 1, nothing is seen."""
    scores = scale * q @ k.transpose(-1, -2)
    if future is not None:
        seen = torch.ones(q.size(-2), k.size(-2)).tril(k.size(-2) - q.size(-2) + future).bool()
        scores = scores.masked_fill(~seen, -INF)
    if padding is not None:
        scores = scores.masked_fill(padding.bool()[:, None, None, :], -INF)
    return torch.softmax(scores, -1) @ v


def attention():
    case("attention", lambda q, k, v: attend(q, k, v, 0.5), normal(5, 4), normal(7, 4), normal(7, 3))
    case("attention.causal", lambda q, k, v: attend(q, k, v, 0.5, future=0), normal(2, 9, 4), normal(2, 9, 4),
         normal(2, 9, 4))
    case("attention.goes_on", lambda q, k, v: attend(q, k, v, 0.3, future=0), normal(2, 3, 4), normal(2, 9, 4),
         normal(2, 9, 4))
    some = ids(2, 2, 6)
    some[:, 0] = 0
    case("attention.padding", lambda q, k, v, hidden: attend(q, k, v, 1, padding=hidden), normal(2, 3, 4, 5),
         normal(2, 3, 6, 5), normal(2, 3, 6, 2), indices=[some])
    case("attention.long", lambda q, k, v: attend(q, k, v, 0.1, future=0), normal(1, 70, 4), normal(1, 300, 4),
         normal(1, 300, 4))

    def each_by_itself(q, k, v, **how):
        texts = zip(q.split((2, 0, 7), 1), k.split((4, 1, 8), 1), v.split((4, 1, 8), 1))
        return torch.cat([attend(*text, 0.5, **how) for text in texts], 1)

    case("packed_attention", each_by_itself, normal(2, 9, 4), normal(2, 13, 4), normal(2, 13, 3))
    case("packed_attention.causal", lambda q, k, v: each_by_itself(q, k, v, future=0), normal(2, 9, 4),
         normal(2, 13, 4), normal(2, 13, 3))


def operations():
    for make in (arithmetic, functions_of_one_number, choices, reductions, products, views, gathering, probabilities,
                 inner_parts, attention):
        make()
    return case
