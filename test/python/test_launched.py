"""A cluster that `tenon launch` has started: its token is found, and each variable is read where it is."""

import pathlib
import subprocess
import unittest

import tenon
from support import command, programs


class Launched(unittest.TestCase):
    def test_a_run_on_this_machine_is_looked_at(self):
        run = subprocess.Popen([command, "launch", "--ps", "2", "--worker", "1", "--", programs / "trains_launched"],
                               stdout=subprocess.PIPE, text=True)
        try:
            target = next(line.split()[-1] for line in run.stdout if "target tenon://" in line)
            with tenon.attach(target) as seen:
                self.assertEqual({n: (t.dtype, t.shape) for n, t in seen.graph.variables.items()},
                                 {"a": ("float", (3,)), "b": ("double", (2, 2))})
                self.assertEqual({t.node.device.split("/device")[0] for t in seen.graph.variables.values()},
                                 {"/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1"})
                first = seen.run("a").tolist()
                while seen.run("a").tolist() == first:  # it trains
                    pass
                self.assertEqual(seen.run("b").tolist(), [[1, 1], [1, 1]])
            self.assertEqual(sorted(t["task"] for t in tenon.status(target)["tasks"]), ["/job:ps/task:0", "/job:ps/task:1", "/job:worker/task:0"])
            with tenon.attach(target, device="/job:ps/task:1") as seen:
                self.assertEqual(list(seen.graph.variables), ["b"])
        finally:
            pathlib.Path("enough").touch()
            run.communicate(timeout=60)
        self.assertEqual(run.returncode, 0)


if __name__ == "__main__":
    unittest.main()
