"""Layers, whose parameters have the names that they have in Reel."""

import math

import torch
from torch import nn

from common import INF, Cases, normal
from training import record

CONTEXT, WIDTH, HEADS, HIDDEN, BATCH = 6, 8, 2, 12, 3
LENGTHS = torch.tensor([6, 4, 1])  # of the texts of a padded batch


def future(mask, T, S):
    """True at the keys that the order of time hides: (T, S)."""
    return torch.ones(T, S, dtype=torch.bool).triu({"none": S, "causal": 1 + S - T, "first": S - T}[mask])


def padding(lengths=LENGTHS, time=CONTEXT):
    """1 after the end of each text: (B, T)."""
    return (torch.arange(time) >= lengths[:, None]).long()


def for_all_queries(hidden):
    """(B, S) -> (B, 1, 1, S): the same keys for every head and query."""
    return hidden.bool()[:, None, None]


def attention_weights(queries, keys, hidden):
    scores = queries @ keys.transpose(-1, -2) / queries.shape[-1] ** 0.5
    nothing = hidden.all(-1, keepdim=True)  # sees no key: softmax would yield NaN, the answer is 0
    return scores.masked_fill(hidden & ~nothing, -INF).softmax(-1).masked_fill(hidden, 0)


def attend(queries, keys, values, mask):
    return attention_weights(queries, keys, future(mask, queries.shape[-2], keys.shape[-2])) @ values


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

    def forward(self, x, hidden):
        split = lambda y: y.unflatten(-1, (self.heads, x.shape[-1])).transpose(1, 2)
        y = attention_weights(split(self.toqueries(x)), split(self.tokeys(x)), hidden) @ split(self.tovalues(x))
        return self.unifyheads(y.transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    def __init__(self, width, heads, hidden=None, norm="post", activation=nn.ReLU):
        super().__init__()
        hidden = hidden or 4 * width
        self.attention = WideAttention(width, heads)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, hidden), activation(), nn.Linear(hidden, width))
        self.norm = norm

    def forward(self, x, hidden):
        if self.norm == "pre":
            x = self.attention(self.norm1(x), hidden) + x
            return self.ff(self.norm2(x)) + x
        x = self.norm1(self.attention(x, hidden) + x)
        return self.norm2(self.ff(x) + x)


class Residual(nn.Module):
    """A layer with a residual connection around it and a normalization after or before it, or neither."""

    def __init__(self, width, norm):
        super().__init__()
        self.norm = norm
        if norm != "none":
            self.layer_norm = nn.LayerNorm(width, eps=1e-6)

    def around(self, x, layer):
        return {"post": lambda: self.layer_norm(layer(x) + x), "pre": lambda: layer(self.layer_norm(x)) + x,
                "none": lambda: layer(x)}[self.norm]()


class MultiHeadAttention(Residual):
    def __init__(self, width, heads, norm="post"):
        super().__init__(width, norm)
        self.heads = heads
        self.w_qs, self.w_ks, self.w_vs, self.fc = (nn.Linear(width, width, bias=False) for _ in range(4))

    def forward(self, x, memory, hidden):
        """memory None for x itself; returns the output and the maps."""
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        maps = None

        def attention(queries):
            nonlocal maps
            keys = queries if memory is None else memory
            maps = attention_weights(split(self.w_qs(queries)), split(self.w_ks(keys)), hidden)
            return self.fc((maps @ split(self.w_vs(keys))).transpose(1, 2).flatten(2))

        return self.around(x, attention), maps


class ConvFeedForward(Residual):
    def __init__(self, width, hidden, norm="post"):
        super().__init__(width, norm)
        self.w_1, self.w_2 = nn.Conv1d(width, hidden, 1), nn.Conv1d(hidden, width, 1)

    def forward(self, x):
        return self.around(x, lambda x: self.w_2(self.w_1(x.transpose(1, 2)).relu()).transpose(1, 2))


def flat(*outputs):
    """Several outputs as one."""
    return torch.cat([y.flatten() for y in outputs])


def read_padded(recurrent, x, lengths, initial=None):
    """All states of a padded batch, and the last ones; after its end a text stays in its last state."""
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
    states, last = recurrent(packed, initial)
    states = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=x.shape[1])[0]
    ended = padding(lengths, x.shape[1]).bool()[..., None]
    return torch.where(ended, last[0][:, None], states), last[0]


