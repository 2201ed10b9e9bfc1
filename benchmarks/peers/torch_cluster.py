"""PyTorch's side of the cluster rows: torch.distributed.rpc over TensorPipe, a process a task. There is no master: the worker reads
and sends by calls to the parameter servers; the first two rows are called by a client. Where workers step together, a call that sends
gradients is answered with the new values, once those of all are there (PyTorch's own tutorial of batched RPC)."""

import os
import sys
import threading

import cluster
from timing import RATE, images, labels, mlp_parameters, seconds

args = cluster.arguments()

import torch
import torch.distributed.rpc as rpc
import torch.nn.functional as F

torch.set_num_threads(args.threads)

held = {}  # of a parameter server: name, tensor
sent, answer = [], torch.futures.Future()  # of the present step of all
guard = threading.Lock()


def add_one(x):
    return x + 1


def add_one_through(x):
    return rpc.rpc_sync("ps0", add_one, args=(x + 1,))


def hold(name, value):
    held[name] = value


def read(names):
    return [held[name] for name in names]


def update(names, gradients):
    with guard:
        for name, gradient in zip(names, gradients):
            held[name].sub_(gradient, alpha=RATE)


@rpc.functions.async_execution
def update_together(names, gradients):
    global answer
    with guard:
        mine = answer
        sent.append(gradients)
        last = len(sent) == args.workers
        if last:
            for name, *all_of in zip(names, *sent):
                for gradient in all_of:
                    held[name].sub_(gradient, alpha=RATE / args.workers)
            sent.clear()
            answer = torch.futures.Future()
    if last:
        mine.set_result([held[name] for name in names])
    return mine


def names_of_all():
    return [f"ps{i}" for i in range(args.ps)] + [f"worker{i}" for i in range(args.workers)] + ["client"]


def join(name):
    """All processes must be there before it returns; the first of them is where they meet."""
    names = names_of_all()
    options = rpc.TensorPipeRpcBackendOptions(num_worker_threads=8, init_method=f"tcp://127.0.0.1:{args.ports[0]}",
                                              rpc_timeout=60)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("TP_SOCKET_IFNAME", "lo")
    rpc.init_rpc(name, rank=names.index(name), world_size=len(names), rpc_backend_options=options)


def step_of_training():
    """Variables go to the parameter servers in turn, as they are made: w1, b1, w2, b2, w3, b3."""
    given = mlp_parameters()
    order = (0, 3, 1, 4, 2, 5)
    names = [[f"p{i}" for k, i in enumerate(order) if k % args.ps == s] for s in range(args.ps)]
    if args.index == 0:
        for s in range(args.ps):
            for name in names[s]:
                rpc.rpc_sync(f"ps{s}", hold, args=(name, torch.from_numpy(given[int(name[1:])])))
    x = torch.from_numpy(images(cluster.BATCH, 784))
    y = torch.from_numpy(labels(cluster.BATCH)).long()

    def values(calls):
        return {name: value for s, call in enumerate(calls) for name, value in zip(names[s], call.wait())}

    def pull():
        return values([rpc.rpc_async(f"ps{s}", read, args=(names[s],)) for s in range(args.ps)])

    p = pull()

    def step():
        nonlocal p
        if not args.together:
            p = pull()
        for value in p.values():
            value.requires_grad_(True)
        h = torch.relu(torch.addmm(p["p3"], x, p["p0"]))
        h = torch.relu(torch.addmm(p["p4"], h, p["p1"]))
        F.cross_entropy(torch.addmm(p["p5"], h, p["p2"]), y).backward()
        how = update_together if args.together else update
        pushes = [rpc.rpc_async(f"ps{s}", how, args=(names[s], [p[n].grad for n in names[s]])) for s in range(args.ps)]
        if args.together:
            p = values(pushes)
        for push in pushes:
            push.wait()

    return step


def transfers():
    value = torch.ones(args.bytes // 4)
    rpc.rpc_sync("ps0", hold, args=("there", torch.zeros(args.bytes // 4)))
    if args.kind == "pull":
        return seconds(lambda: rpc.rpc_sync("ps0", read, args=(["there"],)))
    return seconds(lambda: rpc.rpc_sync("ps0", update, args=(["there"], [value])))


def task():
    join(f"{args.job}{args.index}")
    if args.job == "ps" or args.kind in ("run", "through"):
        cluster.serve()
    elif args.trains:
        if args.index > 0:  # until the first has made the values
            cluster.say("here")
            sys.stdin.readline()
        cluster.train(args, step_of_training())
    else:
        cluster.say(str(transfers()))
        sys.stdin.read()
    rpc.shutdown(graceful=False)


def main():
    args.ports = cluster.free_ports(1)
    tasks = [cluster.Task(args, args.ports, "ps", i) for i in range(args.ps)]
    workers = [cluster.Task(args, args.ports, "worker", i) for i in range(args.workers)]
    try:
        join("client")
        for t in tasks:
            t.says()
        if args.kind in ("pull", "push"):
            value = cluster.value_of(args, float(workers[0].says()))
        elif args.trains:
            for number, worker in enumerate(workers):
                if number > 0:
                    worker.says()
                    worker.go()
                worker.says()
            value = cluster.rate_of(args, workers)
        else:
            workers[0].says()
            x = torch.tensor(1.0)
            what = add_one if args.kind == "run" else add_one_through
            value = cluster.value_of(args, seconds(lambda: rpc.rpc_sync("worker0", what, args=(x,))))
        cluster.report(args, "rpc", value)
    finally:
        for t in workers + tasks:
            t.end()
        rpc.shutdown(graceful=False)


task() if args.task else main()
