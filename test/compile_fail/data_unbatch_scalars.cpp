// Rows of elements that have none.
// error[gcc]: In instantiation of .*unbatch
// error: tenon::data_set::unbatch: a component is a scalar and has no rows
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<tn::component<float, tn::shape<5>>, std::int32_t>& s,
       const tn::data_set<tn::component<float, tn::shape<5>>>& rows) {
#ifdef TENON_EXPECT_ERROR
    (void)rows;
    return s.unbatch();
#else
    (void)s;
    return rows.unbatch();
#endif
}
