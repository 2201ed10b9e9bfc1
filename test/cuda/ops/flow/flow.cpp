#include "tests.hpp"
#include "ops/both_devices.hpp"
#include "ops/on_both.hpp"

#include "environment.hpp"
#include "machine.hpp"

// cond, scan and while_loop on a GPU, beside the CPU. Numbers are whole, so that both give the same bits.

using namespace tenon::test;
using tenon::any_array, tenon::any_tensor, tenon::element_type, tenon::extents;
using tenon::detail::carried_and_given;
using tensors = std::vector<any_tensor>;
namespace ut = tenon::untyped;

namespace {

constexpr element_type whole = element_type::uint32;
any_array numbers(const extents& sizes, std::mt19937& random) { return random_array(whole, sizes, random); }
any_array number(std::int32_t n) {
    any_array a(element_type::int32, {});
    op_table::set_number(a, 0, n);
    return a;
}
void check_same_steps(const std::vector<const any_array*>& values, const build_function& build, int steps = 3) {
    CHECK(difference_of_devices(steps, 1, values, build) == "");
}

// A body that is drawn: of what it is given, all [n], it computes others, and may use what is around it.
tensors drawn(std::mt19937& random, tensors from, std::size_t gives, const tensors& around) {
    tensors all = from;
    all.insert(all.end(), around.begin(), around.end());
    const auto any = [&] { return all[random() % all.size()]; };
    for (std::size_t made = 0; made < 3 + random() % 5; ++made) {
        switch (random() % 6) {
        case 0: all.push_back(ut::add(any(), any())); break;
        case 1: all.push_back(ut::multiply(any(), any())); break;
        case 2: all.push_back(ut::add(any(), ut::sum(any()))); break;
        case 3: all.push_back(ut::reverse(any())); break;
        case 4: all.push_back(ut::where(ut::less(any(), any()), any(), any())); break;
        default: {
            const any_tensor x = any(), y = any();
            all.push_back(ut::cond(
                ut::less(ut::sum(x), ut::sum(y)), [&] { return tensors{ut::add(x, ut::multiply(y, y))}; },
                [&] { return tensors{y}; })[0]);
        }
        }
    }
    tensors results;
    for (std::size_t k = 0; k < gives; ++k) results.push_back(any()); // also what it is given, and one twice
    return results;
}

} // namespace

TEST_CASE_FIXTURE(machine, "scan on a GPU: carries, stacks, backwards, through no slices, and through one") {
    std::mt19937 random = seeded();
    for (const std::int64_t steps : {0, 1, 2, 9})
        for (const bool reversed : {false, true}) {
            INFO(steps, " slices", reversed ? ", backwards" : "");
            const any_array first = numbers({5}, random), other = numbers({5}, random), x = numbers({steps, 5}, random);
            check_same_steps({&first, &other, &x}, [&](const tensors& in) {
                // Carries change places, and what is stacked is one of them.
                return ut::scan(
                    [&](const tensors& c, const tensors& slice) {
                        return carried_and_given{{c[1], ut::add(ut::multiply(c[0], 3), slice[0])},
                                                 {c[0], ut::add(c[0], slice[0]), slice[0]}};
                    },
                    {in[0], in[1]}, {in[2]}, {.reversed = reversed});
            });
        }
}

TEST_CASE_FIXTURE(machine, "cond and while_loop on a GPU: either part, any number of runs") {
    std::mt19937 random = seeded();
    for (const int runs : {0, 1, 2, 7, 40}) {
        INFO(runs, " runs");
        const any_array most = number(runs), x = numbers({3, 4}, random), start = number(0);
        check_same_steps({&start, &x, &most}, [&](const tensors& in) {
            const any_tensor limit = in[2];
            tensors all = ut::while_loop([&](const tensors& c) { return ut::less(c[0], limit); },
                                         [&](const tensors& c) {
                                             return tensors{ut::add(c[0], 1), ut::add(ut::multiply(c[1], 3), in[1])};
                                         },
                                         {in[0], in[1]});
            const tensors either = ut::cond(
                ut::less(limit, 2),
                [&] {
                    return tensors{all[1], ut::sum(in[1])};
                },
                [&] {
                    return tensors{ut::multiply(in[1], in[1]), ut::sum(all[1])};
                });
            all.insert(all.end(), either.begin(), either.end());
            return all;
        });
    }
}

