"""A server on which C++ trains, with Python looking."""

import subprocess
import threading
import unittest

import numpy as np
import tenon
from support import programs


class Servers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.training = subprocess.Popen([programs / "trains_on_server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        cls.target = cls.training.stdout.readline().strip()

    @classmethod
    def tearDownClass(cls):
        cls.training.communicate(timeout=60)
        assert cls.training.returncode == 0

    def ask(self, line):
        """How many steps have run, and what C++ sees."""
        self.training.stdin.write(line + "\n")
        steps, value = self.training.stdout.readline().split()
        return int(steps), float(value)

    def test_variables_are_read_without_a_graph(self):
        steps, value = self.ask("steps 3")
        with tenon.attach(self.target, container="model") as seen:
            self.assertEqual({n: (t.dtype, t.shape) for n, t in seen.graph.variables.items()},
                             {"w": ("float", (50, 1000)), "count": ("int64", ())})
            np.testing.assert_array_equal(seen.run("w").numpy(), np.full((50, 1000), value, np.float32))
            self.ask("steps 2")
            self.assertEqual(seen.variables(["w"])["w"].numpy()[3, 4], value + 2)
            self.assertRegex(repr(seen), "tenon.Session on tenon://.* nodes of tenon://")
            with self.assertRaisesRegex(KeyError, "has no initial value"):
                seen.initialize()  # nothing begins anew

    def test_while_it_trains_no_read_is_torn(self):
        before, _ = self.ask("steps 1")
        self.ask("train")
        last = 0
        with tenon.attach(self.target, container="model") as seen:
            for _ in range(200):
                w = seen.run("w").numpy()
                self.assertEqual(w.min(), w.max())
                self.assertGreaterEqual(w[0, 0], last)
                last = w[0, 0]
            steps, value = self.ask("steps 0")
            self.assertEqual(seen.run("w").numpy()[0, 0], value)
        self.assertGreater(steps, before)
        self.assertGreater(last, before)

    def test_the_graph_that_it_trains_runs_from_here(self):
        _, value = self.ask("steps 0")
        with tenon.Session(tenon.read_graph("server.json"), self.target) as sess:
            self.assertEqual(sess.run("w").numpy()[7, 7], value)
            sess.run("w/assign_add")
            self.assertEqual(self.ask("steps 1")[1], value + 2)
            sess.assign({"w": np.full((50, 1000), 1000, np.float32)})
            self.assertEqual(self.ask("steps 1")[1], 1001)
            self.assertIn("/job:local", sess.devices[0]["name"])
            self.assertIn("w", sess.explain_placement("w"))

    def test_sessions_of_many_threads(self):
        got = []
        with tenon.attach(self.target, container="other") as seen:
            threads = [threading.Thread(target=lambda: got.extend(seen.run("v").tolist() for _ in range(20))) for _ in range(6)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(got, [[1, 1]] * 120)

    def test_status(self):
        steps, _ = self.ask("steps 1")
        told = tenon.status(self.target)
        variables = {v["name"]: v for task in told["tasks"] for v in task["variables"]}
        self.assertEqual((variables["w"]["type"], variables["w"]["container"]), ("float[50, 1000]", "model"))
        self.assertGreaterEqual(variables["w"]["updates"], steps)

    def test_containers_are_forgotten(self):
        with tenon.Session(tenon.read_graph("server.json"), self.target) as sess:
            self.assertEqual(sess.run("v").tolist(), [1, 1])
        tenon.reset(self.target, ["other"])
        with self.assertRaisesRegex(KeyError, 'no variable is in container "other"'):
            tenon.attach(self.target, container="other")
        with tenon.Session(tenon.read_graph("server.json"), self.target) as sess:
            with self.assertRaisesRegex(tenon.FailedPreconditionError, "v"):
                sess.run("v")
            sess.run("v/assign")
            self.assertEqual(sess.run("v").tolist(), [1, 1])

    def test_what_is_refused(self):
        for what, kind, says in (
            (lambda: tenon.attach(self.target), KeyError, 'no variable is in container "" of .*; there are: .*w in "model" on /job:local'),
            (lambda: tenon.attach(self.target, "model", device="/gpu:0"), KeyError, "no variable is in container \"model\" on /gpu:0"),
            (lambda: tenon.attach(self.target, "model", device="gpu"), ValueError, "gpu"),
            (lambda: tenon.attach("tenon://127.0.0.1:1", seconds=0.5), TimeoutError, "127.0.0.1:1: connection refused"),
            (lambda: tenon.status("127.0.0.1:1", seconds=0.5), TimeoutError, "127.0.0.1:1: connection refused"),
        ):
            with self.subTest(says), self.assertRaisesRegex(kind, says):
                what()


if __name__ == "__main__":
    unittest.main()
