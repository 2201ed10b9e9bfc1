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
inline constexpr struct steps_size : dim<"steps"> {} steps;

constexpr auto halves = [](const auto& x) { return x * 0.5f; };
constexpr auto adds = [](const auto& c, const auto& x) { return std::pair(c + x, c); };

using row = tensor<float, shape<batch, 3>>;
using rows = tensor<float, shape<steps, batch, 3>>;
// What stands for several is given and comes back as several; stacked along the axis that was gone through.
static_assert(std::is_same_v<decltype(scan(adds, row(), rows())), std::pair<row, rows>>);
static_assert(std::is_same_v<decltype(cond(
                                 tensor<bool, shape<>>(), [] { return row(); }, [] { return row(); })),
                             row>);
static_assert(std::is_same_v<decltype(cond(
                                 tensor<bool, shape<>>(), [] { return std::tuple(row(), row()); },
                                 [] { return std::tuple(row(), row()); })),
                             std::tuple<row, row>>);
static_assert(std::is_same_v<decltype(while_loop([](const auto& x) { return sum(x) > 0.0f; }, halves, row())), row>);
static_assert(std::is_same_v<decltype(while_loop([](const auto& x) { return sum(x) > 0.0f; }, halves, ill_shaped())),
                             ill_shaped>);
} // namespace

TEST_CASE_FIXTURE(in_graph, "while_loop: repeats while its condition is true, with gradients") {
    const auto x = placeholder<double, shape<>>("x");
    const auto most = placeholder<int, shape<>>("most");
    const auto [i, y] =
        while_loop([&](const auto& n, const auto&) { return n < most; },
                   [&](const auto& n, const auto& v) { return std::tuple(n + 1, v * 1.01 + x); }, constant(0), x);
    const auto [dx] = gradients(y, x);
    session s;
    for (const int n : {0, 1, 2, 9, 3000}) { // more than carries are kept
        const auto [count, last, slope] = s.run(i, y, dx, feed(x, 2.0), feed(most, n));
        double v = 2, d = 1;
        for (int k = 0; k < n; ++k) {
            v = v * 1.01 + 2;
            d = d * 1.01 + 1;
        }
        CHECK(count() == n);
        CHECK(last() == doctest::Approx(v).epsilon(1e-10));
        CHECK(slope() == doctest::Approx(d).epsilon(1e-10));
    }
}

TEST_CASE("while_loop: gradients of tensors that it carries and that it uses") {
    CHECK(check_gradients(
              [](auto x, auto w) {
                  const auto [n, y] =
                      while_loop([](const auto& k, const auto&) { return k < 5; },
                                 [&](const auto& k, const auto& v) { return std::tuple(k + 1, tanh(matmul(v, w))); },
                                 constant(0), x);
                  return y;
              },
              input<shape<dyn, 3>>(2, 3), input<shape<3, 3>>()) == "");
    CHECK(check_gradients( // how often depends on the values; a square root by Newton's method
              [](auto x) {
                  const auto start = 1.0 + 0.0 * x;
                  return while_loop([&](const auto& v) { return max(abs(square(v) - x)) > 1e-12; },
                                    [&](const auto& v) { return 0.5 * (v + x / v); }, start);
              },
              test::drawn(input<shape<4>>(), test::values::positive)) == "");
}

