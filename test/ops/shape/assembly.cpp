#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "ops/untyped_run.hpp"

using namespace tenon;
using test::check_gradients;
using test::element;
using test::input;
using test::random_array;

namespace {
inline constexpr struct batch_size : dim<"batch"> {} batch;

} // namespace

TEST_CASE_TEMPLATE("split is the reverse of concat, unstack of stack, along any axis of any element type", T, float,
                   double, half, std::int8_t, bool) {
    for (const int axis : {0, 1, 2, -1}) {
        const graph_scope scope{graph()};
        std::vector<any_tensor> xs;
        std::vector<any_array> values;
        for (const std::int64_t size : {3, 0, 5, 40}) {
            extents sizes(4, 6, 7);
            sizes[axis < 0 ? axis + 3 : axis] = size;
            values.push_back(random_array<T>(sizes, static_cast<std::uint64_t>(size) + 1));
            xs.push_back(untyped::placeholder(element_type_of<T>, extents(extent{}, extent{}, extent{})));
        }
        const auto feeds = [&] {
            std::vector<fed_value> f;
            for (std::size_t i = 0; i < xs.size(); ++i) f.push_back({xs[i], values[i].share()});
            return f;
        };
        const any_tensor joined = untyped::concat(xs, axis);
        session s;
        const std::vector<any_tensor> parts = untyped::split_sizes(joined, {3, 0, 5, 40}, axis);
        const std::vector<any_array> back = s.run_untyped(feeds(), parts);
        for (std::size_t i = 0; i < parts.size(); ++i) CHECK(back[i] == values[i]);

        const any_tensor x = untyped::placeholder(element_type_of<T>, extents(2, 3, 4));
        const any_array value = random_array<T>(extents(2, 3, 4));
        const int size = axis < 0 ? 4 : axis + 2;
        CHECK(s.run_untyped(test::fed(x, value), {untyped::stack(untyped::unstack(x, size, axis), axis)})[0] == value);
    }
}

TEST_CASE("split_evenly: parts differ by one at most, the larger first, also of sizes that only the run knows") {
    const graph_scope scope{graph()};
    const auto x = placeholder<float, shape<batch, 2>>("x");
    session s;
    for (const int parts : {1, 2, 3, 4, 7})
        for (const std::int64_t rows : {0, 1, 5, 7, 12}) {
            const std::vector<any_tensor> taken = untyped::split_evenly(x, parts);
            const any_array value = random_array<float>(extents(rows, 2));
            std::vector<any_tensor> fetched = taken;
            fetched.push_back(untyped::concat(taken, 0));
            const std::vector<any_array> got = s.run_untyped(test::fed(x, value), fetched);
            for (int i = 0; i < parts; ++i)
                CHECK(got[static_cast<std::size_t>(i)].extents() ==
                      extents(rows / parts + (i < rows % parts ? 1 : 0), 2));
            CHECK(got.back() == value);
            CHECK(taken[0].extents()[0] == (parts == 1 ? x.extents()[0] : extent{}));
        }
    CHECK(untyped::split_evenly(constant({1.f, 2.f, 3.f}), 2)[0].extents() == extents(2));
    CHECK_THROWS_AS(untyped::split_evenly(x, 0), invalid_argument_error);
    CHECK_THROWS_AS(untyped::split_evenly(x, 2, 2), invalid_argument_error);
}

TEST_CASE_FIXTURE(in_graph, "concat: large, on several threads") {
    const auto a = placeholder<float, shape<dyn, 300>>("a");
    const auto b = placeholder<float, shape<dyn, 500>>("b");
    const any_array va = random_array<float>(extents(900, 300), 1), vb = random_array<float>(extents(900, 500), 2);
    session s;
    const any_array c = s.run(concat<1>(a, b), feed(a, va), feed(b, vb)).untyped().share();
    for (std::int64_t i = 0; i < 900; ++i)
        for (std::int64_t j = 0; j < 800; ++j)
            REQUIRE(element<float>(c, i * 800 + j) ==
                    (j < 300 ? element<float>(va, i * 300 + j) : element<float>(vb, i * 500 + j - 300)));
}

TEST_CASE_FIXTURE(in_graph, "concat, split, unstack: sizes that only the run knows are checked there") {
    const auto x = placeholder<float, shape<dyn, 3>>("x");
    const auto y = placeholder<float, shape<2, dyn>>("y");
    session s;
    CHECK_ERROR(invalid_argument_error, "concat: sizes differ: [4, 3] x [2, 3]",
                s.run(concat<1>(x, y), feed(x, random_array<float>(extents(4, 3))),
                      feed(y, random_array<float>(extents(2, 3)))));
    CHECK_ERROR(invalid_argument_error, "split: size is not divisible: [4, 3]",
                s.run(split<3>(x)[0], feed(x, random_array<float>(extents(4, 3)))));
    CHECK_ERROR(invalid_argument_error, "split: sizes of the parts do not add up: [4, 3]",
                s.run(std::get<0>(split_sizes<0, 2, 3>(x)), feed(x, random_array<float>(extents(4, 3)))));
    CHECK_ERROR(invalid_argument_error, "unstack: sizes differ: [4, 3]",
                s.run(unstack<3>(x)[0], feed(x, random_array<float>(extents(4, 3)))));
}

TEST_CASE("gradients of a tensor that is joined twice, and of parts of which one is used") {
    CHECK(check_gradients([](const auto& a, const auto& b) { return concat<0>(a, b, a); }, input<shape<batch, 3>>(2, 3),
                          input<shape<dyn, 3>>(4, 3)) == "");
    using in = const std::vector<any_tensor>&;
    const auto check = [](any_tensor (*f)(in), const extents& sizes) {
        CHECK(test::check_untyped_gradients(f, {{sizes}}) == "");
    };
    check([](in x) { return untyped::split(x[0], 3)[1]; }, {6, 2});
    check([](in x) { return untyped::split_sizes(x[0], {1, 3}, 1)[1]; }, {2, 4});
    check([](in x) { return untyped::split_evenly(x[0], 3)[1]; }, {5, 2});
    check([](in x) { return untyped::unstack(x[0], 3, 1)[2]; }, {2, 3, 2});
}
