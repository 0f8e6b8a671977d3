"""The models that translate, whose parameters have the names that they have in Reel."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from common import ids
from layers import CONTEXT, HEADS, HIDDEN, LENGTHS, WIDTH, ConvFeedForward, MultiHeadAttention, for_all_queries
from layers import future, read_padded
from models import PAD, VOCABULARY, padded_tokens
from training import record

TARGET_VOCABULARY, SOURCE_TIME, TARGET_TIME = 9, CONTEXT, 5
TARGET_LENGTHS = torch.tensor([3, 5, 2])
SMOOTHING = 0.1


class PositionEncoding(nn.Module):
    def __init__(self, positions):
        super().__init__()
        if positions == "learned":
            self.pos_table = nn.Parameter(torch.zeros(1, CONTEXT, WIDTH))
        else:
            wave = lambda t, i: (math.cos if i % 2 else math.sin)(t / 10000 ** ((i - i % 2) / WIDTH))
            table = torch.tensor([[wave(t, i) for i in range(WIDTH)] for t in range(CONTEXT)])
            self.register_buffer("pos_table", table[None].float().double())

    def forward(self, x):
        return x + self.pos_table[:, :x.shape[1]]


class EncoderLayer(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.slf_attn, self.pos_ffn = MultiHeadAttention(WIDTH, HEADS, norm), ConvFeedForward(WIDTH, HIDDEN, norm)

    def forward(self, x, hidden):
        x, maps = self.slf_attn(x, None, hidden)
        return self.pos_ffn(x), maps


class DecoderLayer(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.slf_attn, self.enc_attn = MultiHeadAttention(WIDTH, HEADS, norm), MultiHeadAttention(WIDTH, HEADS, norm)
        self.pos_ffn = ConvFeedForward(WIDTH, HIDDEN, norm)

    def forward(self, x, memory, target_hidden, source_hidden):
        x, maps = self.slf_attn(x, None, target_hidden)
        x, cross = self.enc_attn(x, memory, source_hidden)
        return self.pos_ffn(x), maps, cross


class Stack(nn.Module):
    """What the encoder and the decoder have in common."""

    def __init__(self, embedding, vocabulary, layer, depth, positions, norm, scale):
        super().__init__()
        self.add_module(embedding, nn.Embedding(vocabulary, WIDTH))
        self.embedding, self.norm, self.scale = embedding, norm, WIDTH ** 0.5 if scale else 1
        self.position_enc, self.layer_norm = PositionEncoding(positions), nn.LayerNorm(WIDTH, eps=1e-6)
        self.layer_stack = nn.ModuleList(layer(norm) for _ in range(depth))

    def forward(self, tokens, *arguments):
        x = self.position_enc(getattr(self, self.embedding)(tokens) * self.scale)
        x = self.layer_norm(x) if self.norm == "post" else x
        all_maps = []
        for layer in self.layer_stack:
            x, *maps = layer(x, *arguments)
            all_maps.append(maps)
        return (self.layer_norm(x) if self.norm == "pre" else x), all_maps


class Transformer(nn.Module):
    def __init__(self, depth, positions="sinusoidal", norm="post", scale=True, tied=False):
        super().__init__()
        self.encoder = Stack("src_word_emb", VOCABULARY, EncoderLayer, depth, positions, norm, scale)
        self.decoder = Stack("trg_word_emb", TARGET_VOCABULARY, DecoderLayer, depth, positions, norm, scale)
        self.trg_word_prj = nn.Linear(WIDTH, TARGET_VOCABULARY, bias=False)
        if tied:
            self.trg_word_prj.weight = self.decoder.trg_word_emb.weight

    def run(self, source, target):
        """Logits, and the maps of encoder and decoder."""
        source_hidden = for_all_queries(source == PAD)
        target_hidden = for_all_queries(target == PAD) | future("causal", target.shape[1], target.shape[1])
        memory, encoder_maps = self.encoder(source, source_hidden)
        x, decoder_maps = self.decoder(target, memory, target_hidden, source_hidden)
        return self.trg_word_prj(x), encoder_maps, decoder_maps

    def forward(self, source, target):
        return self.run(source, target)[0]

    def maps(self, source, target):
        _, encoder, decoder = self.run(source, target)
        return {"encoder": [maps for maps, in encoder], "decoder": [maps for maps, _ in decoder],
                "cross": [maps for _, maps in decoder]}


class RecurrentTranslator(nn.Module):
    def __init__(self):
        super().__init__()
        self.src_word_emb = nn.Embedding(VOCABULARY, WIDTH)
        self.trg_word_emb = nn.Embedding(TARGET_VOCABULARY, WIDTH)
        self.encoder = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.decoder = nn.GRU(WIDTH, WIDTH, batch_first=True)
        self.trg_word_prj = nn.Linear(WIDTH, TARGET_VOCABULARY)

    def forward(self, source, target):
        _, memory = read_padded(self.encoder, self.src_word_emb(source), (source != PAD).sum(1))
        return self.trg_word_prj(self.decoder(self.trg_word_emb(target), memory[None])[0])


def padded_targets():
    """Target texts, and what comes next in each; after the end, padding."""
    tokens = (1 + ids(TARGET_VOCABULARY - 1, len(TARGET_LENGTHS), TARGET_TIME + 1))
    ended = torch.arange(TARGET_TIME) >= TARGET_LENGTHS[:, None]
    return tokens[:, :-1].masked_fill(ended, PAD), tokens[:, 1:].masked_fill(ended, PAD)


def loss_of(logits, goal):
    return F.cross_entropy(logits.flatten(0, 1), goal.flatten(), ignore_index=PAD, label_smoothing=SMOOTHING)


MODELS = {
    "transformer.post": lambda: Transformer(2),
    "transformer.pre": lambda: Transformer(1, positions="learned", norm="pre", scale=False, tied=True),
    "recurrent_translator": RecurrentTranslator,
}


def translators():
    group = {}
    for name, make in MODELS.items():
        module = make()
        source, (target, goal) = padded_tokens(LENGTHS, SOURCE_TIME), padded_targets()
        record(group, name, module, indices=[source, target], goal=goal, loss=loss_of)
        if isinstance(module, Transformer):
            for kind, layers in module.maps(source, target).items():
                group.update({f"{name}.maps.{kind}.{i}": maps for i, maps in enumerate(layers)})
    return group
