// Expressions that nobody chose: grown at compile time from a seed, over all kinds of element types and sizes. The
// compiled kernel, the interpreter and the gradients of each are held against the same formula in long double, which
// is grown beside it from the same seed.
#undef TENON_COMPILE_EXPRESSIONS
#define TENON_COMPILE_EXPRESSIONS 1
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include <tenon/ops/elementwise/elementwise.hpp>
#include <tenon/ops/gradients.hpp>
#include <tenon/ops/reduce/reduction.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/runtime/session/session.hpp>

#include "compare_compiled.hpp"
#include "ops/untyped_run.hpp"
#include "own_graph.hpp"

using namespace tape_test;

namespace {

/// A number and how far its computation in T may be from it: each step rounds, and passes its operands' errors on by
/// no more than its slope.
template <class T> struct exact {
    long double value = 0;
    long double error = 0;

    explicit exact(int v) : value(v) {}
    exact(long double v, long double e) : value(v), error(e + std::fabs(v) * 4 * step()) {}
    static exact given(double v) {
        exact x(0, 0);
        x.value = v;
        return x;
    }
    static constexpr long double step() {
        return std::is_same_v<T, double> ? std::numeric_limits<double>::epsilon()
                                         : std::numeric_limits<float>::epsilon();
    }
    friend exact operator+(exact a, exact b) { return {a.value + b.value, a.error + b.error}; }
    friend exact operator-(exact a, exact b) { return {a.value - b.value, a.error + b.error}; }
    friend exact operator*(exact a, exact b) {
        return {a.value * b.value, a.error * std::fabs(b.value) + b.error * (std::fabs(a.value) + a.error)};
    }
    friend exact operator/(exact a, exact b) { // |b| is at least 1
        return {a.value / b.value, (a.error + b.error * std::fabs(a.value / b.value)) * 2};
    }
    friend exact operator-(exact a) { return {-a.value, a.error}; }
    friend exact tanh(exact a) { return {std::tanh(a.value), a.error}; }
    friend exact sigmoid(exact a) { return {1 / (1 + std::exp(-a.value)), a.error}; }
    friend exact sin(exact a) { return {std::sin(a.value), a.error}; }
    friend exact atan(exact a) { return {std::atan(a.value), a.error}; }
    friend exact erf(exact a) { return {std::erf(a.value), 2 * a.error}; }
    friend exact softplus(exact a) { return {std::log1p(std::exp(a.value)), a.error}; }
    friend exact relu(exact a) { return {std::fmax(a.value, 0.0L), a.error}; }
    friend exact abs(exact a) { return {std::fabs(a.value), a.error}; }
    friend exact sqrt(exact a) { return {std::sqrt(a.value), a.error}; }   // of 1 and more
    friend exact log(exact a) { return {std::log(a.value), a.error}; }     // of 1 and more
    friend exact exp(exact a) { return {std::exp(a.value), 3 * a.error}; } // of 1 and less
    friend exact minimum(exact a, exact b) { return {std::fmin(a.value, b.value), std::fmax(a.error, b.error)}; }
    friend exact maximum(exact a, exact b) { return {std::fmax(a.value, b.value), std::fmax(a.error, b.error)}; }
    friend exact hypot(exact a, exact b) { return {std::hypot(a.value, b.value), a.error + b.error}; }
    friend bool operator>(exact a, exact b) { return a.value > b.value; } // of what is given: without error
    friend exact select(bool p, exact a, exact b) { return p ? a : b; }
};

/// The same for integers, which wrap around.
template <class T> struct exact_integer {
    T value = 0;

    exact_integer(auto v) : value(static_cast<T>(v)) {}
    static exact_integer given(double v) { return {v}; }
    template <class F> static exact_integer of(exact_integer a, exact_integer b, F f) {
        return {f(static_cast<std::uint64_t>(a.value), static_cast<std::uint64_t>(b.value))};
    }
    friend exact_integer operator+(exact_integer a, exact_integer b) { return of(a, b, std::plus<>()); }
    friend exact_integer operator-(exact_integer a, exact_integer b) { return of(a, b, std::minus<>()); }
    friend exact_integer operator*(exact_integer a, exact_integer b) { return of(a, b, std::multiplies<>()); }
    friend exact_integer operator&(exact_integer a, exact_integer b) { return of(a, b, std::bit_and<>()); }
    friend exact_integer operator|(exact_integer a, exact_integer b) { return of(a, b, std::bit_or<>()); }
    friend exact_integer operator^(exact_integer a, exact_integer b) { return of(a, b, std::bit_xor<>()); }
    friend exact_integer operator-(exact_integer a) { return exact_integer(0) - a; }
    friend exact_integer operator~(exact_integer a) { return {~static_cast<std::uint64_t>(a.value)}; }
    friend exact_integer minimum(exact_integer a, exact_integer b) { return {std::min(a.value, b.value)}; }
    friend exact_integer maximum(exact_integer a, exact_integer b) { return {std::max(a.value, b.value)}; }
    friend bool operator>(exact_integer a, exact_integer b) { return a.value > b.value; }
    friend exact_integer select(bool p, exact_integer a, exact_integer b) { return p ? a : b; }
};

// Splitmix64 (Steele, Lea, Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t z) {
    z += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

/// The tree of a seed over the operands a, b and c, of tensors or of exact numbers.
template <class Number, std::uint64_t Seed, int Depth> struct tree {
    static constexpr std::uint64_t choice = mixed(Seed);
    using left = tree<Number, mixed(Seed + 1), Depth - 1>;
    using right = tree<Number, mixed(Seed + 2), Depth - 1>;
    static Number number() { return Number(static_cast<int>(choice / 1024 % 5) - 1); }

    template <class Leaves> static auto grow(const Leaves& leaf) {
        if constexpr (Depth == 0 || (Depth < 3 && choice / 64 % 6 == 0)) {
            if constexpr (choice % 3 == 0) return leaf.a();
            else if constexpr (choice % 3 == 1) return leaf.b();
            else return leaf.c();
        } else if constexpr (Leaves::integer) {
            constexpr int kind = choice % 12;
            if constexpr (kind < 2) return left::grow(leaf) + right::grow(leaf);
            else if constexpr (kind == 2) return left::grow(leaf) - right::grow(leaf);
            else if constexpr (kind < 5) return left::grow(leaf) * right::grow(leaf);
            else if constexpr (kind == 5) return left::grow(leaf) & right::grow(leaf);
            else if constexpr (kind == 6) return left::grow(leaf) | right::grow(leaf);
            else if constexpr (kind == 7) return left::grow(leaf) ^ right::grow(leaf);
            else if constexpr (kind == 8) return minimum(left::grow(leaf), right::grow(leaf));
            else if constexpr (kind == 9) return maximum(left::grow(leaf), ~right::grow(leaf));
            else if constexpr (kind == 10) return select(leaf.a() > leaf.b(), left::grow(leaf), right::grow(leaf));
            else return left::grow(leaf) * number() - right::grow(leaf);
        } else {
            constexpr int kind = choice % 22;
            if constexpr (kind < 2) return left::grow(leaf) + right::grow(leaf);
            else if constexpr (kind == 2) return left::grow(leaf) - right::grow(leaf);
            else if constexpr (kind < 6) return left::grow(leaf) * right::grow(leaf);
            else if constexpr (kind == 6) return left::grow(leaf) / (abs(right::grow(leaf)) + Number(1));
            else if constexpr (kind == 7) return minimum(left::grow(leaf), right::grow(leaf));
            else if constexpr (kind == 8) return maximum(left::grow(leaf), right::grow(leaf));
            else if constexpr (kind == 9) return select(leaf.a() > leaf.b(), left::grow(leaf), right::grow(leaf));
            else if constexpr (kind == 10) return left::grow(leaf) * number() + right::grow(leaf);
            else if constexpr (kind == 11) return hypot(left::grow(leaf), right::grow(leaf));
            else if constexpr (kind == 12) return tanh(left::grow(leaf));
            else if constexpr (kind == 13) return sigmoid(left::grow(leaf));
            else if constexpr (kind == 14) return sin(left::grow(leaf));
            else if constexpr (kind == 15) return atan(left::grow(leaf));
            else if constexpr (kind == 16) return erf(left::grow(leaf));
            else if constexpr (kind == 17) return softplus(left::grow(leaf));
            else if constexpr (kind == 18) return relu(-left::grow(leaf));
            else if constexpr (kind == 19) return sqrt(abs(left::grow(leaf)) + Number(1));
            else if constexpr (kind == 20) return log(abs(left::grow(leaf)) + Number(1));
            else return exp(minimum(left::grow(leaf), Number(1)));
        }
    }
};

/// Operands in the graph: a and b of type T, c of another type, converted.
template <class T, class C, class A, class B, class S> struct graph_leaves {
    static constexpr bool integer = std::is_integral_v<T>;
    tensor<T, A> a_ = placeholder<T, A>("a");
    tensor<T, B> b_ = placeholder<T, B>("b");
    tensor<C, S> c_ = placeholder<C, S>("c");

    auto a() const { return tensor<T, A>(a_); }
    auto b() const { return tensor<T, B>(b_); }
    auto c() const {
        if constexpr (std::is_same_v<C, T>) return tensor<C, S>(c_);
        else return cast<T>(c_);
    }
};

template <class Number, bool Integer> struct number_leaves {
    static constexpr bool integer = Integer;
    Number a_, b_, c_;
    Number a() const { return a_; }
    Number b() const { return b_; }
    Number c() const { return c_; }
};

inline constexpr struct rows_size : dim<"rows"> {} rows;
inline constexpr struct columns_size : dim<"columns"> {} columns;

any_array to_array(const buffer& b) {
    any_array a(b.element, b.sizes);
    if (b.bytes()) std::memcpy(a.data(), b.data(), b.bytes());
    return a;
}

/// One tree: T's type and C's, the sizes' types A, B and S, and sizes to run it with.
template <class T, class C, std::uint64_t Seed, class A, class B, class S>
void check(const extents& a_sizes, const extents& b_sizes, const extents& c_sizes) {
    INFO("seed ", Seed, ", ", std::string(name_of(element_type_of<T>)), " and ",
         std::string(name_of(element_type_of<C>)), ", ", to_string(A::extents), " ", to_string(B::extents), " ",
         to_string(S::extents));
    constexpr int depth = 4;
    constexpr bool integer = std::is_integral_v<T>;
    using computed = std::conditional_t<std::is_same_v<T, double>, double, float>;
    using number = std::conditional_t<integer, exact_integer<T>, exact<computed>>;
    using plain = std::conditional_t<integer, T, double>;
    const own_graph g;
    const graph_leaves<T, C, A, B, S> leaves;
    const auto grown = [&] { return tree<plain, Seed, depth>::grow(leaves); };
    if constexpr (requires { typename decltype(grown())::tree_type; }) {
        std::mt19937 random(static_cast<unsigned>(Seed));
        require_compiled_as_interpreted(grown(), random, 4);

        // Values of few bits, which all element types have.
        const auto given = [&](element_type e, const extents& sizes) {
            buffer b(e, sizes);
            for (std::size_t i = 0; i < b.count(); ++i) {
                const int k = static_cast<int>(random() % 129);
                b.set(i, is_floating(e) ? (k - 64) / 32.0 : integer ? k : k % 4);
            }
            return b;
        };
        std::vector<buffer> in;
        in.push_back(given(element_type_of<T>, a_sizes));
        in.push_back(given(element_type_of<T>, b_sizes));
        in.push_back(given(element_type_of<C>, c_sizes));
        const extents sizes = broadcast(broadcast(a_sizes, b_sizes).extents, c_sizes).extents;
        const auto formula = [&](std::size_t i) {
            const auto value = [&](std::size_t k) {
                return number::given(in[k].at(broadcast_index(sizes, in[k].sizes, i)));
            };
            return tree<number, Seed, depth>::grow(number_leaves<number, integer>{value(0), value(1), value(2)});
        };

        session sess(g);
        const auto run = [&](const std::vector<any_tensor>& fetched) {
            return sess.run_untyped(
                tenon::test::fed(leaves.a_, to_array(in[0]), leaves.b_, to_array(in[1]), leaves.c_, to_array(in[2])),
                fetched);
        };
        // All three are needed for the sizes.
        const auto full = [&] {
            if constexpr (std::is_same_v<C, T>)
                return grown() + (leaves.a_ * T(0) + leaves.b_ * T(0) + leaves.c_ * T(0));
            else return grown() + (leaves.a_ * T(0) + leaves.b_ * T(0) + cast<T>(leaves.c_) * T(0));
        }();
        const std::vector<any_array> fetched = run({any_tensor(full)});
        const any_array& got = fetched[0];
        buffer found(got.element(), got.extents());
        std::memcpy(found.data(), got.data(), found.bytes());
        REQUIRE(found.sizes == sizes);
        for (std::size_t i = 0; i < found.count(); ++i) {
            const number want = formula(i);
            INFO("element ", i);
            if constexpr (integer) CHECK(found.at(i) == static_cast<double>(want.value));
            else {
                const double stored = std::is_same_v<T, half>       ? 1.0 / 1024
                                      : std::is_same_v<T, bfloat16> ? 1.0 / 128
                                                                    : 0;
                const double allowed =
                    static_cast<double>(want.error + std::fabs(want.value) * stored) + 1e-7 * (stored > 0);
                CHECK(std::fabs(found.at(i) - static_cast<double>(want.value)) <= allowed);
            }
        }

        if constexpr (std::is_same_v<T, double>) {
            const std::vector<any_tensor> xs{leaves.a_, leaves.b_};
            const auto slopes = run(gradients(any_tensor(sum(full)), xs));
            for (std::size_t k = 0; k < xs.size(); ++k)
                for (std::size_t e = 0; e < in[k].count(); ++e) {
                    const double x = in[k].at(e);
                    const auto loss = [&](double at) {
                        in[k].set(e, at);
                        long double total = 0;
                        for (std::size_t i = 0; i < found.count(); ++i) total += formula(i).value;
                        in[k].set(e, x);
                        return total;
                    };
                    const double h = 0x1p-20;
                    const long double here = loss(x), up = (loss(x + h) - here) / h, down = (here - loss(x - h)) / h;
                    if (std::fabs(up - down) > 1e-3 * (1 + std::fabs(up))) continue; // a kink
                    INFO("gradient ", k, " element ", e, " at ", x);
                    CHECK(slopes[k].template data<double>()[e] ==
                          doctest::Approx(static_cast<double>((up + down) / 2)).epsilon(1e-6));
                }
        }
    }
}

/// Each seed takes the next kind of sizes: static, dynamic, named, mixed.
template <class T, class C, std::uint64_t Seed> void check_sizes() {
    if constexpr (Seed % 4 == 0) check<T, C, Seed, shape<3, 5>, shape<5>, shape<3, 1>>({3, 5}, {5}, {3, 1});
    else if constexpr (Seed % 4 == 1)
        check<T, C, Seed, shape<dyn, dyn>, shape<dyn>, shape<dyn, dyn>>({2, 19}, {19}, {1, 19});
    else if constexpr (Seed % 4 == 2) check<T, C, Seed, shape<rows, columns>, shape<columns>, shape<>>({4, 6}, {6}, {});
    else check<T, C, Seed, shape<dyn, 7>, shape<1>, shape<rows, 1, 7>>({2, 7}, {1}, {3, 1, 7});
}

template <class T, class C, std::uint64_t First, std::size_t... I> void check_seeds(std::index_sequence<I...>) {
    (check_sizes<T, C, First + I>(), ...);
}

} // namespace

TEST_CASE("random trees: float, with operands of other types") {
    check_seeds<float, float, 100>(std::make_index_sequence<4>());
    check_seeds<float, std::int32_t, 201>(std::make_index_sequence<1>());
    check_seeds<float, bfloat16, 302>(std::make_index_sequence<1>());
}

TEST_CASE("random trees: double, with gradients") {
    check_seeds<double, double, 400>(std::make_index_sequence<4>());
    check_seeds<double, float, 503>(std::make_index_sequence<1>());
}

TEST_CASE("random trees: half and bfloat16") {
    check_seeds<half, half, 600>(std::make_index_sequence<1>());
    check_seeds<bfloat16, bool, 701>(std::make_index_sequence<1>());
}

TEST_CASE("random trees: integers wrap around") {
    check_seeds<std::int32_t, std::int32_t, 802>(std::make_index_sequence<2>());
    check_seeds<std::uint8_t, bool, 903>(std::make_index_sequence<1>());
    check_seeds<std::int64_t, std::int16_t, 1000>(std::make_index_sequence<1>());
}
