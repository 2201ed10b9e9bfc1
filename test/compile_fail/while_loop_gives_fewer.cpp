// A body that gives one tensor of two.
// error[gcc]: In instantiation of .*tenon::detail::while_loop_of\(
// error: tenon::while_loop: the function gives as many tensors as it is given, several as std::tuple
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::while_loop([](const auto& i, const auto&) { return i < 5; },
                          [](const auto& i, const auto&) { return i + 1; }, tn::constant(0), x);
#else
    return tn::while_loop([](const auto& i, const auto&) { return i < 5; },
                          [](const auto& i, const auto& y) { return std::tuple(i + 1, y); }, tn::constant(0), x);
#endif
}
