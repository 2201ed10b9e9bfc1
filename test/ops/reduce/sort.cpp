#include "tests.hpp"
#include "../check_gradients.hpp"
#include "ops/untyped_run.hpp"

namespace {

template <class T> bool is_nan_value(const T& v) {
    if constexpr (std::is_integral_v<T>) return false;
    else return std::isnan(static_cast<double>(v));
}
template <class T> bool is_below(const T& a, const T& b) { // as NumPy has it
    if constexpr (std::is_integral_v<T>) return a < b;
    else return is_nan_value(b) ? !is_nan_value(a) : static_cast<double>(a) < static_cast<double>(b);
}

// Numbers of all magnitudes, some of which are equal, and what is special among floating ones.
template <class T> tn::any_array drawn(const tn::extents& sizes, std::mt19937_64& random, bool special) {
    tn::any_array a(tn::element_type_of<T>, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const std::uint64_t bits = random();
        T v;
        std::memcpy(static_cast<void*>(&v), &bits, sizeof v);
        if constexpr (!std::is_integral_v<T>) {
            const double all[] = {0.0, -0.0, std::nan(""), INFINITY, -INFINITY, 1.0, -2.5};
            if (is_nan_value(v)) v = T(static_cast<float>(i % 50));
            if (special && bits % 5 == 0) v = T(static_cast<float>(all[bits / 5 % 7]));
        }
        if (bits % 7 == 0) v = T(static_cast<float>(bits / 7 % 5));
        a.data<T>()[i] = v;
    }
    return a;
}

} // namespace