TEST_CASE("random bodies, and bodies in them, give on a GPU what they give on the CPU") {
    std::mt19937 random = seeded();
    for (int round = 0; round < 12; ++round) {
        const machine m;
        machine::draw_from(random());
        INFO("round ", round);
        const auto n = static_cast<std::int64_t>(1 + random() % 9), steps = static_cast<std::int64_t>(random() % 5);
        const auto carried = 1 + random() % 3, given = random() % 3;
        const any_array a = numbers({n}, random), b = numbers({n}, random), x = numbers({steps, n}, random),
                        y = numbers({steps, n}, random), runs = number(static_cast<int>(random() % 4)),
                        start = number(0);
        const auto seed = static_cast<std::mt19937::result_type>(random());
        check_same_steps(
            {&a, &b, &x, &y, &runs, &start},
            [&](const tensors& in) {
                std::mt19937 same(seed);                     // on both devices
                const auto loop = [&](const tensors& from) { // a body that repeats one
                    const tensors first{in[5], from[0], from[1]};
                    tensors last = ut::while_loop([&](const tensors& c) { return ut::less(c[0], in[4]); },
                                                  [&](const tensors& c) {
                                                      tensors next = drawn(same, {c[1], c[2]}, 2, {from[0]});
                                                      next.insert(next.begin(), ut::add(c[0], 1));
                                                      return next;
                                                  },
                                                  first);
                    return last;
                };
                tensors carries;
                for (std::size_t c = 0; c < carried; ++c) carries.push_back(in[c % 2]);
                tensors all = ut::scan(
                    [&](const tensors& c, const tensors& slices) {
                        tensors from = c;
                        from.insert(from.end(), slices.begin(), slices.end());
                        const tensors last = loop(from);
                        from.push_back(last[1]);
                        tensors made = drawn(same, from, carried + given, {in[1]});
                        const auto middle = made.begin() + static_cast<std::ptrdiff_t>(carried);
                        return carried_and_given{{made.begin(), middle}, {middle, made.end()}};
                    },
                    carries, {in[2], in[3]}, {.reversed = same() % 2 == 0});
                return all;
            },
            2);
    }
}

TEST_CASE_FIXTURE(machine, "gradients through scan and cond on a GPU are those on the CPU, and nothing crosses") {
    const auto losses = [](const char* device) {
        const own_graph g;
        const auto there = tn::on(device);
        const auto x = tn::variable<double, tn::shape<6, 4, 3>>("x", tn::he_normal(3));
        const auto w = tn::variable<double, tn::shape<3, 5>>("w", tn::glorot_uniform(1));
        const auto u = tn::variable<double, tn::shape<5, 5>>("u", tn::glorot_uniform(2));
        const auto h0 = tn::variable<double, tn::shape<4, 5>>("h0", tn::zeros());
        const auto [last, all] = tn::scan(
            [&](const auto& h, const auto& slice) {
                const auto next = tanh(matmul(slice, w) + matmul(h, u));
                const auto kept = tn::cond(
                    tn::sum(next * next) > 4.0, [&] { return next * 0.5; }, [&] { return next + 0.0; });
                return std::pair(kept, kept * kept);
            },
            h0, x);
        const auto loss = tn::sum(last) + tn::mean(all);
        const auto train = tn::gradient_descent(0.05).minimize(loss);
        initialized_session s(g);
        if (device == std::string("/gpu:0")) {
            const auto e = s.explain_placement(train);
            CHECK_MESSAGE(e.crossing_bytes() == 0, e.to_text());
        }
        std::vector<double> values;
        for (int i = 0; i < 6; ++i) values.push_back(s.run(train, loss).item());
        if (device == std::string("/gpu:0")) {
            const tn::recording_counts told = s.report(train, loss).recordings;
            CHECK(told.failed == 0);
            CHECK(told.given_again == 0);
            CHECK(told.replayed == 5);
        }
        return values;
    };
    const environment tapes("TENON_CUDA_TAPES", machine::is_emulated() ? "interpreted" : "compiled");
    const std::vector<double> host = losses("/cpu:0"), gpu = losses("/gpu:0");
    for (std::size_t i = 0; i < host.size(); ++i) CHECK(gpu[i] == doctest::Approx(host[i]).epsilon(1e-9));
    CHECK(host.front() > host.back());
}

