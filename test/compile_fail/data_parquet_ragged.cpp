// Lists in a Parquet file that hold lists of any length.
// error[gcc]: In instantiation of .*table_set
// error: tenon::data::parquet, arrow_file: a component is a number, a text, or an array of either, whose sizes are numbers but for the first
#include <tenon/arrow.hpp>

namespace tn = tenon;

auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::data::parquet<std::int32_t, tn::component<float, tn::shape<28, tn::dyn>>>("train.parquet");
#else
    return tn::data::parquet<std::int32_t, tn::component<float, tn::shape<tn::dyn, 28>>>("train.parquet");
#endif
}
