#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

/// tenon.Array.
void add_array(nanobind::module_& m);

} // namespace tenon::python
