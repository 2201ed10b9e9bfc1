#include <nlohmann/json.hpp>

#include "tests.hpp"
#include "runtime/place/explained.hpp"
#include "runtime/support.hpp"

// Placement by what earlier runs took. The measurements are made by hand: nothing here is timed.

using namespace probe;
using tn::literals::operator""_dev;

namespace {

using square = tn::shape<16, 16>;
using matrix = tn::tensor<float, square>;

constexpr auto cpu0 = "/job:localhost/replica:0/task:0/device:CPU:0"_dev;
constexpr auto gpu0 = "/job:localhost/replica:0/task:0/device:GPU:0"_dev;
constexpr auto gpu1 = "/job:localhost/replica:0/task:0/device:GPU:1"_dev;
const std::string gpu = "GPU: simulated GPU, played by the CPU";

std::string cpu() { return tn::timed_on(tn::session().list_logical_devices()[0]); }

class costs {
public:
    costs() : made_(std::make_shared<tn::cost_measurements>()) {
        for (const std::string& from : {cpu(), gpu})
            for (const std::string& to : {cpu(), gpu}) link(from, to, 10, 10);
    }
    void takes(const tn::any_tensor& t, double microseconds, const std::string& device = gpu) {
        made_->add_kernel(device, tn::timed_as(*t.node()), static_cast<std::int64_t>(microseconds * 1000));
    }
    void link(const std::string& from, const std::string& to, double microseconds, double gigabytes_a_second) {
        for (int i = 0; i < 9; ++i) // what was there before is forgotten
            for (const double bytes : {1e3, 1e6})
                made_->add_transfer(from, to, static_cast<std::size_t>(bytes),
                                    static_cast<std::int64_t>(microseconds * 1e3 + bytes / gigabytes_a_second));
    }
    tn::session_options session(int gpus, std::size_t memory = 16 << 20) const {
        return {.gpus = tn::simulated_gpu(gpus, memory), .cost_measurements = made_};
    }

private:
    std::shared_ptr<tn::cost_measurements> made_;
};

tn::session_options by_rules(int gpus, std::size_t memory = 16 << 20) {
    return {.gpus = tn::simulated_gpu(gpus, memory)};
}

matrix power(const matrix& x, int n) {
    matrix p = x;
    for (int i = 1; i < n; ++i) p = matmul(p, x);
    return p;
}

// A^n + B^n (TOUR 6), where nothing says on which device.
struct two_branches {
    tn::variable_tensor<float, square> a = tn::variable<float, square>("a", tn::glorot_uniform(1)),
                                       b = tn::variable<float, square>("b", tn::glorot_uniform(2));
    matrix of_a = power(a, 10), of_b = power(b, 10), sum = of_a + of_b;

    costs measured() const {
        costs c;
        c.takes(of_a, 1000);
        c.takes(sum, 10);
        return c;
    }
};

template <class Value> bool same(const Value& x, const Value& y) {
    for (std::int64_t i = 0; i < x.untyped().elements(); ++i)
        if (static_cast<const float*>(x.untyped().data())[i] !=
            doctest::Approx(static_cast<const float*>(y.untyped().data())[i]))
            return false;
    return true;
}

} // namespace

TEST_CASE_FIXTURE(in_graph,
                  "TOUR 6: the rules put two branches on one GPU, measured costs on two, in about half the time") {
    const two_branches m;
    tn::session s(m.measured().session(2)), rules(by_rules(2)), plain;
    const auto e = s.explain_placement(m.sum), ruled = rules.explain_placement(m.sum);
    CHECK(of(ruled, m.of_a).device == gpu0);
    CHECK(of(ruled, m.of_b).device == gpu0);
    CHECK(ruled.cost.empty());
    CHECK(of(e, m.of_a).device.type == "GPU");
    CHECK(of(e, m.of_b).device.type == "GPU");
    CHECK(of(e, m.of_a).device != of(e, m.of_b).device);
    CHECK(of(e, m.a).device == of(e, m.of_a).device); // what is read nine times lies where it is read
    CHECK(of(e, m.b).device == of(e, m.of_b).device);
    CHECK(e.predicted_by_rules == doctest::Approx(18e-3).epsilon(0.02));
    CHECK(e.predicted_seconds == doctest::Approx(9e-3).epsilon(0.02));
    for (tn::session* each : {&s, &rules, &plain}) each->run(tn::initialize_variables());
    CHECK(same(s.run(m.sum), plain.run(m.sum)));
    CHECK(same(rules.run(m.sum), plain.run(m.sum)));
}

