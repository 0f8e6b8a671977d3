"""Language models and classifiers, whose parameters have the names that they have in Reel."""

import torch
from torch import nn
from torch.nn import functional as F

from common import ids
from layers import (BATCH, CONTEXT, HEADS, HIDDEN, LENGTHS, WIDTH, SingleHeadAttention, TransformerBlock,
                    for_all_queries, future, padding, pool)
from training import nll, record

VOCABULARY, CLASSES, DEPTH = 11, 4, 2
PAD = 0


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
            x = block(x, future("causal", x.shape[1], x.shape[1]))
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


class Classifier(nn.Module):
    """Without a pad token, padding is a word like any other."""

    def __init__(self, pooling, pad=None, **options):
        super().__init__()
        self.token_embedding, self.pos_embedding = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.tblocks = nn.ModuleList(TransformerBlock(WIDTH, HEADS, HIDDEN, **options) for _ in range(DEPTH))
        self.final_norm = nn.LayerNorm(WIDTH) if options.get("norm") == "pre" else nn.Identity()
        self.toprobs = nn.Linear(WIDTH, CLASSES)
        self.pooling, self.pad = pooling, pad

    def forward(self, tokens):
        hidden = torch.zeros_like(tokens) if self.pad is None else (tokens == self.pad).long()
        x = self.token_embedding(tokens) + self.pos_embedding.weight[:tokens.shape[1]]
        for block in self.tblocks:
            x = block(x, for_all_queries(hidden))
        return self.toprobs(pool(self.pooling, self.final_norm(x), hidden))


class CTransformer(Classifier):
    def forward(self, tokens):
        return super().forward(tokens).log_softmax(-1)


class TextClassificationTransformer(Classifier):
    def __init__(self, **options):
        super().__init__("mean", **options)


def padded_tokens(lengths, time=CONTEXT):
    """Texts of these lengths, padded to (B, time)."""
    return (1 + ids(VOCABULARY - 1, len(lengths), time)).masked_fill(padding(lengths, time).bool(), PAD)


LANGUAGE_MODELS = {
    "naive_transformer": lambda: NaiveTransformer(VOCABULARY, CONTEXT, WIDTH, DEPTH),
    "gtransformer": lambda: GTransformer(VOCABULARY, CONTEXT, WIDTH, HEADS, DEPTH),
    "conv_model": lambda: ConvModel(VOCABULARY, WIDTH, 3, DEPTH),
}
CLASSIFIERS = {
    "ctransformer.max": lambda: CTransformer("max"),
    "ctransformer.mean.padded": lambda: CTransformer("mean", PAD),
    "ctransformer.max.padded": lambda: CTransformer("max", PAD, norm="pre", activation=nn.GELU),
    "text_classification_transformer": TextClassificationTransformer,
}
MODELS = {**LANGUAGE_MODELS, **CLASSIFIERS}


def models():
    group = {}
    tokens = lambda: ids(VOCABULARY, BATCH, CONTEXT - 1)  # not all that a model could read
    record(group, "embedding", nn.Embedding(VOCABULARY, VOCABULARY), indices=[tokens()], goal=tokens(), loss=nll,
           forward=lambda module, x: module(x).log_softmax(-1))
    for name, make in LANGUAGE_MODELS.items():
        record(group, name, make(), indices=[tokens()], goal=tokens(), loss=nll)
    for name, make in CLASSIFIERS.items():
        loss = F.cross_entropy if "text" in name else F.nll_loss
        record(group, name, make(), indices=[padded_tokens(LENGTHS)], goal=torch.tensor([2, 0, 3]), loss=loss)
    return group
