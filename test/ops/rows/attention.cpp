#include "tests.hpp"
#include "attention_formula.hpp"
#include "ops/check_gradients.hpp"
#include "ops/untyped_run.hpp"

#include <tenon/ops/rows/attention_by_formula.hpp>

using tn::any_array, tn::any_tensor, tn::shape, tn::extents;
using tn::test::check_gradients, tn::test::input, tn::test::random_array;

namespace {

inline constexpr struct batch_size : tn::dim<"batch"> {} batch;
inline constexpr struct time_size : tn::dim<"time"> {} steps;

using problem = tn::test::attention_problem;
using operands = tn::test::attention_operands;

// The ops by the kernel of devices whose own have no masks.
struct formula_op : tn::attention_op {
    static constexpr const char* name = "test_attention_by_formula";
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) {
        return std::make_unique<tn::detail::attention_by_formula>(s);
    }
};
struct formula_gradient_op : tn::attention_gradient_op {
    static constexpr const char* name = "test_attention_gradient_by_formula";
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return formula_op::prepare(s); }
};

// y and the gradients of q, k and v, and of the mask where there is one.
std::vector<any_array> attended(const problem& p, const operands& o, int threads = 1, bool by_formula = false) {
    const tn::graph_scope scope{tn::graph()};
    const auto placed = [](const any_array& a) { return tn::untyped::placeholder(a.element(), a.extents()); };
    const any_tensor q = placed(o.q), k = placed(o.k), v = placed(o.v), dy = placed(o.dy);
    const tn::attention_op::attributes how{p.causal, p.scale};
    std::vector<tn::fed_value> feeds = tn::test::fed(q, o.q, k, o.k, v, o.v, dy, o.dy);
    any_tensor lengths, mask;
    std::vector<any_tensor> xs{q, k, v};
    if (!p.lengths.empty()) feeds.push_back({lengths = placed(o.lengths), o.lengths.share()});
    if (!p.mask.empty()) {
        feeds.push_back({mask = placed(o.mask), o.mask.share()});
        xs.push_back(mask);
    }
    std::vector<any_tensor> all{tn::untyped::attention(q, k, v, lengths, mask, how)};
    if (by_formula) {
        std::vector<any_tensor> in{q, k, v}, back;
        for (const any_tensor& more : {lengths, mask})
            if (more.node()) in.push_back(more);
        all = {tn::add<formula_op>(how, in)};
        back = {q, k, v, all[0], any_tensor({all[0].node(), 1}), dy};
        back.insert(back.end(), in.begin() + 3, in.end());
        const any_tensor g = tn::add<formula_gradient_op>({how.causal, how.scale, mask.node() != nullptr}, back);
        for (std::size_t i = 0; i < xs.size(); ++i) all.emplace_back(tn::node_output{g.node(), static_cast<int>(i)});
        if (mask.node()) all.back() = tn::detail::add_sum_to(all.back(), mask);
    } else
        for (const any_tensor& g : tn::detail::add_gradients(all, xs, {dy})) all.push_back(g);
    tn::session s(tn::graph::current(), {.intra_op_threads = threads, .use_per_session_threads = true});
    return s.run_untyped(std::move(feeds), all);
}

template <class T> std::string compare(const any_array& a, const std::vector<double>& wanted, double tolerance) {
    double most = 1;
    for (const double x : wanted) most = std::max(most, std::fabs(x));
    for (std::int64_t i = 0; i < a.elements(); ++i) {
        const double found = static_cast<double>(a.data<T>()[i]), is = wanted[static_cast<std::size_t>(i)];
        if (!(std::fabs(found - is) <= tolerance * most))
            return "element " + std::to_string(i) + " is " + std::to_string(found) + ", not " + std::to_string(is);
    }
    return a.elements() == static_cast<std::int64_t>(wanted.size()) ? "" : "another number of elements";
}

