#include "tests.hpp"
#include "../check_gradients.hpp"
#include "ops/untyped_run.hpp"

namespace {

template <class T> tn::any_array numbers(const tn::extents& sizes, std::mt19937_64& random) {
    tn::any_array a(tn::element_type_of<T>, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i) a.data<T>()[i] = T(static_cast<float>(random() % 50));
    return a;
}
template <class I> tn::any_array below(std::int64_t size, const tn::extents& sizes, std::mt19937_64& random) {
    tn::any_array a(tn::element_type_of<I>, sizes);
    for (std::int64_t i = 0; i < a.elements(); ++i)
        a.data<I>()[i] = static_cast<I>(random() % static_cast<std::uint64_t>(size));
    return a;
}

} // namespace

TEST_CASE_TEMPLATE("take, scatter and scatter_add along an axis do what loops do, on one thread and on several", T,
                   float, double, tn::half, std::int8_t, std::uint16_t, std::int64_t) {
    std::mt19937_64 random(5);
    for (int round = 0; round < 12; ++round) {
        const auto size = [&](std::uint64_t most) { return static_cast<std::int64_t>(1 + random() % most); };
        const bool large = round == 11;
        const tn::extents sizes(size(4), size(large ? 3000 : 12), size(large ? 60 : 5));
        const int axis = static_cast<int>(random() % 3);
        tn::extents part = sizes;
        part[axis] = size(9);
        const tn::any_array x = numbers<T>(sizes, random), updates = numbers<T>(part, random),
                            places = below<std::int64_t>(sizes[axis].size, part, random);
        const tn::graph_scope scope{tn::graph()};
        const tn::any_tensor tx = tn::test::unknown_placeholder(x), ti = tn::test::unknown_placeholder(places),
                             tu = tn::test::unknown_placeholder(updates);
        tn::session s;
        const auto out = s.run_untyped(tn::test::fed(tx, x, ti, places, tu, updates),
                                       {tn::untyped::take_along_axis(tx, ti, axis),
                                        tn::untyped::scatter_along_axis(tx, ti, tu, axis),
                                        tn::untyped::scatter_add_along_axis(tx, ti, tu, axis)});
        std::vector<T> taken, put(x.data<T>(), x.data<T>() + x.elements()), added = put;
        std::int64_t i = 0;
        for (std::int64_t a = 0; a < part[0].size; ++a)
            for (std::int64_t b = 0; b < part[1].size; ++b)
                for (std::int64_t c = 0; c < part[2].size; ++c, ++i) {
                    std::int64_t at[] = {a, b, c};
                    at[axis] = places.data<std::int64_t>()[i];
                    const auto k = static_cast<std::size_t>((at[0] * sizes[1].size + at[1]) * sizes[2].size + at[2]);
                    taken.push_back(x.data<T>()[k]);
                    put[k] = updates.data<T>()[i];
                    if constexpr (std::is_integral_v<T>) added[k] = static_cast<T>(added[k] + updates.data<T>()[i]);
                    else added[k] = T(static_cast<float>(added[k]) + static_cast<float>(updates.data<T>()[i]));
                }
        CHECK(std::equal(taken.begin(), taken.end(), out[0].data<T>()));
        CHECK(std::equal(put.begin(), put.end(), out[1].data<T>()));
        CHECK(std::equal(added.begin(), added.end(), out[2].data<T>()));
    }
}

TEST_CASE("gather_nd and scatter_nd: tuples of every length, with and without batches") {
    std::mt19937_64 random(9);
    const tn::extents sizes(3, 4, 5);
    const tn::any_array x = numbers<float>(sizes, random);
    for (int batch = 0; batch <= 2; ++batch)
        for (int depth = 0; batch + depth <= 3; ++depth) {
            INFO("batch_dims ", batch, ", depth ", depth);
            tn::extents of_tuples, part;
            for (int d = 0; d < batch; ++d) of_tuples.push_back(sizes[d]);
            of_tuples.push_back(7);
            part = of_tuples;
            of_tuples.push_back(depth);
            for (int d = batch + depth; d < 3; ++d) part.push_back(sizes[d]);
            const tn::any_array tuples = below<std::int32_t>(3, of_tuples, random),
                                updates = numbers<float>(part, random);
            const tn::graph_scope scope{tn::graph()};
            const tn::any_tensor tx = tn::untyped::placeholder(x.element(), sizes),
                                 ti = tn::untyped::placeholder(tuples.element(), of_tuples),
                                 tu = tn::untyped::placeholder(x.element(), part);
            tn::session s;
            const auto out =
                s.run_untyped(tn::test::fed(tx, x, ti, tuples, tu, updates),
                              {tn::untyped::gather_nd(tx, ti, batch), tn::untyped::scatter_nd(tx, ti, tu, batch),
                               tn::untyped::scatter_nd_add(tx, ti, tu, batch)});
            CHECK(out[0].extents() == part);
            std::vector<float> put(x.data<float>(), x.data<float>() + 60), added = put, taken;
            std::int64_t rows = 1, inner = 1;
            for (int d = 0; d <= batch; ++d) rows *= part[d].size;
            for (int d = batch + depth; d < 3; ++d) inner *= sizes[d].size;
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t k = 0; k < inner; ++k) {
                    std::int64_t at = r / 7; // the number of the batch
                    for (int d = 0; d < depth; ++d)
                        at = at * sizes[batch + d].size + tuples.data<std::int32_t>()[r * depth + d];
                    const auto to = static_cast<std::size_t>(at * inner + k);
                    const float v = updates.data<float>()[r * inner + k];
                    taken.push_back(x.data<float>()[to]);
                    put[to] = v;
                    added[to] += v;
                }
            CHECK(std::equal(taken.begin(), taken.end(), out[0].data<float>()));
            CHECK(std::equal(put.begin(), put.end(), out[1].data<float>()));
            CHECK(std::equal(added.begin(), added.end(), out[2].data<float>()));
        }
}

