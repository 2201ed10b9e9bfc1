# Writes models of ONNX's first operator sets and of ai.onnx.ml, with what ONNX Runtime computes for them, or for the same model of a later set, as
# test/onnx/networks.py does.
#
#   older.py FOLDER
import sys

import numpy
import onnx
import onnxruntime
from networks import FLOAT, INT64, Net, save, value
from onnx import helper, numpy_helper


def run(model, inputs):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def of_set(graph, opset, ir_version=3):
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def classic(opset):
    """A network as Caffe2 and the first PyTorch wrote it, of an early set and of set 9. In early files weights are inputs, too."""

    def build(early):
        g = Net(1)
        old = {"consumed_inputs": [0, 0]} if early and opset < 6 else {}
        beside = {"broadcast": 1, "axis": 1} if early else {}

        def add(op, x, b, rank):  # along channels
            return g.add(op, x, b if early else g.add("Unsqueeze", b, axes=list(range(1, rank - 1))), **beside, **(old if early else {}))

        x = g.add("Conv", "image", g.weight(8, 3, 3, 3), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        x = add("Add", x, g.weight(8), 4)
        parts = [x, g.weight(8), g.weight(8), g.weight(8), g.constant(g.random.uniform(0.5, 2, 8).astype("float32"))]
        x = g.add("BatchNormalization", *parts, epsilon=1e-3, **({"is_test": 1} if early else {}), **({"consumed_inputs": [0, 0, 0, 1, 1]} if early and opset < 6 else {}))
        x = g.add("Relu", x)
        x = add("PRelu", x, g.weight(8), 4) if not early else g.add("PRelu", x, g.weight(8))
        x = g.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
        # SqueezeNet's branches.
        squeezed = g.add("Relu", g.add("Conv", x, g.weight(4, 8, 1, 1), g.weight(4), kernel_shape=[1, 1]))
        x = g.add("Concat", g.add("Conv", squeezed, g.weight(6, 4, 1, 1), kernel_shape=[1, 1]),
                  g.add("Conv", squeezed, g.weight(6, 4, 3, 3), kernel_shape=[3, 3], pads=[1] * 4), axis=1)
        x = g.add("LRN", x, size=3)
        x = g.add("Dropout", x, ratio=0.5, **({"is_test": 1} if early else {}))
        x = g.add("Pad", x, mode="constant", value=0.25, **{"paddings" if early and opset < 2 else "pads": [0, 0, 1, 0, 0, 0, 0, 1]})
        x = g.add("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
        x = g.add("LeakyRelu", x)
        x = g.add("Selu", x) if not early or opset >= 6 else g.add("Selu", x, alpha=1.67326319217681884765625, gamma=1.05070102214813232421875)
        whole = numpy.array([0, -1], "int64")
        x = g.add("Reshape", x, shape=[0, -1]) if early and opset < 5 else g.add("Reshape", x, g.constant(whole))
        x = g.add("Gemm", x, g.weight(10, 12 * 4 * 4), g.weight(10), transB=1, **({"broadcast": 1} if early else {}))
        x = g.add("Clip", x, min=-2.0, max=2.0) if early or opset < 11 else x
        x = g.add("Mul", x, g.constant(numpy.float32([1.5])), **({"broadcast": 1} if early else {}))
        x = g.add("Cast", g.add("Cast", x, to="DOUBLE" if early and opset < 6 else 11), to="FLOAT" if early and opset < 6 else FLOAT)
        g.nodes.append(helper.make_node("Softmax", [x], ["scores"], axis=1))
        image = value("image", FLOAT, "n", 3, 16, 16)
        graph = g.graph("classic", [image], [value("scores", FLOAT, "n", 10)])
        inputs = {"image": g.random.normal(size=(2, 3, 16, 16)).astype("float32")}
        return graph, inputs

    graph, inputs = build(False)
    results = run(of_set(graph, 9, 4), inputs)
    graph, inputs = build(True)
    graph.input.extend(helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in graph.initializer)
    model = of_set(graph, opset)
    onnx.checker.check_model(model)
    if opset == 1:
        del model.opset_import[:]  # as they were before there were sets
        model.ir_version = 2
    return model, inputs | {t.name: numpy_helper.to_array(t) for t in graph.initializer}, results


def broadcasts():
    """Where the second operand stands in the first, and other attributes that set 7 no longer has."""
    g, random = Net(2), numpy.random.default_rng(2)
    a, whole = random.normal(size=(2, 3, 4, 5)).astype("float32"), random.normal(size=(2, 3, 4, 5)).astype("float32")
    middle, end, first = (random.normal(size=s).astype("float32") for s in ((3, 4), (4, 5), (2,)))
    outputs = [
        g.add("Sub", "a", g.constant(middle), broadcast=1, axis=1),
        g.add("Div", "a", g.constant(end), broadcast=1),
        g.add("Mul", "a", g.constant(first), broadcast=1, axis=0),
        g.add("Add", "a", g.constant(whole)),
        g.add("Pow", g.add("Abs", "a"), g.constant(numpy.float32(2)), broadcast=1),
        g.add("Tile", "a", g.constant(numpy.float32(3)), g.constant(numpy.float32(1))),
        g.add("Upsample", "a", height_scale=2.0, width_scale=1.0, mode="nearest"),
        g.add("GlobalLpPool", "a", p=2.0),
        g.add("TopK", "a", k=2, axis=2, outputs=2)[0],
        g.add("Split", "a", axis=2, split=[1, 3], outputs=2)[1],
        g.add("Slice", "a", axes=[1, 3], starts=[1, -3], ends=[3, 5]),
    ]
    results = [
        a - middle[:, :, None], a / end, a * first[:, None, None, None], a + whole, numpy.abs(a) ** 2, numpy.tile(a, (1, 3, 1, 1)), numpy.repeat(a, 2, 2),
        numpy.sqrt((a**2).sum((2, 3), keepdims=True)), -numpy.sort(-a, 2)[:, :, :2], a[:, :, 1:], a[:, 1:3, :, 2:],
    ]
    graph = g.graph("broadcasts", [value("a", FLOAT, 2, 3, 4, 5)], [value(o, FLOAT, *r.shape) for o, r in zip(outputs, results)])
    return of_set(graph, 1), {"a": a}, [r.astype("float32") for r in results]


def forgotten():
    g, random = Net(3), numpy.random.default_rng(3)
    x = random.normal(size=(2, 3, 6, 7)).astype("float32")
    bias = numpy.float32([0.5, -1, 2])
    outputs = [
        g.add("ImageScaler", "x", bias=bias.tolist(), scale=0.25),
        g.add("Crop", "x", border=[1, 2, 3, 1]),
        g.add("Crop", "x", border=[1, 2, 0, 0], scale=[3, 4]),
        g.add("Affine", "x", alpha=2.0, beta=-1.0),
        g.add("ScaledTanh", "x", alpha=1.5, beta=0.5),
        g.add("ParametricSoftplus", "x", alpha=0.5, beta=2.0),
        g.add("Scale", "x", scale=3.0),
    ]
    results = [
        x * 0.25 + bias[:, None, None], x[:, :, 2:5, 1:4], x[:, :, 2:5, 1:5], 2 * x - 1, 1.5 * numpy.tanh(0.5 * x), 0.5 * numpy.log1p(numpy.exp(2 * x)), 3 * x,
    ]
    graph = g.graph("forgotten", [value("x", FLOAT, "n", 3, 6, 7)], [value(o, FLOAT, "n", *r.shape[1:]) for o, r in zip(outputs, results)])
    return of_set(graph, 7), {"x": x}, [r.astype("float32") for r in results]


def trees(random, count, columns, depth, modes):
    """Random ones: lists of their nodes, and of their leaves."""
    nodes = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves = []

    def grow(tree, level):
        at = nodes["treeids"].count(tree)
        leaf = level == 0 or (level < depth and random.random() < 0.2)
        row = (tree, at, int(random.integers(columns)), float(numpy.float32(random.integers(-4, 5) / 4)), "LEAF" if leaf else str(random.choice(modes)), 0, 0, int(random.random() < 0.3))
        for k, v in zip(nodes, row):
            nodes[k].append(v)
        if leaf:
            leaves.append((tree, at))
        else:
            here = len(nodes["treeids"]) - 1
            nodes["truenodeids"][here] = grow(tree, level - 1)
            nodes["falsenodeids"][here] = grow(tree, level - 1)
        return at

    for t in range(count):
        grow(t, depth)
    return {"nodes_" + k: v for k, v in nodes.items()}, leaves


def learned(seed, op, targets, transform="NONE", modes=("BRANCH_LEQ",), positive=False, base=(), **more):
    """An ensemble of trees, on rows of which some have values that are missing or equal to what they are compared with."""
    random = numpy.random.default_rng(seed)
    x = (random.integers(-6, 7, (40, 5)) / 4).astype("float32")
    x[random.random(x.shape) < 0.1] = numpy.nan
    lists, leaves = trees(random, 7, 5, 5, modes)
    says = "class" if op.endswith("Classifier") else "target"
    ids = [i for _ in leaves for i in range(targets if says == "target" or targets > 2 else 1)]
    each = len(ids) // len(leaves)
    lists |= {says + "_treeids": [t for t, _ in leaves for _ in range(each)], says + "_nodeids": [n for _, n in leaves for _ in range(each)], says + "_ids": ids}
    lists[says + "_weights"] = [float(numpy.float32(w)) for w in (random.random(len(ids)) / 7 if positive else random.normal(size=len(ids)))]
    if base:
        lists["base_values"] = list(base)
    outputs = ["y"]
    if says == "class":
        lists["classlabels_int64s"] = [10 * i + 3 for i in range(targets)]
        outputs = ["label", "y"]
    else:
        lists["n_targets"] = targets
    node = helper.make_node(op, ["x"], outputs, domain="ai.onnx.ml", post_transform=transform, **lists, **more)
    return of_learned([node], x, [value(o, INT64, "n") if o == "label" else value(o, FLOAT, "n", targets) for o in outputs])


def of_learned(nodes, x, outputs):
    graph = helper.make_graph(nodes, "learned", [value("x", FLOAT, "n", x.shape[1])], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 15)], ir_version=8)
    onnx.checker.check_model(model)
    return model, {"x": x}, run(model, {"x": x})


