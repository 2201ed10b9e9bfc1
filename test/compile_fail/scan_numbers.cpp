// A number that is no tensor.
// error[gcc]: In instantiation of .*tenon::scan\(
// error: tenon::scan: what is carried and what it goes through are tensors
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::scan([](const auto& h, const auto& r) { return std::pair(h + sum(r), h); }, 0.0f, x);
#else
    return tn::scan([](const auto& h, const auto& r) { return std::pair(h + sum(r), h); }, tn::constant(0.0f), x);
#endif
}
