# Writes ONNX's own single-node cases to a folder, for test/onnx/cases.cpp; or runs a model that Tenon wrote with ONNX Runtime.
#
#   cases.py cases FOLDER
#   cases.py written FOLDER
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
        # Sequences, and numbers of types that NumPy and Tenon lack are left out; bfloat16 are the bits.
        if not all(hasattr(a, "dtype") and (a.dtype.kind in "fiubO" or a.dtype.name == "bfloat16") for a in values.values()):
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
            if a.dtype.kind == "O":
                a = a.astype(str)
            if a.dtype.name == "bfloat16":
                name, a = name + ".bits", a.view("uint16")
            numpy.save(os.path.join(place, name + ".npy"), numpy.ascontiguousarray(a) if a.ndim else a)
        written += 1
    print(f"{written} cases of ONNX, {left_out} left out")


def check_written(folder):
    """Runs what Tenon wrote of the cases with ONNX Runtime."""
    import onnx
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    alike, lacking, wrong = 0, [], []
    for name in sorted(os.listdir(folder)):
        place = os.path.join(folder, name)
        path = os.path.join(place, "written.onnx")
        if not os.path.exists(path) or any(".bits" in f for f in os.listdir(place)):
            continue  # which NumPy cannot hand over
        names = open(os.path.join(place, "inputs")).read().split()
        try:
            onnx.checker.check_model(onnx.load(path), full_check=True)
        except Exception as e:
            wrong.append(f"{name}: {str(e)[:300]}")
            continue
        try:
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
            feeds = {i.name: numpy.load(os.path.join(place, f"in{names.index(i.name)}.npy")) for i in session.get_inputs()}
            given = session.run(None, feeds)
        except Exception as e:
            # Operators and types that it lacks.
            (lacking if "NOT_IMPLEMENTED" in str(e) or "opset" in str(e) else wrong).append(f"{name}: {str(e)[:300]}")
            continue
        for i, y in enumerate(given):
            wanted = numpy.load(os.path.join(place, f"out{i}.npy"))
            if "bernoulli" in name or "training_dropout" in name:
                continue
            if wanted.dtype.kind == "U":
                if y.astype(str).tolist() != wanted.tolist():
                    wrong.append(f"{name}: output {i} differs")
                    break
                continue
            if "shuffled" in name:  # in whichever order
                y, wanted = numpy.sort(y, 0), numpy.sort(wanted, 0)
            loose = 1e-2 if wanted.dtype.itemsize == 2 and wanted.dtype.kind == "f" else 1e-3
            if y.shape != wanted.shape or y.dtype != wanted.dtype or not numpy.allclose(
                y.astype("float64"), wanted.astype("float64"), loose, 2e-6 * max(1, abs(wanted).max(initial=0)), equal_nan=True
            ):
                wrong.append(f"{name}: output {i} differs")
                break
        else:
            alike += 1
    print(f"{alike} models that were written compute the same in ONNX Runtime, {len(lacking)} need what it lacks")
    for w in wrong:
        print("WRONG", w)
    sys.exit(1 if wrong else 0)


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
{"cases": write_cases, "written": check_written, "runtime": run_model}[sys.argv[1]](sys.argv[2])