template <class T> void check(const problem& p, bool by_formula = false) {
    CAPTURE(tn::to_string(p.of_queries(p.d)));
    CAPTURE(tn::to_string(p.of_keys(p.e)));
    CAPTURE(p.causal);
    const operands o = operands::of<T>(p);
    const auto found = attended(p, o, 1, by_formula);
    const tn::test::attention_numbers wanted = tn::test::attention_formula<T>(p, o.q, o.k, o.v, o.dy, o.mask);
    const double tolerance = (p.mask.empty() ? 1 : 2) * // fewer keys have more weight
                             (std::is_same_v<T, double>     ? 1e-13
                              : std::is_same_v<T, float>    ? 5e-6
                              : std::is_same_v<T, tn::half> ? 2e-3
                                                            : 1.6e-2);
    CHECK(compare<T>(found[0], wanted.y, tolerance) == "");
    CHECK(compare<T>(found[1], wanted.dq, tolerance) == "");
    CHECK(compare<T>(found[2], wanted.dk, tolerance) == "");
    CHECK(compare<T>(found[3], wanted.dv, tolerance) == "");
    if (p.mask.empty()) return;
    std::vector<double> sums(static_cast<std::size_t>(o.mask.elements())); // over what one number was added to
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(wanted.dmask.size()); ++i) {
        const std::int64_t places[] = {i % p.m, i / p.m % p.n, i / p.m / p.n % p.heads, i / p.m / p.n / p.heads};
        std::int64_t at = 0, step = 1;
        for (std::size_t d = 0; d < p.mask.size(); ++d) {
            const std::int64_t size = p.mask[p.mask.size() - 1 - d];
            at += size == 1 ? 0 : places[d] * step;
            step *= size;
        }
        sums[static_cast<std::size_t>(at)] += wanted.dmask[static_cast<std::size_t>(i)];
    }
    CHECK(compare<T>(found[4], sums, tolerance) == "");
}

const problem problems[] = {
    {.n = 1, .m = 1},
    {.n = 5, .m = 7, .d = 3, .e = 2},
    {.batch = 2, .heads = 6, .key_heads = 2, .n = 1, .m = 60, .d = 8, .e = 9, .lengths = {60, 7}},
    {.heads = 6, .key_heads = 2, .n = 1, .m = 5, .d = 8, .e = 8, .causal = true},
    {.batch = 2, .heads = 3, .key_heads = 3, .n = 16, .m = 48, .d = 16, .e = 16},
    {.heads = 4, .key_heads = 2, .n = 70, .m = 101, .d = 17, .e = 33}, // parts of blocks, parts of packs
    {.batch = 2, .heads = 6, .key_heads = 1, .n = 130, .m = 50, .d = 8, .e = 5, .scale = -0.3},
    {.n = 65, .m = 65, .d = 4, .e = 64, .causal = true},
    {.heads = 2, .key_heads = 1, .n = 150, .m = 97, .d = 20, .e = 12, .causal = true}, // more queries than keys
    {.n = 33, .m = 200, .d = 6, .e = 6, .causal = true},
    {.batch = 4, .heads = 2, .key_heads = 2, .n = 9, .m = 100, .d = 5, .e = 7, .lengths = {0, 100, 1, 49}},
    {.batch = 3, .heads = 2, .key_heads = 1, .n = 80, .m = 100, .d = 5, .e = 7, .causal = true, .lengths = {48, 0, 61}},
    {.n = 5, .m = 7, .d = 3, .e = 2, .mask = {5, 7}},
    {.batch = 2, .heads = 4, .key_heads = 2, .n = 70, .m = 101, .d = 9, .e = 12, .mask = {4, 70, 101}},
    {.batch = 3, .heads = 2, .key_heads = 2, .n = 65, .m = 60, .d = 4, .e = 5, .causal = true, .mask = {3, 1, 65, 60}},
    {.batch = 3, .heads = 2, .key_heads = 1, .n = 20, .m = 50, .d = 4, .e = 5, .lengths = {9, 0, 50}, .mask = {50}},
    {.batch = 2, .heads = 2, .key_heads = 2, .n = 20, .m = 50, .d = 4, .e = 5, .mask = {2, 1, 20, 1}},
    {.batch = 2, .heads = 6, .key_heads = 2, .n = 1, .m = 60, .d = 8, .e = 9, .lengths = {60, 7}, .mask = {6, 1, 60}},
    {.batch = 2, .heads = 2, .key_heads = 2, .n = 130, .m = 97, .d = 6, .e = 8, .mask = {2, 2, 1, 97}},
};

} // namespace