TEST_CASE_FIXTURE(in_graph, "while_loop: treeverse finds each carry again, however many runs and places there are") {
    // Few places: carries are large. Each run's gradient needs its own carry: a product of all of them is exact.
    const auto x = placeholder<double, shape<dyn>>("x");
    const auto most = placeholder<int, shape<>>("most");
    const auto [n, y] =
        while_loop([&](const auto& k, const auto&) { return k < most; },
                   [&](const auto& k, const auto& v) { return std::tuple(k + 1, v * v - 0.5 * v); }, constant(0), x);
    const auto [dx] = gradients(sum(y), x);
    session s;
    for (const std::int64_t size : {std::int64_t{3}, std::int64_t{1} << 20})
        for (const int runs : {0, 1, 5, 8, 9, 10, 40, 60}) {
            if (size > 3 && runs > 40) continue;
            array<double, shape<dyn>> values(size);
            for (std::int64_t k = 0; k < size; ++k) values(k) = k % 2 ? 1.45 : 0.3;
            const auto [last, slope] = s.run(y, dx, feed(x, values), feed(most, runs));
            for (const std::int64_t k : {std::int64_t{0}, std::int64_t{1}, size - 1}) {
                double v = values(k), d = 1;
                for (int r = 0; r < runs; ++r) {
                    d *= 2 * v - 0.5;
                    v = v * v - 0.5 * v;
                }
                CHECK(last(k) == doctest::Approx(v));
                CHECK(slope(k) == doctest::Approx(d));
            }
        }
}

TEST_CASE("while_loop: one that does not end is stopped by the step's deadline, and the session goes on") {
    const graph_scope scope{graph()};
    const auto x = placeholder<float, shape<>>("x");
    const auto y = while_loop([](const auto& v) { return v > 0.0f; }, [](const auto& v) { return v; }, x);
    session s;
    CHECK_THROWS_AS(s.run_for(0.05, y, feed(x, 1.0f)), deadline_exceeded_error);
    CHECK(s.run(y, feed(x, -1.0f))() == -1.0f);
}

TEST_CASE_FIXTURE(in_graph, "scan: carries on, stacks, goes backwards, and through no slices at all") {
    const auto x = placeholder<int, shape<steps, 2>>("x");
    const auto [last, before] = scan(adds, constant({10, 20}), x);
    const auto [first, after] = scan(adds, constant({10, 20}), x, {.reversed = true});
    session s;
    const array<int, shape<dyn, 2>> values{{1, 2}, {3, 4}, {5, 6}};
    const auto [l, b, f, a] = s.run(last, before, first, after, feed(x, values));
    CHECK(l == array<int, shape<2>>{19, 32});
    CHECK(b == array<int, shape<dyn, 2>>{{10, 20}, {11, 22}, {14, 26}});
    CHECK(f == array<int, shape<2>>{19, 32});
    CHECK(a == array<int, shape<dyn, 2>>{{18, 30}, {15, 26}, {10, 20}});
    const auto [none, nothing] = s.run(last, before, feed(x, array<int, shape<dyn, 2>>(0)));
    CHECK(none == array<int, shape<2>>{10, 20});
    CHECK(nothing.extents()[0].size == 0);
}

TEST_CASE("scan: gradients of the first carry, the slices and what all steps use, once and twice") {
    const auto cell = [](auto h0, auto x, auto w, auto u) {
        return scan(
            [&](const auto& h, const auto& slice) {
                const auto next = tanh(matmul(slice, w) + matmul(h, u));
                return std::pair(next, next * next);
            },
            h0, x);
    };
    const auto both = [&](auto h0, auto x, auto w, auto u) {
        const auto [last, all] = cell(h0, x, w, u);
        return sum(last) + sum(all);
    };
    CHECK(check_gradients(both, input<shape<2, 3>>(), input<shape<4, 2, 5>>(), input<shape<5, 3>>(),
                          input<shape<3, 3>>()) == "");
    CHECK(check_gradients(both, input<shape<dyn, 3>>(2, 3), input<shape<dyn, dyn, 5>>(4, 2, 5), input<shape<5, 3>>(),
                          input<shape<3, 3>>()) == "");
    CHECK(check_gradients(
              [&](auto h0, auto x, auto w, auto u) {
                  const auto [dh, dx, dw, du] = gradients(both(h0, x, w, u), h0, x, w, u);
                  return sum(square(dh)) + sum(square(dx)) + sum(square(dw)) + sum(square(du));
              },
              input<shape<2, 3>>(), input<shape<3, 2, 2>>(), input<shape<2, 3>>(), input<shape<3, 3>>()) == "");
}

