// A window whose size is a number of the type and one of the call.
// error[gcc]: In instantiation of .*window
// error: tenon::data_set::window: write the number once: window<5>\(\)
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<float>& s) {
#ifdef TENON_EXPECT_ERROR
    return s.window<5>(5, {.shift = 2});
#else
    return s.window<5>({.shift = 2});
#endif
}
