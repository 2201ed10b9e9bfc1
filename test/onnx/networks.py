# Writes small models of the kinds that ONNX's zoo has, with what ONNX Runtime computes for them, to a folder, as test/onnx/cases.py writes
# ONNX's own cases. Sizes of batches and sequences are names. Weights are random, of a seed.
#
#   networks.py FOLDER
import os
import sys

import numpy
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


class Net:
    """A graph while it is put together. A value is known by its name."""

    def __init__(self, seed=0):
        self.nodes, self.weights, self.count, self.seed = [], [], 0, seed
        self.random = numpy.random.default_rng(seed)

    def name(self, what):
        self.count += 1
        return f"{what}_{self.seed}_{self.count}" # graphs in others have names of their own

    def add(self, op, *inputs, outputs=1, **attributes):
        names = [self.name(op) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, array):
        name = self.name("weight")
        self.weights.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def integers(self, *numbers):
        return self.constant(numpy.array(numbers, "int64"))

    def weight(self, *sizes, scale=None):
        fan = numpy.prod(sizes[1:]) if len(sizes) > 1 else sizes[0]
        return self.constant((self.random.normal(size=sizes) * (scale or 1 / numpy.sqrt(fan))).astype("float32"))

    def graph(self, name, inputs, outputs):
        return helper.make_graph(self.nodes, name, inputs, outputs, self.weights)


def value(name, kind, *sizes):
    return helper.make_tensor_value_info(name, kind, sizes)


