"""The workloads of workloads.h in PyTorch: the same models, sizes and names of parameters.

They are written as one writes PyTorch for speed: nothing is copied that need not be, masks are added to scores in
place, and a convolution of width 1 is a matrix product.
"""

import functools
import math
import typing

import torch
from torch import nn
from torch.nn import functional as F

PAD = 0
CLASSES = 2


@functools.lru_cache()
def future(time):
    """-inf above the diagonal: what a causal mask adds to scores (time, time)."""
    return torch.full((time, time), -math.inf).triu(1)


def padding(tokens):
    """-inf where a key is padding, for all heads and queries: (B, 1, 1, S)."""
    return torch.zeros(tokens.shape).masked_fill(tokens == PAD, -math.inf)[:, None, None]


def attention(queries, keys, values, attn_mask=None, is_causal=False):
    """F.scaled_dot_product_attention, spelt out. The mask is added to the scores."""
    scores = (queries * queries.shape[-1] ** -0.5) @ keys.transpose(-1, -2)
    if is_causal:
        attn_mask = future(scores.shape[-1])
    if attn_mask is not None:
        scores += attn_mask
    return scores.softmax(-1) @ values


class WideAttention(nn.Module):
    """Every head is as wide as the embedding."""

    def __init__(self, width, heads, attend, causal):
        super().__init__()
        self.heads, self.attend, self.causal = heads, attend, causal
        self.tokeys, self.toqueries, self.tovalues = (nn.Linear(width, heads * width, bias=False) for _ in range(3))
        self.unifyheads = nn.Linear(heads * width, width)

    def forward(self, x):
        split = lambda y: y.unflatten(-1, (self.heads, x.shape[-1])).transpose(1, 2)  # (B, H, T, D)
        queries, keys, values = split(self.toqueries(x)), split(self.tokeys(x)), split(self.tovalues(x))
        y = self.attend(queries, keys, values, is_causal=self.causal)
        return self.unifyheads(y.transpose(1, 2).flatten(2))


class TransformerBlock(nn.Module):
    """Norms come after the residuals."""

    def __init__(self, width, heads, attend, causal=False):
        super().__init__()
        self.attention = WideAttention(width, heads, attend, causal)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = self.norm1(self.attention(x) + x)
        return self.norm2(self.ff(x) + x)


class Classifier(nn.Module):
    """CTransformer pools by the maximum, TextClassificationTransformer by the mean; both end in logits here."""

    def __init__(self, vocabulary, length, width, heads, depth, pool, attend):
        super().__init__()
        self.token_embedding, self.pos_embedding = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.tblocks = nn.Sequential(*(TransformerBlock(width, heads, attend) for _ in range(depth)))
        self.toprobs = nn.Linear(width, CLASSES)
        self.pool = pool

    def forward(self, tokens):
        x = self.token_embedding(tokens) + self.pos_embedding.weight[:tokens.shape[1]]
        return self.toprobs(self.pool(self.tblocks(x), 1))


class GTransformer(nn.Module):
    def __init__(self, vocabulary, context, width, heads, depth, attend):
        super().__init__()
        self.token_embedding, self.pos_embedding = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.unify_embeddings = nn.Linear(2 * width, width)
        self.tblocks = nn.Sequential(*(TransformerBlock(width, heads, attend, causal=True) for _ in range(depth)))
        self.toprobs = nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.token_embedding(tokens)
        positions = self.pos_embedding.weight[:tokens.shape[1]].expand_as(x)
        return self.toprobs(self.tblocks(self.unify_embeddings(torch.cat([x, positions], -1))))


class SingleHeadAttention(nn.Module):
    def __init__(self, width, attend):
        super().__init__()
        self.tokeys, self.toqueries, self.tovalues = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.attend = attend

    def forward(self, x):  # (T, D)
        queries, keys, values = (layer(x)[None, None] for layer in (self.toqueries, self.tokeys, self.tovalues))
        return self.attend(queries, keys, values, is_causal=True)[0, 0]


class NaiveBlock(nn.Module):
    def __init__(self, width, attend):
        super().__init__()
        self.attention, self.norm = SingleHeadAttention(width, attend), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(self.attention(x)) + x


class NaiveTransformer(nn.Module):
    """Reads one text."""

    def __init__(self, vocabulary, context, width, depth, attend):
        super().__init__()
        self.token_embedding, self.pos_embedding = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(NaiveBlock(width, attend) for _ in range(depth)))
        self.norm, self.projection = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens):  # (1, T)
        x = self.token_embedding(tokens[0]) + self.pos_embedding.weight[:tokens.shape[1]]
        return self.projection(self.norm(self.blocks(x)))


