"""JAX's side: everything under jit."""

import os

import numpy

from timing import (CHAIN, ELEMENTS, RATE, arguments, conv_parameters, glorot, images, labels, mlp_parameters, numbers,
                    report, seconds, side_of)

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


def chain(gradient=False):
    def forward(x):
        for _ in range(CHAIN):
            x = jnp.tanh(x)
        return x

    f = jax.jit(jax.grad(lambda x: forward(x).sum()) if gradient else forward)
    x = jnp.asarray(numbers(1, 8))
    return lambda: f(x).block_until_ready()


def fused(gradient=False):
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


def squares(layer, parameters, x):
    return training(parameters, lambda p: jnp.mean(jnp.square(layer(p, x))))


def lstm():
    def layer(p, x):
        w, u, b = p

        def one(state, projected):
            h, c = state
            i, f, g, o = jnp.split(projected + h @ u, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        zeros = jnp.zeros((64, 256), jnp.float32)
        return lax.scan(one, (zeros, zeros), jnp.swapaxes(x @ w + b, 0, 1))[1]

    parameters = [glorot(1, 256, 1024), glorot(2, 256, 1024), numbers(3, 1024)]
    return squares(layer, parameters, jnp.asarray(numbers(1, 64, 128, 256)))


def batch_norm():
    def layer(p, x):
        m, v = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
        return (x - m) * lax.rsqrt(v + 1e-5) * p[0] + p[1]

    return squares(layer, [numbers(1, 64), numbers(2, 64)], jnp.asarray(numbers(1, 64, 28, 28, 64)))


def transformer():
    def norm(x, gamma, beta):
        m, v = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
        return (x - m) * lax.rsqrt(v + 1e-5) * gamma + beta

    x = jnp.asarray(numbers(1, 8, 128, 256))

    def loss_of(p):
        h = norm(x, p[0], p[1])
        q, k, v = ((h @ p[2 + i] + p[5 + i]).reshape(8, 128, 4, 64) for i in range(3))
        y = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(8, 128, 256) @ p[8] + p[9]
        h = jax.nn.gelu(norm(y, p[10], p[11]) @ p[12] + p[13], approximate=True)
        return jnp.mean(jnp.square(y + h @ p[14] + p[15]))

    def zeros(n):
        return numpy.zeros(n, numpy.float32)

    gamma = numpy.ones(256, numpy.float32)
    parameters = ([gamma, zeros(256)] + [glorot(i, 256, 256) for i in range(3)] + [zeros(256)] * 3 +
                  [glorot(4, 256, 256), zeros(256), gamma, zeros(256), glorot(5, 256, 1024), zeros(1024),
                   glorot(6, 1024, 256), zeros(256)])
    return training(parameters, loss_of)


def bags():
    ids = numpy.random.default_rng(3).integers(0, 100000, (1024, 16)).astype(numpy.int32)
    return jnp.asarray(ids), jnp.asarray(numbers(1, 100000, 64) * numpy.float32(0.01))


def embedding_bag():
    ids, table = bags()
    f = jax.jit(lambda table: table[ids].sum(1))
    return lambda: f(table).block_until_ready()


def embedding_bag_step():
    ids, table = bags()

    def step(table):
        rows, pull = jax.vjp(lambda rows: jnp.sum(jnp.square(rows.sum(1))), table[ids])
        return table.at[ids].add(-RATE * pull(jnp.ones_like(rows))[0])

    f = jax.jit(step, donate_argnums=0)

    def one():
        nonlocal table
        table = f(table)
        table.block_until_ready()

    return one


def einsum():
    f = jax.jit(lambda q, k: jnp.einsum("bqhd,bkhd->bhqk", q, k))
    q, k = (jnp.asarray(numbers(i, 8, 256, 8, 64)) for i in range(2))
    return lambda: f(q, k).block_until_ready()


def sums(row):
    value = {"sum": lambda x, y: jnp.sum(x), "sum_abs": lambda x, y: jnp.sum(jnp.abs(x)),
             "mean_square": lambda x, y: jnp.mean(jnp.square(x - y))}[row]
    f = jax.jit(value)
    x, y = (jnp.asarray(numbers(i, 1 << 22)) for i in range(2))
    return lambda: f(x, y).block_until_ready()


report(args.row, args.threads, "jit", seconds(side_of(args.row, globals())))
