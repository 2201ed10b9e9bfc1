#!/usr/bin/env python3
"""Dask: each task runs in a thread of one of its workers. Start Dask (or go to a cluster that runs), and start the program on it:

    dask scheduler & dask worker --nworkers 3 tcp://localhost:8786 &
    python3 dask_workers.py tcp://localhost:8786 --ps 1 --workers 2 -- ./train --checkpoint train

The program and the command tenon must be on all hosts. Between them all is encrypted, with keys of this run alone.
"""
import argparse, os, pathlib, socket, subprocess, sys, tempfile

from distributed import Client


def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]


def run(command, variables, keys):
    with tempfile.TemporaryDirectory() as folder:  # this user's alone
        for name, text in keys.items():
            pathlib.Path(folder, name).write_text(text)
        variables |= {"TENON_CERTIFICATE": f"{folder}/certificate.pem", "TENON_KEY": f"{folder}/key.pem",
                      "TENON_AUTHORITIES": f"{folder}/authorities.pem"}
        return subprocess.run(command, env=os.environ | variables).returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("scheduler")
    parser.add_argument("--ps", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("command", nargs="+")
    o = parser.parse_args()
    client = Client(o.scheduler)
    client.wait_for_workers(1)
    workers = client.scheduler_info()["workers"]
    threads = [(a, w["host"]) for n in range(max(w["nthreads"] for w in workers.values())) for a, w in workers.items() if n < w["nthreads"]]
    tasks = threads[:o.ps + o.workers]
    if len(tasks) < o.ps + o.workers:
        sys.exit(f"{o.ps + o.workers} tasks run at once, but Dask has {len(threads)} threads")
    with tempfile.TemporaryDirectory() as folder:
        hosts = ",".join(sorted({host for _, host in tasks}))
        subprocess.run(["tenon", "certificates", "--force", "--hosts", hosts, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        keys = {p.name: p.read_text() for p in pathlib.Path(folder).iterdir()}
    port = client.submit(free_port, workers=[tasks[0][0]], pure=False).result()
    ends = [client.submit(run, o.command, {"TENON_RANK": str(rank), "TENON_TASKS": str(len(tasks)), "TENON_PS_TASKS": str(o.ps),
                                           "TENON_RENDEZVOUS": f"{tasks[0][1]}:{port}", "TENON_HOST": host}, keys,
                          workers=[address], allow_other_workers=False, pure=False)
            for rank, (address, host) in enumerate(tasks)]
    sys.exit(max(client.gather(ends), key=abs))


if __name__ == "__main__":
    main()
