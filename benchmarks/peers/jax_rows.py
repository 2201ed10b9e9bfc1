"""JAX's side: everything under jit."""

import os

from timing import (CHAIN, ELEMENTS, RATE, arguments, conv_parameters, images, labels, mlp_parameters, numbers,
                    report, seconds)

args = arguments()
os.environ["JAX_PLATFORMS"] = "cpu"
if args.threads == 1:
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import jax
import jax.numpy as jnp
from jax import lax


def two_nodes():
    f = jax.jit(lambda x: (x + 1) * 2)
    x = jnp.float32(1)
    return lambda: f(x).block_until_ready()


def chain(gradient):
    def forward(x):
        for _ in range(CHAIN):
            x = jnp.tanh(x)
        return x

    f = jax.jit(jax.grad(lambda x: forward(x).sum()) if gradient else forward)
    x = jnp.asarray(numbers(1, 8))
    return lambda: f(x).block_until_ready()


def fused(gradient):
    def value(a, b, c, x):
        return jax.nn.relu(a * x + b) * jax.nn.sigmoid(c - x)

    def with_gradients(a, b, c, x):
        y, pull = jax.vjp(value, a, b, c, x)
        return (y,) + pull(jnp.ones_like(y))

    f = jax.jit(with_gradients if gradient else value)
    operands = [jnp.asarray(numbers(i, ELEMENTS)) for i in range(4)]
    return lambda: jax.block_until_ready(f(*operands))


def training(parameters, loss_of):
    @jax.jit
    def step(p):
        loss, gradients = jax.value_and_grad(loss_of)(p)
        return loss, [a - RATE * g for a, g in zip(p, gradients)]

    held = [jnp.asarray(p) for p in parameters]

    def one():
        nonlocal held
        loss, held = step(held)
        jax.block_until_ready(held)

    return one


def cross_entropy(logits, y):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), y[:, None], 1))


def mlp(batch):
    x, y = jnp.asarray(images(batch, 784)), jnp.asarray(labels(batch))

    def loss_of(p):
        h = jax.nn.relu(x @ p[0] + p[3])
        h = jax.nn.relu(h @ p[1] + p[4])
        return cross_entropy(h @ p[2] + p[5], y)

    return training(mlp_parameters(), loss_of)


def conv(batch):
    x, y = jnp.asarray(images(batch, 28, 28, 1)), jnp.asarray(labels(batch))

    def layer(x, w, b):
        h = lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        h = jax.nn.relu(h + b)
        return lax.reduce_window(h, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss_of(p):
        h = layer(layer(x, p[0], p[4]), p[1], p[5]).reshape(batch, -1)
        return cross_entropy(jax.nn.relu(h @ p[2] + p[6]) @ p[3] + p[7], y)

    return training(conv_parameters(), loss_of)


def matmul(n):
    f = jax.jit(jnp.matmul)
    a, b = jnp.asarray(numbers(1, n, n)), jnp.asarray(numbers(2, n, n))
    return lambda: f(a, b).block_until_ready()


def stencil():
    def value(x):
        inner = x[1:-1, 1:-1]
        return inner + 0.1 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4.0 * inner)

    f = jax.jit(value)
    x = jnp.asarray(numbers(1, 2048, 2048))
    return lambda: f(x).block_until_ready()


def loop():
    def value(start):
        return lax.while_loop(lambda c: c[0] < 1000, lambda c: (c[0] + 1, c[1] + 0.001 * (1.0 - c[1] * c[1])), (0, start))[1]

    f = jax.jit(value)
    x = jnp.asarray(numbers(1, 64))
    return lambda: f(x).block_until_ready()


def sort(n):
    f = jax.jit(jnp.sort)
    x = jnp.asarray(numbers(1, n))
    return lambda: f(x).block_until_ready()


kind, _, size = args.row.partition("_")
call = {
    "two": two_nodes,
    "chain": lambda: chain(size == "gradient"),
    "fused": lambda: fused(size == "gradient"),
    "mlp": lambda: mlp(int(size)),
    "conv": lambda: conv(int(size)),
    "matmul": lambda: matmul(int(size)),
    "stencil": stencil,
    "loop": loop,
    "sort": lambda: sort(int(size)),
}[kind]()
report(args.row, args.threads, "jit", seconds(call))