TEST_CASE_FIXTURE(in_graph,
                  "TOUR 6: the branches part, too, where the variables were initialised, and so placed, before") {
    const two_branches m;
    tn::session s(m.measured().session(2)), plain;
    for (tn::session* each : {&s, &plain}) each->run(tn::initialize_variables());
    const auto e = s.explain_placement(m.sum);
    CHECK(of(e, m.of_a).device != of(e, m.of_b).device);
    CHECK(e.predicted_seconds < 0.6 * e.predicted_by_rules);
    CHECK(same(s.run(m.sum), plain.run(m.sum)));
}

TEST_CASE_FIXTURE(in_graph, "values between nodes count: what does not fit on one GPU beside others goes to the next") {
    using large = tn::shape<256, 256>; // 256 KiB
    using held = tn::tensor<float, large>;
    const auto x = tn::placeholder<float, large>("x");
    // Each is there until the products of all are made.
    std::vector<held> first;
    for (int i = 0; i < 6; ++i) first.push_back(matmul(x, i == 0 ? held(x) : first.back()));
    held sum = first[0];
    for (int i = 5; i > 0; --i) sum = matmul(sum, first[static_cast<std::size_t>(i)]);
    costs c;
    c.takes(sum, 100);
    tn::array<float, large> v;
    v.fill(1.0f / 256);
    constexpr std::size_t memory = 1536 << 10;
    tn::session rules(by_rules(2, memory)), s(c.session(2, memory)), plain;
    CHECK_THROWS_AS((void)rules.run(tn::feed(x, v), sum), tn::resource_exhausted_error);
    const auto e = s.explain_placement(tn::feed(x, v), sum);
    CHECK(contains(e.cost, "the rules' placement exceeds the memory by "));
    CHECK_FALSE(contains(e.cost, "; it exceeds"));
    CHECK(same(s.run(tn::feed(x, v), sum), plain.run(tn::feed(x, v), sum)));
}

TEST_CASE_FIXTURE(
    in_graph, "where the link between the GPUs is slow, both branches stay on one: nothing is better than the rules") {
    const two_branches m;
    costs c = m.measured();
    c.link(gpu, gpu, 1e6, 1);
    c.link(cpu(), gpu, 1e6, 1);
    tn::session s(c.session(2));
    const auto e = s.explain_placement(m.sum);
    CHECK(of(e, m.of_a).device == gpu0);
    CHECK(of(e, m.of_b).device == gpu0);
    CHECK(of(e, m.of_a).rule == tn::placement_rule::gpu_default);
    CHECK(e.predicted_seconds == e.predicted_by_rules);
}

TEST_CASE_FIXTURE(in_graph,
                  "explain_placement says which nodes the costs decided for, and what both placements would take") {
    const two_branches m;
    tn::session s(m.measured().session(2));
    const auto e = s.explain_placement(m.sum);
    const tn::any_tensor moved = of(e, m.of_a).device == gpu0 ? m.of_b : m.of_a;
    CHECK(of(e, moved).rule == tn::placement_rule::cheapest);
    const std::string text = e.to_text();
    CHECK(contains(text, moved.name() + " (matmul): /job:localhost/replica:0/task:0/device:GPU:1, cheapest"));
    CHECK(contains(text, "cost model: 9."));
    CHECK(contains(text, " ms a step, by the rules 18.0"));
    CHECK(contains(text, "of 19 nodes 19 were timed, 0 are estimated"));
    CHECK(contains(text, "\n  /device:GPU:1: busy 9"));
    CHECK(contains(text, "of 16777216 bytes; by the rules 0 us, 0 bytes"));
    const auto json = nlohmann::json::parse(e.to_json());
    CHECK(json.at("predicted_seconds") == e.predicted_seconds);
    CHECK(json.at("predicted_by_rules") == e.predicted_by_rules);
    // Asked again, when everything has its place, it says the same.
    CHECK(s.explain_placement(m.sum).to_text() == text);
}

