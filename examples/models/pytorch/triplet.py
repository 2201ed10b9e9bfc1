# Faces as vectors of length one: those of a person near each other. images: float[batch, 1, 28, 28].
import torch.nn.functional as F
from torch import nn


class Siamese(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Flatten(),
            nn.Linear(64 * 11 * 11, width))

    def forward(self, images):
        return F.normalize(self.layers(images), dim=-1)


def triplet_loss(model, anchor, same, other):
    return F.triplet_margin_loss(model(anchor), model(same), model(other), 0.2)
