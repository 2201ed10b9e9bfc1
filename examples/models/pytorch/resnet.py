# A residual network for small images: float[batch, channels, height, width].
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(inputs, filters, 3, stride, 1, bias=False), nn.BatchNorm2d(filters), nn.ReLU(),
            nn.Conv2d(filters, filters, 3, 1, 1, bias=False), nn.BatchNorm2d(filters))
        self.shortcut = nn.Identity() if stride == 1 else nn.Sequential(
            nn.Conv2d(inputs, filters, 1, stride, bias=False), nn.BatchNorm2d(filters))

    def forward(self, x):
        return F.relu(self.main(x) + self.shortcut(x))


def resnet(channels, classes):
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        Block(16, 16, 1), Block(16, 16, 1), Block(16, 32, 2), Block(32, 32, 1), Block(32, 64, 2), Block(64, 64, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, classes))


def resnet_loss(model, images, labels):
    return F.cross_entropy(model(images), labels)
