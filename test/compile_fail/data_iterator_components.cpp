// An iterator, and a data set of other elements.
// error[gcc]: In instantiation of .*make_initializer
// error: tenon::iterator::make_initializer: the data set has other components than the iterator
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::data_set<float>& floats, const tn::data_set<std::int64_t>& integers) {
    const tn::iterator<float> it;
#ifdef TENON_EXPECT_ERROR
    (void)floats;
    return it.make_initializer(integers);
#else
    (void)integers;
    return it.make_initializer(floats);
#endif
}
