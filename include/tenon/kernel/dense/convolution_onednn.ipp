#pragma once

#include <tenon/kernel/dense/convolution_implementation.hpp>

namespace tenon::dense::detail {

TENON_INLINE std::unique_ptr<convolution_plan::implementation>
make_onednn_convolution(convolution_product, const convolution_description&) {
    return nullptr;
}

} // namespace tenon::dense::detail
