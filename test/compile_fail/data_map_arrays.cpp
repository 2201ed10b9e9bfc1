// A function of arrays where a map computes with tensors.
// error[gcc]: In instantiation of .*map
// error: tenon::data_set::map: the function takes a tensor for each component of an element; one that takes arrays and numbers goes to map_host
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<std::int64_t, tn::component<float, tn::shape<3>>>& s) {
    const auto first = [](std::int64_t n, const tn::array<float, tn::shape<3>>& x) { return x(n); };
#ifdef TENON_EXPECT_ERROR
    return s.map(first);
#else
    return s.map_host(first);
#endif
}
