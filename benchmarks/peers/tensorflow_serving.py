"""TensorFlow's side of benchmarks/runtime/serving.cpp: its own batching (tf.nondifferentiable_batch_function), up to 32 rows, so many threads
that run batches, on 784-300-100-10. Requests are elements of a parallel map, so that no Python is between them. Called with
milliseconds; prints a line "tasks requests/s microseconds-of-the-processor-a-request" for one thread and two, each in a process."""

import os
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
LARGEST, IN_FLIGHT, ANSWERS = 32, 512, 256


def measure(threads, seconds):
    import tensorflow as tf
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    tf.random.set_seed(1)
    sizes = [784, 300, 100, 10]
    weights = [tf.Variable(tf.random.normal([a, b], stddev=0.05)) for a, b in zip(sizes, sizes[1:])]
    biases = [tf.Variable(tf.zeros([b])) for b in sizes[1:]]

    @tf.nondifferentiable_batch_function(threads, LARGEST, 0, max_enqueued_batches=1 << 20)
    def network(x):
        for w, b in zip(weights[:-1], biases):
            x = tf.nn.relu(tf.matmul(x, w) + b)
        return tf.nn.softmax(tf.matmul(x, weights[-1]) + biases[-1])

    x = tf.fill([1, 784], 0.5)
    asked = tf.data.Dataset.range(1 << 40).map(
        lambda _: network(tf.compat.v1.placeholder_with_default(x, [None, 784])),
        num_parallel_calls=IN_FLIGHT * threads, deterministic=False)
    answers = iter(asked.batch(ANSWERS))
    for limit in (0.5, seconds):  # the first warms up
        answered, began, used = 0, time.perf_counter(), time.process_time()
        while time.perf_counter() < began + limit:
            answered += len(next(answers))
        took, cpu = time.perf_counter() - began, time.process_time() - used
    print(threads, answered / took, 1e6 * cpu / answered, flush=True)
    os._exit(0)  # requests are under way


if len(sys.argv) > 2:
    measure(int(sys.argv[2]), int(sys.argv[1]) / 1000)
for n in (1, 2):
    subprocess.run([sys.executable, sys.argv[0], sys.argv[1], str(n)], check=True)
