# Who likes what: users and things as vectors, whose products are scores. Of a batch each pair is wrong for the others.
import torch
import torch.nn.functional as F
from torch import nn


class TwoTowers(nn.Module):
    def __init__(self, users, things, width):
        super().__init__()
        self.users = nn.Sequential(nn.Embedding(users, width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))
        self.things = nn.Sequential(nn.Embedding(things, width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, user, thing):
        return F.normalize(self.users(user), dim=-1) @ F.normalize(self.things(thing), dim=-1).T


def two_towers_loss(model, user, thing):
    return F.cross_entropy(model(user, thing) / 0.05, torch.arange(len(user)))