def layers():
    group = {}
    batch = lambda *shape: normal(*shape or (BATCH, CONTEXT, WIDTH))
    record(group, "linear", nn.Linear(5, 7), normal(4, 5))
    record(group, "linear_without_bias", nn.Linear(5, 7, bias=False), normal(2, 3, 5))
    record(group, "layer_norm", nn.LayerNorm(9), normal(4, 9))
    record(group, "conv1d", nn.Conv1d(3, 4, 3, stride=2, padding=2, dilation=2), normal(2, 3, 11))
    for mask in "none", "causal", "first":
        record(group, f"single_head_attention.{mask}", SingleHeadAttention(WIDTH), normal(CONTEXT, WIDTH),
               forward=lambda module, x: module(x, mask))
        record(group, f"wide_attention.{mask}", WideAttention(WIDTH, HEADS), batch(),
               forward=lambda module, x: module(x, future(mask, CONTEXT, CONTEXT)))

    causal = future("causal", CONTEXT, CONTEXT)
    for name, options in ("post", {}), ("pre", {"norm": "pre"}), ("gelu", {"activation": nn.GELU, "hidden": HIDDEN}):
        record(group, f"transformer_block.{name}", TransformerBlock(WIDTH, HEADS, **options), batch(),
               forward=lambda module, x: module(x, causal))
    record(group, "transformer_block.padded", TransformerBlock(WIDTH, HEADS), batch(), indices=[padding()],
           forward=lambda module, x, hidden: module(x, for_all_queries(hidden) | causal))

    for norm in "post", "pre", "none":
        record(group, f"multi_head_attention.self.{norm}", MultiHeadAttention(WIDTH, HEADS, norm), batch(),
               indices=[padding()],
               forward=lambda module, x, hidden: flat(*module(x, None, for_all_queries(hidden) | causal)))
        record(group, f"multi_head_attention.cross.{norm}", MultiHeadAttention(WIDTH, HEADS, norm),
               batch(BATCH, 4, WIDTH), batch(), indices=[padding()],
               forward=lambda module, x, memory, hidden: flat(*module(x, memory, for_all_queries(hidden))))
        record(group, f"conv_feed_forward.{norm}", ConvFeedForward(WIDTH, HIDDEN, norm), batch())

    for name, kind in ("rnn", nn.RNN), ("gru", nn.GRU):
        record(group, name, kind(5, WIDTH, batch_first=True), normal(BATCH, CONTEXT, 5), normal(BATCH, WIDTH),
               forward=lambda module, x, initial: flat(*module(x, initial[None])))
        record(group, f"{name}.padded", kind(5, WIDTH, batch_first=True), normal(BATCH, CONTEXT, 5),
               indices=[padding()],
               forward=lambda module, x, hidden: flat(*read_padded(module, x, (1 - hidden).sum(1))))
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
    case("dot_product_attention.padded",
         lambda q, k, v, hidden: attention_weights(q, k, hidden.bool()[:, None] | future("causal", 5, 5)) @ v,
         normal(2, 5, 4), normal(2, 5, 4), normal(2, 5, 3), indices=[torch.tensor([[0, 0, 0, 1, 1], [1, 0, 1, 0, 0]])])
    for pooling in "mean", "max":
        case(f"pool.{pooling}", lambda x: x.mean(1) if pooling == "mean" else x.max(1).values, normal(3, 5, 4))
        case(f"pool.{pooling}.padded", lambda x, hidden: pool(pooling, x, hidden), normal(3, 5, 4),
             indices=[padding(torch.tensor([5, 2, 1]), 5)])
    for width in 8, 5:
        wave = lambda t, i: (math.cos if i % 2 else math.sin)(t / 10000 ** ((i - i % 2) / width))
        case(f"sinusoidal_positions.width_{width}",
             lambda: torch.tensor([[wave(t, i) for i in range(width)] for t in range(7)]))
    return case


def pool(pooling, x, hidden):
    """Over the places that are not hidden, text by text."""
    texts = [text[places == 0] for text, places in zip(x, hidden)]
    return torch.stack([text.mean(0) if pooling == "mean" else text.max(0).values for text in texts])
