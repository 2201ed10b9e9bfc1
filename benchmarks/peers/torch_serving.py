"""PyTorch's side of benchmarks/runtime/serving.cpp: a batching loop as one writes it, a thread a device that takes what waits, up to 32 rows, and
runs 784-300-100-10 on them. Called with milliseconds; prints a line "tasks requests/s microseconds-of-the-processor-a-request" for one
thread and two."""

import collections
import sys
import threading
import time

import torch

torch.set_num_threads(1)
LARGEST, IN_FLIGHT = 32, 512


def network():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(784, 300), torch.nn.ReLU(), torch.nn.Linear(300, 100), torch.nn.ReLU(),
                               torch.nn.Linear(100, 10), torch.nn.Softmax(dim=1)).eval()


class Served:
    def __init__(self, devices):
        self.waiting, self.changed, self.ends = collections.deque(), threading.Condition(), False
        self.threads = [threading.Thread(target=self.serve, args=(torch.jit.freeze(torch.jit.script(network())),))
                        for _ in range(devices)]
        for t in self.threads:
            t.start()

    def serve(self, model):
        with torch.inference_mode():
            while True:
                with self.changed:
                    self.changed.wait_for(lambda: self.waiting or self.ends)
                    if self.ends:
                        return
                    batch = [self.waiting.popleft() for _ in range(min(LARGEST, len(self.waiting)))]
                answers = model(torch.cat([x for x, _ in batch]))
                for i, (_, then) in enumerate(batch):
                    then(answers[i:i + 1])

    def ask(self, x, then):
        with self.changed:
            self.waiting.append((x, then))
            self.changed.notify()

    def close(self):
        with self.changed:
            self.ends = True
            self.changed.notify_all()
        for t in self.threads:
            t.join()


def measure(devices, seconds):
    served, x = Served(devices), torch.full((1, 784), 0.5)
    guard, answered, under_way, most = threading.Condition(), 0, 0, IN_FLIGHT * devices

    def then(_):
        nonlocal answered, under_way
        with guard:
            answered += 1
            under_way -= 1
            if under_way < most // 2:
                guard.notify()

    for warm in (True, False):
        answered, began, used = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() < began + (0.2 if warm else seconds):
            with guard:
                guard.wait_for(lambda: under_way < most // 2)
                under_way += most // 2
            for _ in range(most // 2):
                served.ask(x, then)
        with guard:
            guard.wait_for(lambda: under_way == 0)
        took, cpu = time.perf_counter() - began, time.process_time() - used
    served.close()
    return answered / took, cpu / answered


for devices in (1, 2):
    rate, cpu = measure(devices, int(sys.argv[1]) / 1000)
    print(devices, rate, 1e6 * cpu, flush=True)
