"""Ray's side of the cluster rows: actors, a process each; arrays go through its object store. It has no arithmetic of its own, so
it has no mlp rows."""

import sys

import cluster
from timing import seconds

args = cluster.arguments()
if args.kind == "mlp":
    sys.exit(0)

import numpy
import ray

ray.init(num_cpus=args.threads, include_dashboard=False, configure_logging=False, log_to_driver=False)


@ray.remote(num_cpus=0)
class ParameterServer:
    def __init__(self, elements):
        self.value = numpy.zeros(elements, numpy.float32)

    def add_one(self, x):
        return x + 1

    def read(self):
        return self.value

    def update(self, gradient):
        self.value -= gradient


@ray.remote(num_cpus=0)
class Worker:
    def __init__(self, ps):
        self.ps = ps

    def add_one(self, x):
        return x + 1

    def add_one_through(self, x):
        return ray.get(self.ps.add_one.remote(x + 1))

    def seconds_of_pull(self):
        return seconds(lambda: ray.get(self.ps.read.remote()))

    def seconds_of_push(self, elements):
        gradient = numpy.ones(elements, numpy.float32)
        return seconds(lambda: ray.get(self.ps.update.remote(gradient)))


ps = ParameterServer.remote(args.bytes // 4)
worker = Worker.remote(ps)
taken = {
    "run": lambda: seconds(lambda: ray.get(worker.add_one.remote(1.0))),
    "through": lambda: seconds(lambda: ray.get(worker.add_one_through.remote(1.0))),
    "pull": lambda: ray.get(worker.seconds_of_pull.remote()),
    "push": lambda: ray.get(worker.seconds_of_push.remote(args.bytes // 4)),
}[args.kind]()
cluster.report(args, "actor", cluster.value_of(args, taken))
