# x with a x = b for symmetric, positive definite a, by conjugate gradients.
import torch


def conjugate_gradient(a, b, tolerance):
    x, r, p = torch.zeros_like(b), b, b
    while r.norm() > tolerance:
        ap = a @ p
        step = (r @ r) / (p @ ap)
        left = r - step * ap
        x, p, r = x + step * p, left + (left @ left) / (r @ r) * p, left
    return x
