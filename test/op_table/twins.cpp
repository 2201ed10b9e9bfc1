#include <doctest/doctest.h>

#include <tenon/tenon.hpp>

#include "running.hpp"

// A typed function and the untyped one of its name give the same bits, and types that agree.

using namespace op_table;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;

// A graph in which both are written, of operands that it feeds.
class twins {
public:
    template <class T, class S> auto operand(double low = -2, double high = 2) {
        return filled<T, S>([&](std::int64_t i, std::int64_t n) {
            return low + (high - low) * (static_cast<double>(i * 7 % n) + 0.4) / static_cast<double>(n);
        });
    }
    template <class T, class S> auto given(std::vector<double> values) {
        return filled<T, S>(
            [&](std::int64_t i, std::int64_t) { return values[static_cast<std::size_t>(i) % values.size()]; });
    }

    template <class E> void same(const char* name, const E& typed, const any_tensor& untyped) {
        INFO(name);
        const any_tensor t = tenon::detail::as_tensor(typed);
        CHECK(t.element() == untyped.element());
        CHECK(t.rank() == untyped.rank());
        session s(in_);
        std::vector<fed_value> feeds;
        for (const fed_value& f : fed_) feeds.push_back({f.tensor, f.value.share()});
        const std::vector<any_array> got = s.run_untyped(std::move(feeds), {t, untyped});
        std::vector<any_array> one, other;
        one.push_back(got[0].share());
        other.push_back(got[1].share());
        CHECK(difference(one, other) == "");
    }
    // For several results: a tuple or an array of them.
    template <class Tuple>
    void same_parts(const char* name, const Tuple& typed, const std::vector<any_tensor>& untyped) {
        REQUIRE(std::tuple_size_v<Tuple> == untyped.size());
        [&]<std::size_t... I>(std::index_sequence<I...>) { (same(name, std::get<I>(typed), untyped[I]), ...); }
        (std::make_index_sequence<std::tuple_size_v<Tuple>>{});
    }

private:
    template <class T, class S, class F> auto filled(F&& f) {
        const auto x = placeholder<T, S>();
        extents sizes;
        for (const extent& e : S::extents) sizes.push_back(e.is_number() ? e : extent(3));
        any_array a(element_type_of<T>, sizes);
        for (std::int64_t i = 0; i < a.elements(); ++i) set_number(a, i, f(i, a.elements()));
        fed_.push_back({x, std::move(a)});
        return x;
    }
    graph in_;
    graph_scope scope_{in_};
    std::vector<fed_value> fed_;
};

using matrix = shape<batch, 4>;

} // namespace

TEST_CASE("typed and untyped: instructions") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto y = t.operand<float, shape<4>>(0.5, 2);
    const auto p = t.operand<float, matrix>(0.1, 0.9);
    const auto m = t.operand<float, matrix>(1.1, 3);
    const auto n = t.given<std::int32_t, shape<3>>({1, 6, 12}), k = t.given<std::int32_t, shape<3>>({3, 2, 1});
    const auto b = t.given<bool, shape<4>>({1, 0, 1, 0}), c = t.given<bool, shape<4>>({1, 1, 0, 0});
#define ONE(NAME, OPERAND) t.same(#NAME, NAME(OPERAND), untyped::NAME(OPERAND))
#define TWO(NAME, A, B) t.same(#NAME, NAME(A, B), untyped::NAME(A, B))
    ONE(exp, x), ONE(exp2, x), ONE(expm1, x), ONE(log, m), ONE(log2, m), ONE(log10, m), ONE(log1p, m);
    ONE(sqrt, m), ONE(rsqrt, m), ONE(cbrt, x), ONE(reciprocal, m), ONE(sin, x), ONE(cos, x), ONE(tan, x);
    ONE(asin, p), ONE(acos, p), ONE(atan, x), ONE(sinh, x), ONE(cosh, x), ONE(tanh, x), ONE(asinh, x), ONE(acosh, m);
    ONE(atanh, p), ONE(erf, x), ONE(erfc, x), ONE(erfinv, p), ONE(erfcinv, p), ONE(lgamma, m), ONE(digamma, m);
    ONE(sigmoid, x), ONE(softplus, x), ONE(abs, x), ONE(sign, x), ONE(floor, x), ONE(ceil, x), ONE(round, x);
    ONE(trunc, x), ONE(relu, x), ONE(is_nan, x), ONE(is_inf, x), ONE(is_finite, x), ONE(square, x);
    TWO(minimum, x, y), TWO(maximum, x, y), TWO(atan2, x, y), TWO(hypot, x, y), TWO(polygamma, y, m);
    t.same("pow", pow(m, y), untyped::pow(m, y));
    t.same("negative", -x, untyped::negative(x));
    t.same("add", x + y, untyped::add(x, y));
    t.same("add", x + 0.25f, untyped::add(x, 0.25));
    t.same("subtract", x - y, untyped::subtract(x, y));
    t.same("multiply", x * y, untyped::multiply(x, y));
    t.same("divide", x / y, untyped::divide(x, y));
    t.same("mod", mod(x, y), untyped::mod(x, y));
    t.same("fmod", fmod(x, y), untyped::fmod(x, y));
    t.same("bit_and", n & k, untyped::bit_and(n, k));
    t.same("bit_or", n | k, untyped::bit_or(n, k));
    t.same("bit_xor", n ^ k, untyped::bit_xor(n, k));
    t.same("bit_not", ~n, untyped::bit_not(n));
    t.same("shift_left", n << k, untyped::shift_left(n, k));
    t.same("shift_right", n >> k, untyped::shift_right(n, k));
    t.same("logical_not", !b, untyped::logical_not(b));
    t.same("logical_and", b && c, untyped::logical_and(b, c));
    t.same("logical_or", b || c, untyped::logical_or(b, c));
    t.same("logical_xor", logical_xor(b, c), untyped::logical_xor(b, c));
    t.same("equal", n == k, untyped::equal(n, k));
    t.same("not_equal", n != k, untyped::not_equal(n, k));
    t.same("less", x < y, untyped::less(x, y));
    t.same("less_equal", x <= y, untyped::less_equal(x, y));
    t.same("greater", x > y, untyped::greater(x, y));
    t.same("greater_equal", x >= y, untyped::greater_equal(x, y));
    t.same("select", select(b, x, p), untyped::select(b, x, p));
    t.same("fma", fma(x, y, p), untyped::fma(x, y, p));
    t.same("cast", cast<std::int32_t>(x), untyped::cast(x, element_type::int32));
}

