"""TensorFlow's side of the cluster rows: tf.distribute.Server over grpc, a process a task, v1 sessions' callables. Training is
between-graph: a session a worker, on its own server; asynchronous, or by SyncReplicasOptimizer, whose hook's work is done here."""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import cluster
from timing import RATE, images, labels, mlp_parameters, seconds

args = cluster.arguments()

import tensorflow as tf

v1 = tf.compat.v1
v1.disable_eager_execution()


def config(*filters):
    return v1.ConfigProto(intra_op_parallelism_threads=args.threads, inter_op_parallelism_threads=0,
                          device_filters=list(filters))


def specification(ports):
    at = [f"localhost:{p}" for p in ports]
    return tf.train.ClusterSpec({"ps": at[:args.ps], "worker": at[args.ps:]})


def task():
    tasks = specification(args.ports)
    server = tf.distribute.Server(tasks, job_name=args.job, task_index=args.index, config=config())
    if not args.trains or args.job == "ps":
        cluster.serve()
        return
    own = f"/job:worker/task:{args.index}"
    with v1.device(v1.train.replica_device_setter(cluster=tasks, worker_device=own)):
        x = v1.placeholder(tf.float32, [cluster.BATCH, 784])
        y = v1.placeholder(tf.int32, [cluster.BATCH])
        given = mlp_parameters()
        p = [v1.get_variable(f"p{i}", initializer=given[i]) for i in (0, 3, 1, 4, 2, 5)]  # w1, b1, w2, b2, w3, b3
        h = tf.nn.relu(tf.matmul(x, p[0]) + p[1])
        h = tf.nn.relu(tf.matmul(h, p[2]) + p[3])
        logits = tf.matmul(h, p[4]) + p[5]
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
        how = v1.train.GradientDescentOptimizer(RATE)
        if args.together:
            how = v1.train.SyncReplicasOptimizer(how, args.workers)
        steps = v1.train.get_or_create_global_step()
        step = how.minimize(loss, global_step=steps)
        begin = v1.global_variables_initializer()
        tokens = how.get_init_tokens_op() if args.together else None
    session = v1.Session(server.target, config=config("/job:ps", own))
    if args.index == 0:
        session.run(begin)
    if args.together:
        session.run(v1.local_variables_initializer())
        session.run(how.chief_init_op if args.index == 0 else how.local_step_init_op)
        if args.index == 0:
            session.run(tokens)
            how.get_chief_queue_runner().create_threads(session, daemon=True, start=True)
    call = session.make_callable(step, feed_list=[x, y])
    batch = images(cluster.BATCH, 784), labels(cluster.BATCH)
    cluster.train(args, lambda: call(*batch), (lambda: int(session.run(steps))) if args.together else None)


def main():
    ports = cluster.free_ports(args.ps + args.workers)
    tasks = [cluster.Task(args, ports, "ps", i) for i in range(args.ps)]
    for t in tasks:
        t.says()
    workers = []
    for i in range(args.workers):  # the first makes the variables' values
        workers.append(cluster.Task(args, ports, "worker", i))
        workers[-1].says()
    try:
        cluster.report(args, "grpc", cluster.rate_of(args, workers) if args.trains else calls(ports))
    finally:
        for t in workers + tasks:
            t.end()


def calls(ports):
    elements = max(1, args.bytes // 4)
    with v1.device("/job:ps/task:0"):
        there = v1.get_variable("there", [elements], initializer=v1.zeros_initializer())
    with v1.device("/job:worker/task:0"):
        x = v1.placeholder(tf.float32, [])
        near = x + 1
        here = v1.get_variable("here", [elements], initializer=v1.ones_initializer())
        read = tf.reduce_sum(there)
        sent = tf.identity(here)
    with v1.device("/job:ps/task:0"):
        far = near + 1
        push = there.assign_sub(sent, read_value=False)
    session = v1.Session(f"grpc://localhost:{ports[args.ps]}", config=config())
    session.run(v1.global_variables_initializer())
    if args.kind in ("run", "through"):
        call = session.make_callable(near if args.kind == "run" else far, feed_list=[x])
        return cluster.value_of(args, seconds(lambda: call(1.0)))
    call = session.make_callable(read.op if args.kind == "pull" else push)
    return cluster.value_of(args, seconds(call))


task() if args.task else main()