TEST_CASE_FIXTURE(in_graph,
                  "a model too large for one GPU: refused where the rules place it, and run on two where costs do") {
    constexpr std::size_t memory = 1280 << 10;
    using weights = tn::shape<256, 256>; // 256 KiB
    using rows = tn::shape<4, 256>;
    const auto x = tn::placeholder<float, rows>("x");
    std::vector<tn::variable_tensor<float, weights>> w;
    tn::tensor<float, rows> h = x;
    for (unsigned layer = 0; layer < 6; ++layer) {
        w.push_back(tn::variable<float, weights>("w" + std::to_string(layer), tn::glorot_uniform(layer + 1)));
        h = tanh(matmul(h, w.back()));
    }
    costs c;
    c.takes(h, 5);
    c.takes(tn::any_tensor(h.node()->inputs[0]), 50);
    tn::array<float, rows> v;
    v.fill(0.5f);
    tn::session rules(by_rules(2, memory)), plain;
    CHECK_THROWS_AS(rules.run(tn::initialize_variables()), tn::resource_exhausted_error);
    plain.run(tn::initialize_variables());
    const auto wanted = plain.run(tn::feed(x, v), h);

    SUBCASE("when the variables are initialised first") {
        initialized_session s(c.session(2, memory));
        CHECK(same(s.run(tn::feed(x, v), h), wanted));
        CHECK(s.memory_info("/gpu:1").in_use > 0);
    }
    SUBCASE("when the step is placed first: each layer runs where its weights are") {
        tn::session s(c.session(2, memory));
        const auto e = s.explain_placement(tn::feed(x, v), h);
        CHECK(contains(e.cost, "the rules' placement exceeds the memory by "));
        CHECK_FALSE(contains(e.cost, "; it exceeds"));
        CHECK(e.crossing_bytes() <= 3 * 4 * 256 * 4);
        s.run(tn::initialize_variables());
        CHECK(same(s.run(tn::feed(x, v), h), wanted));
    }
}

TEST_CASE_FIXTURE(in_graph,
                  "SEMANTICS 4: what was asked for stays, with its group; costs choose within what is left open") {
    const auto a = tn::variable<float, square>("a", tn::glorot_uniform(1));
    const auto b = tn::on("/gpu:0", [] { return tn::variable<float, square>("b", tn::glorot_uniform(2)); });
    const matrix of_a = tn::on("/gpu:0", [&] { return power(a, 5); });
    const matrix of_b = tn::on("/device:GPU:*", [&] { return power(b, 5); });
    const matrix half = tn::on("/cpu:0", [&] { return matrix(of_a * 0.5f); });
    const matrix sum = half + of_b;
    const auto update = b.assign(sum);
    costs c;
    c.takes(of_a, 1000);
    c.takes(of_a, 1, cpu()); // and would be faster there
    tn::session s(c.session(2));
    const auto e = s.explain_placement(sum, update);
    CHECK(of(e, of_a).device == gpu0);
    CHECK(of(e, of_a).rule == tn::placement_rule::requested);
    CHECK(of(e, of_b).device == gpu1); // some GPU was asked for
    CHECK(of(e, of_b).rule == tn::placement_rule::cheapest);
    CHECK(of(e, half).device == cpu0);
    CHECK(of(e, b).device == gpu0);
    CHECK(of(e, update).device == gpu0);
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 4: what an earlier run has placed stays there, and counts where it is") {
    const two_branches m;
    tn::session s(m.measured().session(2));
    const auto first = s.explain_placement(m.of_a);
    CHECK(of(first, m.of_a).device == gpu0);
    const auto e = s.explain_placement(m.sum);
    CHECK(of(e, m.of_a).device == gpu0);
    CHECK(of(e, m.of_a).rule == tn::placement_rule::gpu_default);
    CHECK(of(e, m.of_b).device == gpu1);
    CHECK(of(e, m.b).device == gpu1);
}

