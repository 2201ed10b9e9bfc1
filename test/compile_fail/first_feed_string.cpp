// Text by name is fed to what holds text, not to numbers.
// error[gcc]: In instantiation of .*check_feed
// error: tenon::feed: what is fed must be an array, or for a scalar tensor a number of its kind
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto program(tn::session& s, const tn::tensor<float, tn::shape<>>& rate,
             const tn::tensor<std::string, tn::shape<>>& title) {
    const std::string text = "0.1";
#ifdef TENON_EXPECT_ERROR
    return s.run(tn::feed(rate, text), rate);
#else
    return s.run(tn::feed(title, text), title);
#endif
}
