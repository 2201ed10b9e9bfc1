// Two columns and one name.
// error[gcc]: In instantiation of .*columns
// error: tenon::data::columns: give a name for each column
#include <tenon/input.hpp>

namespace tn = tenon;

auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::data::columns<float, std::int64_t>("x").names().size();
#else
    return tn::data::columns<float, std::int64_t>("x", "y").names().size();
#endif
}
