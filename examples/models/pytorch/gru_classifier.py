# What a sentence says, good or bad, read in both directions. words: int64[batch, time].
import torch.nn.functional as F
from torch import nn


class GRUClassifier(nn.Module):
    def __init__(self, words, width, hidden, classes):
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.gru = nn.GRU(width, hidden, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(2 * hidden, classes))

    def forward(self, words):
        _, state = self.gru(self.table(words))
        return self.head(state.transpose(0, 1).flatten(1))


def gru_classifier_loss(model, words, labels):
    return F.cross_entropy(model(words), labels)
