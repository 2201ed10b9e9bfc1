// A filter whose function says no yes or no.
// error[gcc]: In instantiation of .*filter
// error: tenon::data_set::filter: the function gives a bool tensor without dimensions
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<tn::component<float, tn::shape<3>>>& s) {
#ifdef TENON_EXPECT_ERROR
    return s.filter([](auto x) { return x > 0.0f; });
#else
    return s.filter([](auto x) { return tn::max(x) > 0.0f; });
#endif
}