def convolution(g, x, inputs, outputs, size=3, norm=True, **attributes):
    attributes.setdefault("pads", [size // 2] * 4)
    y = g.add("Conv", x, g.weight(outputs, inputs // attributes.get("group", 1), size, size), g.weight(outputs), **attributes)
    if not norm:
        return y
    return g.add("BatchNormalization", y, g.weight(outputs), g.weight(outputs), g.weight(outputs), g.constant(g.random.uniform(0.5, 2, outputs).astype("float32")))


def residual():
    g = Net(1)
    x = g.add("Relu", convolution(g, "image", 3, 8, strides=[2, 2]))
    x = g.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for stride in (1, 2):
        a = g.add("Relu", convolution(g, x, 8, 8, strides=[stride] * 2))
        a = convolution(g, a, 8, 8)
        short = x if stride == 1 else convolution(g, x, 8, 8, 1, strides=[2, 2], pads=[0] * 4)
        x = g.add("Relu", g.add("Add", a, short))
    x = g.add("Flatten", g.add("GlobalAveragePool", x))
    g.nodes.append(helper.make_node("Gemm", [x, g.weight(10, 8), g.weight(10)], ["scores"], transB=1))
    return g.graph("residual", [value("image", FLOAT, "n", 3, 32, 32)], [value("scores", FLOAT, "n", 10)]), {
        "image": g.random.normal(size=(2, 3, 32, 32)).astype("float32")
    }


def mobile():
    g = Net(2)
    x = g.add("HardSwish", convolution(g, "image", 3, 8, strides=[2, 2]))
    a = g.add("Clip", convolution(g, x, 8, 24, 1, pads=[0] * 4), g.constant(numpy.float32(0)), g.constant(numpy.float32(6)))
    a = g.add("HardSwish", convolution(g, a, 24, 24, 5, group=24))
    s = g.add("GlobalAveragePool", a)
    s = g.add("Relu", convolution(g, s, 24, 6, 1, False, pads=[0] * 4))
    s = g.add("HardSigmoid", convolution(g, s, 6, 24, 1, False, pads=[0] * 4), alpha=1 / 6)
    a = convolution(g, g.add("Mul", a, s), 24, 8, 1, pads=[0] * 4)
    x = g.add("Add", x, a)
    x = g.add("ReduceMean", x, g.integers(2, 3), keepdims=0)
    g.nodes.append(helper.make_node("LogSoftmax", [x], ["scores"], axis=-1))
    return g.graph("mobile", [value("image", FLOAT, "n", 3, 16, 16)], [value("scores", FLOAT, "n", 8)]), {
        "image": g.random.normal(size=(3, 3, 16, 16)).astype("float32")
    }


def up_and_down():
    g = Net(3)
    a = g.add("Relu", convolution(g, "image", 1, 4))
    b = g.add("Relu", convolution(g, g.add("AveragePool", a, kernel_shape=[2, 2], strides=[2, 2]), 4, 8))
    c = g.add("LeakyRelu", convolution(g, g.add("MaxPool", b, kernel_shape=[2, 2], strides=[2, 2]), 8, 8))
    u = g.add("ConvTranspose", c, g.weight(8, 8, 2, 2), g.weight(8), strides=[2, 2])
    u = g.add("Relu", convolution(g, g.add("Concat", u, b, axis=1), 16, 4))
    u = g.add("Resize", u, "", g.constant(numpy.array([1, 1, 2, 2], "float32")), mode="linear", coordinate_transformation_mode="half_pixel")
    u = convolution(g, g.add("Concat", u, a, axis=1), 8, 2, 1, False, pads=[0] * 4)
    g.nodes.append(helper.make_node("ArgMax", [u], ["mask"], axis=1, keepdims=0))
    return g.graph("up_and_down", [value("image", FLOAT, "n", 1, 16, 16)], [value("mask", INT64, "n", 16, 16)]), {
        "image": g.random.normal(size=(2, 1, 16, 16)).astype("float32")
    }


def size_of(g, x, axis):
    """As exporters write a size that is known at run time."""
    return g.add("Unsqueeze", g.add("Gather", g.add("Shape", x), g.constant(numpy.int64(axis)), axis=0), g.integers(0))


def attention(g, x, width, heads, mask):
    sizes = [size_of(g, x, 0), size_of(g, x, 1)]
    apart = g.add("Concat", *sizes, g.integers(heads), g.integers(width // heads), axis=0)

    def side():
        y = g.add("Add", g.add("MatMul", x, g.weight(width, width)), g.weight(width))
        return g.add("Transpose", g.add("Reshape", y, apart), perm=[0, 2, 1, 3])

    q, k, v = side(), side(), side()
    scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.add("Div", scores, g.constant(numpy.float32(numpy.sqrt(width // heads))))
    p = g.add("Softmax", g.add("Add", scores, mask), axis=-1)
    y = g.add("Transpose", g.add("MatMul", p, v), perm=[0, 2, 1, 3])
    y = g.add("Reshape", y, g.add("Concat", *sizes, g.integers(width), axis=0))
    return g.add("Add", g.add("MatMul", y, g.weight(width, width)), g.weight(width))


def norm(g, x, width):
    return g.add("LayerNormalization", x, g.weight(width), g.weight(width), axis=-1)


def transformer():
    g, width = Net(4), 16
    x = g.add("Gather", g.weight(50, width), "words")
    time = g.add("Gather", g.add("Shape", "words"), g.constant(numpy.int64(1)), axis=0)
    places = g.add("Range", g.constant(numpy.int64(0)), time, g.constant(numpy.int64(1)))
    x = g.add("Add", x, g.add("Gather", g.weight(32, width), places))
    later = g.add("Less", g.add("Unsqueeze", places, g.integers(1)), places)
    mask = g.add("Where", later, g.constant(numpy.float32(-1e9)), g.constant(numpy.float32(0)))
    for _ in range(2):
        x = g.add("Add", x, attention(g, norm(g, x, width), width, 4, mask))
        h = g.add("Gelu", g.add("Add", g.add("MatMul", norm(g, x, width), g.weight(width, 32)), g.weight(32)))
        x = g.add("Add", x, g.add("Add", g.add("MatMul", h, g.weight(32, width)), g.weight(width)))
    g.nodes.append(helper.make_node("MatMul", [norm(g, x, width), g.weight(width, 50)], ["logits"]))
    return g.graph("transformer", [value("words", INT64, "n", "time")], [value("logits", FLOAT, "n", "time", 50)]), {
        "words": g.random.integers(0, 50, (2, 7))
    }


def triangle_mask():
    """Trilu of a matrix whose size is that of a sequence, and a cache of keys that is continued."""
    g, width = Net(5), 8
    time = size_of(g, "x", 1)
    ones = g.add("ConstantOfShape", g.add("Concat", time, time, axis=0), value=numpy_helper.from_array(numpy.array([-1e9], "float32")))
    mask = g.add("Trilu", ones, g.constant(numpy.int64(1)), upper=1)
    y = attention(g, "x", width, 2, mask)
    g.nodes.append(helper.make_node("Concat", ["past", "x"], ["present"], axis=1))
    g.nodes.append(helper.make_node("Tanh", [y], ["y"]))
    return (
        g.graph("triangle_mask", [value("x", FLOAT, "n", "time", width), value("past", FLOAT, "n", "past", width)],
                [value("y", FLOAT, "n", "time", width), value("present", FLOAT, "n", "all", width)]),
        {"x": g.random.normal(size=(2, 5, width)).astype("float32"), "past": g.random.normal(size=(2, 3, width)).astype("float32")},
    )


def recurrent(kind, gates, steps):
    g, hidden = Net(6 + gates), 6
    outputs = ["y", "last"] + (["cell"] if kind == "LSTM" else [])
    g.nodes.append(
        helper.make_node(kind, ["x", g.weight(2, gates * hidden, 4), g.weight(2, gates * hidden, hidden), g.weight(2, 2 * gates * hidden), "lengths"],
                         outputs, hidden_size=hidden, direction="bidirectional", **({"linear_before_reset": 1} if kind == "GRU" else {}))
    )
    given = [value("y", FLOAT, "time", 2, "n", hidden)] + [value(o, FLOAT, 2, "n", hidden) for o in outputs[1:]]
    return g.graph(kind, [value("x", FLOAT, "time", "n", 4), value("lengths", TensorProto.INT32, "n")], given), {
        "x": g.random.normal(size=(steps, 3, 4)).astype("float32"),
        "lengths": numpy.array([steps, 2, steps - 1], "int32"),
    }


def detector():
    g = Net(10)
    x = g.add("Relu", convolution(g, "image", 3, 8, strides=[2, 2]))
    x = g.add("Sigmoid", convolution(g, x, 8, 7, norm=False))
    x = g.add("Reshape", g.add("Transpose", x, perm=[0, 2, 3, 1]), g.integers(1, 64, 7))
    boxes, scores = g.add("Split", x, g.integers(4, 3), axis=2, outputs=2)
    chosen = g.add("NonMaxSuppression", boxes, g.add("Transpose", scores, perm=[0, 2, 1]), g.constant(numpy.int64(5)),
                   g.constant(numpy.float32(0.5)), g.constant(numpy.float32(0.4)), center_point_box=1)
    box = g.add("Gather", chosen, g.integers(2), axis=1)
    g.nodes.append(helper.make_node("Gather", [g.add("Squeeze", boxes, g.integers(0)), g.add("Squeeze", box, g.integers(1))], ["found"], axis=0))
    g.nodes.append(helper.make_node("Identity", [chosen], ["chosen"]))
    return g.graph("detector", [value("image", FLOAT, 1, 3, 16, 16)], [value("found", FLOAT, "boxes", 4), value("chosen", INT64, "boxes", 3)]), {
        "image": g.random.normal(size=(1, 3, 16, 16)).astype("float32")
    }


def decoder():
    """Words until one of them is 0, ten at most: a Loop that ends by what it computes."""
    inner = Net(11)
    table, out, again = inner.weight(20, 8, scale=1), inner.weight(8, 20, scale=2), inner.weight(8, 8)
    h = inner.add("Tanh", inner.add("Add", inner.add("MatMul", "state", again), inner.add("Gather", table, "word")))
    word = inner.add("ArgMax", inner.add("MatMul", h, out), axis=1, keepdims=0)
    # Each time it goes on more slowly, so that it ends after some.
    goes_on = inner.add("Less", inner.add("ReduceSum", inner.add("Abs", inner.add("Sub", h, "state")), keepdims=0), inner.constant(numpy.float32(1e9)))
    early = inner.add("Less", "number", inner.constant(numpy.int64(6)))
    inner.nodes.append(helper.make_node("And", [goes_on, early], ["more"]))
    for name, source in (("state_out", h), ("word_out", word), ("said", word)):
        inner.nodes.append(helper.make_node("Identity", [source], [name]))
    body = inner.graph(
        "body", [value("number", INT64), value("before", BOOL), value("state", FLOAT, 1, 8), value("word", INT64, 1)],
        [value("more", BOOL), value("state_out", FLOAT, 1, 8), value("word_out", INT64, 1), value("said", INT64, 1)])
    g = Net(12)
    g.nodes.append(helper.make_node("Loop", [g.constant(numpy.int64(10)), "begin", "start", g.integers(1)], ["state_end", "word_end", "words"], body=body))
    return g.graph("decoder", [value("start", FLOAT, 1, 8), value("begin", BOOL)], [value("words", INT64, "said", 1), value("state_end", FLOAT, 1, 8)]), {
        "start": g.random.normal(size=(1, 8)).astype("float32"),
        "begin": numpy.array(True),
    }


def branches():
    """If by a value of the step, and a Loop that repeats a number of times that is an input."""
    yes, no, body, g = Net(13), Net(14), Net(15), Net(16)
    yes.nodes.append(helper.make_node("MatMul", ["x", yes.weight(4, 4)], ["a"]))
    no.nodes.append(helper.make_node("Softplus", [no.add("Neg", "x")], ["b"]))
    mean = g.add("ReduceMean", "x", keepdims=0)
    y = g.add("If", g.add("Greater", mean, g.constant(numpy.float32(0))),
              then_branch=yes.graph("yes", [], [value("a", FLOAT, "n", 4)]), else_branch=no.graph("no", [], [value("b", FLOAT, "n", 4)]))
    body.nodes.append(helper.make_node("Sin", [body.add("Add", "v", "x")], ["v_out"]))
    body.nodes.append(helper.make_node("Identity", ["go"], ["go_out"]))
    loop = body.graph("body", [value("i", INT64), value("go", BOOL), value("v", FLOAT, "n", 4)], [value("go_out", BOOL), value("v_out", FLOAT, "n", 4)])
    g.nodes.append(helper.make_node("Loop", ["times", g.constant(numpy.array(True)), y], ["y"], body=loop))
    return g.graph("branches", [value("x", FLOAT, "n", 4), value("times", INT64)], [value("y", FLOAT, "n", 4)]), {
        "x": g.random.normal(size=(3, 4)).astype("float32"),
        "times": numpy.array(3),
    }


def experts():
    """Each row by the two experts that score it highest, put together by indices."""
    g = Net(17)
    chances, which = g.add("TopK", g.add("Softmax", g.add("MatMul", "x", g.weight(8, 4)), axis=-1), g.integers(2), outputs=2)
    zeros = g.add("Mul", g.add("MatMul", "x", g.weight(8, 4)), g.constant(numpy.float32(0)))
    gates = g.add("ScatterElements", zeros, which, chances, axis=1)
    each = g.add("Einsum", "x", g.weight(4, 8, 6), equation="bi,eio->beo")
    g.nodes.append(helper.make_node("Einsum", [each, gates], ["y"], equation="beo,be->bo"))
    return g.graph("experts", [value("x", FLOAT, "n", 8)], [value("y", FLOAT, "n", 6)]), {"x": g.random.normal(size=(5, 8)).astype("float32")}


def sound():
    """The logarithms of a mel spectrum, and a convolution over time."""
    g = Net(18)
    window = g.add("HannWindow", g.constant(numpy.int64(32)))
    y = g.add("STFT", "signal", g.constant(numpy.int64(16)), window, g.constant(numpy.int64(32)))
    power = g.add("ReduceSumSquare", y, g.integers(-1), keepdims=0)
    mel = g.add("MelWeightMatrix", *(g.constant(numpy.int64(i)) for i in (8, 32, 8000)), g.constant(numpy.float32(0)), g.constant(numpy.float32(4000)))
    y = g.add("Log", g.add("Add", g.add("MatMul", power, mel), g.constant(numpy.float32(1e-3))))
    y = g.add("Conv", g.add("Transpose", y, perm=[0, 2, 1]), g.weight(6, 8, 3), g.weight(6), pads=[1, 1], dilations=[1])
    g.nodes.append(helper.make_node("ReduceMax", [y, g.integers(2)], ["y"], keepdims=0))
    return g.graph("sound", [value("signal", FLOAT, "n", 256, 1)], [value("y", FLOAT, "n", 6)]), {"signal": g.random.normal(size=(2, 256, 1)).astype("float32")}


def quantised():
    g = Net(19)
    q, scale, zero = g.add("DynamicQuantizeLinear", "x", outputs=3)
    w = g.constant(g.random.integers(-100, 100, (8, 5)).astype("int8"))
    y = g.add("MatMulInteger", q, w, zero, g.constant(numpy.int8(3)))
    y = g.add("Mul", g.add("Cast", y, to=FLOAT), g.add("Mul", scale, g.constant(numpy.float32(0.01))))
    g.nodes.append(helper.make_node("Relu", [y], ["y"]))
    return g.graph("quantised", [value("x", FLOAT, "n", 8)], [value("y", FLOAT, "n", 5)]), {"x": g.random.normal(size=(4, 8)).astype("float32")}


def volume():
    g = Net(20)
    x = g.add("Relu", g.add("Conv", "x", g.weight(4, 2, 3, 3, 3), g.weight(4), pads=[1] * 6))
    x = g.add("MaxPool", x, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
    x = g.add("InstanceNormalization", x, g.weight(4), g.weight(4))
    x = g.add("ConvTranspose", x, g.weight(4, 1, 2, 2, 2), strides=[2, 2, 2])
    g.nodes.append(helper.make_node("Sigmoid", [x], ["y"]))
    return g.graph("volume", [value("x", FLOAT, "n", 2, 6, 8, 8)], [value("y", FLOAT, "n", 1, 6, 8, 8)]), {"x": g.random.normal(size=(2, 2, 6, 8, 8)).astype("float32")}


def save(folder, name, model, inputs, results):
    """What test/onnx/cases.cpp reads."""
    place = os.path.join(folder, name)
    os.makedirs(place)
    onnx.save(model, os.path.join(place, "model.onnx"))
    with open(os.path.join(place, "inputs"), "w") as f:
        f.writelines(i.name + "\n" for i in model.graph.input)
    for i, given in enumerate(model.graph.input):
        numpy.save(os.path.join(place, f"in{i}.npy"), inputs[given.name])
    for i, y in enumerate(results):
        numpy.save(os.path.join(place, f"out{i}.npy"), y)


def main(folder):
    makers = [residual, mobile, up_and_down, transformer, triangle_mask, detector, decoder, branches, experts, sound, quantised, volume]
    made = {m.__name__: m() for m in makers}
    made |= {"lstm": recurrent("LSTM", 4, 5), "gru": recurrent("GRU", 3, 5), "lstm_long": recurrent("LSTM", 4, 40), "rnn": recurrent("RNN", 1, 6)}
    for name, (graph, inputs) in made.items():
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        onnx.checker.check_model(model)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        save(folder, name, model, inputs, session.run(None, inputs))
    print(f"{len(made)} networks")


if __name__ == "__main__":
    main(sys.argv[1])
