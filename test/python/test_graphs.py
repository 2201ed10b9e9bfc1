"""Graphs that C++ has written: what is in them, how they are shown."""

import pathlib
import pickle
import unittest

import tenon
from support import trained


class Graphs(unittest.TestCase):
    def setUp(self):
        self.names = trained().names
        self.graph = tenon.read_graph("model.json")

    def test_inputs_outputs_and_variables(self):
        g = self.graph
        self.assertEqual({n: (t.dtype, t.shape) for n, t in g.inputs.items()}, {"x": ("float", ("batch", 3)), "y": ("float", ("batch", 1))})
        self.assertEqual(list(g.outputs), [self.names["loss"]])
        self.assertEqual({n: t.shape for n, t in g.variables.items()}, {"w1": (3, 4), "b1": (4,), "w2": (4, 1), "global_step": ()})
        self.assertEqual(set(g.trainable), {"w1", "b1", "w2"})
        self.assertIn(self.names["step"], [o.name for o in g.operations])
        self.assertEqual([t.name for t in g.collection("trainable_variables")], ["w1", "b1", "w2"])

    def test_nodes(self):
        g = self.graph
        self.assertEqual(len(g.nodes), len(g))
        guess = g.node(self.names["guess"])
        self.assertEqual((guess.op, guess.inputs[1], guess.outputs[0].shape), ("matmul", g["w2"], ("batch", 1)))
        self.assertEqual((guess.device, guess.container, guess.controls), ("", "", []))
        self.assertEqual(g["w1"].node, g.node("w1"))
        self.assertEqual(g["w1:1"].name, "w1:1")  # a variable's current value
        self.assertNotEqual(g["w1"], g["w1:1"])
        self.assertEqual(len({g["w1"], g["w1"], g["b1"]}), 2)
        self.assertTrue("w1" in g and "w3" not in g)
        step = g.node(self.names["step"])
        self.assertEqual(step.outputs, [])
        self.assertTrue(step.controls)

    def test_shown(self):
        g = self.graph
        self.assertEqual(repr(g["x"]), "tenon.Tensor x: float[batch, 3]")
        self.assertEqual(repr(g.node(self.names["guess"])).split("(")[0], "tenon.Node " + self.names["guess"] + " = matmul")
        self.assertRegex(repr(g), rf"tenon.Graph of model.json: {len(g)} nodes, 4 variables\n  input x: float\[batch, 3\]")
        self.assertRegex(g.summary(), r"\n  variable w1 +float\[3, 4\] trainable\n(.*\n)*  20 parameters; all variables have 88 B$")
        picture = g.mermaid([self.names["loss"]])
        self.assertTrue(picture.startswith("flowchart"), picture[:40])
        self.assertIn("float[batch, 3]", picture)
        self.assertLess(len(picture), len(g.mermaid()))
        self.assertEqual(g.mermaid(g[self.names["loss"]]), picture)
        self.assertTrue(g.dot().startswith("digraph"))

    def test_text_and_back(self):
        again = tenon.graph_from_json(self.graph.to_json())
        self.assertEqual(again.to_json(), pathlib.Path("model.json").read_text())
        self.assertEqual(list(again.inputs), ["x", "y"])

    def test_tensors_keep_their_graph(self):
        t = tenon.read_graph("model.json")["w1"]
        self.assertEqual((t.name, t.shape, t.node.op), ("w1", (3, 4), "variable"))

    def test_onnx(self):
        g = tenon.read_onnx("model.onnx")
        self.assertEqual((list(g.inputs), list(g.outputs), list(g.variables)), (["features"], ["guess"], []))
        g = tenon.read_onnx("model.onnx", variables=True, sizes={"features": [5, 3]})
        self.assertEqual(g["guess"].shape, (5, 1))
        self.assertEqual(sorted(t.shape for t in g.variables.values()), [(3, 4), (4,), (4, 1)])

    def test_what_is_refused(self):
        pathlib.Path("bad.json").write_text('{"format": "tenon graph", "version": 1, "nodes": [{"name": "a", "op": "teleport"}]}')
        pathlib.Path("cut.json").write_text('{"format": "tenon')
        pathlib.Path("bytes.json").write_bytes(b"\xff\xfe")
        for what, kind, code, says in (
            (lambda: self.graph["w"], KeyError, "not_found", 'no node "w" among its .*; similar names: w1'),
            (lambda: self.graph["w1:7"], ValueError, "invalid_argument", "w1 has 2 outputs"),
            (lambda: self.graph[self.names["step"]], ValueError, "invalid_argument", "is an operation without a tensor"),
            (lambda: self.graph.mermaid(self.names["step"]), ValueError, "invalid_argument", "is an operation without a tensor"),
            (lambda: tenon.read_graph("none.json"), KeyError, "not_found", "read_graph: 'none.json': No such file"),
            (lambda: tenon.read_graph("bad.json"), ValueError, "invalid_argument", "teleport"),
            (lambda: tenon.read_graph("cut.json"), tenon.DataLossError, "data_loss", ""),
            (lambda: tenon.read_graph(pathlib.Path("bytes.json")), tenon.DataLossError, "data_loss", r"\\xff"),
            (lambda: tenon.read_onnx("model.json"), tenon.DataLossError, "data_loss", ""),
        ):
            with self.assertRaisesRegex(kind, says) as caught:
                what()
            self.assertIsInstance(caught.exception, tenon.Error)
            self.assertEqual((caught.exception.code, caught.exception.reason), (code, ""))

    def test_classes_of_errors(self):
        self.assertTrue(issubclass(tenon.EndOfDataError, tenon.OutOfRangeError) and issubclass(tenon.OutOfRangeError, IndexError))
        self.assertTrue(issubclass(tenon.DeadlineExceededError, TimeoutError))
        self.assertEqual(str(tenon.NotFoundError("as it is")), "as it is")  # KeyError's would be in quotes
        self.assertEqual(str(pickle.loads(pickle.dumps(tenon.InternalError("x")))), "x")


if __name__ == "__main__":
    unittest.main()
