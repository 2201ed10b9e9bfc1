# A generator of points and a discriminator that tells them from real ones.
import torch.nn.functional as F
from torch import nn


def generator(noise, size):
    return nn.Sequential(nn.Linear(noise, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, size))


def discriminator(size):
    return nn.Sequential(nn.Linear(size, 64), nn.LeakyReLU(), nn.Linear(64, 64), nn.LeakyReLU(), nn.Linear(64, 1))


def gan_losses(generator, discriminator, real, noise):
    fake = generator(noise)
    on_real = discriminator(real)
    on_fake = discriminator(fake.detach())
    return F.softplus(-on_real).mean() + F.softplus(on_fake).mean(), F.softplus(-discriminator(fake)).mean()