TEST_CASE_FIXTURE(in_graph, "scan: the same as its steps written one after another, whatever is carried") {
    const auto x = placeholder<float, shape<3, batch, 2>>("x");
    const auto w = placeholder<float, shape<2, 2>>("w");
    const auto step = [&](const auto& state, const auto& slice) {
        const auto [h, c, n] = state;
        const auto gate = sigmoid(matmul(slice, w) + h);
        const auto next = c * gate + tanh(slice);
        const auto scaled = next * gate;
        return std::pair(std::tuple(scaled, next, n + 1), std::tuple(scaled, n));
    };
    const auto x0 = gather(x, constant(0)), x1 = gather(x, constant(1)), x2 = gather(x, constant(2));
    const tensor<float, shape<batch, 2>> h0 = x0 * 0.0f;
    const auto [state, ys] = scan(step, std::tuple(h0, h0, constant(0)), x);
    const auto [h, c, n] = state;
    const auto [all, counted] = ys;
    const auto first = step(std::tuple(h0, h0, constant(0)), x0);
    const auto second = step(std::tuple(tensor<float, shape<batch, 2>>(std::get<0>(first.first)),
                                        tensor<float, shape<batch, 2>>(std::get<1>(first.first)),
                                        tensor<int, shape<>>(std::get<2>(first.first))),
                             x1);
    const auto third = step(std::tuple(tensor<float, shape<batch, 2>>(std::get<0>(second.first)),
                                       tensor<float, shape<batch, 2>>(std::get<1>(second.first)),
                                       tensor<int, shape<>>(std::get<2>(second.first))),
                            x2);
    const tensor<float, shape<batch, 2>> written = std::get<0>(third.first);
    const auto [dx, dw] = gradients(sum(h) + sum(all), x, w);
    const auto [ex, ew] = gradients(sum(written) + sum(std::get<0>(first.second)) + sum(std::get<0>(second.second)) +
                                        sum(std::get<0>(third.second)),
                                    x, w);
    session s;
    const any_array values = random_array<float>(extents(3, 5, 2)), weights = random_array<float>(extents(2, 2));
    const std::vector<any_array> got =
        s.run_untyped(test::fed(x, values, w, weights), {h, written, n, counted, dx, ex, dw, ew});
    for (const auto& [a, b] : {std::pair(0, 1), {4, 5}, {6, 7}})
        for (std::int64_t k = 0; k < got[static_cast<std::size_t>(a)].elements(); ++k)
            CHECK(element<float>(got[static_cast<std::size_t>(a)], k) ==
                  doctest::Approx(element<float>(got[static_cast<std::size_t>(b)], k)).epsilon(1e-5));
    CHECK(element<int>(got[2], 0) == 3);
    CHECK(element<int>(got[3], 2) == 2);
}

TEST_CASE_FIXTURE(in_graph, "cond: one of its functions runs; gradients flow through that") {
    const auto x = placeholder<double, shape<2>>("x");
    const auto w = placeholder<double, shape<2>>("w");
    const auto y = cond(
        sum(x) > 0.0, [&] { return std::tuple(x * w, sum(w)); }, [&] { return std::tuple(-x, sum(x)); });
    const auto [dx, dw] = gradients(sum(std::get<0>(y)) + 2.0 * std::get<1>(y), x, w);
    session s;
    const array<double, shape<2>> up{3.0, 1.0}, down{-3.0, 1.0}, weights{5.0, 7.0};
    const auto [a, da, ga] = s.run(std::get<0>(y), dx, dw, feed(x, up), feed(w, weights));
    CHECK(a == array<double, shape<2>>{15.0, 7.0});
    CHECK(da == weights);
    CHECK(ga == array<double, shape<2>>{5.0, 3.0});
    const auto [b, db, gb] = s.run(std::get<0>(y), dx, dw, feed(x, down), feed(w, weights));
    CHECK(b == array<double, shape<2>>{3.0, -1.0});
    CHECK(db == array<double, shape<2>>{1.0, 1.0});
    CHECK(gb == array<double, shape<2>>{0.0, 0.0});
}

