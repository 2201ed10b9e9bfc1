"""PyTorch's side of collectives.cpp: all_reduce over Gloo and a step of DistributedDataParallel, between two processes.
    python gloo_collectives.py        prints lines "what way median unit", or why there are none"""

import os
import socket
import statistics
import sys
import time

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as mp
except ImportError as e:
    print(f"skipped: PyTorch cannot be imported: {e}", file=sys.stderr)
    sys.exit(77)


def median(times, each, what):
    for _ in range(each):
        what()
    all_of = []
    for _ in range(times):
        dist.barrier()
        began = time.perf_counter()
        for _ in range(each):
            what()
        all_of.append((time.perf_counter() - began) / each * 1e6)
    return statistics.median(all_of)


def work(rank, size, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=size)

    def say(what, way, value):
        if rank == 0:
            print(f"{what} {way} {value:.6g} us", flush=True)

    for what, size_of, times, each in (("sum_1KB", 1 << 10, 21, 200), ("sum_64MB", 64 << 20, 9, 1)):
        x = torch.zeros(size_of // 4)
        say(what, "gloo", median(times, each, lambda: dist.all_reduce(x)))

    torch.manual_seed(1)
    n = torch.nn
    model = n.Sequential(n.Linear(784, 300), n.ReLU(), n.Linear(300, 100), n.ReLU(), n.Linear(100, 10))
    model = n.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    x, y = torch.rand(64, 784), torch.arange(64) % 10

    def step():
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()

    say("mlp_step", "ddp_gloo", median(9, 50, step))
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        free = s.getsockname()[1]
    mp.spawn(work, args=(2, free), nprocs=2)
