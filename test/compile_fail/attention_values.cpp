// Values that are not one a key.
// error[gcc]: attention: sizes differ: \[8, 5, 4\] x \[8, 7, 4\] x \[8, 6, 4\]
// error[clang]: attention_op, tenon::fault::sizes_differ, .*size<7>.*size<6>
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main() {
    const auto q = tn::placeholder<float, tn::shape<8, 5, 4>>("q");
    const auto k = tn::placeholder<float, tn::shape<8, 7, 4>>("k");
#ifdef TENON_EXPECT_ERROR
    const auto v = tn::placeholder<float, tn::shape<8, 6, 4>>("v");
#else
    const auto v = tn::placeholder<float, tn::shape<8, 7, 4>>("v");
#endif
    const auto y = tn::attention(q, k, v);
    (void)y;
}
