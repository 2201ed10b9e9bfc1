# Words by the words around them: skip-grams with negative samples. center, context: int64[batch].
import torch
import torch.nn.functional as F
from torch import nn


class Word2Vec(nn.Module):
    def __init__(self, words, width):
        super().__init__()
        self.centers = nn.Embedding(words, width)
        self.contexts = nn.Embedding(words, width)

    def forward(self, center, context):
        return (self.centers(center) * self.contexts(context)).sum(-1)


def word2vec_loss(model, center, context, words):
    others = torch.randint(words, (len(center), 5))
    right = F.logsigmoid(model(center, context))
    wrong = F.logsigmoid(-model(center[:, None], others))
    return -(right.mean() + wrong.sum(1).mean())