TEST_CASE_FIXTURE(in_graph, "control flow: bodies in bodies, from what is around all of them") {
    const auto x = placeholder<double, shape<4>>("x");
    const auto w = variable<double, shape<>>("w", constant_value(2.0));
    // Each element, halved until it is at most w, and counted.
    const auto [total, counts] = scan(
        [&](const auto& sum_so_far, const auto& v) {
            const auto [n, small] =
                while_loop([&](const auto&, const auto& u) { return u > w; },
                           [](const auto& k, const auto& u) { return std::tuple(k + 1, u * 0.5); }, constant(0), v);
            const auto kept = cond(
                n > 1, [&, small = small] { return small * w; }, [small = small] { return small; });
            return std::pair(sum_so_far + kept, n);
        },
        constant(0.0), x);
    const auto [dx, dw] = gradients(total, x, w);
    initialized_session s;
    const auto [t, c, d, dv] = s.run(total, counts, dx, dw, feed(x, array<double, shape<4>>{1.0, 3.0, 7.0, 16.0}));
    CHECK(c == array<int, shape<4>>{0, 1, 2, 3});
    CHECK(t() == doctest::Approx(1 + 1.5 + 2 * 1.75 + 2 * 2));
    CHECK(d == array<double, shape<4>>{1.0, 0.5, 0.5, 0.25});
    CHECK(dv() == doctest::Approx(1.75 + 2));
}

TEST_CASE("control flow: on a simulated GPU bodies run there, as on the CPU, and nothing of a step crosses") {
    const auto losses = [](const char* device) {
        const own_graph g;
        const device_scope there{device_name(std::string(device))};
        const auto x = variable<double, shape<5, 4>>("x", constant_value(0.75));
        const auto w = variable<double, shape<4>>("w", constant_value(1.5));
        const auto [last, all] = scan(
            [&](const auto& c, const auto& v) {
                const auto [n, small] = while_loop(
                    [&](const auto& k, const auto&) { return k < 3; },
                    [&](const auto& k, const auto& u) { return std::tuple(k + 1, u * w + 0.25); }, constant(0), v);
                const auto kept = cond(
                    sum(small) > 20.0, [small = small] { return small * 0.5; },
                    [&, small = small] { return small + c; });
                return std::pair(c + kept, kept);
            },
            w * 0.0, x);
        const auto loss = sum(square(last)) + mean(all);
        const auto [dw] = gradients(loss, w);
        const auto train = w.assign(w - 1e-6 * dw);
        initialized_session s(g, {.gpus = simulated_gpu(1, std::size_t{1} << 24)});
        for (const auto& e : s.explain_placement(train).edges) // but that the step's result is fetched
            CHECK_MESSAGE((e.bytes == 0 || e.once || e.to.empty()), e.tensor);
        std::vector<double> values;
        for (int step = 0; step < 4; ++step) values.push_back(std::get<1>(s.run(train, loss))());
        return values;
    };
    const std::vector<double> host = losses("/cpu:0"), gpu = losses("/gpu:0");
    CHECK(host == gpu); // simulated GPUs have the CPU's kernels
    CHECK(host.back() < host.front());
}

