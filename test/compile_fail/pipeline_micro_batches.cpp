// Micro-batches that do not divide the rows, where both are known to the compiler.
// error[gcc]: pipeline: the number of micro-batches does not divide the rows: float\[10, 3\] x \[4\]
// error[clang]: micro_batches_rule, tenon::fault::in_own_words, .*do_not_divide.*size<10>
// error[clang]: pipeline_of<4,
// lines: 24
#include <tenon/tenon.hpp>

namespace tn = tenon;

int main() {
#ifdef TENON_EXPECT_ERROR
    constexpr int parts = 4;
#else
    constexpr int parts = 5;
#endif
    const auto x = tn::placeholder<float, tn::shape<10, 3>>("x");
    const auto pipe = tn::pipeline<parts>({}, tn::stage("/gpu:0", tn::nn::dense<2>()));
    const auto made = pipe.compute_gradients([](const auto& y) { return tn::mean(y); }, x);
    static_assert(std::is_same_v<decltype(made.loss), tn::tensor<float, tn::shape<>>> || parts == 4);
}
