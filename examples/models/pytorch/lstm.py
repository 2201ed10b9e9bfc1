# A model of texts, letter by letter. letters: int64[batch, time].
import torch.nn.functional as F
from torch import nn


class LSTM(nn.Module):
    def __init__(self, letters, width, hidden):
        super().__init__()
        self.embedding = nn.Embedding(letters, width)
        self.lstm = nn.LSTM(width, hidden, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Linear(hidden, letters)

    def forward(self, letters):
        h, _ = self.lstm(self.embedding(letters))
        return self.head(h)


def lstm_loss(model, letters, following):
    return F.cross_entropy(model(letters).flatten(0, 1), following.flatten())