TEST_CASE("the gradients of what indices name, also where two updates have one place: it flows to the one that stays") {
    namespace u = tn::untyped;
    using in = const std::vector<tn::any_tensor>&;
    static const auto along = [] {
        return tn::any_tensor(tn::constant(tn::array<std::int32_t, tn::shape<3, 2>>{{3, 3}, {0, 1}, {2, 2}}));
    };
    static const auto tuples = [] {
        return tn::any_tensor(tn::constant(tn::array<std::int64_t, tn::shape<3, 1>>{{1}, {1}, {2}}));
    };
    const auto check = [](tn::any_tensor (*f)(in), const std::vector<tn::test::untyped_input>& inputs) {
        CHECK(tn::test::check_untyped_gradients([&](in x) { return u::square(f(x)); }, inputs) == "");
    };
    check([](in x) { return u::take_along_axis(x[0], along(), 1); }, {{{3, 4}}});
    check([](in x) { return u::scatter_along_axis(x[0], along(), x[1], 1); }, {{{3, 4}}, {{3, 2}}});
    check([](in x) { return u::scatter_add_along_axis(x[0], along(), x[1], -1); }, {{{3, 4}}, {{3, 2}}});
    check([](in x) { return u::gather_nd(x[0], tuples()); }, {{{3, 4}}});
    check([](in x) { return u::scatter_nd(x[0], tuples(), x[1]); }, {{{3, 4}}, {{3, 4}}});
    check([](in x) { return u::scatter_nd_add(x[0], tuples(), x[1]); }, {{{3, 4}}, {{3, 4}}});
}

TEST_CASE("an index out of range fails the step, and the error names the node, the index and where it stands") {
    const tn::graph_scope scope{tn::graph()};
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, tn::extents(2, 3), "x");
    const tn::any_tensor i = tn::untyped::placeholder(tn::element_type::int32, tn::extents(2, 2), "i");
    const tn::any_tensor u = tn::untyped::placeholder(tn::element_type::float32, tn::extents(2, 2), "u");
    const tn::any_tensor v = tn::untyped::placeholder(tn::element_type::float32, tn::extents(2), "v");
    tn::session s;
    const auto refusal = [&](const tn::any_tensor& of, std::int32_t wrong) {
        tn::any_array indices(tn::element_type::int32, tn::extents(2, 2));
        for (int k = 0; k < 4; ++k) indices.data<std::int32_t>()[k] = k == 3 ? wrong : 1;
        return message_of<tn::invalid_argument_error>([&] {
            s.run_untyped(tn::test::fed(i, indices, x,
                                        tn::any_array::zeros(tn::element_type::float32, tn::extents(2, 3)), u,
                                        tn::any_array::zeros(tn::element_type::float32, tn::extents(2, 2)), v,
                                        tn::any_array::zeros(tn::element_type::float32, tn::extents(2))),
                          {of});
        });
    };
    for (const std::int32_t wrong : {-1, 3}) {
        const std::string said = "index " + std::to_string(wrong) + " at [1, 1] is out of range for axis 1 of size 3";
        CHECK(
            refusal(tn::untyped::take_along_axis(x, i, 1), wrong).find("take_along_axis (take_along_axis): " + said) ==
            0);
        CHECK(contains(refusal(tn::untyped::scatter_along_axis(x, i, u, 1), wrong), said));
        CHECK(refusal(tn::untyped::gather_nd(x, i), wrong).find("gather_nd (gather_nd): " + said) == 0);
        CHECK(refusal(tn::untyped::scatter_nd_add(x, i, v), wrong).find("scatter_nd (scatter_nd): " + said) == 0);
    }
}

TEST_CASE_FIXTURE(in_graph, "what indices name: what does not fit is refused when the graph is made, in words") {
    const auto of = [](const tn::extents& sizes, tn::element_type e = tn::element_type::float32) {
        return tn::untyped::placeholder(e, sizes);
    };
    const auto list = [&](const tn::extents& sizes) { return of(sizes, tn::element_type::int32); };
    const auto refusal = [](auto&& f) { return message_of<tn::invalid_argument_error>(f); };
    CHECK(contains(refusal([&] { tn::untyped::take_along_axis(of({2, 3}), list({2}), 1); }), "ranks differ"));
    CHECK(contains(refusal([&] { tn::untyped::take_along_axis(of({2, 3}), list({3, 3}), 1); }), "sizes differ"));
    CHECK(contains(refusal([&] { tn::untyped::take_along_axis(of({2, 3}), of({2, 3}), 1); }), "must be an integer"));
    CHECK(contains(refusal([&] { tn::untyped::gather_nd(of({2, 3}), list({5, 3})); }), "more than there are"));
    CHECK(contains(refusal([&] {
                       tn::untyped::gather_nd(of({2, 3}), list(tn::extents(5, tn::extent{})));
                   }),
                   "size must be a number"));
    CHECK(contains(refusal([&] { tn::untyped::scatter_nd(of({2, 3}), list({5, 1}), of({5, 2})); }), "sizes differ"));
}