TEST_CASE("typed and untyped: products and reductions") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto w = t.operand<float, shape<4, 5>>();
    const auto b = t.given<bool, matrix>({1, 0, 1, 1, 1, 1, 1});
    t.same("matmul", matmul(x, w), untyped::matmul(x, w));
    t.same("matmul", matmul<transpose_a>(x, x), untyped::matmul(x, x, true));
    t.same("sum", sum<1>(x), untyped::sum(x, 1));
    t.same("sum", sum(x), untyped::sum(x));
    t.same("mean", mean<0>(x, keepdims), untyped::mean(x, 0, true));
    t.same("prod", prod<-1>(x), untyped::prod(x, -1));
    t.same("min", min<1>(x), untyped::min(x, 1));
    t.same("max", max<1>(x), untyped::max(x, 1));
    t.same("argmin", argmin<1>(x), untyped::argmin(x, 1));
    t.same("argmax", argmax(x), untyped::argmax(x));
    t.same("any", any<0>(b), untyped::any(b, 0));
    t.same("all", all<0>(b), untyped::all(b, 0));
    t.same("count_nonzero", count_nonzero<1>(b), untyped::count_nonzero(b, 1));
    t.same("logsumexp", logsumexp<1>(x), untyped::logsumexp(x, 1));
    t.same("variance", variance<1>(x, ddof{1}), untyped::variance(x, 1, false, 1));
    t.same("standard_deviation", standard_deviation<0>(x, keepdims), untyped::standard_deviation(x, 0, true));
    t.same("norm", norm<2, 1>(x), untyped::norm(x, 2, 1));
    t.same("sum_like", sum_like(x, sum<0>(x)), untyped::sum_like(x, untyped::sum(x, 0)));
    t.same("cumsum", cumsum<1>(x, {.exclusive = true}), untyped::cumsum(x, 1, {.exclusive = true}));
}

TEST_CASE("typed and untyped: sizes, order and parts") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto y = t.operand<float, shape<2, 6>>();
    const auto i = t.given<std::int32_t, shape<5>>({2, 0, 1, 2, 2});
    t.same("reshape", reshape<shape<batch, 2, 2>>(x), untyped::reshape(x, {extent::named("batch"), 2, 2}));
    t.same("reshape_like", reshape_like(y, transpose(y)), untyped::reshape_like(y, untyped::transpose(y)));
    t.same("expand_dims", expand_dims<1, -1>(x), untyped::expand_dims(x, {1, -1}));
    t.same("squeeze", squeeze<1>(expand_dims<1>(x)), untyped::squeeze(untyped::expand_dims(x, 1), 1));
    t.same("transpose", transpose(x), untyped::transpose(x));
    t.same("broadcast_to", broadcast_to<shape<2, batch, 4>>(x),
           untyped::broadcast_to(x, {2, extent::named("batch"), 4}));
    t.same("broadcast_like", broadcast_like(sum<0>(x), x), untyped::broadcast_like(untyped::sum(x, 0), x));
    t.same("concat", concat<1>(x, x), untyped::concat({x, x}, 1));
    t.same_parts("split", split<3, 1>(y), untyped::split(y, 3, 1));
    t.same_parts("split_evenly", split_evenly<4, 1>(y), untyped::split_evenly(y, 4, 1));
    t.same_parts("split_sizes", split_sizes<1, 2, 4>(y), untyped::split_sizes(y, {2, 4}, 1));
    t.same("add_n", add_n(x, x), untyped::add_n({x, x}));
    t.same("stack", stack<1>(x, x), untyped::stack({x, x}, 1));
    t.same_parts("unstack", unstack<2, 0>(y), untyped::unstack(y, 2));
    t.same("slice", slice<range{0, 1}, range{.step = -2}>(y), untyped::slice(y, {range{0, 1}, range{.step = -2}}));
    t.same("reverse", reverse<1>(x), untyped::reverse(x, 1));
    t.same("pad", pad<margin{1, 0}, margin{0, 2}>(x), untyped::pad(x, {margin{1, 0}, margin{0, 2}}));
    t.same("tile", tile<2, 1>(y), untyped::tile(y, {2, 1}));
    t.same("one_hot", one_hot<3>(i), untyped::one_hot(i, 3));
    t.same("gather", gather<0>(x, i), untyped::gather(x, i));
}

