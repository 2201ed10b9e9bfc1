"""What the three peers' scripts share: the command line, the clock, the random data, the rows' sizes.

A script is run as `python <peer>_rows.py --row mlp_128 --threads 2` and prints one line for each way the peer has of
doing the row's work: {"row": "mlp_128", "threads": 2, "way": "eager", "value": 635.0, "unit": "steps/s"}.
"""

import argparse
import json
import os
import statistics
import time

import numpy

UNITS = {
    "two_nodes": "us",
    "chain": "ns a node",
    "chain_gradient": "ns a node",
    "fused": "ns an element",
    "fused_gradient": "ns an element",
    "mlp_50": "steps/s",
    "mlp_128": "steps/s",
    "conv_64": "steps/s",
    "matmul_64": "GFLOP/s",
    "matmul_256": "GFLOP/s",
    "matmul_1024": "GFLOP/s",
    "attention": "us",
    "attention_gradient": "us",
    "stencil": "us",
    "loop": "us",
    "sort_1000000": "us",
    "lstm_step": "us",
    "batch_norm_step": "us",
    "transformer_step": "us",
    "embedding_bag": "us",
    "embedding_bag_step": "us",
    "einsum": "us",
    "sum": "us",
    "sum_abs": "us",
    "mean_square": "us",
    "input_csv": "us",
    "input_json": "us",
    "input_tfrecord": "us",
    "input_image": "us",
    "input_indexed": "us",
    "input_map": "us",
    "input_get_next": "us",
}
CHAIN = 1000
ELEMENTS = 100000
RATE = 0.01
# Of input, where a call goes through a data set to its end: how many elements that has, as in input_peer_rows.cpp.
INPUTS = {"input_csv": 40000, "input_json": 100000, "input_tfrecord": 40000, "input_image": 60000, "input_indexed": 60000,
          "input_map": 20000, "input_get_next": 1}
CSV_COLUMNS, CSV_BATCH, RECORD_BYTES, BATCH = 10, 256, 784, 50


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--row", required=True, choices=UNITS)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def seconds(call):
    """The median time of a call, over at least half a second of calls in at least nine rounds."""

    def rounds_of(count):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        return time.perf_counter() - begin

    call()
    count = 1
    while rounds_of(count) < 0.02 and count < 1 << 20:
        count *= 2
    times = []
    while len(times) < 9 or (sum(times) < 0.5 and len(times) < 1000):
        times.append(rounds_of(count))
    return statistics.median(times) / count


def value_of(row, time_of_call):
    """The row's figure, in the row's unit, from the time of one call."""
    if row in INPUTS:
        return time_of_call * 1e6 / INPUTS[row]
    if UNITS[row] == "us":
        return time_of_call * 1e6
    if row.startswith("chain"):
        return time_of_call * 1e9 / CHAIN
    if row.startswith("fused"):
        return time_of_call * 1e9 / ELEMENTS
    if row.startswith("matmul"):
        return 2 * int(row.split("_")[1]) ** 3 / time_of_call / 1e9
    return 1 / time_of_call


def report(row, threads, way, time_of_call):
    line = {"row": row, "threads": threads, "way": way, "value": value_of(row, time_of_call), "unit": UNITS[row]}
    print(json.dumps(line), flush=True)


def side_of(row, functions):
    """What a script's function of a row gives: that of its name, or of what is before its last word, which says how large or what else."""
    if row in ("sum", "sum_abs", "mean_square"):
        return functions["sums"](row)
    if row in functions:
        return functions[row]()
    name, _, last = row.rpartition("_")
    if last == "step":
        return functions[name]()
    return functions[name](True if last == "gradient" else int(last))


def numbers(seed, *shape):
    """Floats in [-1, 1): never zeros, whose products are cheaper."""
    return numpy.random.default_rng(seed).uniform(-1, 1, shape).astype(numpy.float32)


def glorot(seed, *shape):
    fan_in = int(numpy.prod(shape[:-1]))
    fan_out = int(numpy.prod(shape[:-2], dtype=int)) * shape[-1] if len(shape) > 2 else shape[-1]
    return numbers(seed, *shape) * numpy.float32((6.0 / (fan_in + fan_out)) ** 0.5)


def images(*shape):
    return numpy.random.default_rng(7).uniform(0, 1, shape).astype(numpy.float32)


def labels(batch):
    return numpy.random.default_rng(8).integers(0, 10, batch).astype(numpy.int32)


def mlp_parameters():
    """Weights and biases of 784-300-100-10."""
    sizes = [784, 300, 100, 10]
    weights = [glorot(i, sizes[i], sizes[i + 1]) for i in range(3)]
    return weights + [numpy.zeros(n, numpy.float32) for n in sizes[1:]]


def conv_parameters():
    """Of 28x28x1 -> 32 5x5 -> pool -> 64 5x5 -> pool -> 256 -> 10: kernels [h, w, in, out], dense weights, biases."""
    weights = [glorot(1, 5, 5, 1, 32), glorot(2, 5, 5, 32, 64), glorot(3, 7 * 7 * 64, 256), glorot(4, 256, 10)]
    return weights + [numpy.zeros(n, numpy.float32) for n in (32, 64, 256, 10)]


def csv_files(folder, count):
    """The rows of input_csv in so many files."""
    names = []
    for i in range(count):
        names.append(os.path.join(folder, f"{i}.csv"))
        numpy.savetxt(names[-1], numbers(i, INPUTS["input_csv"] // count, CSV_COLUMNS), fmt="%.6g", delimiter=",")
    return names


def json_lines(folder):
    """The objects of input_json in a file."""
    random = numpy.random.default_rng(10)
    name = os.path.join(folder, "all.jsonl")
    with open(name, "w") as file:
        for i in range(INPUTS["input_json"]):
            x, y = random.uniform(-1, 1, 2)
            good = "true" if random.integers(2) else "false"
            file.write(f'{{"id": {i * 7}, "x": {x * 500:.7g}, "y": {y:.6g}, "count": {random.integers(100000)}, '
                       f'"town": "town{random.integers(300)}", "good": {good}}}\n')
    return name


def records():
    """The records of input_tfrecord."""
    all_bytes = numpy.random.default_rng(9).integers(0, 256, (INPUTS["input_tfrecord"], RECORD_BYTES), numpy.uint8)
    return [r.tobytes() for r in all_bytes]


def pictures():
    """The images and labels of input_image."""
    generator = numpy.random.default_rng(10)
    count = INPUTS["input_image"]
    return (generator.integers(0, 256, (count, 28, 28), numpy.uint8), generator.integers(0, 10, count, numpy.int32))