TEST_CASE_FIXTURE(in_graph, "control flow: gradients inside of a body in what lies outside, which it had as zeros") {
    const auto x = placeholder<double, shape<batch, 2>>("x");
    const auto w = constant({3.0, -2.0});
    const auto square_of = [&](const auto& row) { return square(sum(row * w)); }; // its slope is 2 (row w) row
    const auto each =
        scan([&](const auto& n, const auto& row) { return std::pair(n, std::get<0>(gradients(square_of(row), w))); },
             constant(0), x);
    const auto nested = scan(
        [&](const auto& n, const auto& row) {
            const auto y = cond(
                n == 0, [&] { return std::get<0>(gradients(square_of(row), w)); }, [&] { return w; });
            return std::pair(n + 1, y);
        },
        constant(0), x);
    const array<double> rows{{1, 2}, {3, 1}};
    session s;
    const auto [a, b, second] =
        s.run(feed(x, rows.share()), each.second, nested.second, std::get<0>(gradients(sum(square(each.second)), w)));
    CHECK(a == array<double, shape<batch, 2>>{{-2, -4}, {42, 14}});
    CHECK(b == array<double, shape<batch, 2>>{{-2, -4}, {3, -2}});
    // d/dw of sum over rows of 4 (row w)^2 |row|^2 is 8 (row w) |row|^2 row.
    CHECK(second == array<double, shape<2>>{8 * (-1 * 5 * 1 + 7 * 10 * 3), 8 * (-1 * 5 * 2 + 7 * 10 * 1)});

    const auto outer = identity(w * w, "outer");
    const auto of_both = [&](const auto& n, const auto& row) {
        return std::pair(n, std::get<0>(gradients(sum(row * w * outer), w)));
    };
    CHECK_ERROR(invalid_argument_error, "and so does outer, which is computed of it; compute outer in the body, too",
                scan(of_both, constant(0), x));
    const auto fixed = stop_gradient(w * 1.0); // through which none flows
    const auto of_one = scan(
        [&](const auto& n, const auto& row) { return std::pair(n, std::get<0>(gradients(sum(row * w * fixed), w))); },
        constant(0), x);
    CHECK(s.run(feed(x, rows.share()), of_one.second) == array<double, shape<batch, 2>>{{3, -4}, {9, -2}});
}

TEST_CASE_FIXTURE(in_graph, "control flow: layers are made by the first step, and trained through all of them") {
    const auto cell = nn::dense<3>();
    const auto x = placeholder<float, shape<steps, batch, 3>>("x");
    const auto [last, all] = scan(
        [&](const auto& h, const auto& v) {
            const auto next = tanh(cell(v + h));
            return std::pair(next, next);
        },
        gather(x, constant(0)), x);
    CHECK(graph::current().collection(trainable_variables).size() == 2);
    initialized_session s;
    const auto grads = gradients(any_tensor(sum(last)), graph::current().collection(trainable_variables));
    const any_array values = random_array<float>(extents(4, 2, 3));
    CHECK(s.run_untyped(test::fed(x, values), grads).size() == 2);
}

TEST_CASE_FIXTURE(in_graph, "control flow: a graph with bodies is read as it was written, and runs the same") {
    const auto x = placeholder<float, shape<steps, 3>>("x");
    const auto [last, all] = scan(adds, constant({1.0f, 2.0f, 3.0f}), x);
    const auto y = cond(
        sum(last) > 0.0f, [last = last] { return last; }, [last = last] { return -last; });
    const auto [dx] = gradients(sum(y), x);
    const std::string text = to_json(graph::current());
    const graph again = graph_from_json(text);
    CHECK(to_json(again) == text);
    const any_array values = random_array<float>(extents(5, 3));
    session s, t(again);
    const std::vector<any_array> one = s.run_untyped(test::fed(x, values), {y, dx}),
                                 other = t.run_untyped(test::fed(again.tensor("x"), values),
                                                       {again.tensor(y.name()), again.tensor(dx.name())});
    CHECK(one[0] == other[0]);
    CHECK(one[1] == other[1]);
}

TEST_CASE_FIXTURE(in_graph, "control flow: functions may take what they are given as auto&") {
    const auto [n, doubled] =
        while_loop([](auto& i, auto&) { return i < 3; }, [](auto& i, auto& x) { return std::tuple(i + 1, 2.0f * x); },
                   constant(0), constant(1.5f));
    const auto [last, all] = scan([](auto& c, auto& x) { return std::pair(c + x, c); }, constant(0), constant({1, 2}));
    const auto [y, l] = session().run(doubled, last);
    CHECK(y.item() == 12);
    CHECK(l.item() == 3);
}

