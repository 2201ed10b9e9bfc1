// A running state that becomes one of another type.
// error[gcc]: In instantiation of .*scan
// error: tenon::data_set::scan: the function gives a std::pair of the next state, of the state's element type and shape
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<std::int32_t>& s) {
#ifdef TENON_EXPECT_ERROR
    return s.scan(0, [](auto sum, auto x) { return std::pair(tn::cast<float>(sum + x), x); });
#else
    return s.scan(0, [](auto sum, auto x) { return std::pair(sum + x, tn::cast<float>(x)); });
#endif
}
