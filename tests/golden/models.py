"""Layers and models, whose parameters have the names that they have in Reel.

Each is also run in PyTorch's f32, and drawn anew until that is close to its own f64. The first steps of Adam go by the
sign of a gradient more than by its size: where one happens to be nearly 0, rounding decides, in Reel as in PyTorch.
"""

import copy
import math

import torch
from torch import nn
from torch.nn import functional as F

from common import INF, Cases, ids, normal

VOCABULARY, CONTEXT, WIDTH, HEADS, DEPTH, BATCH = 11, 6, 8, 2, 2, 3
MAX_NORM = 0.1  # of clipping
F32_ERROR = 1e-6  # at most, of PyTorch; the tests allow Reel 1e-5


def attend(queries, keys, values, mask):
    scores = queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5
    T, S = scores.shape[-2:]
    hidden = torch.ones(T, S, dtype=torch.bool).triu({"none": S, "causal": 1 + S - T, "first": S - T}[mask])
    nothing = hidden.all(-1, keepdim=True)  # sees no key: softmax would yield NaN, the answer is 0
    return scores.masked_fill(hidden & ~nothing, -INF).softmax(-1).masked_fill(hidden, 0) @ values


class SingleHeadAttention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.tokeys, self.toqueries, self.tovalues = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x, mask):
        return attend(self.toqueries(x), self.tokeys(x), self.tovalues(x), mask)


class WideAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.tokeys, self.toqueries, self.tovalues = (nn.Linear(width, heads * width, bias=False) for _ in range(3))
        self.unifyheads = nn.Linear(heads * width, width)

    def forward(self, x, mask):
        split = lambda y: y.unflatten(-1, (self.heads, x.shape[-1])).transpose(1, 2)
        y = attend(split(self.toqueries(x)), split(self.tokeys(x)), split(self.tovalues(x)), mask)
        return self.unifyheads(y.transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = WideAttention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

    def forward(self, x, mask):
        x = self.norm1(self.attention(x, mask) + x)
        return self.norm2(self.ff(x) + x)


class NaiveBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention, self.norm = SingleHeadAttention(width), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.attention(x, "causal")) + x


class NaiveTransformer(nn.Module):
    def __init__(self, vocabulary, context, width, depth):
        super().__init__()
        self.token_embedding, self.pos_embedding = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(NaiveBlock(width) for _ in range(depth)))
        self.norm, self.projection = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        texts = [self.token_embedding(text) + self.pos_embedding.weight[:len(text)] for text in tokens]
        return torch.stack([self.projection(self.norm(self.blocks(x))) for x in texts]).log_softmax(-1)


class GTransformer(nn.Module):
    def __init__(self, vocabulary, context, width, heads, depth):
        super().__init__()
        self.token_embedding, self.pos_embedding = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.unify_embeddings = nn.Linear(2 * width, width)
        self.tblocks = nn.ModuleList(TransformerBlock(width, heads) for _ in range(depth))
        self.toprobs = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.token_embedding(tokens)
        positions = self.pos_embedding.weight[:tokens.shape[1]].expand_as(x)
        x = self.unify_embeddings(torch.cat([x, positions], -1))
        for block in self.tblocks:
            x = block(x, "causal")
        return self.toprobs(x).log_softmax(-1)


class ConvBlock(nn.Module):
    def __init__(self, width, kernel, dilation):
        super().__init__()
        self.past = (kernel - 1) * dilation
        self.conv, self.norm = nn.Conv1d(width, width, kernel, dilation=dilation), nn.LayerNorm(width)

    def forward(self, x):
        past = self.conv(F.pad(x.transpose(1, 2), (self.past, 0))).transpose(1, 2)
        return self.norm(past.relu() + x)


class ConvModel(nn.Module):
    def __init__(self, vocabulary, width, kernel, depth):
        super().__init__()
        self.token_embedding = nn.Embedding(vocabulary, width)
        self.blocks = nn.Sequential(*(ConvBlock(width, kernel, 2 ** i) for i in range(depth)))
        self.toprobs = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        return self.toprobs(self.blocks(self.token_embedding(tokens))).log_softmax(-1)


def redraw(module):
    """Random weights, about as large as PyTorch's, but also where it starts with ones and zeros."""
    for key, weight in module.state_dict().items():
        fan_in = weight[0].numel() if weight.dim() > 1 and "embedding" not in key else 4
        mean = 1 if "norm" in key and "weight" in key else 0
        weight.copy_((mean + normal(*weight.shape, scale=fan_in ** -0.5)).float())


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