def lines():
    random = numpy.random.default_rng(9)
    x = random.normal(size=(6, 4)).astype("float32")
    x[1, 2] = numpy.nan
    ml, numbers = "ai.onnx.ml", lambda *s: random.normal(size=s).astype("float32").ravel().tolist()
    nodes = [
        helper.make_node("Imputer", ["x"], ["whole"], domain=ml, imputed_value_floats=numbers(4), replaced_value_float=float("nan")),
        helper.make_node("Scaler", ["whole"], ["scaled"], domain=ml, offset=numbers(4), scale=numbers(4)),
        *(helper.make_node("Normalizer", ["scaled"], [n.lower()], domain=ml, norm=n) for n in ("MAX", "L1", "L2")),
        helper.make_node("FeatureVectorizer", ["l1", "l2"], ["both"], domain=ml, inputdimensions=[4, 4]),
        helper.make_node("LinearRegressor", ["both"], ["y"], domain=ml, coefficients=numbers(2, 8), intercepts=numbers(2), targets=2),
        helper.make_node("LinearClassifier", ["both"], ["label", "chances"], domain=ml, coefficients=numbers(3, 8), intercepts=numbers(3), classlabels_ints=[5, 6, 7],
                         multi_class=1, post_transform="SOFTMAX"),
    ]
    return of_learned(nodes, x, [value("max", FLOAT, "n", 4), value("y", FLOAT, "n", 2), value("label", INT64, "n"), value("chances", FLOAT, "n", 3)])


