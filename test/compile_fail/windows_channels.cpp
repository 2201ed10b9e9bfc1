// A convolution of lines with windows of other channels.
// error[gcc]: conv1d: numbers of channels differ: \[batch, 100, 8\] x \[5, 4, 16\]
// error[clang]: conv1d_rule<false>, tenon::fault::channels_differ, .*size<100>, .*size<8>.*size<5>, .*size<4>, .*size<16>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/linear/windows.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    const auto x = tn::placeholder<float, tn::shape<batch, 100, 8>>("x");
#ifdef TENON_EXPECT_ERROR
    const auto w = tn::placeholder<float, tn::shape<5, 4, 16>>("w");
#else
    const auto w = tn::placeholder<float, tn::shape<5, 8, 16>>("w");
#endif
    const auto y = tn::conv1d(x, w);
    (void)y;
}
