"""PyTorch's side: eager, and compiled by torch.compile where the table has it."""

import os
import tempfile

from timing import (BATCH, CHAIN, CSV_BATCH, ELEMENTS, INPUTS, RATE, arguments, conv_parameters, csv_files, images,
                    labels, mlp_parameters, numbers, pictures, report, seconds, side_of)

import numpy
import torch
import torch.nn.functional as F

args = arguments()
torch.set_num_threads(args.threads)
os.environ["OMP_NUM_THREADS"] = str(args.threads)


def tensors(arrays, gradient=False):
    return [torch.from_numpy(a.copy()).requires_grad_(gradient) for a in arrays]


def two_nodes():
    x = torch.tensor(1.0)
    with torch.no_grad():
        return {"eager": seconds(lambda: (x + 1) * 2)}


def chain(gradient=False):
    x = tensors([numbers(1, 8)], gradient)[0]

    def forward():
        h = x
        for _ in range(CHAIN):
            h = torch.tanh(h)
        return h

    if gradient:
        return {"eager": seconds(lambda: torch.autograd.grad(forward().sum(), x))}
    with torch.no_grad():
        return {"eager": seconds(forward)}


def fused(gradient=False):
    a, b, c, x = tensors([numbers(i, ELEMENTS) for i in range(4)], gradient)

    def value(a, b, c, x):
        return torch.relu(a * x + b) * torch.sigmoid(c - x)

    compiled = torch.compile(value)
    if gradient:
        ones = torch.ones(ELEMENTS)
        return {
            name: seconds(lambda: torch.autograd.grad(f(a, b, c, x), (a, b, c, x), ones))
            for name, f in (("eager", value), ("compiled", compiled))
        }
    with torch.no_grad():
        return {name: seconds(lambda: f(a, b, c, x)) for name, f in (("eager", value), ("compiled", compiled))}


def training(parameters, loss_of):
    def step():
        gradients = torch.autograd.grad(loss_of(parameters), parameters)
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-RATE)

    return {"eager": seconds(step)}


def mlp(batch):
    x = torch.from_numpy(images(batch, 784))
    y = torch.from_numpy(labels(batch)).long()

    def loss_of(p):
        h = torch.relu(torch.addmm(p[3], x, p[0]))
        h = torch.relu(torch.addmm(p[4], h, p[1]))
        return F.cross_entropy(torch.addmm(p[5], h, p[2]), y)

    return training(tensors(mlp_parameters(), True), loss_of)


def conv(batch):
    x = torch.from_numpy(images(batch, 1, 28, 28))
    y = torch.from_numpy(labels(batch)).long()
    p = conv_parameters()
    p[0], p[1] = p[0].transpose(3, 2, 0, 1), p[1].transpose(3, 2, 0, 1)  # out, in, height, width

    def loss_of(p):
        h = F.max_pool2d(torch.relu(F.conv2d(x, p[0], p[4], padding=2)), 2)
        h = F.max_pool2d(torch.relu(F.conv2d(h, p[1], p[5], padding=2)), 2)
        h = torch.relu(torch.addmm(p[6], h.flatten(1), p[2]))
        return F.cross_entropy(torch.addmm(p[7], h, p[3]), y)

    return training(tensors(p, True), loss_of)


def matmul(n):
    a, b = tensors([numbers(1, n, n), numbers(2, n, n)])
    c = torch.empty(n, n)
    with torch.no_grad():
        return {"eager": seconds(lambda: torch.mm(a, b, out=c))}


def attention(gradient=False):
    q, k, v = tensors([numbers(i, 1, 8, 512, 64) for i in range(3)], gradient)

    def value():
        return F.scaled_dot_product_attention(q, k, v)

    if gradient:
        ones = torch.ones(1, 8, 512, 64)
        return {"eager": seconds(lambda: torch.autograd.grad(value(), (q, k, v), ones))}
    with torch.no_grad():
        return {"eager": seconds(value)}


def stencil():
    (x,) = tensors([numbers(1, 2048, 2048)])

    def value(x):
        inner = x[1:-1, 1:-1]
        return inner + 0.1 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4.0 * inner)

    compiled = torch.compile(value)
    with torch.no_grad():
        return {"eager": seconds(lambda: value(x)), "compiled": seconds(lambda: compiled(x))}


def loop():
    (start,) = tensors([numbers(1, 64)])

    def value():
        i, x = 0, start
        while i < 1000:
            i, x = i + 1, x + 0.001 * (1.0 - x * x)
        return x

    with torch.no_grad():
        return {"eager": seconds(value)}


def sort(n):
    x = torch.from_numpy(numbers(1, n))
    with torch.no_grad():
        return {"eager": seconds(lambda: torch.sort(x))}


