#include "tests.hpp"
#include "../check_gradients.hpp"
#include "../random/random_arrays.hpp"
#include "../untyped_run.hpp"

using namespace tenon;
using test::check_gradients;
using test::element;
using test::input;
using test::random_array;
using test::run;
using test::unknown_placeholder;

namespace {

inline constexpr struct batch_size : dim<"batch"> {} batch;
inline constexpr struct time_steps : dim<"time"> {} time_;

// Every permutation of a tensor's axes, element by element.
template <class T> void check_transposes(const extents& shape) {
    const any_array x = random_array<T>(shape, 3);
    std::vector<int> order;
    for (int i = 0; i < shape.rank(); ++i) order.push_back(i);
    do {
        const graph_scope scope{graph()};
        const any_tensor in = unknown_placeholder(x);
        index_list axes;
        for (const int a : order) axes.push_back(a % 2 == 0 ? a : a - shape.rank());
        const any_array y = run(untyped::transpose(in, axes), in, x);
        CAPTURE(to_string(shape));
        CAPTURE(to_string(y.extents()));
        for (std::int64_t i = 0; i < y.elements(); ++i) {
            std::int64_t rest = i, at[max_rank]{};
            for (int d = shape.rank(); d-- > 0; rest /= y.extents()[d].size)
                at[order[static_cast<std::size_t>(d)]] = rest % y.extents()[d].size;
            std::int64_t from = 0;
            for (int d = 0; d < shape.rank(); ++d) from = from * shape[d].size + at[d];
            REQUIRE(element<T>(y, i) == element<T>(x, from));
        }
    } while (std::next_permutation(order.begin(), order.end()));
}

} // namespace

TEST_CASE_TEMPLATE("transpose: any permutation of any rank", T, float, double, std::int8_t, half, bool) {
    for (const extents& shape :
         {extents(5), extents(3, 4), extents(17, 33), extents(64, 80), extents(130, 129), extents(2, 3, 4),
          extents(20, 3, 35), extents(2, 3, 4, 5), extents(1, 18, 1, 20), extents(0, 3)})
        check_transposes<T>(shape);
}

TEST_CASE("transpose: every instruction set gives the same") {
    for_each_isa([&] {
        for (const extents& shape : {extents(70, 90), extents(3, 40, 50), extents(33, 17)}) {
            check_transposes<std::uint8_t>(shape);
            check_transposes<half>(shape);
            check_transposes<float>(shape);
            check_transposes<double>(shape);
        }
    });
}

TEST_CASE("transpose: large, on several threads") { check_transposes<float>(extents(700, 801)); }

TEST_CASE_FIXTURE(in_graph, "reshape: sizes that only the run knows") {
    const auto x = placeholder<float, shape<batch, time_, 4>>("x");
    session s;
    const any_array value = random_array<float>(extents(3, 5, 4));
    const auto fed = [&] { return feed(x, value); };
    CHECK(s.run(reshape<shape<deduce, 4>>(x), fed()).extents() == extents(15, 4));
    CHECK(s.run(reshape<shape<batch, time_, 2, 2>>(x), fed()).extents() == extents(3, 5, 2, 2));
    CHECK(s.run(reshape<shape<batch, deduce>>(x), fed()).extents() == extents(3, 20));
    CHECK(s.run(reshape<shape<kept<0>, kept<2>, dyn>>(x), fed()).extents() == extents(3, 4, 5));
    CHECK(s.run(reshape<shape<15, 4>>(x), fed()).extents() == extents(15, 4));
    CHECK_ERROR(invalid_argument_error, "reshape: numbers of elements differ: [3, 5, 4]",
                s.run(reshape<shape<4, 4>>(x), fed()));
    CHECK_ERROR(invalid_argument_error, "reshape: size is not divisible: [3, 5, 4]",
                s.run(reshape<shape<8, deduce>>(x), fed()));
}

TEST_CASE_FIXTURE(in_graph, "reshape: tensors without elements") {
    const auto x = placeholder<float, shape<dyn, 4>>("x");
    session s;
    const any_array none(element_type::float32, extents(0, 4));
    CHECK(s.run(reshape<shape<deduce, 2>>(x), feed(x, none)).extents() == extents(0, 2));
    CHECK(s.run(reshape<shape<7, deduce>>(x), feed(x, none)).extents() == extents(7, 0));
}

