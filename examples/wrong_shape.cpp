// A wrong shape does not compile. Define TENON_EXPECT_ERROR to see what the compiler says.
#include <tenon/tenon.hpp>

#include <cstdio>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;

int main() {
    auto x = tn::placeholder<float, tn::shape<batch, 784>>("x");
    auto w1 = tn::variable<float, tn::shape<784, 300>>("w1", tn::glorot_uniform());
    auto w2 = tn::variable<float, tn::shape<300, 10>>("w2", tn::glorot_uniform());
    auto h = relu(matmul(x, w1));
    auto logits = matmul(h, w2);
#ifdef TENON_EXPECT_ERROR
    auto wrong = matmul(x, w2);
#endif
    std::printf("logits: %s\n", to_string(logits.type()).c_str());
}