def squares(module):
    """A step down the mean of the squares of what a module gives is a row's."""

    def loss_of(x):
        y = module(x)
        y = y[0] if isinstance(y, tuple) else y
        return (y * y).mean()

    return loss_of


def module_step(module, x, loss_of):
    return training(list(module.parameters()), lambda _: loss_of(x))["eager"]


def lstm():
    module = torch.nn.LSTM(256, 256, batch_first=True)
    return {"eager": module_step(module, torch.from_numpy(numbers(1, 64, 128, 256)), squares(module))}


def batch_norm():
    x = torch.from_numpy(numbers(1, 64, 64, 28, 28))
    ways = {}
    for name, memory in (("eager", torch.contiguous_format), ("channels last", torch.channels_last)):
        module = torch.nn.BatchNorm2d(64).train()
        ways[name] = module_step(module, x.to(memory_format=memory), squares(module))
    return ways


def transformer():
    x = torch.from_numpy(numbers(1, 8, 128, 256))
    block = torch.nn.TransformerEncoderLayer(256, 4, 1024, dropout=0, activation=lambda h: F.gelu(h, approximate="tanh"),
                                             batch_first=True, norm_first=True).train()
    mask = torch.nn.Transformer.generate_square_subsequent_mask(128)
    loss_of = squares(lambda x: block(x, src_mask=mask, is_causal=True))
    return {name: module_step(block, x, f) for name, f in (("eager", loss_of), ("compiled", torch.compile(loss_of)))}


def bags():
    ids = torch.from_numpy(numpy.random.default_rng(3).integers(0, 100000, (1024, 16)).astype(numpy.int64))
    return ids, torch.from_numpy(numbers(1, 100000, 64) * 0.01)


def embedding_bag():
    ids, table = bags()
    with torch.no_grad():
        return {"eager": seconds(lambda: F.embedding_bag(ids, table, mode="sum"))}


def embedding_bag_step():
    ids, table = bags()
    table.requires_grad_(True)

    def step():
        y = F.embedding_bag(ids, table, mode="sum", sparse=True)
        (gradient,) = torch.autograd.grad((y * y).sum(), table)
        with torch.no_grad():
            table.add_(gradient, alpha=-RATE)

    return {"eager": seconds(step)}


def einsum():
    q, k = tensors([numbers(i, 8, 256, 8, 64) for i in range(2)])
    with torch.no_grad():
        return {"eager": seconds(lambda: torch.einsum("bqhd,bkhd->bhqk", q, k))}


def sums(row):
    value = {"sum": lambda x, y: x.sum(), "sum_abs": lambda x, y: x.abs().sum(),
             "mean_square": lambda x, y: (x - y).square().mean()}[row]
    x, y = tensors([numbers(i, 1 << 22) for i in range(2)])
    with torch.no_grad():
        return {"eager": seconds(lambda: value(x, y))}


def drained(loader):
    def call():
        for _ in loader:
            pass

    return seconds(call)


def workers():
    """A DataLoader's: processes of their own where there is more than one thread."""
    return {"num_workers": args.threads, "persistent_workers": True} if args.threads > 1 else {}


class csv_lines(torch.utils.data.IterableDataset):
    """Rows of numbers, of which each worker reads a file of its own."""

    def __init__(self, names):
        super().__init__()
        self.names = names

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        for name in self.names if worker is None else self.names[worker.id::worker.num_workers]:
            with open(name) as file:
                for line in file:
                    yield torch.tensor([float(field) for field in line.split(",")])


def input_csv():
    with tempfile.TemporaryDirectory() as folder:
        data = csv_lines(csv_files(folder, args.threads))
        return {"DataLoader": drained(torch.utils.data.DataLoader(data, batch_size=CSV_BATCH, **workers()))}


def input_image():
    x, y = (torch.from_numpy(a) for a in pictures())

    def together(samples):
        return torch.stack([s[0] for s in samples]).float() / 255, torch.stack([s[1] for s in samples])

    data = torch.utils.data.TensorDataset(x, y)
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH, shuffle=True, collate_fn=together, **workers())
    return {"DataLoader": drained(loader)}


def input_indexed():
    x, y = (torch.from_numpy(a) for a in pictures())

    def call():
        order = torch.randperm(len(x))
        for at in range(0, len(x), BATCH):
            some = order[at:at + BATCH]
            x[some].float() / 255, y[some]

    return {"eager": seconds(call)}


class following(torch.utils.data.Dataset):
    def __len__(self):
        return INPUTS["input_map"]

    def __getitem__(self, index):
        return index + 1


def input_map():
    return {"DataLoader": drained(torch.utils.data.DataLoader(following(), batch_size=None, **workers()))}


for way, time_of_call in side_of(args.row, globals()).items():
    report(args.row, args.threads, way, time_of_call)
