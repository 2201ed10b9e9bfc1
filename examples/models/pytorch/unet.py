# A U-net that says of each pixel whether it belongs to a thing. images: float[batch, channels, height, width].
import torch
import torch.nn.functional as F
from torch import nn


def two_convolutions(inputs, filters):
    return nn.Sequential(nn.Conv2d(inputs, filters, 3, 1, 1), nn.ReLU(), nn.Conv2d(filters, filters, 3, 1, 1), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.down1, self.down2 = two_convolutions(channels, 16), two_convolutions(16, 32)
        self.bottom = two_convolutions(32, 64)
        self.up2, self.join2 = nn.ConvTranspose2d(64, 32, 2, 2), two_convolutions(64, 32)
        self.up1, self.join1 = nn.ConvTranspose2d(32, 16, 2, 2), two_convolutions(32, 16)
        self.head = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        d = self.join2(torch.cat([b, self.up2(c)], 1))
        return self.head(self.join1(torch.cat([a, self.up1(d)], 1)))


def unet_loss(model, images, masks):
    return F.binary_cross_entropy_with_logits(model(images), masks)
