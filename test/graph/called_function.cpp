#include <tenon/input.hpp>
#include <tenon/models.hpp>

#include "tests.hpp"

// What goes wrong in a step names the function that the program called, also where that is made of ops of other names.

namespace {

using tn::dyn;
using line = tn::tensor<float, tn::shape<dyn>>;
using table = tn::tensor<float, tn::shape<dyn, dyn>>;
using block = tn::tensor<float, tn::shape<dyn, dyn, dyn>>;
using numbers = tn::tensor<int, tn::shape<dyn>>;

template <class T> tn::any_array zeros_of(std::initializer_list<std::int64_t> sizes) {
    tn::extents e;
    for (const std::int64_t n : sizes) e.push_back(tn::extent(n));
    tn::any_array a(tn::element_type_of<T>, e);
    std::fill_n(static_cast<T*>(a.data()), e.elements(), T());
    return a;
}

// What a step says that is fed, in order, zeros of such sizes; the placeholders are made as they are asked for.
class mistaken_step {
public:
    template <class X> X fed(std::initializer_list<std::int64_t> sizes) {
        const auto x = tn::placeholder<typename X::element_type, typename X::shape_type>("x");
        feeds_.push_back({x, zeros_of<typename X::element_type>(sizes)});
        return x;
    }
    template <class Y> std::string run(const Y& y) {
        tn::session s(tn::graph::current());
        return message_of<tn::error>([&] {
            s.run(tn::initialize_variables());
            (void)s.run_untyped(std::move(feeds_), {tn::any_tensor(tn::detail::as_tensor(y))});
        });
    }

private:
    std::vector<tn::fed_value> feeds_;
};

struct called {
    const char* function;
    std::string (*said)(mistaken_step&);
};

const called functions[] = {
    {"pad",
     [](auto& m) {
         return m.run(tn::pad<tn::margin{2, 0}>(m.template fed<line>({0}), tn::pad_mode::reflect));
     }},
    {"matmul",
     [](auto& m) {
         return m.run(tn::matmul(m.template fed<table>({2, 3}), m.template fed<table>({2, 3})));
     }},
    {"einsum",
     [](auto& m) {
         return m.run(tn::einsum<"ij,jk->ik">(m.template fed<table>({2, 3}), m.template fed<table>({2, 3})));
     }},
    {"concat",
     [](auto& m) {
         return m.run(tn::concat<0>(m.template fed<table>({2, 3}), m.template fed<table>({2, 4})));
     }},
    {"stack", [](auto& m) { return m.run(tn::stack<0>(m.template fed<line>({3}), m.template fed<line>({4}))); }},
    {"split", [](auto& m) { return m.run(tn::split<2>(m.template fed<line>({3}))[0]); }},
    {"add_n", [](auto& m) { return m.run(tn::add_n(m.template fed<line>({3}), m.template fed<line>({4}))); }},
    {"reshape", [](auto& m) { return m.run(tn::reshape<tn::shape<2, 2>>(m.template fed<line>({3}))); }},
    {"squeeze",
     [](auto& m) {
         return m.run(tn::squeeze<0>(m.template fed<table>({3, 2})));
     }},
    {"gather", [](auto& m) { return m.run(tn::gather(m.template fed<line>({0}), m.template fed<numbers>({1}))); }},
    {"max",
     [](auto& m) {
         return m.run(tn::max<0>(m.template fed<table>({0, 2})));
     }},
    {"argmax",
     [](auto& m) {
         return m.run(tn::argmax<0>(m.template fed<table>({0, 2})));
     }},
    {"top_k", [](auto& m) { return m.run(std::get<0>(tn::top_k<3>(m.template fed<line>({2})))); }},
    {"minimum", [](auto& m) { return m.run(tn::minimum(m.template fed<line>({2}), m.template fed<line>({3}))); }},
    {"logaddexp", [](auto& m) { return m.run(tn::logaddexp(m.template fed<line>({2}), m.template fed<line>({3}))); }},
    {"squared_difference",
     [](auto& m) { return m.run(tn::squared_difference(m.template fed<line>({2}), m.template fed<line>({3}))); }},
    {"cholesky",
     [](auto& m) {
         return m.run(tn::cholesky(m.template fed<table>({2, 3})));
     }},
    {"inverse",
     [](auto& m) {
         return m.run(tn::inverse(m.template fed<table>({2, 3})));
     }},
    {"determinant",
     [](auto& m) {
         return m.run(tn::determinant(m.template fed<table>({2, 3})));
     }},
    {"solve",
     [](auto& m) {
         return m.run(tn::solve(m.template fed<table>({2, 2}), m.template fed<table>({3, 1})));
     }},
    {"mean_squared_error",
     [](auto& m) { return m.run(tn::nn::mean_squared_error(m.template fed<line>({2}), m.template fed<line>({3}))); }},
    {"cross_entropy",
     [](auto& m) {
         return m.run(tn::nn::cross_entropy(m.template fed<table>({2, 3}), m.template fed<numbers>({3})));
     }},
    {"attention",
     [](auto& m) {
         return m.run(tn::attention(m.template fed<block>({1, 2, 4}), m.template fed<block>({1, 2, 4}),
                                    m.template fed<block>({1, 3, 4})));
     }},
    {"take_along_axis",
     [](auto& m) { return m.run(tn::take_along_axis<0>(m.template fed<line>({0}), m.template fed<numbers>({1}))); }},
};

} // namespace

TEST_CASE("an error of a step names the function that was called") {
    for (const called& c : functions) {
        const own_graph g;
        mistaken_step m;
        const std::string words = c.said(m);
        CHECK_MESSAGE(contains(words, c.function), std::string(c.function) << ": " << words);
        CHECK_MESSAGE(contains(words, "called_function.cpp:"), std::string(c.function) << ": " << words);
    }
}

TEST_CASE_FIXTURE(in_graph, "beside the op's name, where that is another one") {
    const auto x = tn::placeholder<float, tn::shape<dyn>>("x");
    const auto y = tn::pad<tn::margin{2, 0}>(x, tn::pad_mode::reflect);
    CHECK(y.node()->made_at.function == std::string("pad"));
    CHECK(tn::relu(x).materialize().node()->made_at.function == std::string("relu"));
    CHECK((tn::exp(x) * 2.0f).materialize().node()->made_at.function ==
          nullptr); // what is more than the function is no function's
    tn::session s(g);
    const std::string words = message_of<tn::invalid_argument_error>(
        [&] { (void)s.run(tn::feed(x, tn::array<float, tn::shape<dyn>>(0)), y); });
    CHECK_MESSAGE(contains(words, "continue_axis (continue_axis)"), words);
    CHECK_MESSAGE(contains(words, ", for pad(), made at "), words);
}
