// What is no array and no number is fed to nothing, and the step gives as many results as ever.
// error: feed
// error: tenon::feed: what is fed must be an array, or for a scalar tensor a number of its kind
#include <tenon/tenon.hpp>

namespace tn = tenon;

float f(tn::session& s, const tn::tensor<float, tn::shape<>>& x) {
    const auto step = s.callable(tn::feeds(x), tn::fetches(exp(x)));
#ifdef TENON_EXPECT_ERROR
    auto [e] = step("1");
#else
    auto [e] = step(1);
#endif
    return e.item();
}
