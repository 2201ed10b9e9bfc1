#pragma once

#include <nanobind/nanobind.h>

namespace tenon::python {

/// Enters tenon.Error and a class for each code into the module, and has what C++ throws become one of them.
void add_errors(nanobind::module_& m);

} // namespace tenon::python
