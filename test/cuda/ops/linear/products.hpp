#pragma once

#include <cuda_runtime_api.h>

#include <cuda/kernels/linear/gemm.hpp>
#include <tenon/cuda/gpus.hpp>

#include "../gpu_run.hpp"
#include "ops/linear/product_checks.hpp"

/// Products of matrices on a GPU.

namespace matmul_test {

using tn::test::drawn_seed;
using tn::test::machine;

struct on_gpu : product_graph {
    on_gpu(const product& p, element_type e) : product_graph("/gpu:0", p, e) {}
};

template <class T>
std::string check_through_graph(const product& p, std::mt19937_64& random, const tn::session_options& o = {}) {
    return check_product<T>("/gpu:0", p, random, o);
}

} // namespace matmul_test
