// Three rows of which one is of another length.
// error[gcc]: triplet: sizes differ: \[batch, 8\] x \[batch, 8\] x \[batch, 9\]
// error[clang]: triplet_rule.*sizes_differ
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
using far = tn::shape<batch, 9>;
#else
using far = tn::shape<batch, 8>;
#endif

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 8>>("x"), y = tn::placeholder<float, tn::shape<batch, 8>>("y");
    auto z = tn::placeholder<float, far>("z");
    auto loss = tn::nn::triplet(x, y, z);
}
