# A diffusion model of points: a network that finds the noise in what was mixed with noise. points: float[batch, size].
import math

import torch
import torch.nn.functional as F
from torch import nn


class Diffusion(nn.Module):
    def __init__(self, size, width):
        super().__init__()
        self.times = nn.Embedding(1000, width)
        self.points = nn.Linear(size, width)
        self.body = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, size))

    def forward(self, x, t):
        return self.body(self.points(x) + self.times(t))


def diffusion_loss(model, points):
    t = torch.randint(1000, (len(points),))
    left = torch.cos(t * (0.5 * math.pi / 1000))[:, None] ** 2
    noise = torch.randn_like(points)
    return F.mse_loss(model(left.sqrt() * points + (1 - left).sqrt() * noise, t), noise)
