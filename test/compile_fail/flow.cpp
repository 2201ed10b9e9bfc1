// Branches and loops: what their bodies take and give.
#include <tenon/tenon.hpp>

namespace tn = tenon;
inline constexpr struct batch : tn::dim<"batch"> {} batch;
using images = tn::tensor<float, tn::shape<batch, 784>>;

// case cond_branches
// error[gcc]: cond: both bodies give as many tensors, of the same types and sizes
// error[clang]: bodies_give_different_types
void program(tenon::tensor<bool, tenon::shape<>> p, tenon::tensor<float, tenon::shape<3>> x) {
    auto fits = tenon::cond(
        p, [&] { return x; }, [&] { return -x; });
    auto wrong = tenon::cond(                          // wrong
        p, [&] { return x; }, [&] { return sum(x); }); // wrong
}

// case cond_one_side: What is computed else is not said.
// error[gcc]: In instantiation of .*tenon::cond\(
// error: tenon::cond: both sides are said
auto f(const images& x) {
    return tn::cond(sum(x) > 0.0f, [&] { return x; });                        // wrong
    return tn::cond(                                                          // right
        sum(x) > 0.0f, [&] { return x; }, [&] { return tn::zeros_like(x); }); // right
}

// case cond_sides: Values where functions are.
// error[gcc]: In instantiation of .*tenon::cond\(
// error: tenon::cond: both sides are functions without arguments
auto f(const images& x) {
    return tn::cond(sum(x) > 0.0f, x, x * 2.0f);                     // wrong
    return tn::cond(                                                 // right
        sum(x) > 0.0f, [&] { return x; }, [&] { return x * 2.0f; }); // right
}

// case loop_carries
// error[gcc]: while_loop: the body gives another type than it is given
// error[clang]: gives_another_type_than_it_is_given
void program(tenon::tensor<float, tenon::shape<3>> x) {
    const auto goes_on = [](const auto& v) { return sum(v) < 10.0f; };
    auto fits = tenon::while_loop(
        goes_on, [](const auto& v) { return v * 2.0f; }, x);
    auto wrong = tenon::while_loop(                        // wrong
        goes_on, [](const auto& v) { return sum(v); }, x); // wrong
}

// case scan_numbers: A number that is no tensor.
// error[gcc]: In instantiation of .*tenon::scan\(
// error: tenon::scan: what is carried and what it goes through are tensors
auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::scan([](const auto& h, const auto& r) { return std::pair(h + sum(r), h); }, 0.0f, x);
#else
    return tn::scan([](const auto& h, const auto& r) { return std::pair(h + sum(r), h); }, tn::constant(0.0f), x);
#endif
}

// case scan_slices
// error[gcc]: scan: what it goes through has an axis 0, of the same size in all
// error[clang]: slices_are_of_tensors_of_rank_1
void program(tenon::tensor<float, tenon::shape<>> c, tenon::tensor<float, tenon::shape<3>> x,
             tenon::tensor<float, tenon::shape<4>> y) {
    const auto f = [](const auto& carry, const auto& slices) {
        const auto& [a, b] = slices;
        return std::pair(carry + a * b, carry);
    };
    auto fits = tenon::scan(f, c, std::tuple(x, x));
    auto wrong = tenon::scan(f, c, std::tuple(x, y)); // wrong
}

// case untyped_condition: A comparison of untyped tensors is a tensor too.
// error[gcc]: use of deleted function .*operator bool
// error[clang]: deleted function
// error: nothing runs here: select\(condition, a, b\), or fetch it in a session
tn::any_tensor program(const tn::any_tensor& x, const tn::any_tensor& y) {
    return x == y ? x : y;                    // wrong
    return tn::untyped::select(x == y, x, y); // right
}

// case while_loop_gives_fewer: A body that gives one tensor of two.
// error[gcc]: In instantiation of .*tenon::detail::while_loop_of\(
// error: tenon::while_loop: the function gives as many tensors as it is given, several as std::tuple
auto f(const images& x) {
#ifdef TENON_EXPECT_ERROR
    return tn::while_loop([](const auto& i, const auto&) { return i < 5; },
                          [](const auto& i, const auto&) { return i + 1; }, tn::constant(0), x);
#else
    return tn::while_loop([](const auto& i, const auto&) { return i < 5; },
                          [](const auto& i, const auto& y) { return std::tuple(i + 1, y); }, tn::constant(0), x);
#endif
}