TEST_CASE_FIXTURE(
    in_graph,
    "SEMANTICS 7: what asked softly for a device that is not there goes where one that asked for nothing may") {
    const two_branches m;
    const matrix soft = tn::on("/gpu:7", [&] { return matrix(tanh(m.sum)); });
    costs c = m.measured();
    c.takes(soft, 1);
    auto o = c.session(2);
    o.allow_soft_placement = true;
    tn::session s(o);
    const auto e = s.explain_placement(soft);
    CHECK(of(e, soft).device.type == "GPU");
    CHECK(of(e, soft).rule == tn::placement_rule::softened);
    CHECK(of(e, m.of_a).device != of(e, m.of_b).device);
}

TEST_CASE_FIXTURE(in_graph, "another kind of device is chosen where all was timed on it, and not by guess") {
    const auto x = tn::placeholder<float, square>("x");
    const matrix y = matmul(x, x);
    tn::array<float, square> v;
    v.fill(1);
    costs c;
    c.takes(y, 5000);
    tn::session guessed(c.session(1));
    CHECK(of(guessed.explain_placement(tn::feed(x, v), y), y).device == gpu0);
    c.takes(y, 20, cpu());
    tn::session timed(c.session(1));
    const auto e = timed.explain_placement(tn::feed(x, v), y);
    CHECK(of(e, y).device == cpu0);
    CHECK(of(e, y).rule == tn::placement_rule::cheapest);
    CHECK(e.predicted_seconds == doctest::Approx(20e-6));
}

TEST_CASE_FIXTURE(in_graph, "what is constant costs nothing, wherever it is read") {
    const auto x = tn::placeholder<float, square>("x");
    const matrix k = exp(tn::ones<float, square>() + 1.0f);
    const matrix y = x * tn::reshape<square>(k);
    tn::array<float, square> v;
    v.fill(1);
    costs c;
    c.takes(k, 1e6);
    c.takes(y, 10);
    tn::session s(c.session(2));
    const auto e = s.explain_placement(tn::feed(x, v), y);
    CHECK(e.predicted_seconds < 1e-3);
    CHECK(contains(e.cost, "of 1 nodes 1 were timed"));
}

TEST_CASE("by its own measure no placement is worse than that of the rules: 60 random graphs") {
    int better = 0;
    for (unsigned seed = 1; seed <= 60; ++seed) {
        std::mt19937 random(seed);
        const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
        const own_graph g;
        costs c;
        for (const std::string& from : {cpu(), gpu})
            for (const std::string& to : {cpu(), gpu}) c.link(from, to, below(200), 0.01 * (1 + below(1000)));
        std::vector<matrix> made;
        for (int i = 0; i < 3; ++i) made.push_back(tn::variable<float, square>("v" + std::to_string(i), tn::zeros()));
        for (int i = 0; i < 40; ++i) {
            const matrix x = made[static_cast<std::size_t>(below(made.size()))],
                         y = made[static_cast<std::size_t>(below(made.size()))];
            const auto add = [&] {
                const auto kind = below(5);
                made.push_back(kind == 0   ? matrix(exp(x))
                               : kind == 1 ? matrix(tanh(x))
                               : kind == 2 ? matrix(x + y)
                               : kind == 3 ? matrix(tn::transpose<1, 0>(x))
                                           : matrix(matmul(x, y)));
            };
            const auto where = below(10);
            if (where == 0) tn::on("/gpu:0", add);
            else if (where == 1) tn::on("/cpu:0", add);
            else if (where == 2) tn::colocate_with(x, add);
            else add();
        }
        for (const matrix& m : made)
            if (below(8)) {
                c.takes(m, below(1000));
                if (below(2)) c.takes(m, below(2000), cpu());
            }
        auto o = c.session(1 + below(3));
        o.cpu_devices = 1 + below(2);
        o.allow_soft_placement = true;
        tn::session s(o);
        const auto e = s.explain_placement(made.back(), made[made.size() - 2], made[made.size() - 3]);
        CHECK(e.predicted_seconds <= e.predicted_by_rules);
        better += e.predicted_seconds < e.predicted_by_rules;
        s.run(tn::initialize_variables());
        (void)s.run(made.back(), made[made.size() - 2], made[made.size() - 3]); // it can be run, too
    }
    CHECK(better > 10);
}
