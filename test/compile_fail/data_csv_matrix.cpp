// A line of a CSV file that is to hold a matrix.
// error[gcc]: In instantiation of .*csv
// error: tenon::data::csv: a component is a number or a text, or component<T, shape<n>>: n columns
#include <tenon/input.hpp>

namespace tn = tenon;

auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::data::csv<std::int32_t, tn::component<float, tn::shape<28, 28>>>("train.csv");
#else
    return tn::data::csv<std::int32_t, tn::component<float, tn::shape<784>>>("train.csv");
#endif
}
