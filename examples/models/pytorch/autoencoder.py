# A denoising autoencoder with convolutions. images: float[batch, 1, 28, 28], 0 to 1.
import torch
import torch.nn.functional as F
from torch import nn


def autoencoder():
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(),
        nn.ConvTranspose2d(32, 16, 2, 2), nn.ReLU(), nn.ConvTranspose2d(16, 1, 2, 2), nn.Sigmoid())


def autoencoder_loss(model, images):
    noisy = images + 0.2 * torch.randn_like(images)
    return F.mse_loss(model(noisy), images)
