"""Tenon beside PyTorch on one GPU: python3 torch_gpu_rows.py PROGRAM, where PROGRAM is the build folder's benchmarks/cuda/peer_rows.

The rows, in float32 without TF32 on both sides; images and labels come from the host's memory in each step
(PyTorch's from page-locked memory), the loss goes back:
    mlp_128, mlp_4096     a training step of 784-300-100-10 with that batch                       steps/s
    conv_64, conv_1024    one of 28x28 -> 32 5x5 -> pool -> 64 5x5 -> pool -> 256 -> 10           steps/s
    fused                 relu(a x + b) * sigmoid(c - x) of 1e8 floats that lie on the GPU        ms
PyTorch's ways: eager, and torch.compile of the whole step, which is compiled once a row. Each row is measured three times in turns;
medians are printed.
"""

import json
import statistics
import subprocess
import sys

from timing import RATE, conv_parameters, images, labels, mlp_parameters, numbers, seconds

import torch
import torch.nn.functional as F

GPU = torch.device("cuda")
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True


def on_gpu(arrays):
    return [torch.from_numpy(a.copy()).to(GPU).requires_grad_(True) for a in arrays]


def training(parameters, loss_of, x, y, compiled):
    def step(x, y):
        loss = loss_of(parameters, x, y)
        gradients = torch.autograd.grad(loss, parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-RATE)
        return loss

    if compiled:  # for these sizes alone, whatever was compiled before
        torch.compiler.reset()
    run = torch.compile(step, mode="max-autotune") if compiled else step
    x, y = x.pin_memory(), y.pin_memory()
    return lambda: run(x.to(GPU, non_blocking=True), y.to(GPU, non_blocking=True)).item()


def mlp(batch, compiled):
    def loss_of(p, x, y):
        h = torch.relu(torch.addmm(p[3], x, p[0]))
        h = torch.relu(torch.addmm(p[4], h, p[1]))
        return F.cross_entropy(torch.addmm(p[5], h, p[2]), y)

    x, y = torch.from_numpy(images(batch, 784)), torch.from_numpy(labels(batch)).long()
    return training(on_gpu(mlp_parameters()), loss_of, x, y, compiled)


def conv(batch, compiled):
    arrays = conv_parameters()
    arrays[0], arrays[1] = arrays[0].transpose(3, 2, 0, 1), arrays[1].transpose(3, 2, 0, 1)

    def loss_of(p, x, y):
        h = F.max_pool2d(torch.relu(F.conv2d(x, p[0], p[4], padding=2)), 2)
        h = F.max_pool2d(torch.relu(F.conv2d(h, p[1], p[5], padding=2)), 2)
        h = torch.relu(torch.addmm(p[6], h.flatten(1), p[2]))
        return F.cross_entropy(torch.addmm(p[7], h, p[3]), y)

    parameters = on_gpu(arrays)
    x, y = torch.from_numpy(images(batch, 1, 28, 28)), torch.from_numpy(labels(batch)).long()
    return training(parameters, loss_of, x, y, compiled)


def fused(_, compiled):
    x = torch.from_numpy(numbers(1, 100_000_000)).to(GPU)
    a, b, c = (torch.tensor(v, device=GPU) for v in (1.5, 0.5, 0.25))

    def value(x):
        return torch.relu(a * x + b) * torch.sigmoid(c - x)

    run = torch.compile(value) if compiled else value

    @torch.no_grad()
    def call():
        run(x)
        torch.cuda.synchronize()

    return call


ROWS = {"mlp_128": (mlp, 128), "mlp_4096": (mlp, 4096), "conv_64": (conv, 64), "conv_1024": (conv, 1024), "fused": (fused, 0)}


def tenon(program, row):
    answer = subprocess.run([program, "--row", row], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout.splitlines()[-1])["value"]


def main():
    program = sys.argv[1]
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}")
    print(f"{'row':<12}{'unit':>9}{'Tenon':>12}{'eager':>12}{'compiled':>12}{'of the faster':>15}")
    for row, (work, size) in ROWS.items():
        steps = row != "fused"
        of = (lambda s: 1 / s) if steps else (lambda s: s * 1e3)
        values = {"Tenon": [], "eager": [], "compiled": []}
        run_eager, run_compiled = work(size, False), work(size, True)
        for _ in range(3):
            values["Tenon"].append(tenon(program, row))
            values["eager"].append(of(seconds(run_eager)))
            values["compiled"].append(of(seconds(run_compiled)))
        ours, eager, compiled = (statistics.median(values[k]) for k in ("Tenon", "eager", "compiled"))
        speed = ours / max(eager, compiled) if steps else min(eager, compiled) / ours
        print(f"{row:<12}{'steps/s' if steps else 'ms':>9}{ours:>12.4g}{eager:>12.4g}{compiled:>12.4g}{speed:>15.2f}",
              flush=True)


if __name__ == "__main__":
    main()
