// error[gcc]: scatter: value does not fit the variable: \[1000, 64\] x \[batch\] x \[batch, 32\]
// error[clang]: scatter_op, tenon::fault::value_does_not_fit_variable, .*<float, .*size<1000>, .*size<64> ?>, .*<int, batch_size>, .*<float, batch_size, .*size<32> ?>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch_size : tn::dim<"batch"> {} batch;

void f(const tn::variable_tensor<float, tn::shape<1000, 64>>& table, const tn::tensor<int, tn::shape<batch>>& ids,
       const tn::tensor<float, tn::shape<batch, 32>>& x) {
#ifdef TENON_EXPECT_ERROR
    table.scatter_add(ids, x);
#else
    table.scatter_add(ids, tn::concat<1>(x, x));
#endif
}
