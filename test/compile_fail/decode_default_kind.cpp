// A default that is not of its column's kind: a fraction for whole numbers.
// error[gcc]: auto tenon::decode_csv\(.*\[with Columns = \{float, int\}
// error[gcc]: tenon::decode_csv: a default is not of its column's kind
// error[clang]: tenon::decode_csv: a default is not of its column's kind
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<std::string, tn::shape<>>& record) {
#ifdef TENON_EXPECT_ERROR
    auto [a, b] = tn::decode_csv<float, std::int32_t>(record, 5.f, 6.5f);
#else
    auto [a, b] = tn::decode_csv<float, std::int32_t>(record, 5.f, 6);
#endif
    return b;
}
