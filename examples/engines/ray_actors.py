#!/usr/bin/env python3
"""Ray: each task is an actor, wherever Ray has room for it. Start Ray (or go to a cluster that runs), and start the program on it:

    ray start --head
    python3 ray_actors.py --ps 1 --workers 2 -- ./train --checkpoint train

The program and the command tenon must be on all nodes. Between nodes all is encrypted, with keys of this run alone.
"""
import argparse, os, pathlib, socket, subprocess, sys, tempfile

import ray


@ray.remote(num_cpus=1)
class Task:
    def place(self):
        """This node's address, and a port that is free there."""
        with socket.socket() as s:
            s.bind(("", 0))
            return ray.util.get_node_ip_address(), s.getsockname()[1]

    def run(self, command, variables, keys):
        with tempfile.TemporaryDirectory() as folder:  # this user's alone
            for name, text in keys.items():
                pathlib.Path(folder, name).write_text(text)
            variables |= {"TENON_CERTIFICATE": f"{folder}/certificate.pem", "TENON_KEY": f"{folder}/key.pem",
                          "TENON_AUTHORITIES": f"{folder}/authorities.pem"}
            return subprocess.run(command, env=os.environ | variables).returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ps", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("command", nargs="+")
    o = parser.parse_args()
    ray.init()
    tasks = [Task.remote() for _ in range(o.ps + o.workers)]
    places = ray.get([t.place.remote() for t in tasks])
    with tempfile.TemporaryDirectory() as folder:
        hosts = ",".join(sorted({host for host, _ in places}))
        subprocess.run(["tenon", "certificates", "--force", "--hosts", hosts, "--out", folder], check=True, stdout=subprocess.DEVNULL)
        keys = {p.name: p.read_text() for p in pathlib.Path(folder).iterdir()}
    ends = [t.run.remote(o.command, {"TENON_RANK": str(rank), "TENON_TASKS": str(len(tasks)), "TENON_PS_TASKS": str(o.ps),
                                     "TENON_RENDEZVOUS": "%s:%d" % places[0], "TENON_HOST": places[rank][0]}, keys)
            for rank, t in enumerate(tasks)]
    sys.exit(max(ray.get(ends), key=abs))


main()
