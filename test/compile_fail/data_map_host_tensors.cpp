// A function of tensors where one of the host is asked for.
// error[gcc]: In instantiation of .*map_host
// error: tenon::data_set::map_host: the function takes the element's components
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<float>& s) {
    const auto twice = [](const tn::tensor<float, tn::shape<>>& x) { return x + x; };
#ifdef TENON_EXPECT_ERROR
    return s.map_host(twice);
#else
    return s.map(twice);
#endif
}