TEST_CASE_TEMPLATE("attention and its gradients are the formulas", T, float, double, tn::half, tn::bfloat16) {
    for_each_isa([&] {
        for (const problem& p : problems) check<T>(p);
    });
}

TEST_CASE_TEMPLATE("by the formula, where a device has no kernel of its own, they are the same", T, float, double,
                   tn::half) {
    for (problem p : problems) {
        while (!p.mask.empty() && p.mask.size() < 4) p.mask.insert(p.mask.begin(), 1);
        check<T>(p, true);
    }
}

TEST_CASE("what is empty gives what there is: zeros where there are no keys, the mean where keys have no size") {
    for (const bool causal : {false, true})
        for (const problem& p : {problem{.batch = 0, .n = 2, .m = 3, .d = 4, .e = 5},
                                 problem{.heads = 0, .key_heads = 2, .n = 2, .m = 3, .d = 4, .e = 5},
                                 problem{.heads = 0, .key_heads = 0, .n = 2, .m = 3, .d = 4, .e = 5},
                                 problem{.n = 0, .m = 3, .d = 4, .e = 5}, problem{.n = 2, .m = 0, .d = 4, .e = 5},
                                 problem{.n = 2, .m = 3, .d = 0, .e = 5}, problem{.n = 2, .m = 3, .d = 4, .e = 0},
                                 problem{.n = 2, .m = 0, .d = 4, .e = 5, .mask = {2, 0}},
                                 problem{.n = 2, .m = 3, .d = 0, .e = 5, .mask = {1, 3}}}) {
            problem q = p;
            q.causal = causal;
            check<double>(q);
        }
}

TEST_CASE("the number of threads changes no bit, however gradients are shared out") {
    for (const problem& p : {problem{.batch = 2, .heads = 2, .key_heads = 2, .n = 150, .m = 170, .d = 24, .e = 16},
                             problem{.heads = 4, .key_heads = 1, .n = 150, .m = 170, .d = 24, .e = 16, .causal = true},
                             problem{.n = 300, .m = 300, .d = 24, .e = 16, .causal = true, .lengths = {280}},
                             problem{.batch = 2, .n = 90, .m = 99, .d = 24, .e = 16, .mask = {2, 1, 90, 99}}}) {
        const operands o = operands::of<float>(p);
        const auto one = attended(p, o, 1);
        for (const int threads : {2, 3}) {
            const auto more = attended(p, o, threads);
            for (std::size_t i = 0; i < one.size(); ++i)
                CHECK(
                    std::equal(one[i].data<float>(), one[i].data<float>() + one[i].elements(), more[i].data<float>()));
        }
    }
}

TEST_CASE("keys beyond a sequence's length take no part, whatever they are, and have no gradient") {
    const problem p{.batch = 3, .heads = 2, .key_heads = 1, .n = 70, .m = 90, .d = 8, .e = 8, .lengths = {0, 60, 90}};
    const operands o = operands::of<float>(p);
    operands other = operands::of<float>(p);
    for (std::int64_t b = 0; b < p.batch; ++b)
        for (std::int64_t i = p.lengths[static_cast<std::size_t>(b)] * 8; i < p.m * 8; ++i) {
            other.k.data<float>()[b * p.m * 8 + i] = std::numeric_limits<float>::quiet_NaN();
            other.v.data<float>()[b * p.m * 8 + i] = std::numeric_limits<float>::infinity();
        }
    const auto one = attended(p, o), two = attended(p, other);
    for (std::size_t i = 0; i < 4; ++i)
        CHECK(std::equal(one[i].data<float>(), one[i].data<float>() + one[i].elements(), two[i].data<float>()));
    const auto all_zero = [](const any_array& a, std::int64_t first, std::int64_t n) {
        return std::all_of(a.data<float>() + first, a.data<float>() + first + n, [](float x) { return x == 0; });
    };
    CHECK(all_zero(two[0], 0, p.heads * p.n * 8)); // no keys at all
    CHECK(all_zero(two[1], 0, p.heads * p.n * 8));
    CHECK(all_zero(two[2], (p.m + 60) * 8, 30 * 8));
    CHECK(all_zero(two[3], (p.m + 60) * 8, 30 * 8));
}

