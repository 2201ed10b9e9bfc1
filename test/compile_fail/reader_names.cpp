// File names that are no texts.
// error[gcc]: In instantiation of .*of_names
// error: tenon::reader: file names come from a queue of scalar texts: queue<std::string>
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::text_line_reader& lines, const tn::fifo_queue<std::int64_t>& numbers,
       const tn::fifo_queue<std::string>& names) {
#ifdef TENON_EXPECT_ERROR
    (void)names;
    return lines.read(numbers);
#else
    (void)numbers;
    return lines.read(names);
#endif
}
