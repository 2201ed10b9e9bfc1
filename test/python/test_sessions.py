"""Sessions in this process: what C++ has trained, run from Python, equals NumPy."""

import gc
import itertools
import os
import pathlib
import signal
import sys
import threading
import time
import unittest

import numpy as np
import tenon
from support import guess_of, imported, needs, trained

trained()


class Running(unittest.TestCase):
    def setUp(self):
        self.names = trained().names
        self.sess = tenon.Session(tenon.read_graph("model.json"))
        self.addCleanup(self.sess.close)
        self.sess.restore("weights.safetensors")
        self.x, self.y = trained().data()

    def test_what_was_trained_is_numpys(self):
        loss, guess = self.sess.run([self.names["loss"], self.names["guess"]], {"x": self.x, "y": self.y})
        expected = guess_of(tenon.read_weights("weights.safetensors"), self.x)
        np.testing.assert_allclose(guess.numpy(), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(float(loss), np.mean((expected - self.y) ** 2), rtol=1e-5)
        self.assertEqual(float(loss), np.float32(trained().names["value"]))  # as C++ had it

    def test_training_goes_on_as_numpy_would(self):
        w = {n: a.numpy().astype(np.float64) for n, a in self.sess.variables().items()}
        x, y = self.x.astype(np.float64), self.y.astype(np.float64)
        hidden = np.tanh(x @ w["w1"] + w["b1"])
        error = 2 * (hidden @ w["w2"] - y) / len(y)
        back = (error @ w["w2"].T) * (1 - hidden**2)
        expected = {"w1": w["w1"] - 0.1 * x.T @ back, "b1": w["b1"] - 0.1 * back.sum(0), "w2": w["w2"] - 0.1 * hidden.T @ error}
        self.assertIsNone(self.sess.run(self.names["step"], {"x": self.x, "y": self.y}))
        for name, after in self.sess.variables(["w1", "b1", "w2"]).items():
            np.testing.assert_allclose(after.numpy(), expected[name], rtol=1e-5, atol=1e-6)
        self.assertEqual(self.sess.run("global_step").item(), int(w["global_step"]) + 1)

    def test_what_is_fetched_keeps_its_form(self):
        got = self.sess.run({"a": "w1", "b": ("w2", [self.sess.graph["b1"], self.names["step"]])}, {"x": self.x, "y": self.y})
        self.assertEqual((got["a"].shape, got["b"][0].shape, got["b"][1][0].shape, got["b"][1][1]), ((3, 4), (4, 1), (4,), None))
        self.assertIsInstance(got["b"], tuple)
        self.assertEqual(self.sess.run([]), [])
        self.assertEqual(self.sess.run("x", {self.sess.graph["x"]: [[1, 2, 3]]}).tolist(), [[1, 2, 3]])

    def test_feeds_of_every_kind(self):
        want = self.sess.run(self.names["guess"], {"x": self.x}).numpy()
        still = self.x.copy()
        still.flags.writeable = False
        for given in (self.x, still, np.asfortranarray(self.x), self.x.tolist(), tenon.Array(self.x), memoryview(self.x),
                      [row for row in self.x], np.repeat(self.x, 2, axis=0)[::2]):
            np.testing.assert_array_equal(self.sess.run(self.names["guess"], {"x": given}).numpy(), want)

    @needs("torch")
    def test_torch(self):
        torch = imported("torch")
        x = torch.from_numpy(self.x)
        got = torch.from_dlpack(self.sess.run(self.names["guess"], {"x": x}))
        w = self.sess.variables()
        w1, b1, w2 = (torch.from_dlpack(w[n]) for n in ("w1", "b1", "w2"))
        torch.testing.assert_close(got, torch.tanh(x @ w1 + b1) @ w2)
        torch.testing.assert_close(torch.from_dlpack(self.sess.run(self.names["guess"], {"x": x[:, [2, 1, 0]].flip(1)})), got)
        with self.assertRaisesRegex(RuntimeError, "requires grad"):
            self.sess.run("x", {"x": x.clone().requires_grad_()})

    def test_what_was_fed_is_given_back(self):
        x = self.x.copy()
        kept = sys.getrefcount(x)
        for _ in range(3):
            self.sess.run(self.names["guess"], {"x": x})
        until = time.monotonic() + 20  # the thread that ran it lets go of it soon, and the interpreter frees it then
        while sys.getrefcount(x) != kept and time.monotonic() < until:
            time.sleep(0)  # lets go of the interpreter's lock: what other threads have put aside is freed when it is taken again
        self.assertEqual(sys.getrefcount(x), kept)

    def test_what_is_fetched_outlives_the_session_and_is_nobody_elses(self):
        sess = tenon.Session(tenon.read_graph("model.json"))
        sess.restore("weights.safetensors")
        w1 = sess.run("w1")
        seen = np.from_dlpack(w1)
        want = seen.copy()
        seen[...] = 0  # the variable is as it was
        np.testing.assert_array_equal(sess.run("w1").numpy(), want)
        sess.close()
        del sess, w1
        gc.collect()
        self.assertEqual(seen.sum(), 0)

    def test_variables_are_assigned_saved_and_restored(self):
        self.sess.assign({"b1": [1, 2, 3, 4], "w2": np.ones((4, 1), np.float32)})
        self.assertEqual(self.sess.run("b1").tolist(), [1, 2, 3, 4])
        self.assertEqual(self.sess.save(pathlib.Path("ours.safetensors")), "ours.safetensors")
        path = self.sess.save("ours/model", step=7) if os.path.isdir("ours") or not os.mkdir("ours") else None
        self.sess.initialize()
        self.assertEqual(self.sess.run("b1").tolist(), [0, 0, 0, 0])
        for source in ("ours.safetensors", path, "ours/model", pathlib.Path("ours.safetensors")):
            self.sess.assign({"b1": [0, 0, 0, 0]})
            self.assertEqual(sorted(self.sess.restore(source)["loaded"]), ["b1", "global_step", "w1", "w2"])
            self.assertEqual(self.sess.run("b1").tolist(), [1, 2, 3, 4])
        tenon.write_safetensors("part.safetensors", {"b1": np.full(4, 9, np.float32), "other": [1]})
        report = self.sess.restore("part.safetensors", partial=True)
        self.assertEqual((report["loaded"], report["unused"], sorted(report["missing"])), (["b1"], ["other"], ["global_step", "w1", "w2"]))
        self.assertEqual(self.sess.run("b1").tolist(), [9, 9, 9, 9])
        with self.assertRaisesRegex(KeyError, "w1"):
            self.sess.restore("part.safetensors")
        with self.assertRaisesRegex(ValueError, "give the prefix, 'ours/model-7', or"):
            self.sess.save("ours/model-7.json")

    def test_what_a_step_takes_and_where_it_runs(self):
        feeds = {"x": self.x, "y": self.y}
        report = self.sess.report(self.names["loss"], feeds)
        self.assertGreater(report["nodes"], 0)
        self.assertEqual(len(report["order"]), report["nodes"])
        self.assertIn("w1", self.sess.explain_placement(self.names["loss"], feeds))
        self.assertEqual(self.sess.devices[0]["name"].split("/")[-1], "device:CPU:0")
        self.assertRegex(repr(self.sess), "tenon.Session in this process, of [0-9]+ nodes of model.json")

    def test_onnx_is_the_same_network(self):
        want = self.sess.run(self.names["guess"], {"x": self.x}).numpy()
        with tenon.Session(tenon.read_onnx("model.onnx")) as sess:
            np.testing.assert_allclose(sess.run("guess", {"features": self.x}).numpy(), want, rtol=1e-5, atol=1e-6)

    def test_what_is_refused(self):
        run = self.sess.run
        fresh = tenon.Session(self.sess.graph)
        self.addCleanup(fresh.close)
        within_itself = {}
        within_itself["a"] = [within_itself]
        for what, kind, says in (
            (lambda: run(within_itself), RecursionError, "in what is fetched"),
            (lambda: run("nobody"), KeyError, 'no node "nobody"'),
            (lambda: run("x", {"X": self.x}), KeyError, r'feeds: .*no node "X".*its placeholders are x: float\[batch, 3\], y: '),
            (lambda: run(self.names["guess"]), ValueError, r"placeholder x of type float\[batch, 3\] must be fed"),
            (lambda: run("x", {"x": self.x.astype(np.float64)}), ValueError, "the elements are double, not float"),
            (lambda: run("x", {"x": [[1, 2]]}), ValueError, r"it is float\[batch, 3\], the value is float\[1, 2\]"),
            (lambda: run("x", {"x": [["a"]]}), ValueError, "feed of x: a text stands where numbers are asked for"),
            (lambda: run(self.names["loss"], {"x": self.x, "y": self.y[1:]}), ValueError, "batch"),
            (lambda: run("x", {self.names["step"]: 1}), ValueError, "is an operation without a tensor"),
            (lambda: run("x", [1]), TypeError, "feeds is a dict"),
            (lambda: run(3), TypeError, "said by its name, a tenon.Tensor or a tenon.Node, not by a int"),
            (lambda: run("x", {"x": object()}), TypeError, "feed of x: object is no array"),
            (lambda: run(tenon.read_graph("model.json")["x"]), ValueError, "graph"),
            (lambda: run("x", {"x": self.x}, timeout=-1), ValueError, "-1"),
            (lambda: self.sess.assign({"x": self.x}), ValueError, "x is no variable but made by placeholder"),
            (lambda: self.sess.assign({"b1": [1, 2]}), ValueError, r"float\[4\]"),
            (lambda: self.sess.variables("w1"), TypeError, "list of names"),
            (lambda: fresh.run("w1"), RuntimeError, "w1"),
            (lambda: tenon.Session(self.sess.graph, timeout=-1), ValueError, "operation_timeout"),
            (lambda: tenon.Session(self.sess.graph, "teapot://here"), ValueError, "teapot"),
        ):
            with self.subTest(says), self.assertRaisesRegex(kind, says):
                what()
        self.sess.close()
        self.assertIn("closed", repr(self.sess))
        with self.assertRaisesRegex(tenon.FailedPreconditionError, "Session is closed."):
            run("w1")


    def test_more_kinds_of_steps_than_are_kept(self):
        sizes = {"w1": 12, "b1": 4, "w2": 4, "global_step": 1}
        for names in itertools.product(sizes, repeat=4):
            self.assertEqual([a.size for a in self.sess.run(names)], [sizes[n] for n in names])


class Types(unittest.TestCase):
    def test_every_element_type(self):
        graph = tenon.read_graph("types.json")
        with tenon.Session(graph) as sess:
            for name, y in trained().of_types.items():
                with self.subTest(name):
                    if name == "string":
                        got = sess.run(y, {"x_string": [["a", b"\xfe"], ["", "bü"]]})
                        self.assertEqual(got.tolist(as_bytes=True), [[b"A", b"\xfe"], [b"", "Bü".encode()]])
                        continue
                    values = [[0, 1], [1, 1], [0, 0]]
                    got = sess.run(y, {"x_" + name: values})
                    self.assertEqual((got.dtype, got.shape), (name, (2, 3)))
                    self.assertEqual(got.tolist(), np.array(values).T.tolist())
                    again = sess.run(y, {"x_" + name: tenon.Array(values, name)})
                    self.assertEqual(again.tolist(), got.tolist())
                    if name != "bfloat16":
                        self.assertEqual(sess.run(y, {"x_" + name: again.numpy().T}).tolist(), got.tolist())

    def test_numbers_that_do_not_fit(self):
        with tenon.Session(tenon.read_graph("types.json")) as sess:
            for name, value in (("uint8", 256), ("int8", -129), ("bool", 2), ("int32", 0.5), ("uint64", -1)):
                with self.assertRaisesRegex(tenon.InvalidArgumentError, "feed of x_" + name):
                    sess.run("x_" + name, {"x_" + name: [[0, value]]})


class Waiting(unittest.TestCase):
    def setUp(self):
        self.put, self.got = trained().waits["put"], trained().waits["got"]
        self.sess = tenon.Session(tenon.read_graph("waits.json"))
        self.addCleanup(self.sess.close)

    def in_thread(self, what):
        def run():
            try:
                self.result = what()
            except BaseException as e:
                self.result = e

        thread = threading.Thread(target=run)
        thread.start()
        return thread

    def test_others_go_on_while_a_step_waits(self):
        waiting = self.in_thread(lambda: self.sess.run(self.got).item())
        self.sess.run(self.put, {"x": 4})
        waiting.join()
        self.assertEqual(self.result, 4)

    def test_time_limits(self):
        with self.assertRaises(tenon.DeadlineExceededError) as caught:
            self.sess.run(self.got, timeout=0.01)
        self.assertIsInstance(caught.exception, TimeoutError)
        with tenon.Session(self.sess.graph, timeout=0.01) as sess, self.assertRaises(TimeoutError):
            sess.run(self.got)

    def test_interrupted(self):
        interrupting = threading.Thread(target=lambda: os.kill(os.getpid(), signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):
            interrupting.start()
            self.sess.run(self.got)
        interrupting.join()
        self.sess.run(self.put, {"x": 3})  # and nothing has been taken
        self.assertEqual(self.sess.run(self.got).item(), 3)

    def test_closed_while_it_waits(self):
        waiting = self.in_thread(lambda: self.sess.run(self.got))
        self.sess.run(self.put, {"x": 1})
        waiting.join()
        waiting = self.in_thread(lambda: self.sess.run(self.got))
        self.sess.close()
        waiting.join()
        self.assertIsInstance(self.result, (tenon.CancelledError, tenon.FailedPreconditionError))


class Threads(unittest.TestCase):
    def test_steps_of_many_threads(self):
        names = trained().names
        weights = tenon.read_weights("weights.safetensors")
        wrong = []
        with tenon.Session(tenon.read_graph("model.json")) as sess:
            sess.restore("weights.safetensors")

            def ask(seed):
                random = np.random.default_rng(seed)
                for _ in range(50):
                    x = random.standard_normal((random.integers(1, 9), 3), dtype=np.float32)
                    kept = sys.getrefcount(x)
                    got = sess.run(names["guess"], {"x": x[::-1] if seed % 2 else x}).numpy()
                    want = guess_of(weights, x)
                    if not np.allclose(got, want[::-1] if seed % 2 else want, rtol=1e-4, atol=1e-5) or sys.getrefcount(x) != kept:
                        wrong.append((seed, got, want))

            threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
