// How many records there are is known in the step only.
// error[gcc]: In instantiation of .*read_up_to
// error: tenon::read_up_to: how many it gives is known in the step; write read_up_to\(names, 32\), or read_up_to<batch>\(names, 32\)
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::text_line_reader& lines, const tn::fifo_queue<std::string>& names) {
#ifdef TENON_EXPECT_ERROR
    return lines.read_up_to<32>(names, 32);
#else
    return lines.read_up_to(names, 32);
#endif
}