class MultiHeadAttention(nn.Module):
    """The heads share the width. With the residual connection and its norm."""

    def __init__(self, width, heads, attend):
        super().__init__()
        self.heads, self.attend = heads, attend
        self.w_qs, self.w_ks, self.w_vs, self.fc = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.layer_norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x, memory, mask):
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        y = self.attend(split(self.w_qs(x)), split(self.w_ks(memory)), split(self.w_vs(memory)), mask)
        return self.layer_norm(self.fc(y.transpose(1, 2).flatten(2)) + x)


class ConvFeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.w_1, self.w_2 = nn.Conv1d(width, hidden, 1), nn.Conv1d(hidden, width, 1)
        self.layer_norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x):
        at_every_position = lambda conv, x: F.linear(x, conv.weight[..., 0], conv.bias)
        return self.layer_norm(at_every_position(self.w_2, at_every_position(self.w_1, x).relu()) + x)


class EncoderLayer(nn.Module):
    def __init__(self, width, heads, hidden, attend):
        super().__init__()
        self.slf_attn, self.pos_ffn = MultiHeadAttention(width, heads, attend), ConvFeedForward(width, hidden)

    def forward(self, x, mask):
        return self.pos_ffn(self.slf_attn(x, x, mask))


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, hidden, attend):
        super().__init__()
        self.slf_attn, self.enc_attn = (MultiHeadAttention(width, heads, attend) for _ in range(2))
        self.pos_ffn = ConvFeedForward(width, hidden)

    def forward(self, x, mask, memory, memory_mask):
        return self.pos_ffn(self.enc_attn(self.slf_attn(x, x, mask), memory, memory_mask))


class PositionEncoding(nn.Module):
    """Sines and cosines; their values are loaded with the weights."""

    def __init__(self, length, width):
        super().__init__()
        self.register_buffer("pos_table", torch.zeros(1, length, width))

    def forward(self, x):
        return x + self.pos_table[:, :x.shape[1]]


class Stack(nn.Module):
    """The encoder, or the decoder."""

    def __init__(self, embedding, vocabulary, length, width, layers):
        super().__init__()
        self.add_module(embedding, nn.Embedding(vocabulary, width))
        self.embedding, self.scale = embedding, width ** 0.5
        self.position_enc, self.layer_norm = PositionEncoding(length, width), nn.LayerNorm(width, eps=1e-6)
        self.layer_stack = nn.ModuleList(layers)

    def forward(self, tokens, *arguments):
        x = self.layer_norm(self.position_enc(getattr(self, self.embedding)(tokens) * self.scale))
        for layer in self.layer_stack:
            x = layer(x, *arguments)
        return x


class Transformer(nn.Module):
    def __init__(self, source_vocabulary, target_vocabulary, length, width, heads, hidden, depth, attend):
        super().__init__()
        stack = lambda name, vocabulary, layer: Stack(
            name, vocabulary, length, width, (layer(width, heads, hidden, attend) for _ in range(depth)))
        self.encoder = stack("src_word_emb", source_vocabulary, EncoderLayer)
        self.decoder = stack("trg_word_emb", target_vocabulary, DecoderLayer)
        self.trg_word_prj = nn.Linear(width, target_vocabulary, bias=False)

    def forward(self, source, target):
        source_mask = padding(source)
        memory = self.encoder(source, source_mask)
        target_mask = padding(target) + future(target.shape[1])
        return self.trg_word_prj(self.decoder(target, target_mask, memory, source_mask))


def cross_entropy(logits, goal, ignored=-100):
    """Of all texts and positions but the ignored. Reel's models that end in log-probabilities take nll_loss of them."""
    return F.cross_entropy(logits.flatten(0, -2), goal.flatten(), ignore_index=ignored)


class Workload(typing.NamedTuple):
    """A model, given how it attends; and its loss, given what it says and what it should have said."""

    model: typing.Callable
    loss: typing.Callable = cross_entropy
    inputs: int = 1  # of the model; the batch lists these and then the goal, for each part of a step


WORKLOADS = {
    "classify": Workload(functools.partial(Classifier, 50000, 512, 128, 8, 6, torch.amax)),
    "classify-mean": Workload(functools.partial(Classifier, 30000, 100, 100, 8, 4, torch.mean)),
    "generate": Workload(functools.partial(GTransformer, 65, 128, 128, 8, 6)),
    "long": Workload(functools.partial(Classifier, 1000, 4096, 128, 8, 2, torch.amax)),
    "naive": Workload(functools.partial(NaiveTransformer, 65, 256, 256, 6)),
    "small": Workload(functools.partial(GTransformer, 65, 64, 128, 4, 4)),
    "translate": Workload(functools.partial(Transformer, 7800, 5900, 24, 256, 8, 512, 3),
                          functools.partial(cross_entropy, ignored=PAD), 2),
}
