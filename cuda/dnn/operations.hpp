#pragma once

#include <vector>

#include <cuda/dnn/backend.hpp>
#include <cuda/dnn/graph.hpp>

namespace tenon::cuda::dnn {

cudnnDataType_t data_type_of(element_type e);

/// A graph's tensors and operations as descriptors. The number of a tensor in cuDNN is its place in the graph, from 1.
struct described_graph {
    described_graph(const functions& f, const graph& g);

    std::vector<descriptor> tensors, parts, operations;
};

} // namespace tenon::cuda::dnn