TEST_CASE("typed and untyped: layers") {
    twins t;
    const auto image = t.operand<float, shape<batch, 5, 4, 2>>();
    const auto w = t.operand<float, shape<3, 3, 2, 4>>();
    const auto back = t.operand<float, shape<3, 3, 4, 2>>();
    const auto x = t.operand<float, matrix>();
    const auto scale = t.operand<float, shape<4>>();
    const auto labels = t.given<std::int32_t, shape<batch>>({3, 0, 1});
    constexpr conv2d_options moved{.stride = 2, .padding = same};
    t.same("conv2d", conv2d<moved>(image, w), untyped::conv2d(image, w, moved));
    t.same("conv2d_transpose", conv2d_transpose<moved>(image, back), untyped::conv2d_transpose(image, back, moved));
    t.same("max_pool2d", max_pool2d<3, 2, same>(image), untyped::max_pool2d(image, {3, 2, same}));
    t.same("average_pool2d", average_pool2d<2>(image), untyped::average_pool2d(image, {2, 2, valid}));
    t.same("softmax", softmax(x), untyped::softmax(x));
    t.same("log_softmax", log_softmax<0>(x), untyped::log_softmax(x, 0));
    t.same("sparse_softmax_cross_entropy", sparse_softmax_cross_entropy(x, labels),
           untyped::sparse_softmax_cross_entropy(x, labels));
    t.same("softmax_cross_entropy", softmax_cross_entropy(x, softmax(x)),
           untyped::softmax_cross_entropy(x, untyped::softmax(x)));
    t.same("layer_norm", layer_norm(x, scale, scale), untyped::layer_norm(x, scale, scale));
}

TEST_CASE("typed and untyped: control, constants and random numbers") {
    twins t;
    const auto x = t.operand<float, matrix>();
    const auto training = t.given<bool, shape<>>({1});
    t.same("zeros_like", zeros_like(x), untyped::zeros_like(x));
    t.same("ones_like", ones_like(x), untyped::ones_like(x));
    t.same("identity", identity(x), untyped::identity(x));
    t.same("stop_gradient", stop_gradient(x), untyped::stop_gradient(x));
    any_array one(element_type::float32, {});
    set_number(one, 0, 1.5);
    t.same("constant", constant(1.5f), untyped::constant(std::move(one)));
    constexpr auto f = element_type::float32;
    t.same("random_uniform", random_uniform<float, shape<3>>(-1, 1, 7), untyped::random_uniform(f, 3, -1, 1, 7));
    t.same("random_uniform_like", random_uniform_like(x, -1, 1, 7), untyped::random_uniform_like(x, -1, 1, 7));
    t.same("random_normal", random_normal<float, shape<3>>(0, 2, 7), untyped::random_normal(f, 3, 0, 2, 7));
    t.same("random_normal_like", random_normal_like(x, 0, 2, 7), untyped::random_normal_like(x, 0, 2, 7));
    t.same("truncated_normal", truncated_normal<float, shape<3>>(0, 2, 7), untyped::truncated_normal(f, 3, 0, 2, 7));
    t.same("truncated_normal_like", truncated_normal_like(x, 0, 2, 7), untyped::truncated_normal_like(x, 0, 2, 7));
    t.same("random_integers", random_integers<std::int32_t, shape<3>>(1, 7, 7),
           untyped::random_integers(element_type::int32, 3, 1, 7, 7));
    t.same("random_permutation", random_permutation<std::int32_t, shape<5>>(7),
           untyped::random_permutation(element_type::int32, 5, 7));
    t.same("random_shuffle", random_shuffle(x, 7), untyped::random_shuffle(x, 7));
    t.same("random_bernoulli", random_bernoulli<shape<9>>(0.5, 7), untyped::random_bernoulli(9, 0.5, 7));
    t.same("random_bernoulli_like", random_bernoulli_like(x, 0.5, 7), untyped::random_bernoulli_like(x, 0.5, 7));
    t.same("dropout", dropout(x, 0.5, 7), untyped::dropout(x, 0.5, 7));
    t.same("dropout", dropout(x, 0.5, training, 7), untyped::dropout(x, 0.5, training, 7));
}
