// A function of the host that gives what is no component.
// error[gcc]: In instantiation of .*map_host
// error: tenon::data_set::map_host: the function gives a number, a text, an array whose shape its type says
#include <vector>

#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<float>& s) {
#ifdef TENON_EXPECT_ERROR
    return s.map_host([](float x) { return std::vector<float>{x, x}; });
#else
    return s.map_host([](float x) { return tn::array<float, tn::shape<2>>{x, x}; });
#endif
}
