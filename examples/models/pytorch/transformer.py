# A language model: of each token what follows it. tokens: int64[batch, time], of at most 1,024 steps.
import torch
import torch.nn.functional as F
from torch import nn


class Transformer(nn.Module):
    def __init__(self, tokens, width, heads, layers):
        super().__init__()
        self.words = nn.Embedding(tokens, width)
        self.places = nn.Embedding(1024, width)
        block = nn.TransformerEncoderLayer(width, heads, 4 * width, 0.1, "gelu", batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(block, layers, nn.LayerNorm(width))
        self.head = nn.Linear(width, tokens)

    def forward(self, tokens):
        time = tokens.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(time)
        h = self.words(tokens) + self.places(torch.arange(time))
        return self.head(self.blocks(h, mask, is_causal=True))


def transformer_loss(model, tokens, following):
    return F.cross_entropy(model(tokens).flatten(0, 1), following.flatten())
