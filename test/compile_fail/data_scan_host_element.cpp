// A function of the host that gives the next state alone.
// error[gcc]: In instantiation of .*scan_host
// error: tenon::data_set::scan_host: the function gives a std::pair of the next state
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<float>& s) {
#ifdef TENON_EXPECT_ERROR
    return s.scan_host(0.0f, [](float sum, float x) { return sum + x; });
#else
    return s.scan_host(0.0f, [](float sum, float x) { return std::pair(sum + x, x); });
#endif
}