def vectors(seed, classes, kernel, transform="NONE", chances=False, strings=False, alone=False):
    """A support vector machine of random vectors; of no classes a regression, alone where it weighs the rows themselves."""
    random = numpy.random.default_rng(seed)
    x = random.normal(size=(20, 4)).astype("float32")
    numbers = lambda *s: random.normal(size=s).astype("float32").ravel().tolist()
    more = dict(kernel_type=kernel, kernel_params=[0.3, 0.5, 3.0], post_transform=transform)
    if not classes:
        count = 0 if alone else 6
        node = helper.make_node("SVMRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_supports=count, coefficients=numbers(count or 4), rho=numbers(1),
                                one_class=int(kernel == "SIGMOID"), **(dict(support_vectors=numbers(count, 4)) if count else {}), **more)
        return of_learned([node], x, [value("y", FLOAT, "n", 1)])
    pairs, each = classes * (classes - 1) // 2, [3, 2, 4, 1, 3][:classes]
    if alone:
        more |= dict(coefficients=numbers(classes, 4), rho=numbers(classes))
    else:
        more |= dict(vectors_per_class=each, support_vectors=numbers(sum(each), 4), coefficients=numbers(classes - 1, sum(each)), rho=numbers(pairs))
    if chances:
        more |= dict(prob_a=[-abs(a) for a in numbers(pairs)], prob_b=numbers(pairs))
    more |= dict(classlabels_strings=[f"c{i}" for i in range(classes)]) if strings else dict(classlabels_ints=[7 * i - 3 for i in range(classes)])
    columns = classes if chances or alone or classes == 2 else pairs
    node = helper.make_node("SVMClassifier", ["x"], ["label", "y"], domain="ai.onnx.ml", **more)
    return of_learned([node], x, ([] if strings else [value("label", INT64, "n")]) + [value("y", FLOAT, "n", columns)])


