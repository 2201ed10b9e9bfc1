// Many elements at a time of what has no dimension to take them along.
// error[gcc]: In instantiation of .struct tenon::detail::batched_element
// lines: 17
// error: tenon: elements are taken along dimension 0, and a scalar has none
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<float, tn::shape<>>& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::input::batch<32, tn::enqueue_as::many>(x);
#else
    return tn::input::batch<32>(x);
#endif
}