TEST_CASE_FIXTURE(in_graph, "squeeze: a size that turns out not to be 1") {
    const auto x = placeholder<float, shape<dyn, 4>>("x");
    session s;
    CHECK(s.run(squeeze<0>(x), feed(x, random_array<float>(extents(1, 4)))).extents() == extents(4));
    CHECK_ERROR(invalid_argument_error, "squeeze: a squeezed size is not 1: [2, 4]",
                s.run(squeeze<0>(x), feed(x, random_array<float>(extents(2, 4)))));
}

TEST_CASE_FIXTURE(in_graph, "broadcast_to, broadcast_like: sizes that do not repeat") {
    const auto x = placeholder<float, shape<dyn, 3>>("x");
    const auto y = placeholder<float, shape<4, dyn, 3>>("y");
    session s;
    const any_array one = random_array<float>(extents(1, 3)), two = random_array<float>(extents(2, 3));
    CHECK(s.run(broadcast_to<shape<5, 3>>(x), feed(x, one)).extents() == extents(5, 3));
    CHECK_ERROR(invalid_argument_error, "broadcast_to: sizes do not broadcast: [2, 3]",
                s.run(broadcast_to<shape<5, 3>>(x), feed(x, two)));
    const any_array like = random_array<float>(extents(4, 6, 3));
    const any_array repeated = s.run(broadcast_like(x, y), feed(x, one), feed(y, like)).untyped().share();
    for (std::int64_t i = 0; i < repeated.elements(); ++i)
        REQUIRE(element<float>(repeated, i) == element<float>(one, i % 3));
    CHECK_ERROR(invalid_argument_error, "broadcast_like: sizes do not broadcast: [2, 3] x [4, 6, 3]",
                s.run(broadcast_like(x, y), feed(x, two), feed(y, like)));
}

TEST_CASE_FIXTURE(in_graph, "swapaxes, moveaxis and flatten know what they can of the sizes") {
    const auto x = placeholder<float, shape<batch, 3, 2>>();
    static_assert(std::is_same_v<decltype(swapaxes<0, -1>(x))::shape_type, shape<2, 3, batch>>);
    static_assert(std::is_same_v<decltype(moveaxis<0, -1>(x))::shape_type, shape<3, 2, batch>>);
    static_assert(std::is_same_v<decltype(moveaxis<-1, 0>(x))::shape_type, shape<2, batch, 3>>);
    static_assert(std::is_same_v<decltype(flatten<1>(x))::shape_type, shape<batch, 6>>);
    static_assert(std::is_same_v<decltype(flatten(x))::shape_type, shape<dyn>>);
    static_assert(std::is_same_v<decltype(flatten(placeholder<float, shape<4, 3>>()))::shape_type, shape<12>>);
    static_assert(std::is_same_v<decltype(flatten(placeholder<float, shape<>>()))::shape_type, shape<1>>);
    session s;
    array<float> v{{{1, 2}, {3, 4}, {5, 6}}};
    const auto [swapped, moved, flat] = s.run(feed(x, v), swapaxes<0, 1>(x), moveaxis<2, 0>(x), flatten(x));
    CHECK(swapped(2, 0, 1) == 6);
    CHECK(moved(1, 0, 2) == 6);
    CHECK(flat.extents() == extents(6));
    CHECK(flat[4] == 5);
}

TEST_CASE("movement: gradients of what is made of several ops agree with central differences") {
    CHECK(check_gradients([](const auto& x) { return swapaxes<0, 2>(moveaxis<0, 1>(x)); },
                          input<shape<dyn, 2, batch>>(3, 2, 2)) == "");
    CHECK(check_gradients([](const auto& x) { return flatten<1>(x); }, input<shape<batch, 2, dyn>>(3, 2, 2)) == "");
    CHECK(check_gradients([](const auto& x) { return broadcast_to<shape<4, 3, 2>>(x); }, input<shape<3, 1>>()) == "");
}
