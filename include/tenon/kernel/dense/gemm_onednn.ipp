#pragma once

#include <tenon/kernel/dense/gemm_implementation.hpp>

namespace tenon::dense::detail {

TENON_INLINE std::unique_ptr<gemm::implementation> make_onednn_gemm(const gemm_description&) { return nullptr; }

} // namespace tenon::dense::detail
