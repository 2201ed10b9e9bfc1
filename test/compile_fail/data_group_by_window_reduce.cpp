// A window that is made a number, not a data set.
// error[gcc]: In instantiation of .*group_by_window
// error: tenon::data_set::group_by_window: the function gives a data set, such as window.batch\(32\)
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<std::int64_t>& s) {
    const auto parity = [](std::int64_t x) { return x % 2; };
#ifdef TENON_EXPECT_ERROR
    return s.group_by_window(parity, 3, [](std::int64_t, const auto& window) { return window.size(); });
#else
    return s.group_by_window(parity, 3, [](std::int64_t, const auto& window) { return window.batch(3); });
#endif
}
