#include "tests.hpp"
#include "../check_gradients.hpp"
#include "ops/untyped_run.hpp"

namespace {

constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

// The places of a row's elements, sorted in the plainest way.
template <class T> std::vector<std::int32_t> sorted_places(const T* row, int n) {
    std::vector<std::int32_t> places(static_cast<std::size_t>(n));
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(), [&](std::int32_t a, std::int32_t b) {
        const double x = static_cast<double>(row[a]), y = static_cast<double>(row[b]);
        return x > y || (std::isnan(x) && !std::isnan(y));
    });
    return places;
}

} // namespace

TEST_CASE_TEMPLATE("top_k gives what sorting gives, for random rows with ties", T, float, double, std::int32_t,
                   tn::half, std::uint8_t) {
    std::mt19937 random(1);
    for (int round = 0; round < 60; ++round) {
        const int n = 1 + static_cast<int>(random() % 70), rows = 1 + static_cast<int>(random() % 5);
        const int k = 1 + static_cast<int>(random() % static_cast<unsigned>(n));
        const int kinds = round % 2 ? 4 : 100; // of values: many ties, or few
        tn::any_array x(tn::element_type_of<T>, tn::extents{rows, n});
        for (std::int64_t i = 0; i < x.elements(); ++i)
            x.data<T>()[i] = T(static_cast<float>(random() % static_cast<unsigned>(kinds)));
        const tn::graph_scope scope{tn::graph()};
        const tn::any_tensor in = tn::untyped::placeholder(x.element(), x.extents(), "x");
        const std::vector<tn::any_tensor> both = tn::untyped::top_k(in, k);
        tn::session s;
        const std::vector<tn::any_array> out = s.run_untyped(tn::test::fed(in, x.copy()), both);
        for (int r = 0; r < rows; ++r) {
            const std::vector<std::int32_t> expected = sorted_places(x.data<T>() + r * n, n);
            for (int j = 0; j < k; ++j) {
                const std::int32_t place = out[1].data<std::int32_t>()[r * k + j];
                CHECK(place == expected[static_cast<std::size_t>(j)]);
                CHECK(static_cast<double>(out[0].data<T>()[r * k + j]) ==
                      static_cast<double>(x.data<T>()[r * n + place]));
            }
        }
    }
}

TEST_CASE("top_k: a NaN is larger than all numbers, infinities are numbers, and either output may be asked for alone") {
    const auto x = tn::placeholder<double, tn::shape<6>>("x");
    const auto [values, places] = tn::top_k<4>(x);
    const double inf = std::numeric_limits<double>::infinity();
    tn::session s;
    const tn::array<double, tn::shape<6>> in{1, no_number, -inf, inf, no_number, 2};
    const auto p = s.run(tn::feed(x, in), places);
    CHECK(p == tn::array<std::int32_t, tn::shape<4>>{1, 4, 3, 5});
    const auto v = s.run(tn::feed(x, in), values);
    CHECK((std::isnan(v(0)) && std::isnan(v(1)) && v(2) == inf && v(3) == 2));
}

TEST_CASE("top_k's gradient goes to the elements that were chosen, and can be differentiated again") {
    using tn::square, tn::sum;
    CHECK(tn::test::check_gradients([](auto x) { return sum(square(std::get<0>(tn::top_k<2>(x)))); },
                                    tn::test::drawn(tn::test::input<tn::shape<3, 5>>(), tn::test::values::distinct)) ==
          "");
    const auto x = tn::placeholder<double, tn::shape<2, 3>>("x");
    const auto cubes = sum(tn::square(std::get<0>(tn::top_k<2>(x))) * std::get<0>(tn::top_k<2>(x)));
    const auto [g] = tn::gradients(cubes, x);
    const auto [h] = tn::gradients(sum(g), x);
    tn::session s;
    const auto [first, second] = s.run(tn::feed(x, tn::array<double, tn::shape<2, 3>>{{1, 3, 2}, {-1, -2, -3}}), g, h);
    CHECK(first == tn::array<double, tn::shape<2, 3>>{{0, 27, 12}, {3, 12, 0}});
    CHECK(second == tn::array<double, tn::shape<2, 3>>{{0, 18, 12}, {-6, -12, 0}});
}

TEST_CASE("top_k refuses what it cannot give, when the graph is made, or in the step that tells the size") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, tn::extents{2, 3}, "few");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::untyped::top_k(x, 4); }) ==
          "top_k: there are fewer elements along the last axis than k: float[2, 3], k 4 (inputs few)");
    CHECK(message_of<tn::invalid_argument_error>([&] { tn::untyped::top_k(x, 0); }) ==
          "top_k: k must be 1 or more: float[2, 3], k 0 (inputs few)");
    const auto known_late = tn::placeholder<float, tn::shape<tn::dyn>>("known_late");
    const auto values = std::get<0>(tn::top_k<3>(known_late));
    tn::session s;
    CHECK(s.run(tn::feed(known_late, tn::array<float>{1, 2, 3, 4}), values) == tn::array<float, tn::shape<3>>{4, 3, 2});
    CHECK(contains(message_of<tn::invalid_argument_error>([&] {
                       s.run(tn::feed(known_late, tn::array<float>{1, 2}), values);
                   }),
                   "fewer elements along the last axis than k"));
}

TEST_CASE("places outside a row are refused") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, tn::extents{2, 3}, "row"),
                         places = tn::untyped::placeholder(tn::element_type::int32, tn::extents{2, 1}, "places");
    const tn::any_tensor taken = tn::add<tn::take_places_op>({}, {x, places}),
                         put = tn::add<tn::put_places_op>({}, {taken, places, x});
    tn::session s;
    for (const std::int32_t wrong : {-1, 3})
        for (const tn::any_tensor& asked : {taken, put}) {
            std::vector<tn::fed_value> feeds;
            feeds.push_back({x, tn::array<float>{{1, 2, 3}, {4, 5, 6}}.untyped()});
            tn::any_array p(tn::element_type::int32, tn::extents{2, 1});
            p.data<std::int32_t>()[0] = 0;
            p.data<std::int32_t>()[1] = wrong;
            feeds.push_back({places, std::move(p)});
            CHECK_ERROR(tn::invalid_argument_error,
                        "place " + std::to_string(wrong) + " of row 1 is out of range for a last axis of size 3",
                        s.run_untyped(std::move(feeds), {asked}));
        }
}
