// error[gcc]: matmul: inner dimensions differ
// error[clang]: inner_dimensions_differ
#include <tenon/ops/linear/matmul.hpp>
#include <tenon/train/input/producers.hpp>

void program(tenon::tensor<float, tenon::shape<5, 3>> a, tenon::tensor<float, tenon::shape<3, 2>> b,
             tenon::tensor<float, tenon::shape<4, 2>> c) {
    auto fits = tenon::slice_input_producer(std::tuple{matmul(a, b), a});
#ifdef TENON_EXPECT_ERROR
    auto wrong = tenon::slice_input_producer(std::tuple{matmul(a, c), a});
    auto again = tenon::input_producer(matmul(a, b));
#endif
}