// case while_loop_numbers: A number that is no tensor.
// error[gcc]: In instantiation of .*tenon::while_loop\(
// error: tenon::while_loop: give a condition, a function, and the tensors that it begins with, such as constant\(0\)
auto f() {
#ifdef TENON_EXPECT_ERROR
    return tn::while_loop([](const auto& i) { return i < 5; }, [](const auto& i) { return i + 1; }, 0);
#else
    return tn::while_loop([](const auto& i) { return i < 5; }, [](const auto& i) { return i + 1; }, tn::constant(0));
#endif
}

// case cond_number: A side that gives a number.
// error[gcc]: In instantiation of .*cond
// error: tenon::cond: both sides give tensors, or several as std::tuple: constant\(1.0f\)
auto program(const tn::tensor<float, tn::shape<>>& x) {
    const auto one = [] { return 1.0f; };               // wrong
    const auto one = [] { return tn::constant(1.0f); }; // right
    return tn::cond(
        x > 0.0f, [&] { return x; }, one);
}

// case scan_gives_number: What is stacked is no tensor.
// error[gcc]: In instantiation of .*scan
// error: tenon::scan: what the function gives are tensors, each or several as std::tuple: constant\(1.0f\)
auto program(const tn::tensor<float, tn::shape<3>>& x) {
    return tn::scan([](auto h, auto s) { return std::pair(h + s, 1.0f); }, tn::constant(0.0f), x); // wrong
    return tn::scan([](auto h, auto s) { return std::pair(h + s, s); }, tn::constant(0.0f), x);    // right
}

// case scan_of_scalar: What has no slices.
// error[gcc]: scan: what it goes through has an axis 0, of the same size in all: float\[\]
// error[clang]: shapes_of<.*scan
auto program(const tn::tensor<float, tn::shape<>>& x, const tn::tensor<float, tn::shape<3>>& y) {
    return tn::scan([](auto h, auto s) { return std::pair(h + s, s); }, tn::constant(0.0f), x); // wrong
    return tn::scan([](auto h, auto s) { return std::pair(h + s, s); }, tn::constant(0.0f), y); // right
}

// case loop_function: A mistake in what is repeated.
// error[gcc]: add: sizes do not broadcast: \[batch, 784\] x \[3\]
// error[clang]: elementwise_rule<tenon::opcode::add>, tenon::fault::sizes_do_not_broadcast
// lines: 21
void program(const images& x, const tn::tensor<float, tn::shape<3>>& b) {
    const auto goes_on = [](const auto& y) { return sum(y) < 5; };
    const auto step = [&](const auto& y) { return y + b; }; // wrong
    const auto step = [&](const auto& y) { return y * 2; }; // right
    const auto last = tn::while_loop(goes_on, step, x);
    (void)b, (void)last;
}

// case scan_function: And in what goes through slices.
// error[gcc]: add: sizes do not broadcast: \[784\] x \[3\]
// error[clang]: elementwise_rule<tenon::opcode::add>, tenon::fault::sizes_do_not_broadcast
// lines: 21
void program(const images& x, const tn::tensor<float, tn::shape<3>>& b) {
    const auto step = [&](const auto& h, const auto& r) { return std::pair(h, r + b); }; // wrong
    const auto step = [&](const auto& h, const auto& r) { return std::pair(h, r * 2); }; // right
    const auto both = tn::scan(step, tn::constant(0.0f), x);
    (void)b, (void)both;
}

// case cond_function: And in what is chosen.
// error[gcc]: add: sizes do not broadcast: \[batch, 784\] x \[3\]
// error[clang]: elementwise_rule<tenon::opcode::add>, tenon::fault::sizes_do_not_broadcast
// lines: 21
void program(const images& x, const tn::tensor<float, tn::shape<3>>& b) {
    const auto other = [&] { return x + b; }; // wrong
    const auto other = [&] { return x * 2; }; // right
    const auto chosen = tn::cond(
        sum(x) > 0, [&] { return x; }, other);
    (void)b, (void)chosen;
}
