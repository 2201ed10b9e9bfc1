// What a model gives has a row for each of its batch: a mean over all rows has none.
// error: model_server
// error: the first dimension of what the function returns must be the rows of the batch
#include <tenon/models.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

void f(tn::session& s, const tn::tensor<float, tn::shape<batch, 784>>& x) {
#ifdef TENON_EXPECT_ERROR
    tn::model_server model(s, tn::feeds(x), [](auto v) { return tn::mean(v); });
#else
    tn::model_server model(s, tn::feeds(x), [](auto v) { return tn::mean<1>(v); });
#endif
}
