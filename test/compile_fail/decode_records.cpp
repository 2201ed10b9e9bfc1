// Records are strings.
// error[gcc]: decode_csv: element type is not supported: float\[7\]
// error[clang]: decode_csv_op>, tenon::fault::element_type_not_supported, .*<float, .*size<7> ?>
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<float, tn::shape<7>>& x, const tn::tensor<std::string, tn::shape<7>>& lines) {
#ifdef TENON_EXPECT_ERROR
    auto [a, b] = tn::decode_csv(x, 5.f, 6);
#else
    auto [a, b] = tn::decode_csv(lines, 5.f, 6);
#endif
    return (void)x, (void)lines, b;
}
