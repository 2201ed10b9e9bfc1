// Of matrices that are not square.
// error[gcc]: cholesky: the matrices are not square: float\[batch, 3, 4\]
// error[clang]: cholesky_op, tenon::fault::in_own_words, .*matrices_are_not_square.*size<3>, .*size<4>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/linear/triangular.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
#ifdef TENON_EXPECT_ERROR
    const auto a = tn::placeholder<float, tn::shape<batch, 3, 4>>("a");
#else
    const auto a = tn::placeholder<float, tn::shape<batch, 4, 4>>("a");
#endif
    const auto l = tn::cholesky(a);
    (void)l;
}
