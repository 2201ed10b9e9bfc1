// Queries and keys of different sizes.
// error[gcc]: attention: inner dimensions differ: \[4, 3\] x \[5, 2\] x \[5, 2\]
// error[clang]: attention_op, tenon::fault::inner_dimensions_differ, .*size<3>.*size<2>
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main() {
    const auto q = tn::placeholder<float, tn::shape<4, 3>>("q");
#ifdef TENON_EXPECT_ERROR
    const auto k = tn::placeholder<float, tn::shape<5, 2>>("k");
#else
    const auto k = tn::placeholder<float, tn::shape<5, 3>>("k");
#endif
    const auto v = tn::placeholder<float, tn::shape<5, 2>>("v");
    const auto y = tn::nn::attention(q, k, v);
    (void)y;
}