TEST_CASE_FIXTURE(in_graph, "a mask of -infinity hides keys as lengths do, and one may be given beside the other") {
    const auto x = tn::placeholder<float, shape<2, 3, 4>>("x"); // of two sequences without heads
    const auto lengths = tn::placeholder<int, shape<2>>("lengths");
    const auto bias = tn::placeholder<float, shape<3, 3>>("bias");
    const auto hides = tn::placeholder<float, shape<2, 1, 3>>("hides");
    const auto both = tn::attention(x, x, x, lengths, bias);
    const auto one = tn::attention(x, x, x, bias + hides);
    static_assert(std::is_same_v<decltype(both), decltype(one)>);
    const float no = -std::numeric_limits<float>::infinity();
    tn::session s;
    const auto [a, b] = s.run(tn::feed(x, tn::array<float, shape<2, 3, 4>>(random_array<float>({2, 3, 4}))),
                              tn::feed(lengths, {2, 0}), tn::feed(bias, {{1, 2, 3}, {0, -1, 0}, {3, 3, -3}}),
                              tn::feed(hides, {{{0, 0, no}}, {{no, no, no}}}), both, one);
    CHECK(tn::all_close(a, b, 1e-6, 1e-6));
    CHECK(a(1, 2, 3) == 0); // who sees no key
}

TEST_CASE_FIXTURE(in_graph, "sequences without heads have lengths, too") {
    const auto q = tn::placeholder<double, tn::shape<2, tn::dyn, 1>>("q");
    const auto k = tn::placeholder<double, tn::shape<2, 3, 1>>("k");
    const auto v = tn::placeholder<double, tn::shape<2, 3, 2>>("v");
    const auto lengths = tn::placeholder<std::int64_t, tn::shape<2>>("lengths");
    const tn::tensor<double, tn::shape<2, tn::dyn, 2>> y = tn::attention(q, k, v, lengths, {.scale = 1});
    const tn::any_tensor same = tn::untyped::attention(q, k, v, lengths, {.scale = 1});
    tn::session s;
    // exp(q k) of sequence 0 are 1 and 3, of sequence 1 all 1.
    const auto got = s.run(tn::feed(q, {{{1}}, {{0}}}), tn::feed(k, {{{0}, {std::log(3.0)}, {9}}, {{1}, {2}, {3}}}),
                           tn::feed(v, {{{4, 8}, {8, 0}, {1e9, 1e9}}, {{1, 2}, {3, 4}, {8, 0}}}),
                           tn::feed(lengths, {2, 3}), y, same);
    const tn::array<double> expected{{{7, 2}}, {{4, 2}}};
    CHECK(tn::all_close(std::get<0>(got), expected, 1e-15, 1e-15));
    CHECK(tn::all_close(std::get<1>(got), expected, 1e-15, 1e-15));
}

TEST_CASE_FIXTURE(in_graph, "scores as large as floats hold, all -infinity, or NaN give what softmax of them gives") {
    const auto q = tn::placeholder<float, shape<4, 1>>("q");
    const auto k = tn::placeholder<float, shape<100, 1>>("k"), v = tn::placeholder<float, shape<100, 1>>("v");
    const auto y = tn::attention(q, k, v, {.scale = 1});
    tn::session s;
    const float huge = 1e38f, infinite = std::numeric_limits<float>::infinity();
    tn::array<float, shape<4, 1>> qs;
    tn::array<float, shape<100, 1>> ks, vs;
    for (int j = 0; j < 100; ++j) {
        ks(j, 0) = j < 50 ? -1.0f : 1.0f;
        vs(j, 0) = static_cast<float>(j);
    }
    qs(0, 0) = huge;
    qs(1, 0) = -huge;
    qs(2, 0) = infinite; // scores of -infinity and then of infinity
    qs(3, 0) = std::numeric_limits<float>::quiet_NaN();
    const auto found = s.run(tn::feed(q, qs), tn::feed(k, ks), tn::feed(v, vs), y);
    CHECK(found(0, 0) == doctest::Approx(74.5));
    CHECK(found(1, 0) == doctest::Approx(24.5));
    CHECK(std::isnan(found(2, 0)));
    CHECK(std::isnan(found(3, 0)));
    for (int j = 0; j < 100; ++j) ks(j, 0) = j == 99 ? 0.0f : -infinite; // a first block of nothing but -infinity
    qs(2, 0) = -1;
    qs(3, 0) = 1;
    const auto late = s.run(tn::feed(q, qs), tn::feed(k, ks), tn::feed(v, vs), y);
    CHECK(late(3, 0) == 99);
    for (int j = 0; j < 100; ++j) ks(j, 0) = -infinite;
    CHECK(std::isnan(s.run(tn::feed(q, qs), tn::feed(k, ks), tn::feed(v, vs), y)(3, 0)));
}