def outcome(module, forward, loss, x):
    """Everything that comes out of a module: output, loss, gradients, and where the optimizers take it."""
    x = x.clone().requires_grad_(x.is_floating_point())
    y = forward(module, x)
    module.zero_grad()
    loss(y).backward()
    result = {"output": y, "loss": loss(y)}
    if x.requires_grad:
        result["grad_input"] = x.grad
    result.update({f"grad.{key}": p.grad.clone() for key, p in module.named_parameters()})
    for kind, optimizer, options in ("adam", torch.optim.Adam, {}), ("adamw", torch.optim.AdamW, {"weight_decay": 0.1}):
        trained = train(module, lambda m: loss(forward(m, x.detach())), optimizer, **options)
        result.update({f"{kind}.{key}": value for key, value in trained.items()})
    return result


def difference(a, b):
    return ((a - b).abs().max() / b.abs().max()).item()


def record(group, name, module, x, forward=lambda module, x: module(x)):
    """A layer (of f64 x; the loss is the output times the goal) or a language model (of token ids; the goal too)."""
    if x.is_floating_point():
        goal = normal(*forward(module, x).shape)
        loss = lambda y: (y * goal.to(y.dtype)).sum()
    else:
        goal = ids(VOCABULARY, *x.shape)
        loss = lambda y: F.nll_loss(y.flatten(0, 1), goal.flatten())

    error, draws = INF, 0
    while error > F32_ERROR:
        redraw(module)
        result = outcome(module, forward, loss, x)
        single = outcome(copy.deepcopy(module).float(), forward, loss, x.float() if x.is_floating_point() else x)
        error = max(difference(single[key].double(), value) for key, value in result.items())
        draws += 1
    assert all(value.any() for value in result.values()), "zeros would prove nothing"
    print(f"  {name}: PyTorch's f32 is within {error:.1e} of its f64 in draw {draws}")
    group.update({f"{name}.input": x.float(), f"{name}.goal": goal.float()})
    group.update({f"{name}.weight.{key}": value.float() for key, value in module.state_dict().items()})
    group.update({f"{name}.{key}": value for key, value in result.items()})


def layers():
    group = {}
    record(group, "linear", nn.Linear(5, 7), normal(4, 5))
    record(group, "linear_without_bias", nn.Linear(5, 7, bias=False), normal(2, 3, 5))
    record(group, "layer_norm", nn.LayerNorm(9), normal(4, 9))
    record(group, "conv1d", nn.Conv1d(3, 4, 3, stride=2, padding=2, dilation=2), normal(2, 3, 11))
    for mask in "none", "causal", "first":
        forward = lambda module, x: module(x, mask)
        record(group, f"single_head_attention.{mask}", SingleHeadAttention(WIDTH), normal(CONTEXT, WIDTH), forward)
        record(group, f"wide_attention.{mask}", WideAttention(WIDTH, HEADS), normal(BATCH, CONTEXT, WIDTH), forward)
    record(group, "transformer_block", TransformerBlock(WIDTH, HEADS), normal(BATCH, CONTEXT, WIDTH),
           lambda module, x: module(x, "causal"))
    return group


def models():
    group = {}
    tokens = lambda length: ids(VOCABULARY, BATCH, length)
    record(group, "embedding", nn.Embedding(VOCABULARY, VOCABULARY), tokens(CONTEXT), lambda m, x: m(x).log_softmax(-1))
    record(group, "naive_transformer", NaiveTransformer(VOCABULARY, CONTEXT, WIDTH, DEPTH), tokens(CONTEXT - 1))
    record(group, "gtransformer", GTransformer(VOCABULARY, CONTEXT, WIDTH, HEADS, DEPTH), tokens(CONTEXT))
    record(group, "conv_model", ConvModel(VOCABULARY, WIDTH, 3, DEPTH), tokens(CONTEXT))
    return group


def functions():
    """What has no parameters."""
    case = Cases()
    case("basic_self_attention", lambda x: (x @ x.transpose(-1, -2)).softmax(-1) @ x, normal(2, 5, 4))
    for mask in "none", "causal", "first":
        case(f"dot_product_attention.{mask}", lambda q, k, v: attend(q, k, v, mask), normal(2, 5, 4), normal(2, 5, 4),
             normal(2, 5, 3))
    case("dot_product_attention.more_keys", lambda q, k, v: attend(q, k, v, "causal"), normal(2, 4), normal(5, 4),
         normal(5, 3))
    for width in 8, 5:
        wave = lambda t, i: (math.cos if i % 2 else math.sin)(t / 10000 ** ((i - i % 2) / width))
        case(f"sinusoidal_positions.width_{width}",
             lambda: torch.tensor([[wave(t, i) for i in range(width)] for t in range(7)]))
    return case
