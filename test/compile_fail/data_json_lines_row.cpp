// What a line holds is not said.
// error[gcc]: In instantiation of .*tenon::data::json_lines\(
// error: tenon::data::json_lines: say what a line holds
#include <tenon/input.hpp>

namespace tn = tenon;

auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::data::json_lines("days.jsonl");
#else
    return tn::data::json_lines("days.jsonl", tn::data::columns<float>("x"));
#endif
}
