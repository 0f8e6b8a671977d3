"""The PyTorch twin of train_step_bench.cpp: the same model, sizes and work. Prints the median time in milliseconds.

    train_step.py [THREADS [STEPS]]
"""
import sys
import time

import torch
from torch import nn
import torch.nn.functional as F

BATCH, CONTEXT, VOCABULARY, WIDTH, HEADS, DEPTH = 12, 64, 65, 128, 4, 4


class WideAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokeys = nn.Linear(WIDTH, HEADS * WIDTH, bias=False)
        self.toqueries = nn.Linear(WIDTH, HEADS * WIDTH, bias=False)
        self.tovalues = nn.Linear(WIDTH, HEADS * WIDTH, bias=False)
        self.unifyheads = nn.Linear(HEADS * WIDTH, WIDTH)

    def forward(self, x):
        b, t, e = x.size()
        fold = lambda y: y.view(b, t, HEADS, e).transpose(1, 2).reshape(b * HEADS, t, e)
        keys, queries, values = fold(self.tokeys(x)), fold(self.toqueries(x)), fold(self.tovalues(x))
        dot = torch.bmm(queries / e ** 0.25, (keys / e ** 0.25).transpose(1, 2))
        hidden = torch.triu_indices(t, t, offset=1)
        dot[:, hidden[0], hidden[1]] = float("-inf")
        out = torch.bmm(F.softmax(dot, dim=2), values).view(b, HEADS, t, e)
        return self.unifyheads(out.transpose(1, 2).reshape(b, t, HEADS * e))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = WideAttention()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.ff = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.ReLU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = self.norm1(self.attention(x) + x)
        return self.norm2(self.ff(x) + x)


class GTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token_embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.pos_embedding = nn.Embedding(CONTEXT, WIDTH)
        self.unify_embeddings = nn.Linear(2 * WIDTH, WIDTH)
        self.tblocks = nn.Sequential(*[Block() for _ in range(DEPTH)])
        self.toprobs = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, x):
        tokens = self.token_embedding(x)
        positions = self.pos_embedding(torch.arange(x.size(1)))[None].expand_as(tokens)
        x = self.unify_embeddings(torch.cat((tokens, positions), dim=2))
        return F.log_softmax(self.toprobs(self.tblocks(x)), dim=2)


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    model = GTransformer()
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}],
                                  lr=1e-3, betas=(0.9, 0.99))
    inputs, targets = torch.randint(VOCABULARY, (BATCH, CONTEXT)), torch.randint(VOCABULARY, (BATCH, CONTEXT))
    milliseconds = []
    for step in range(steps + 3):  # the first three warm up
        start = time.perf_counter()
        loss = F.nll_loss(model(inputs).view(-1, VOCABULARY), targets.view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step >= 3:
            milliseconds.append((time.perf_counter() - start) * 1e3)
    print(f"{sorted(milliseconds)[steps // 2]:.2f}")


if __name__ == "__main__":
    main()
