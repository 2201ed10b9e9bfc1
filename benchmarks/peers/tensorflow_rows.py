"""TensorFlow's side: a graph, and the same compiled by XLA. Small steps run as a v1 session's callable, which is the
fastest way it has to run a graph."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import tempfile

from timing import (BATCH, CHAIN, CSV_BATCH, CSV_COLUMNS, ELEMENTS, INPUTS, RATE, arguments, conv_parameters, csv_files,
                    images, labels, mlp_parameters, numbers, pictures, records, report, seconds, side_of)

args = arguments()

import tensorflow as tf

tf.config.threading.set_intra_op_parallelism_threads(args.threads)
tf.config.threading.set_inter_op_parallelism_threads(1)
v1 = tf.compat.v1


def callable_of(build):
    """The callable of a v1 session: build() gives the placeholder and what is fetched."""
    with tf.Graph().as_default():
        x, result = build()
        settings = v1.ConfigProto(intra_op_parallelism_threads=args.threads, inter_op_parallelism_threads=1)
        return v1.Session(config=settings).make_callable(result, feed_list=[x])


def two_nodes():
    def build():
        x = v1.placeholder(tf.float32, [])
        return x, (x + 1) * 2

    step = callable_of(build)
    return {"graph": seconds(lambda: step(1.0))}


def chain(gradient=False):
    def build():
        x = v1.placeholder(tf.float32, [8])
        h = x
        for _ in range(CHAIN):
            h = tf.tanh(h)
        return x, v1.gradients(tf.reduce_sum(h), x)[0] if gradient else h

    step = callable_of(build)
    value = numbers(1, 8)
    return {"graph": seconds(lambda: step(value))}


def both(function, *operands):
    """Times of a function as a graph and compiled."""
    ways = {"graph": tf.function(function), "XLA": tf.function(function, jit_compile=True)}
    return {name: seconds(lambda: f(*operands)) for name, f in ways.items()}


def fused(gradient=False):
    operands = [tf.constant(numbers(i, ELEMENTS)) for i in range(4)]

    def value(a, b, c, x):
        return tf.nn.relu(a * x + b) * tf.sigmoid(c - x)

    def with_gradients(a, b, c, x):
        with tf.GradientTape() as tape:
            tape.watch([a, b, c, x])
            y = value(a, b, c, x)
        return y, tape.gradient(y, [a, b, c, x])

    return both(with_gradients if gradient else value, *operands)


def training(parameters, loss_of):
    variables = [tf.Variable(p) for p in parameters]

    def step():
        with tf.GradientTape() as tape:
            loss = loss_of(variables)
        for v, g in zip(variables, tape.gradient(loss, variables)):
            v.assign_sub(RATE * g)
        return loss

    return both(step)


def cross_entropy(logits, y):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))


def mlp(batch):
    x, y = tf.constant(images(batch, 784)), tf.constant(labels(batch))

    def loss_of(p):
        h = tf.nn.relu(x @ p[0] + p[3])
        h = tf.nn.relu(h @ p[1] + p[4])
        return cross_entropy(h @ p[2] + p[5], y)

    return training(mlp_parameters(), loss_of)


def conv(batch):
    x, y = tf.constant(images(batch, 28, 28, 1)), tf.constant(labels(batch))

    def layer(x, w, b):
        h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, 1, "SAME"), b))
        return tf.nn.max_pool2d(h, 2, 2, "VALID")

    def loss_of(p):
        h = tf.reshape(layer(layer(x, p[0], p[4]), p[1], p[5]), [batch, -1])
        return cross_entropy(tf.nn.relu(h @ p[2] + p[6]) @ p[3] + p[7], y)

    return training(conv_parameters(), loss_of)


def matmul(n):
    a, b = tf.constant(numbers(1, n, n)), tf.constant(numbers(2, n, n))
    f = tf.function(tf.matmul)
    return {"graph": seconds(lambda: f(a, b))}


def drained(data):
    """The time of going through a tf.data data set."""
    settings = tf.data.Options()
    settings.threading.private_threadpool_size = args.threads
    settings.threading.max_intra_op_parallelism = 1
    data = data.with_options(settings)

    def call():
        for _ in data:
            pass

    return seconds(call)


def ahead(data):
    return data.prefetch(tf.data.AUTOTUNE) if args.threads > 1 else data


def input_csv():
    kinds = [tf.constant([0.0])] * CSV_COLUMNS

    def spread(names, open_one):
        if len(names) == 1:
            return open_one(names[0])
        return tf.data.Dataset.from_tensor_slices(names).interleave(open_one, cycle_length=args.threads,
                                                                    num_parallel_calls=args.threads)

    def decoded(lines):
        return tf.stack(tf.io.decode_csv(lines, kinds), axis=1)

    with tempfile.TemporaryDirectory() as folder:
        names = csv_files(folder, args.threads)
        return {
            "CsvDataset": drained(spread(names, lambda n: tf.data.experimental.CsvDataset(n, kinds)).batch(CSV_BATCH)),
            "decode_csv": drained(spread(names, tf.data.TextLineDataset).batch(CSV_BATCH)
                                  .map(decoded, num_parallel_calls=args.threads)),
        }


def input_tfrecord():
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "a.tfrecord")
        with tf.io.TFRecordWriter(name) as writer:
            for record in records():
                writer.write(record)
        return {"tf.data": drained(ahead(tf.data.TFRecordDataset(name).batch(BATCH)))}


def input_image():
    def scaled(x, y):
        return tf.cast(x, tf.float32) / 255.0, y

    data = tf.data.Dataset.from_tensor_slices(pictures()).shuffle(INPUTS["input_image"], seed=1).batch(BATCH)
    return {"tf.data": drained(ahead(data.map(scaled, num_parallel_calls=args.threads)))}


def input_indexed():
    x, y = (tf.constant(a) for a in pictures())

    def call():
        order = tf.random.shuffle(tf.range(INPUTS["input_indexed"]))
        for at in range(0, INPUTS["input_indexed"], BATCH):
            some = order[at:at + BATCH]
            tf.cast(tf.gather(x, some), tf.float32) / 255.0, tf.gather(y, some)

    return {"eager": seconds(call)}


def input_map():
    data = tf.data.Dataset.range(INPUTS["input_map"])
    return {"tf.data": drained(data.map(lambda x: x + 1, num_parallel_calls=args.threads))}


def input_get_next():
    with tf.Graph().as_default():
        data = ahead(tf.data.Dataset.range(1 << 40))
        following = v1.data.make_one_shot_iterator(data).get_next()
        settings = v1.ConfigProto(intra_op_parallelism_threads=args.threads, inter_op_parallelism_threads=args.threads)
        step = v1.Session(config=settings).make_callable(following)
        return {"graph": seconds(step)}


for way, time_of_call in side_of(args.row, globals()).items():
    report(args.row, args.threads, way, time_of_call)