TEST_CASE("a while_loop on a GPU is replayed, however often it runs in each step, and so is its gradient") {
    const machine m;
    const environment tapes("TENON_CUDA_TAPES", machine::is_emulated() ? "interpreted" : "compiled");
    const own_graph g;
    const auto there = tn::on("/gpu:0");
    const auto x = tn::placeholder<double, tn::shape<>>("x");
    const auto most = tn::placeholder<int, tn::shape<>>("most");
    const auto [i, y] = tn::while_loop([&](const auto& n, const auto&) { return n < most; },
                                       [&](const auto& n, const auto& v) { return std::tuple(n + 1, v * 0.5 + x); },
                                       tn::constant(0), x);
    const auto [dx] = tn::gradients(y, x);
    tn::session s(g);
    int steps = 0;
    for (const int runs : {3, 0, 1, 30, 2}) {
        double v = 2, d = 1;
        for (int k = 0; k < runs; ++k) v = v * 0.5 + 2, d = d * 0.5 + 1;
        const auto [count, last] = s.run(i, y, tn::feed(x, 2.0), tn::feed(most, runs));
        CHECK(count() == runs);
        CHECK(last() == doctest::Approx(v));
        CHECK(s.run(dx, tn::feed(x, 2.0), tn::feed(most, runs))() == doctest::Approx(d));
        ++steps;
    }
    for (const tn::recording_counts& told : {s.report(tn::feed(x, 2.0), tn::feed(most, 1), i, y).recordings,
                                             s.report(tn::feed(x, 2.0), tn::feed(most, 1), dx).recordings}) {
        CHECK(told.replayed == static_cast<std::uint64_t>(steps - 1));
        CHECK(told.failed == 0);
    }
}

TEST_CASE_FIXTURE(machine, "gradients of bodies in bodies run on a GPU, and nothing crosses between them") {
    const own_graph g;
    const auto there = tn::on("/gpu:0");
    const auto x = tn::placeholder<double, tn::shape<4>>("x");
    const auto w = tn::placeholder<double, tn::shape<>>("w");
    // Each element, halved until it is at most w.
    const auto total =
        tn::scan(
            [&](const auto& sum_so_far, const auto& v) {
                const auto [n, small] = tn::while_loop(
                    [&](const auto&, const auto& u) { return u > w; },
                    [](const auto& k, const auto& u) { return std::tuple(k + 1, u * 0.5); }, tn::constant(0), v);
                const auto kept = tn::cond(
                    n > 1, [&] { return small * w; }, [&] { return small; });
                return std::pair(sum_so_far + kept, kept);
            },
            tn::constant(0.0), x)
            .first;
    const auto [dx, dw] = tn::gradients(total, x, w);
    tn::session s(g);
    const tn::array<double, tn::shape<4>> values{1.0, 3.0, 7.0, 16.0};
    for (const auto& n : s.explain_placement(tn::feed(x, values), tn::feed(w, 2.0), total, dx, dw).nodes)
        CHECK_MESSAGE((n.op == "constant" || n.device.type == "GPU"), n.name);
    for (int step = 0; step < 3; ++step) {
        const auto [t, d, dv] = s.run(total, dx, dw, tn::feed(x, values), tn::feed(w, 2.0));
        CHECK(t() == 1 + 1.5 + 2 * 1.75 + 2 * 2);
        CHECK(d == tn::array<double, tn::shape<4>>{1.0, 0.5, 0.5, 0.25});
        CHECK(dv() == 1.75 + 2);
    }
}

