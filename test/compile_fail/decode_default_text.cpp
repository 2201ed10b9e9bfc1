// A text where a number is expected.
// error[gcc]: auto tenon::decode_csv\(.*\[with Columns = .*float\}
// error[gcc]: tenon::decode_csv: a default is not of its column's kind
// error[clang]: tenon::decode_csv: a default is not of its column's kind
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<std::string, tn::shape<>>& record) {
#ifdef TENON_EXPECT_ERROR
    auto [a, b] = tn::decode_csv<std::string, float>(record, "none", "none");
#else
    auto [a, b] = tn::decode_csv<std::string, float>(record, "none", tn::required<float>);
#endif
    return a;
}
