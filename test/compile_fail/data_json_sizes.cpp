// A member's list of any length.
// error[gcc]: In instantiation of .*json_lines
// error: tenon::data::json_lines: the sizes of a member's lists are numbers
#include <tenon/input.hpp>

namespace tn = tenon;

auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::data::json_lines("a.jsonl", tn::data::columns<tn::component<float, tn::shape<tn::dyn>>>("scores"));
#else
    return tn::data::json_lines("a.jsonl", tn::data::columns<tn::component<float, tn::shape<3>>>("scores"));
#endif
}