TEST_CASE_TEMPLATE("sort and argsort are a stable sort of each line, along any axis, of few elements and of many", T,
                   float, double, tn::half, tn::bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                   std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 14; ++round) {
        const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random() % most); };
        const bool many = round % 3 == 2;
        tn::extents sizes(size(3), size(many ? 3 : 40), size(4));
        const int axis = static_cast<int>(random() % 3);
        if (many) sizes[axis] = 600 + size(3000);
        const tn::any_array x = drawn<T>(sizes, random, round % 2 == 0);
        const bool descending = round % 4 < 2;
        const tn::graph_scope scope{tn::graph()};
        const tn::any_tensor in = tn::test::unknown_placeholder(x);
        const tn::any_tensor s = tn::untyped::sort(in, axis, {descending}),
                             p = tn::untyped::argsort(in, axis - 3, {descending});
        tn::session session;
        const auto both = session.run_untyped(tn::test::fed(in, x), {s, p});
        const auto values = session.run_untyped(tn::test::fed(in, x), {s}); // without their places
        const auto places = session.run_untyped(tn::test::fed(in, x), {p});
        REQUIRE(both[1].element() == tn::element_type::int64);
        const auto bytes = static_cast<std::size_t>(x.elements()) * sizeof(T);
        CHECK(std::memcmp(both[0].data(), values[0].data(), bytes) == 0);
        CHECK(std::memcmp(both[1].data(), places[0].data(), static_cast<std::size_t>(x.elements()) * 8) == 0);
        std::int64_t inner = 1;
        for (int d = axis + 1; d < 3; ++d) inner *= sizes[d].size;
        const std::int64_t n = sizes[axis].size;
        int wrong = 0;
        for (std::int64_t line = 0; line < x.elements() / n; ++line) {
            const std::int64_t first = line / inner * inner * n + line % inner;
            const auto at = [&](std::int64_t i) { return x.data<T>()[first + i * inner]; };
            std::vector<std::int64_t> order(static_cast<std::size_t>(n));
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
                return descending ? is_below(at(b), at(a)) : is_below(at(a), at(b));
            });
            for (std::int64_t i = 0; i < n; ++i) {
                const std::int64_t from = order[static_cast<std::size_t>(i)];
                const T want = at(from);
                wrong += both[1].data<std::int64_t>()[first + i * inner] != from;
                wrong += std::memcmp(&both[0].data<T>()[first + i * inner], &want, sizeof want) != 0;
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("sort: NaN comes last, and first where the largest do, as top_k has it; -0 and 0 keep their order") {
    const double nan = std::nan(""), inf = INFINITY;
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<double, tn::shape<6>>("x");
    tn::session s;
    const tn::array<double, tn::shape<6>> in{nan, 0.0, inf, -0.0, -inf, 3};
    const auto [up, down, largest] =
        s.run(tn::feed(x, in), tn::argsort(x), tn::argsort(x, {.descending = true}), std::get<1>(tn::top_k<6>(x)));
    CHECK(up == tn::array<std::int64_t, tn::shape<6>>{4, 1, 3, 5, 2, 0});
    CHECK(down == tn::array<std::int64_t, tn::shape<6>>{0, 2, 5, 1, 3, 4});
    for (int i = 0; i < 6; ++i) CHECK(down(i) == largest(i));
    const auto sorted = s.run(tn::feed(x, in), tn::sort(x));
    CHECK((sorted(0) == -inf && !std::signbit(sorted(1)) && std::signbit(sorted(2)) && std::isnan(sorted(5))));
}

TEST_CASE("sort's gradient goes to where each element was, and can be differentiated again") {
    using tn::square, tn::sum;
    const auto x = tn::test::drawn(tn::test::input<tn::shape<3, 5>>(), tn::test::values::distinct);
    CHECK(tn::test::check_gradients([](auto t) { return tn::sort<0>(t); }, x) == "");
    CHECK(tn::test::check_gradients([](auto t) { return square(tn::sort(t, {.descending = true})); }, x) == "");
    CHECK(tn::test::check_gradients(
              [](auto t) { return square(std::get<0>(tn::gradients(sum(square(tn::sort(t)) * tn::sort(t)), t))); },
              x) == "");
}

TEST_CASE_TEMPLATE("searchsorted counts what is less, or not larger", T, float, tn::half, std::int8_t, std::uint64_t) {
    std::mt19937_64 random(3);
    for (int round = 0; round < 20; ++round) {
        const std::int64_t n = static_cast<std::int64_t>(random() % 40), m = static_cast<std::int64_t>(random() % 30);
        const bool one_row = round % 2 == 0;
        const std::int64_t rows = one_row ? 1 : 3;
        tn::any_array sorted(tn::element_type_of<T>, one_row ? tn::extents(n) : tn::extents(rows, n));
        const tn::any_array values = drawn<T>(tn::extents(3, m), random, true);
        for (std::int64_t r = 0; r < rows; ++r) {
            const tn::any_array row = drawn<T>(tn::extents(n), random, true);
            std::copy_n(row.data<T>(), n, sorted.data<T>() + r * n);
            std::stable_sort(sorted.data<T>() + r * n, sorted.data<T>() + (r + 1) * n,
                             [](const T& a, const T& b) { return is_below(a, b); });
        }
        const tn::graph_scope scope{tn::graph()};
        const tn::any_tensor s = tn::untyped::placeholder(sorted.element(), sorted.extents()),
                             v = tn::untyped::placeholder(values.element(), values.extents());
        tn::session session;
        const auto out =
            session.run_untyped(tn::test::fed(s, sorted, v, values),
                                {tn::untyped::searchsorted(s, v), tn::untyped::searchsorted(s, v, {.right = true})});
        int wrong = 0;
        for (std::int64_t i = 0; i < 3 * m; ++i) {
            const T* const row = sorted.data<T>() + (one_row ? 0 : i / m * n);
            std::int64_t less = 0, not_larger = 0;
            for (std::int64_t j = 0; j < n; ++j) {
                less += is_below(row[j], values.data<T>()[i]);
                not_larger += !is_below(values.data<T>()[i], row[j]);
            }
            wrong += out[0].data<std::int64_t>()[i] != less;
            wrong += out[1].data<std::int64_t>()[i] != not_larger;
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE_FIXTURE(in_graph, "sort and searchsorted refuse what they cannot do, in words") {
    const auto of = [](const tn::extents& sizes, tn::element_type e = tn::element_type::float32) {
        return tn::untyped::placeholder(e, sizes, "x");
    };
    const auto refusal = [](auto&& f) { return message_of<tn::invalid_argument_error>(f); };
    CHECK(refusal([&] {
              tn::untyped::sort(of({2, 3}), 2);
          }) == "sort: axis is out of range: [2, 3], axis 2 (inputs x)");
    CHECK(contains(refusal([&] { tn::untyped::sort(of({2}, tn::element_type::boolean)); }), "must be a number"));
    CHECK(contains(refusal([&] { tn::untyped::sort(of({std::int64_t{1} << 32})); }), "2^32 elements and more"));
    CHECK(contains(refusal([&] {
                       tn::untyped::searchsorted(of({2, 3}), of({3, 4}));
                   }),
                   "one for each row of the values"));
}
