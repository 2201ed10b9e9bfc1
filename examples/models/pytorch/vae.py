# A variational autoencoder of pictures whose pixels are 0 to 1.
import torch
import torch.nn.functional as F
from torch import nn


class VAE(nn.Module):
    def __init__(self, pixels, latent):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(pixels, 128), nn.ReLU(), nn.Linear(128, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, pixels))

    def forward(self, x):
        mean, log_variance = self.encoder(x).chunk(2, -1)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(z), mean, log_variance


def vae_loss(model, x):
    logits, mean, log_variance = model(x)
    divergence = 0.5 * (log_variance.exp() + mean**2 - 1 - log_variance).sum(1)
    return (F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1) + divergence).mean()
