#include "tests.hpp"
#include "../check_gradients.hpp"

using namespace tenon;

TEST_CASE_FIXTURE(in_graph, "pad with a tensor's own elements, as NumPy has it, however far") {
    const auto x = constant(array<std::int32_t, shape<3>>{1, 2, 3});
    session s;
    using wide = array<std::int32_t, shape<12>>;
    constexpr margin far{4, 5};
    CHECK(s.run(pad<far>(x, pad_mode::reflect)) == wide{1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2});
    CHECK(s.run(pad<far>(x, pad_mode::edge)) == wide{1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3, 3});
    CHECK(s.run(pad<far>(x, pad_mode::wrap)) == wide{3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2});
    const auto one = constant(array<std::int32_t, shape<1>>{7});
    for (const pad_mode mode : {pad_mode::reflect, pad_mode::edge, pad_mode::wrap})
        CHECK(s.run(pad<margin{2, 1}>(one, mode)) == array<std::int32_t, shape<4>>{7, 7, 7, 7});
    const auto m = constant(array<std::int32_t, shape<2, 3>>{{1, 2, 3}, {4, 5, 6}});
    CHECK(s.run(pad<margin{1, 0}, margin{0, 2}>(m, pad_mode::reflect)) ==
          array<std::int32_t, shape<3, 5>>{{4, 5, 6, 5, 4}, {1, 2, 3, 2, 1}, {4, 5, 6, 5, 4}});
    static_assert(
        std::is_same_v<decltype(pad<margin{}, margin{1, 1}>(m, pad_mode::edge)), tensor<std::int32_t, shape<2, 5>>>);
    CHECK(s.run(pad<margin{0, 0}, margin{1, 1}>(m, pad_mode::wrap)) ==
          array<std::int32_t, shape<2, 5>>{{3, 1, 2, 3, 1}, {6, 4, 5, 6, 4}});
}

TEST_CASE("what flows back through padding is added up where elements stand several times") {
    for (const pad_mode mode : {pad_mode::reflect, pad_mode::edge, pad_mode::wrap}) {
        const auto x = test::input<shape<2, 3, 2>>();
        CHECK(test::check_gradients([&](auto t) { return square(pad<margin{0, 0}, margin{4, 3}>(t, mode)); }, x) == "");
        CHECK(test::check_gradients(
                  [&](auto t) {
                      return square(pad<margin{1, 1}, margin{}, margin{1, 2}>(t, mode));
                  },
                  x) == "");
    }
}

TEST_CASE_FIXTURE(in_graph, "padding refuses what has no elements, when the graph is made or when the size is known") {
    const any_tensor none = untyped::placeholder(element_type::float32, extents(2, 0), "none");
    CHECK_ERROR(invalid_argument_error, "an axis without elements cannot be padded with its own",
                untyped::pad(none, {{}, {1, 0}}, pad_mode::wrap));
    CHECK(message_of<invalid_argument_error>([&] {
              untyped::pad(none, {{}, {-1, 0}}, pad_mode::wrap);
          }) != "nothing was thrown");
    const auto late = placeholder<float, shape<dyn>>("late");
    const auto padded = pad<margin{1, 1}>(late, pad_mode::edge);
    session s;
    CHECK(s.run(feed(late, array<float>{1, 2}), padded) == array<float>{1, 1, 2, 2});
    CHECK_THROWS_AS(s.run(feed(late, array<float>(extents(0))), padded), invalid_argument_error);
    CHECK_THROWS_WITH_AS(untyped::pad(late, {{-1, 2}}, pad_mode::edge),
                         "continue_axis: a padding is not negative: float[?], axis 0 (inputs late)",
                         invalid_argument_error);
}