TEST_CASE_FIXTURE(in_graph, "control flow: what a body cannot have is refused in words") {
    const auto x = placeholder<float, shape<3>>("x");
    const auto yes = placeholder<bool, shape<>>("yes");
    CHECK_ERROR(invalid_argument_error, "it computes and nothing else; make variables and random numbers outside",
                cond(
                    yes, [&] { return x + random_uniform<float, shape<3>>(); }, [&] { return x; }));
    CHECK_ERROR(invalid_argument_error, "boolean_mask): its values say how large its result is",
                cond(
                    yes, [&] { return boolean_mask<2>(x, x > 0.0f); },
                    [&] {
                        return slice<range{0, 2}>(x);
                    }));
    const fifo_queue<component<float, shape<3>>> q(2);
    CHECK_ERROR(invalid_argument_error, "it waits, and a body does not",
                cond(
                    yes, [&] { return q.dequeue(); }, [&] { return x; }));
    const auto some = zeros<float, shape<3>>();
    CHECK_ERROR(
        invalid_argument_error, "it waits, and a body does not; take what it gives outside",
        while_loop([&](const auto&) { return sum(q.dequeue()) < 1.0f; }, [](const auto& c) { return c; }, some));
    CHECK_ERROR(invalid_argument_error, "(enqueue): it waits, and a body does not",
                while_loop([](const auto& c) { return sum(c) < 1.0f; },
                           [&](const auto& c) {
                               q.enqueue(c); // which nobody would run
                               return c + 1.0f;
                           },
                           some));
    CHECK_ERROR(invalid_argument_error, "(enqueue): it waits, and a body does not",
                scan(
                    [&](const auto& c, const auto& e) {
                        q.enqueue(c);
                        const auto part = cond<0>(
                            e > 0.0f, [&] { return c; },
                            [&] {
                                return slice<range{0, 1}>(c);
                            });
                        return std::pair(c + sum(part), e);
                    },
                    some, x));
    CHECK_ERROR(invalid_argument_error, "(dequeue): it waits, and a body does not",
                scan([&](const auto& c, const auto& e) { return std::pair(c + q.dequeue() * e, e); }, some, x));
    CHECK_ERROR(invalid_argument_error, "is given 2 tensors to carry on, and gives 1",
                untyped::scan(
                    [](const auto& c, const auto&) {
                        return detail::carried_and_given{{c[0]}, {}};
                    },
                    {x, x}, {x}));
    CHECK_ERROR(invalid_argument_error, "the body gives other types than it is given",
                untyped::while_loop(
                    [&](const auto&) { return yes; },
                    [](const auto& c) { return std::vector<any_tensor>{sum(as<float, shape<3>>(c[0]))}; }, {x}));
}

TEST_CASE_FIXTURE(in_graph, "control flow: sizes that do not agree in the step are told") {
    const auto x = placeholder<float, shape<dyn>>("x");
    const auto yes = placeholder<bool, shape<>>("yes");
    const auto either = cond(
        yes, [&] { return identity(x); }, [&] { return concat<0>(x, x); });
    const auto longer =
        while_loop([](const auto& z) { return sum(z) < 100.0f; }, [](const auto& z) { return concat<0>(z, z); }, x);
    session s;
    CHECK_ERROR(invalid_argument_error, "sizes along an axis may differ (float[3] and float[6])",
                s.run(feed(yes, true), feed(x, {1.0f, 2.0f, 3.0f}), either));
    CHECK_ERROR(invalid_argument_error, "other types than it is given (float[4] and float[2])",
                s.run(feed(x, {1.0f, 2.0f}), longer));
}
