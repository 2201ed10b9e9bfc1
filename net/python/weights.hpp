#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

/// tenon.Weights: what is in a safetensors file or a checkpoint; read_weights and write_safetensors.
void add_weights(nanobind::module_& m);

} // namespace tenon::python
