"""Asks the model that test/net/serve/inference_server.cpp serves, and compares with NumPy."""
import pathlib
import select
import sys
import time

import numpy as np
import tritonclient.http as client
from tritonclient.utils import InferenceServerException

place, until = pathlib.Path(sys.argv[1]), time.monotonic() + 60
while not place.exists():
    assert time.monotonic() < until, "the server does not come"
    select.select([], [], [], 0.01)
asked = client.InferenceServerClient(place.read_text(), concurrency=8)

assert asked.is_server_live() and asked.is_server_ready() and asked.is_model_ready("all")
assert asked.is_model_ready("all", "1") and not asked.is_model_ready("all", "2")
assert asked.get_server_metadata()["name"] == "tenon"
metadata = asked.get_model_metadata("all")
assert [i["name"] for i in metadata["inputs"]] == ["x", "ids", "names"], metadata
assert metadata["inputs"][0] == {"name": "x", "datatype": "FP32", "shape": [-1, 4]}, metadata
assert asked.get_model_config("all")["max_batch_size"] == 8
assert asked.get_model_repository_index()[0]["name"] == "all"

random = np.random.default_rng(1)


def request(rows, binary):
    x = random.random((rows, 4), dtype=np.float32)
    ids = random.integers(-2**62, 2**62, rows)
    names = np.array([f"name {i}" for i in range(rows)], dtype=object)
    inputs = [client.InferInput("x", x.shape, "FP32"), client.InferInput("ids", ids.shape, "INT64"),
              client.InferInput("names", names.shape, "BYTES")]
    for to, value in zip(inputs, (x, ids, names)):
        to.set_data_from_numpy(value, binary_data=binary)
    outputs = [client.InferRequestedOutput(n, binary_data=binary) for n in ("same", "next", "twice", "large")]
    return inputs, outputs, x, ids


def check(answer, rows, x, ids):
    assert np.array_equal(answer.as_numpy("twice"), 2 * x)
    assert np.array_equal(answer.as_numpy("next"), ids + 1)
    same = [n.decode() if isinstance(n, bytes) else n for n in answer.as_numpy("same")]
    assert same == [f"name {i}" for i in range(rows)], same
    assert np.array_equal(answer.as_numpy("large"), x.sum(1) > 2)


for rows in range(1, 9):
    for binary in (True, False):
        inputs, outputs, x, ids = request(rows, binary)
        answer = asked.infer("all", inputs, outputs=outputs, request_id=f"r{rows}", model_version="1")
        assert answer.get_response()["id"] == f"r{rows}"
        check(answer, rows, x, ids)

several = [request(1 + i % 3, True) for i in range(64)]
pending = [asked.async_infer("all", inputs, outputs=outputs) for inputs, outputs, _, _ in several]
for i, (p, (_, _, x, ids)) in enumerate(zip(pending, several)):
    check(p.get_result(), 1 + i % 3, x, ids)


def refused(status, words, *arguments, **more):
    try:
        asked.infer(*arguments, **more)
    except InferenceServerException as e:
        assert e.status() == str(status) and words in e.message(), (e.status(), e.message())
    else:
        assert False, "it was not refused"


inputs = request(9, True)[0]
refused(400, "9 rows, and a batch may have 8", "all", inputs)
refused(400, "lacks input 'ids'", "all", inputs[:1])
refused(404, "there is 'all'", "none", inputs)
refused(404, "version 1, not 3", "all", inputs, model_version="3")
statistics = asked.get_inference_statistics("all")["model_stats"][0]
assert statistics["inference_stats"]["success"]["count"] == 16 + 64, statistics
print("Triton's Python client: right")