TEST_CASE_FIXTURE(machine, "what a body on a GPU refuses is told as on the CPU") {
    for (const char* const device : {"/cpu:0", "/gpu:0"}) {
        INFO(device);
        const own_graph g;
        const auto there = tn::on(device);
        const auto table = tn::placeholder<float, tn::shape<5, 2>>("table");
        const auto rows = tn::placeholder<int, tn::shape<4, 3>>("rows");
        const auto total = tn::scan(
                               [&](const auto& c, const auto& places) {
                                   const auto next = c + tn::sum<0>(tn::gather(table, places));
                                   return std::pair(next, tn::sum(next));
                               },
                               tn::constant({0.0f, 0.0f}), rows)
                               .second;
        tn::session s(g);
        const tn::array<float, tn::shape<5, 2>> values{{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}};
        tn::array<int, tn::shape<4, 3>> places{{0, 1, 2}, {3, 4, 0}, {1, 2, 3}, {4, 0, 1}};
        const auto good = s.run(total, tn::feed(table, values), tn::feed(rows, places));
        places(2, 1) = 7;
        for (int again = 0; again < 3; ++again)
            CHECK_ERROR(tn::invalid_argument_error, "index 7",
                        s.run(total, tn::feed(table, values), tn::feed(rows, places)));
        places(2, 1) = 2;
        CHECK(s.run(total, tn::feed(table, values), tn::feed(rows, places)) == good);
    }
}

namespace {
/// Half of its input, on CPUs alone.
struct half_of_host_op {
    static constexpr const char* name = "test_half_of_host";
    using attributes = tn::no_attributes;
    static constexpr tn::element_types gpu_types = tn::no_elements;
    static constexpr tn::inferred infer(const attributes&, tn::type_list in, int) { return in[0]; }
    struct kernel final : tn::kernel {
        explicit kernel(const tn::kernel_setup& s) : n(s.inputs[0].extents.elements()) {}
        void run(const tn::kernel_run& r) override {
            for (std::int64_t k = 0; k < n; ++k) r.output<float>(0)[k] = r.input<float>(0)[k] / 2;
        }
        const std::int64_t n;
    };
    static tn::kernel_pointer prepare(const tn::kernel_setup& s) { return std::make_unique<kernel>(s); }
};
} // namespace

TEST_CASE_FIXTURE(machine, "a body with an op that GPUs cannot do runs on the CPU, or says which that is") {
    const own_graph g;
    const auto x = tn::placeholder<float, tn::shape<3, 2, 2>>("x");
    const auto body = [](const auto& c, const auto& slice) {
        return std::pair(c + tn::apply_op<half_of_host_op, tn::no_attributes{}>(slice), c);
    };
    const auto anywhere = tn::scan(body, tn::constant({{0.0f, 0.0f}, {0.0f, 0.0f}}), x).first;
    const auto there = [&] {
        const auto here = tn::on("/gpu:0");
        return tn::scan(body, tn::constant({{0.0f, 0.0f}, {0.0f, 0.0f}}), x).first;
    }();
    tn::session s(g);
    tn::array<float, tn::shape<3, 2, 2>> ones;
    for (int k = 0; k < 3; ++k) ones(k, 0, 0) = ones(k, 1, 1) = 1;
    CHECK(s.run(anywhere, tn::feed(x, ones))(1, 1) == 1.5f);
    CHECK_ERROR(tn::invalid_argument_error, "runs a body, whose node test_half_of_host",
                s.run(there, tn::feed(x, ones)));
}
