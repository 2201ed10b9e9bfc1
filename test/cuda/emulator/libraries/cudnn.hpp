#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cudnn_graph.h>

/// cuDNN's backend functions in plain C++: graphs of descriptors, checked as cuDNN checks them, computed in double from their sizes
/// and strides.
///
/// Its heuristics name, in this order: an engine that rounds operands of float (numerical note TENSOR_CORE), one whose results differ
/// from run to run, one whose workspace is larger than a GPU, one that makes no plan; and as a fallback one that does as asked.

namespace tenon::emulator::cudnn {

/// No faults, and counts of 0. Handles and descriptors stay.
void reset();
/// `function` ("cudnnBackendExecute") answers `status`, from its call number `after` + 1 on, for `times` calls.
void fail(const std::string& function, cudnnStatus_t status, std::uint64_t after = 0,
          std::uint64_t times = ~std::uint64_t{0});
/// No engine takes a graph that has an operation of this type of descriptor.
void refuse(cudnnBackendDescriptorType_t operation);
/// The fallback has the number 0, as a convolution's engine without tiles has.
void make_direct();
/// The engines of the graphs that were run, in order: "rounds floats", "nondeterministic", "too large", "exact".
std::vector<std::string> executed();
/// Descriptors that live.
std::size_t descriptors();

} // namespace tenon::emulator::cudnn
