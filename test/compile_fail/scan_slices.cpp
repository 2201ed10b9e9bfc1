// error[gcc]: scan: what it goes through has an axis 0, of the same size in all
// error[clang]: slices_are_of_tensors_of_rank_1
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/flow/scan_slices.hpp>

void program(tenon::tensor<float, tenon::shape<>> c, tenon::tensor<float, tenon::shape<3>> x,
             tenon::tensor<float, tenon::shape<4>> y) {
    const auto f = [](const auto& carry, const auto& slices) {
        const auto& [a, b] = slices;
        return std::pair(carry + a * b, carry);
    };
    auto fits = tenon::scan(f, c, std::tuple(x, x));
#ifdef TENON_EXPECT_ERROR
    auto wrong = tenon::scan(f, c, std::tuple(x, y));
#endif
}