def categories(texts):
    """Numbers, or texts, that stand for others, on rows of which nothing says how many there are."""
    random = numpy.random.default_rng(30)
    x = random.integers(0, 9, (12, 3)).astype("float32")
    ml, names = "ai.onnx.ml", [f"n{i}" for i in range(6)]
    nodes = [helper.make_node("LabelEncoder", ["x"], ["whole"], domain=ml, keys_floats=[0.0, 3.0, 2.0, 3.0, 7.0], values_int64s=[5, 4, 3, 2, 1], default_int64=-7)]
    if texts:
        nodes += [
            helper.make_node("LabelEncoder", ["whole"], ["text"], domain=ml, keys_int64s=[5, 4, 1, -7], values_strings=["a", "b", "", "none"]),
            helper.make_node("LabelEncoder", ["text"], ["real"], domain=ml, keys_strings=["none", "a", "_Unused"], values_floats=[0.5, 1.5, 2.5], default_float=9.0),
            helper.make_node("OneHotEncoder", ["text"], ["hot"], domain=ml, cats_strings=["none", "b", "_Unused", "a", ""], zeros=0),
            helper.make_node("CategoryMapper", ["whole"], ["named"], domain=ml, cats_strings=names, cats_int64s=list(range(6))),
            helper.make_node("CategoryMapper", ["named"], ["again"], domain=ml, cats_strings=names[::-1], cats_int64s=list(range(6)), default_int64=11),
        ]
    else:
        nodes += [
            helper.make_node("LabelEncoder", ["whole"], ["real"], domain=ml, keys_int64s=[4, -7, 5], values_floats=[0.5, 1.5, 2.5], default_float=9.0),
            helper.make_node("OneHotEncoder", ["whole"], ["hot"], domain=ml, cats_int64s=[1, 4, -7]),
            helper.make_node("Shape", ["x"], ["sizes"]),
            helper.make_node("ConstantOfShape", ["sizes"], ["again"], value=numpy_helper.from_array(numpy.int64([2]))),
        ]
    outputs = [value("whole", INT64, None, 3), value("real", FLOAT, None, 3), value("hot", FLOAT, None, 3, 5 if texts else 3), value("again", INT64, None, 3)]
    graph = helper.make_graph(nodes, "categories", [value("x", FLOAT, None, 3)], outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 15)], ir_version=8)
    onnx.checker.check_model(model)
    return model, {"x": x}, run(model, {"x": x})


def main(folder):
    all_modes = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    regressor, classifier = "TreeEnsembleRegressor", "TreeEnsembleClassifier"
    made = {f"classic_{opset}": classic(opset) for opset in range(1, 7)}
    made |= {
        "broadcasts": broadcasts(),
        "forgotten": forgotten(),
        "lines": lines(),
        "categories": categories(False),
        "texts": categories(True),
        "regressor": learned(1, regressor, 1),
        "regressor_modes": learned(2, regressor, 3, modes=all_modes, base=(0.5, -1.0, 2.0)),
        "regressor_average": learned(3, regressor, 2, aggregate_function="AVERAGE"),
        "regressor_least": learned(4, regressor, 2, aggregate_function="MIN"),
        "regressor_largest": learned(5, regressor, 1, aggregate_function="MAX", modes=("BRANCH_LT",)),
        "classifier": learned(6, classifier, 4, base=(0.1, 0.2, 0.3, 0.4)),
        "classifier_softmax": learned(7, classifier, 3, "SOFTMAX", modes=all_modes),
        "classifier_zero": learned(8, classifier, 3, "SOFTMAX_ZERO"),
        "classifier_logistic": learned(9, classifier, 3, "LOGISTIC"),
        "of_two": learned(10, classifier, 2),
        "of_two_logistic": learned(11, classifier, 2, "LOGISTIC", base=(-0.3,)),
        "of_two_chances": learned(12, classifier, 2, positive=True),
        "vectors_line": vectors(13, 0, "LINEAR"),
        "vectors_curve": vectors(14, 0, "RBF"),
        "vectors_inside": vectors(15, 0, "SIGMOID"),
        "vectors_none": vectors(16, 0, "LINEAR", alone=True),
        "vectors_two": vectors(17, 2, "RBF"),
        "vectors_two_logistic": vectors(18, 2, "POLY", "LOGISTIC"),
        "vectors_two_chances": vectors(19, 2, "SIGMOID", chances=True),
        "vectors_three": vectors(20, 3, "POLY", "SOFTMAX"),
        "vectors_four_chances": vectors(21, 4, "RBF", chances=True),
        "vectors_five_chances": vectors(22, 5, "LINEAR", "SOFTMAX_ZERO", chances=True, strings=True),
        "vectors_lines": vectors(23, 3, "LINEAR", alone=True),
    }
    for name, case in made.items():
        save(folder, name, *case)
    print(f"{len(made)} older and learned models")


main(sys.argv[1])
