// Two sizes of one letter.
// error[gcc]: einsum bij,bjk->bik: j has two sizes: float\[batch, 3, 4\] x float\[batch, 5, 6\]
// error[clang]: einsum_rule<.*in_own_words, .*einsum_letter<'j'>::has_two_sizes.*size<3>, .*size<4>.*size<5>, .*size<6>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/linear/einsum.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    const auto a = tn::placeholder<float, tn::shape<batch, 3, 4>>("a");
#ifdef TENON_EXPECT_ERROR
    const auto b = tn::placeholder<float, tn::shape<batch, 5, 6>>("b");
#else
    const auto b = tn::placeholder<float, tn::shape<batch, 4, 6>>("b");
#endif
    const auto c = tn::einsum<"bij,bjk->bik">(a, b);
    (void)c;
}
