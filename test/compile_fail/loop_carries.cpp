// error[gcc]: while_loop: the body gives another type than it is given
// error[clang]: gives_another_type_than_it_is_given
#include <tenon/ops/elementwise/constant.hpp>
#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/flow/while_loop.hpp>
#include <tenon/ops/reduce/reduction.hpp>

void program(tenon::tensor<float, tenon::shape<3>> x) {
    const auto goes_on = [](const auto& v) { return sum(v) < 10.0f; };
    auto fits = tenon::while_loop(
        goes_on, [](const auto& v) { return v * 2.0f; }, x);
#ifdef TENON_EXPECT_ERROR
    auto wrong = tenon::while_loop(
        goes_on, [](const auto& v) { return sum(v); }, x);
#endif
}
