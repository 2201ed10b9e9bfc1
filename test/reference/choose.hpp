#pragma once

#include "reference/compute.hpp"

/// What chooses elements by their values (ops/shape/selection.hpp, ops/shape/partition.hpp), by plain loops.

namespace reference {

/// The outputs, in sizes that are told here; nothing where the op is another.
std::vector<shared_array> chosen(const work& w);

} // namespace reference
