// One default more than there are columns.
// error[gcc]: auto tenon::decode_csv\(.*\[with Columns = \{float, float\}
// error[gcc]: tenon::decode_csv: there are more defaults than columns
// error[clang]: tenon::decode_csv: there are more defaults than columns
#include <tenon/input.hpp>

namespace tn = tenon;

auto f(const tn::tensor<std::string, tn::shape<>>& record) {
#ifdef TENON_EXPECT_ERROR
    auto [a, b] = tn::decode_csv<float, float>(record, 5.f, 6.f, 7.f);
#else
    auto [a, b] = tn::decode_csv<float, float>(record, 5.f, 6.f);
#endif
    return a;
}
