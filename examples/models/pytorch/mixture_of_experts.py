# A layer of experts: each row goes to the two that a gate likes most. x: float[batch, width].
import torch
import torch.nn.functional as F
from torch import nn


class MixtureOfExperts(nn.Module):
    def __init__(self, experts, hidden, width):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.up = nn.Parameter(nn.init.xavier_uniform_(torch.empty(experts, width, hidden)))
        self.down = nn.Parameter(nn.init.xavier_uniform_(torch.empty(experts, hidden, width)))

    def forward(self, x):
        logits = self.gate(x)
        best, which = logits.topk(2)
        weights = torch.zeros_like(logits).scatter(1, which, best.softmax(-1))
        hidden = F.gelu(torch.einsum("bi,eih->beh", x, self.up))
        return torch.einsum("beh,ehi,be->bi", hidden, self.down, weights)
