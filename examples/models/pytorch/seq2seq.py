# A translator: an encoder, and a decoder that attends to all it has read. source, target, next: int64[batch, time].
import torch
import torch.nn.functional as F
from torch import nn


class Seq2Seq(nn.Module):
    def __init__(self, words, width, hidden):
        super().__init__()
        self.read = nn.Embedding(words, width)
        self.write = nn.Embedding(words, width)
        self.encoder = nn.GRU(width, hidden, batch_first=True)
        self.decoder = nn.GRU(width, hidden, batch_first=True)
        self.head = nn.Linear(2 * hidden, words)

    def forward(self, source, target):
        memory, state = self.encoder(self.read(source))
        written, _ = self.decoder(self.write(target), state)
        seen = F.scaled_dot_product_attention(written, memory, memory)
        return self.head(torch.cat([written, seen], -1))


def seq2seq_loss(model, source, target, following):
    return F.cross_entropy(model(source, target).flatten(0, 1), following.flatten())
