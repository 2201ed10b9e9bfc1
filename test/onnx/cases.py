# Writes ONNX's own single-node cases to a folder, for test/onnx/cases.cpp; or runs a model that Tenon wrote with ONNX Runtime.
#
#   cases.py cases FOLDER
#   cases.py runtime FOLDER
import os
import sys
import warnings

import numpy


def write_cases(folder):
    from onnx.backend.test.case.node import collect_testcases

    written = left_out = 0
    for case in collect_testcases(None):
        inputs, outputs = case.data_sets[0]
        values = {f"in{i}": a for i, a in enumerate(inputs)} | {f"out{i}": a for i, a in enumerate(outputs)}
        # Texts, sequences, and numbers of types that NumPy lacks are left out.
        if not all(hasattr(a, "dtype") and a.dtype.kind in "fiub" for a in values.values()):
            left_out += 1
            continue
        place = os.path.join(folder, case.name)
        os.makedirs(place)
        with open(os.path.join(place, "model.onnx"), "wb") as f:
            f.write(case.model.SerializeToString())
        with open(os.path.join(place, "inputs"), "w") as f:
            f.writelines(i.name + "\n" for i in case.model.graph.input)
        for name, a in values.items():
            a = numpy.asarray(a)
            numpy.save(os.path.join(place, name + ".npy"), numpy.ascontiguousarray(a) if a.ndim else a)
        written += 1
    print(f"{written} cases of ONNX, {left_out} left out")


def run_model(folder):
    import onnx
    import onnxruntime

    path = os.path.join(folder, "net.onnx")
    onnx.checker.check_model(onnx.load(path), full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = session.run(None, {"images": numpy.load(os.path.join(folder, "images.npy"))})[0]
    numpy.testing.assert_allclose(given, numpy.load(os.path.join(folder, "chances.npy")), rtol=1e-4, atol=1e-6)
    print("ONNX Runtime computes what Tenon does")


warnings.simplefilter("ignore")
numpy.seterr(all="ignore")
{"cases": write_cases, "runtime": run_model}[sys.argv[1]](sys.argv[2])
