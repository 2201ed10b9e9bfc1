// Labels of another batch than the predictions'.
// error[gcc]: accuracy: two different named sizes meet: \[batch, 10\] x \[others\]
// error[clang]: accuracy_rule.*named_sizes_differ.*shown_tensor<float, batch, .*size<10> ?>, .*shown_tensor<int, others>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct others : tn::dim<"others"> {} others;

#ifdef TENON_EXPECT_ERROR
using labels = tn::shape<others>;
#else
using labels = tn::shape<batch>;
#endif

int main() {
    auto logits = tn::placeholder<float, tn::shape<batch, 10>>("logits");
    auto y = tn::placeholder<std::int32_t, labels>("y");
    auto right = tn::nn::accuracy(logits, y);
}
