// What a model is fed has rows, as many as a request brings.
// error: model_server
// error: the first dimension of what is fed is the rows of a request, a named size or tn::dyn
#include <tenon/models.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

void f(tn::session& s, const tn::tensor<float, tn::shape<batch, 784>>& fits,
       const tn::tensor<float, tn::shape<1, 784>>& wrong) {
#ifdef TENON_EXPECT_ERROR
    (void)fits;
    tn::model_server model(s, tn::feeds(wrong), [](auto v) { return v * 2.0f; });
#else
    (void)wrong;
    tn::model_server model(s, tn::feeds(fits), [](auto v) { return v * 2.0f; });
#endif
}
