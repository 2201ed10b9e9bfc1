// A loss broadcasts nothing: [batch, 1] and [batch] are not the same.
// error[gcc]: mean_squared_error: ranks differ: \[batch, 1\] x \[batch\]
// error[clang]: mean_squared_error_rule.*ranks_differ.*shown_tensor<float, batch, .*size<1> ?>, .*shown_tensor<float, batch>
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

#ifdef TENON_EXPECT_ERROR
using target = tn::shape<batch>;
#else
using target = tn::shape<batch, 1>;
#endif

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 5>>("x");
    auto y = tn::placeholder<float, target>("y");
    auto loss = tn::nn::mean_squared_error(tn::nn::dense<1>()(x), y);
}
