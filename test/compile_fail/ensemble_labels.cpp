// A label for each row.
// error[gcc]: accuracy: two different named sizes meet: \[batch, 10\] x \[other\]
// error[clang]: accuracy_rule, tenon::fault::named_sizes_differ
#include <tenon/models.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
inline constexpr struct other : tn::dim<"other"> {} other;

auto f(const tn::tensor<float, tn::shape<batch, 10>>& a, const tn::tensor<std::int32_t, tn::shape<batch>>& labels,
       const tn::tensor<std::int32_t, tn::shape<other>>& wrong) {
    auto e = tn::nn::ensemble(a, a);
#ifdef TENON_EXPECT_ERROR
    (void)labels;
    return e.accuracy(wrong);
#else
    (void)wrong;
    return e.accuracy(labels);
#endif
}
