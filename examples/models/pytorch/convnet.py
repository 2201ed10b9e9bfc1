# A convolutional network for digits. images: float[batch, 1, 28, 28].
import torch.nn.functional as F
from torch import nn


def convnet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25),
        nn.Flatten(), nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))


def convnet_loss(net, x, y):
    return F.cross_entropy(net(x), y)
