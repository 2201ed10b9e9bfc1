"""Files of weights: what C++ and others have written."""

import json
import pathlib
import unittest

import numpy as np
import tenon
from support import imported, needs, trained


class Files(unittest.TestCase):
    def setUp(self):
        trained()

    def test_safetensors(self):
        w = tenon.read_weights("weights.safetensors")
        self.assertEqual(list(w), ["b1", "global_step", "w1", "w2"])
        self.assertEqual((len(w), "w1" in w, "w3" in w, w.step, w.path), (4, True, False, None, "weights.safetensors"))
        self.assertEqual(w.metadata["made by"], "trained")
        self.assertEqual({n: a.shape for n, a in w.items()}, {"b1": (4,), "global_step": (), "w1": (3, 4), "w2": (4, 1)})
        self.assertEqual(dict(w).keys(), set(w.keys()))
        self.assertIn("\n  w1: float[3, 4]", repr(w))
        bytes_before = pathlib.Path("weights.safetensors").read_bytes()
        mapped = w["w1"].numpy()
        del w
        mapped[...] = 3  # stays in this process
        self.assertEqual(mapped.sum(), 36)
        self.assertEqual(pathlib.Path("weights.safetensors").read_bytes(), bytes_before)

    @needs("safetensors")
    def test_safetensors_by_their_own_library(self):
        from safetensors.numpy import load_file, save_file

        ours = tenon.read_weights("weights.safetensors")
        for name, value in load_file("weights.safetensors").items():
            np.testing.assert_array_equal(ours[name].numpy(), value)
        save_file({"a": np.eye(3, dtype=np.float16)}, "theirs.safetensors")
        np.testing.assert_array_equal(tenon.read_weights("theirs.safetensors")["a"].numpy(), np.eye(3))

    def test_checkpoints(self):
        last = tenon.read_weights("run/model")
        self.assertEqual((last.step, pathlib.Path(last.path).name), (40, "model-40.json"))
        weights = tenon.read_weights("weights.safetensors")
        for name in weights:
            np.testing.assert_array_equal(last[name].numpy(), weights[name].numpy())
        first = tenon.read_weights("run/model-10.json")
        self.assertEqual((first.step, first["global_step"].item()), (10, 10))
        self.assertFalse(np.array_equal(first["w1"].numpy(), last["w1"].numpy()))
        with tenon.Session(tenon.read_graph("model.json")) as sess:
            report = sess.restore("run/model-10.json")
            self.assertEqual((report["step"], report["path"]), (10, "run/model-10.json"))
            np.testing.assert_array_equal(sess.run("w1").numpy(), first["w1"].numpy())
            self.assertEqual(sess.restore("run/model")["step"], 40)

    def test_a_variable_in_parts_is_one_array(self):
        # As a saver writes one whose parts are on two tasks.
        rows = np.arange(12, dtype=np.float32).reshape(4, 3)
        tenon.write_safetensors("a.safetensors", {"t/part_0": rows[:1]})
        tenon.write_safetensors("b.safetensors", {"t/part_1": rows[1:]})
        slices = [{"tensor": "t/part_0", "first": 0, "rows": 1, "shard": 0}, {"tensor": "t/part_1", "first": 1, "rows": 3, "shard": 1}]
        xxhash = imported("xxhash")
        if not xxhash:
            self.skipTest("xxhash is not installed")
        shards = [
            {"file": f, "bytes": len(b), "hash": "xxh64:" + xxhash.xxh64(b).hexdigest(), "task": "/job:ps/replica:0/task:0"}
            for f in ("a.safetensors", "b.safetensors")
            for b in [pathlib.Path(f).read_bytes()]
        ]
        manifest = {"format": "tenon checkpoint", "version": 2, "step": 3, "id": "00000001", "shards": shards,
                    "tensors": {"t": {"dtype": "float", "shape": [4, 3], "slices": slices}}}
        pathlib.Path("parts.json").write_text(json.dumps(manifest))
        np.testing.assert_array_equal(tenon.read_weights("parts.json")["t"].numpy(), rows)

    def test_written_and_read(self):
        arrays = {"a": np.arange(6).reshape(2, 3).T, "b": [1.5, 2], "c": tenon.Array([True, False]), "d": np.float16(2) * np.ones(3, np.float16)}
        tenon.write_safetensors("mine.safetensors", arrays, {"about": "these"})
        w = tenon.read_weights("mine.safetensors")
        self.assertEqual({n: (a.dtype, a.tolist()) for n, a in w.items()},
                         {"a": ("int64", [[0, 3], [1, 4], [2, 5]]), "b": ("float", [1.5, 2]), "c": ("bool", [True, False]), "d": ("half", [2, 2, 2])})
        self.assertEqual(w.metadata["about"], "these")

    def test_what_is_refused(self):
        pathlib.Path("cut.safetensors").write_bytes(pathlib.Path("weights.safetensors").read_bytes()[:100])
        manifest = json.loads(pathlib.Path("run/model-40.json").read_text())
        shard = pathlib.Path("run") / manifest["shards"][0]["file"]
        damaged = bytearray(shard.read_bytes())
        damaged[-1] ^= 1
        pathlib.Path("damaged").mkdir(exist_ok=True)
        (pathlib.Path("damaged") / shard.name).write_bytes(damaged)
        pathlib.Path("damaged/model.json").write_text(json.dumps(manifest))
        for path, kind, says in (("none.safetensors", KeyError, "No such file"), ("none", KeyError, r"none.checkpoints.json': No such file"),
                                 ("cut.safetensors", tenon.DataLossError, ""), ("model.json", tenon.Error, ""),
                                 ("damaged/model.json", tenon.DataLossError, "not as it was written")):
            with self.subTest(path), self.assertRaisesRegex(kind, says):
                tenon.read_weights(path)
        self.assertEqual(tenon.read_weights(pathlib.Path("weights.safetensors")).path, "weights.safetensors")
        with self.assertRaisesRegex(KeyError, 'weights.safetensors has no "w"; it has b1 global_step w1 w2'):
            tenon.read_weights("weights.safetensors")["w"]
        with self.assertRaisesRegex(ValueError, "string"):
            tenon.write_safetensors("texts.safetensors", {"a": ["text"]})


if __name__ == "__main__":
    unittest.main()