TEST_CASE("gradients and theirs are those of differences, whatever is known of sizes") {
    const auto plain = [](const auto& q, const auto& k, const auto& v) { return tn::attention(q, k, v); };
    const auto causal = [](const auto& q, const auto& k, const auto& v) {
        return tn::attention(q, k, v, {.causal = true, .scale = 0.7});
    };
    const auto twice = [](const auto& q, const auto& k, const auto& v) {
        const auto [dq, dk, dv] = tn::gradients(tn::sum(tn::square(tn::attention(q, k, v, {.causal = true}))), q, k, v);
        return tn::sum(dq * q) + tn::sum(tn::square(dk)) + tn::sum(dv * dv * v);
    };
    const auto masked = [](const auto& q, const auto& k, const auto& v, const auto& m) {
        return tn::attention(q, k, v, m, {.causal = true});
    };
    const auto masked_twice = [&](const auto& q, const auto& k, const auto& v, const auto& m) {
        const auto [dq, dm] = tn::gradients(tn::sum(tn::square(masked(q, k, v, m))), q, m);
        return tn::sum(dq * q) + tn::sum(tn::square(dm)) + tn::sum(dm * m);
    };
    const auto check_masked = [](const auto& f) {
        CHECK(check_gradients(f, input<shape<2, 4, 3>>(), input<shape<2, 5, 3>>(), input<shape<2, 5, 2>>(),
                              input<shape<4, 5>>()) == "");
        CHECK(check_gradients(f, input<shape<batch, 2, tn::dyn, 3>>(2, 2, 3, 3),
                              input<shape<batch, 1, steps, 3>>(2, 1, 3, 3),
                              input<shape<batch, 1, steps, 2>>(2, 1, 3, 2), input<shape<2, 1, steps>>(2, 1, 3)) == "");
    };
    check_masked(masked);
    check_masked(masked_twice);
    CHECK(check_gradients(plain, input<shape<4, 3>>(), input<shape<5, 3>>(), input<shape<5, 2>>()) == "");
    CHECK(check_gradients(plain, input<shape<batch, 4, tn::dyn, 3>>(2, 4, 3, 3),
                          input<shape<batch, 2, steps, 3>>(2, 2, 5, 3),
                          input<shape<batch, 2, steps, 2>>(2, 2, 5, 2)) == "");
    CHECK(check_gradients(causal, input<shape<2, tn::dyn, tn::dyn>>(2, 4, 3), input<shape<tn::dyn, steps, 3>>(1, 3, 3),
                          input<shape<tn::dyn, steps, 2>>(1, 3, 2)) == "");
    CHECK(check_gradients(twice, input<shape<2, 2, 3>>(), input<shape<1, 3, 3>>(), input<shape<1, 3, 2>>()) == "");
    CHECK(check_gradients(twice, input<shape<batch, tn::dyn, steps, tn::dyn>>(1, 2, 2, 3),
                          input<shape<batch, tn::dyn, tn::dyn, 3>>(1, 1, 3, 3),
                          input<shape<tn::dyn, tn::dyn, tn::dyn, 2>>(1, 1, 3, 2)) == "");
}

