"""Reads what test_debug wrote with TensorBoard's own package, in both ways that it reads event files."""

import math
import sys

from tensorboard.backend.event_processing import event_accumulator, event_file_loader
from tensorboard.util import tensor_util

folder, has_png = sys.argv[1], sys.argv[2] == "png"
size = {key: 0 for key in ("scalars", "histograms", "images", "tensors", "compressedHistograms", "audio")}
all = event_accumulator.EventAccumulator(folder, size_guidance=size)
all.Reload()

loss = all.Scalars("loss")
assert [s.step for s in loss] == list(range(60)), [s.step for s in loss]
assert math.isclose(loss[10].value, 1 / 11, rel_tol=1e-6)
assert math.isclose(loss[45].value, 2 / 46, rel_tol=1e-6), "a restart replaces what was there"

(w,) = all.Histograms("w")
assert w.step == 5
h = w.histogram_value
assert h.num == 1000 and sum(h.bucket) == 1000 and -1 <= h.min < -0.99 and 0.99 < h.max <= 1
assert len(h.bucket) == len(h.bucket_limit)

if has_png:
    (image,) = all.Images("input")
    assert (image.width, image.height) == (6, 4)
    assert image.encoded_image_string.startswith(b"\x89PNG")

(text,) = all.Tensors("notes")
assert tensor_util.make_ndarray(text.tensor_proto).item() == b"a **wide** layer"
assert list(all.PluginTagToContent("text")) == ["notes"]

graph = all.Graph()
nodes = {n.name: n for n in graph.node}
assert nodes["layer/y"].input, nodes
assert nodes["layer/x"].op == "placeholder"
shape = nodes["layer/x"].attr["_output_shapes"].list.shape[0]
assert [d.size for d in shape.dim] == [-1, 3]

# As its server reads them: every value becomes a tensor of a plugin.
(path,) = [p for p in __import__("os").listdir(folder) if "tfevents" in p]
plugins = {}
for event in event_file_loader.EventFileLoader(f"{folder}/{path}").Load():
    for value in event.summary.value:
        assert value.HasField("tensor"), value
        if value.metadata.plugin_data.plugin_name:
            plugins[value.tag] = value.metadata.plugin_data.plugin_name
wanted = {"loss": "scalars", "w": "histograms", "notes": "text"}
if has_png:
    wanted["input"] = "images"
assert wanted.items() <= plugins.items(), plugins
print(f"TensorBoard reads {len(plugins)} tags of {len(loss)} steps, and a graph of {len(nodes)} nodes")
