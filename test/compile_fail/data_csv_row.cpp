// What the columns hold is not said.
// error[gcc]: In instantiation of .*tenon::data::csv\(
// error: tenon::data::csv: say what the columns hold
#include <tenon/input.hpp>

namespace tn = tenon;

auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::data::csv("days.csv");
#else
    return tn::data::csv("days.csv", tn::data::columns<float>("x"));
#endif
}