TEST_CASE("memory is linear in the sequence, forward and backward") {
    const auto bytes_of = [](std::int64_t length) {
        const tn::graph_scope scope{tn::graph()};
        const any_tensor x = tn::untyped::placeholder(tn::element_type::float32, {2, length, 16});
        const any_tensor y = tn::untyped::attention(x, x, x, {.causal = true});
        const auto g = tn::gradients(tn::untyped::sum(y), {x});
        tn::session s(tn::graph::current(), {.intra_op_threads = 1, .use_per_session_threads = true});
        return s.report_untyped(tn::test::fed(x, random_array<float>({2, length, 16})), g).peak_bytes;
    };
    const std::size_t once = bytes_of(1024), twice = bytes_of(2048), four_times = bytes_of(4096);
    CHECK(twice < 2 * once + 1024);
    CHECK(four_times - twice <= 2 * (twice - once) + 1024);
    CHECK(four_times < std::size_t{4096} * 4096); // all scores take eight times as much
}

TEST_CASE(
    "lengths that cannot be are refused with node, number and sizes; operands that do not fit with the rule's words") {
    const tn::graph_scope scope{tn::graph()};
    const auto x = tn::placeholder<float, shape<2, 3, 5, 4>>("x");
    const auto lengths = tn::placeholder<std::int64_t, shape<2>>("lengths");
    const auto y = tn::attention(x, x, x, lengths);
    tn::session s;
    tn::array<float, shape<2, 3, 5, 4>> xs;
    tn::array<std::int64_t, shape<2>> counts;
    for (const std::int64_t bad : {-1, 6}) {
        counts(0) = 5;
        counts(1) = bad;
        CHECK_ERROR(tn::invalid_argument_error,
                    "attention: key length " + std::to_string(bad) +
                        " of sequence 1 is not one of 0 to 5, the number of keys",
                    s.run(tn::feed(x, xs), tn::feed(lengths, counts), y));
    }
    const auto f = [](const extents& e) { return tn::untyped::placeholder(tn::element_type::float32, e); };
    const auto refused = [&](const any_tensor& q, const any_tensor& k, const any_tensor& v, const char* words) {
        CHECK_ERROR(tn::invalid_argument_error, words, tn::untyped::attention(q, k, v));
    };
    refused(f({4, 5, 3}), f({3, 6, 3}), f({3, 6, 2}),
            "attention: the number of heads of keys does not divide that of queries");
    refused(f({4, 5, 3}), f({0, 6, 3}), f({0, 6, 2}), "does not divide");
    refused(f({4, 5, 3}), f({4, 6, 3}), f({2, 6, 2}), "attention: sizes differ: [4, 5, 3] x [4, 6, 3] x [2, 6, 2]");
    refused(f({5, 3}), f({6, 3}), f({7, 2}), "attention: sizes differ");
    refused(f({2, 4, 5, 3}), f({1, 4, 6, 3}), f({1, 4, 6, 3}), "attention: batch sizes differ");
    refused(f({5, 3}), f({1, 6, 3}), f({6, 3}), "attention: ranks differ");
    refused(f({3}), f({3}), f({3}), "attention: rank is too low");
    CHECK_ERROR(tn::invalid_argument_error, "attention: there is not one key length for each sequence",
                tn::untyped::attention(x, x, x, tn::untyped::placeholder(tn::element_type::int32, {3})));
    CHECK_ERROR(tn::invalid_argument_error, "attention: element type must be an integer",
                tn::untyped::attention(x, x, x, tn::untyped::placeholder(tn::element_type::boolean, {2})));
    CHECK_ERROR(tn::invalid_argument_error,
                "attention: the mask is added to scores [.., heads, queries, keys]: its sizes are theirs, or 1",
                tn::untyped::attention(x, x, x, f({5, 4})));
    CHECK_ERROR(tn::invalid_argument_error, "attention: element types differ",
                tn::untyped::attention(x, x, x, tn::untyped::placeholder(tn::element_type::float64, {5, 5})));
    CHECK_ERROR(tn::invalid_argument_error, "attention: ranks differ",
                tn::untyped::attention(x, x, x, f({1, 1, 1, 5, 5})));
}
