// Slices of tensors that are not equally long.
// error[gcc]: slice_input_producer: sizes differ: \[10, 3\] x \[9\]
// error[clang]: equally_long_rule, tenon::fault::sizes_differ
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<float, tn::shape<10, 3>>& x, const tn::tensor<float, tn::shape<9>>& y) {
#ifdef TENON_EXPECT_ERROR
    return tn::slice_input_producer(std::tuple{x, y});
#else
    return std::tuple(tn::slice_input_producer(x), tn::slice_input_producer(y));
#endif
}
