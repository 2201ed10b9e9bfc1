"""Runs Tenon's and the peers' side of every row in turn and prints one table. See run.sh."""

import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = ["two_nodes", "chain", "chain_gradient", "fused", "fused_gradient", "mlp_50", "mlp_128", "conv_64",
        "matmul_64", "matmul_256", "matmul_1024", "attention", "attention_gradient", "stencil", "loop",
        "sort_1000000", "lstm_step", "batch_norm_step", "transformer_step", "embedding_bag",
        "embedding_bag_step", "einsum", "sum", "sum_abs", "mean_square"]
CLUSTER_ROWS = ["cluster_run", "cluster_through", "cluster_pull_1", "cluster_pull_64", "cluster_push_1",
                "cluster_push_64", "cluster_mlp_1", "cluster_mlp_2", "cluster_sync_2",
                "cluster_parallel_2"]  # each a process a task, on all the threads' cores
INPUT_ROWS = ["input_csv", "input_json", "input_tfrecord", "input_image", "input_indexed", "input_map", "input_get_next"]
PEERS = ["tensorflow", "torch", "jax"]
PEERS_OF = {row: ["tensorflow", "torch"] for row in INPUT_ROWS + CLUSTER_ROWS}
PEERS_OF["input_json"] = ["pyarrow"]
PEERS_OF["input_tfrecord"] = PEERS_OF["input_get_next"] = ["tensorflow"]  # PyTorch has no such thing
PEERS_OF["cluster_parallel_2"] = PEERS_OF["attention"] = PEERS_OF["attention_gradient"] = ["torch"]
PEERS_OF.update({row: ["torch", "jax"] for row in ROWS[ROWS.index("stencil"):]})
PEERS_OF.update({row: ["tensorflow", "torch", "ray"] for row in CLUSTER_ROWS[:6]})
HIGHER_IS_BETTER = {"steps/s", "GFLOP/s", "GB/s"}


def is_cluster(row):
    return row.startswith("cluster_")


def measure(command, threads, environment):
    """The JSON lines that one program prints, run on as many cores as it may use threads."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    result = subprocess.run(["taskset", "-c", ",".join(map(str, cores))] + command, capture_output=True, text=True,
                            env={**os.environ, **environment})
    lines = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    if result.returncode != 0 or not lines:
        print(f"{' '.join(command)} failed:\n{result.stderr[-2000:]}", file=sys.stderr)
    return lines


def show(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tenon", required=True, help="the program peer_rows; input_peer_rows and net_peer_rows are beside it")
    parser.add_argument("--python", action="append", default=[], metavar="PEER=INTERPRETER",
                        help="the interpreter that has the peer; a peer without one is left out")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rows", nargs="+", default=ROWS + INPUT_ROWS + CLUSTER_ROWS)
    options = parser.parse_args()
    interpreters = dict(entry.split("=", 1) for entry in options.python)
    peers = [peer for peer in PEERS + ["ray", "pyarrow"] if peer in interpreters]
    cluster_program = os.path.join(os.path.dirname(options.tenon), "net_peer_rows")
    input_program = os.path.join(os.path.dirname(options.tenon), "input_peer_rows")
    if not os.access(input_program, os.X_OK):
        print(f"there is no {input_program}: the rows of input are left out", file=sys.stderr)
        options.rows = [row for row in options.rows if row not in INPUT_ROWS]
    if not os.access(cluster_program, os.X_OK):
        print(f"there is no {cluster_program}: the cluster rows are left out", file=sys.stderr)
        options.rows = [row for row in options.rows if not is_cluster(row)]

    def threads_of(row):
        return [max(options.threads)] if is_cluster(row) else options.threads

    def command_of(row, system):
        if system == "tenon":
            return [cluster_program if is_cluster(row) else input_program if row in INPUT_ROWS else options.tenon]
        return [interpreters[system], os.path.join(HERE, f"{system}_{'cluster' if is_cluster(row) else 'rows'}.py")]

    def takes_part(row, system):
        return system == "tenon" or system in PEERS_OF.get(row, PEERS)

    found = {}  # (row, threads, system, way): values
    units = {}

    def one_round():
        for row in options.rows:
            for threads in threads_of(row):
                environment = {"OMP_NUM_THREADS": str(threads), "TENON_THREADS": str(threads)}
                for system in ["tenon"] + peers:
                    if not takes_part(row, system):
                        continue
                    command = command_of(row, system) + ["--row", row, "--threads", str(threads)]
                    for line in measure(command, threads, environment):
                        units[row] = line["unit"]
                        found.setdefault((row, threads, system, line.get("way", "")), []).append(line["value"])

    try:
        for number in range(1, options.rounds + 1):
            one_round()
            print(f"round {number} of {options.rounds} done", file=sys.stderr)
    except KeyboardInterrupt:
        print("stopped; the table is of what was measured until now", file=sys.stderr)

    columns = ["row", "unit", "threads", "Tenon"] + peers + ["Tenon is faster than the fastest by"]
    table = [columns]
    for row in options.rows:
        for threads in threads_of(row):
            medians = {}
            for (r, t, system, way), values in found.items():
                if (r, t) == (row, threads):
                    medians.setdefault(system, {})[way] = statistics.median(values)
            cells = []
            for system in ["tenon"] + peers:
                ways = medians.get(system, {})
                cells.append("; ".join(f"{way} {show(v)}".strip() for way, v in ways.items()) or "-")
            higher = units.get(row) in HIGHER_IS_BETTER
            others = [v for peer in peers for v in medians.get(peer, {}).values()]
            ratio = "-"
            if others and "tenon" in medians:
                ours = next(iter(medians["tenon"].values()))
                best = max(others) if higher else min(others)
                ratio = f"{ours / best if higher else best / ours:.2f}"
            table.append([row, units.get(row, "-"), str(threads)] + cells + [ratio])
    widths = [max(len(line[i]) for line in table) for i in range(len(columns))]
    for number, line in enumerate(table):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


main()
