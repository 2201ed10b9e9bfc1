"""What the peers' cluster scripts share: the rows, and processes that are tasks.

A script is run as `python <peer>_cluster.py --row cluster_mlp_2 --threads 2` and prints one line like those of timing.py. It starts
its tasks as processes of its own, on loopback, with --task JOB:INDEX and --ports; such a process says "ready" on a line when
it serves. A worker that trains then waits for a line, trains for two seconds and says its steps per second; where all step together,
the first one does, and the others go on until they are ended. A task ends when its standard input does.
"""

import argparse
import json
import socket
import subprocess
import sys
import time

UNITS = {
    "cluster_run": "us",
    "cluster_through": "us",
    "cluster_pull_1": "GB/s",
    "cluster_pull_64": "GB/s",
    "cluster_push_1": "GB/s",
    "cluster_push_64": "GB/s",
    "cluster_mlp_1": "steps/s",
    "cluster_mlp_2": "steps/s",
    "cluster_sync_2": "steps/s",
    "cluster_parallel_2": "steps/s",
}
BATCH = 128
PARAMETER_SERVERS = 2
TRAINING_SECONDS = 2.0


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--row", required=True, choices=UNITS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--task", help="for the script's own use: this process is a task")
    parser.add_argument("--ports", type=int, nargs="+", default=[])
    args = parser.parse_args()
    args.kind, args.size = args.row.split("_")[1], int((args.row.split("_") + ["0"])[2])
    args.together = args.kind in ("sync", "parallel")
    args.trains = args.together or args.kind == "mlp"
    args.ps = PARAMETER_SERVERS if args.trains else 1
    args.workers = args.size if args.trains else 1
    if not args.task:  # of a task; on more than there are cores all sides are slow
        args.share = max(1, args.threads // args.workers)
    args.bytes = args.size * 1_000_000
    if args.task:
        job, index = args.task.split(":")
        args.job, args.index = job, int(index)
    return args


def free_ports(count):
    """Ports of this machine that nobody listens on, and that differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


class Task:
    """A process of the same script."""

    def __init__(self, args, ports, job, index):
        self.process = subprocess.Popen(
            [sys.executable, sys.argv[0], "--row", args.row, "--threads", str(args.share), "--task", f"{job}:{index}",
             "--ports"] + [str(p) for p in ports], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def says(self):
        """Its next line that is one of ours: libraries may print others."""
        for line in self.process.stdout:
            if line.startswith("> "):
                return line[2:].strip()
        raise RuntimeError(f"a task ended with {self.process.wait()}")

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(2)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def say(what):
    print("> " + what, flush=True)


def serve():
    """A task that only serves."""
    say("ready")
    sys.stdin.read()


def train(args, step, applied=None):
    """A worker's part of a row of training. `applied` counts the steps of all, where who steps cannot."""
    def warm_up():
        for _ in range(20):
            step()

    if not args.together:
        warm_up()
    say("ready")
    sys.stdin.readline()
    if args.together:
        warm_up()
    before = applied() if applied else 0
    begin, steps, took = time.perf_counter(), 0, 0.0
    while took < TRAINING_SECONDS or (args.together and args.index > 0):
        step()
        steps += 1
        took = time.perf_counter() - begin
    say(str((applied() - before if applied else steps) / took))
    sys.stdin.read()


def rate_of(args, workers):
    """Steps per second of all of them together, once each is ready."""
    for worker in workers:
        worker.go()
    return sum(float(worker.says()) for worker in (workers[:1] if args.together else workers))


def value_of(args, seconds):
    """The row's figure from the time of one call."""
    return seconds * 1e6 if UNITS[args.row] == "us" else args.bytes / seconds / 1e9


def report(args, way, value):
    print(json.dumps({"row": args.row, "threads": args.threads, "way": way, "value": value, "unit": UNITS[args.row]}),
          flush=True)
