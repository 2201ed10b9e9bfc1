#include <tenon/ops/collective/all_reduce.hpp>

#include "tests.hpp"
#include "several_devices.hpp"

// Sums over devices (SEMANTICS 44).

using namespace several_devices;

namespace {

// x + 1 of a fed x, on each device; no two have the same value.
struct fed_tensors {
    std::vector<tn::any_tensor> fed, computed;
    std::vector<tn::fed_value> feeds;

    fed_tensors(const std::vector<tn::device_name>& on, const tn::extents& known, const tn::extents& sizes) {
        for (std::size_t i = 0; i < on.size(); ++i) {
            const tn::device_scope inside(on[i]);
            fed.push_back(tn::untyped::placeholder(tn::element_type::float64, known));
            computed.push_back(tn::untyped::identity(fed.back(), "computed"));
            tn::any_array value(tn::element_type::float64, sizes);
            for (std::int64_t k = 0; k < value.elements(); ++k)
                static_cast<double*>(value.data())[k] = 1.0 / static_cast<double>(3 * k + 7 * static_cast<int>(i) + 1);
            feeds.push_back({fed.back(), std::move(value)});
        }
    }
    std::vector<tn::fed_value> given() const {
        std::vector<tn::fed_value> f;
        for (const tn::fed_value& v : feeds) f.push_back({v.tensor, v.value.share()});
        return f;
    }
};

void check_sums(const fed_tensors& x, const std::vector<tn::any_array>& sums) {
    REQUIRE(sums.size() == x.feeds.size());
    const std::int64_t elements = x.feeds[0].value.elements();
    for (const tn::any_array& s : sums) {
        REQUIRE(s.extents() == x.feeds[0].value.extents());
        CHECK(std::memcmp(s.data(), sums[0].data(), s.bytes()) == 0);
    }
    for (std::int64_t k = 0; k < elements; ++k) {
        double sum = 0; // in the order of the tensors
        for (const tn::fed_value& f : x.feeds) sum += static_cast<const double*>(f.value.data())[k];
        CHECK(static_cast<const double*>(sums[0].data())[k] == sum);
    }
}

} // namespace

TEST_CASE("SEMANTICS 44: chunked_all_reduce sums tensors of any sizes on any number of devices, in one order") {
    for (const int n : {1, 2, 3, 4, 5})
        for (const tn::extents& sizes :
             {tn::extents{}, tn::extents(1), tn::extents(3), tn::extents(0), tn::extents(7, 5), tn::extents(2, 1, 9)}) {
            CAPTURE(n);
            CAPTURE(to_string(sizes));
            const own_graph g;
            const fed_tensors x(devices(n), sizes, sizes);
            const auto sums = tn::chunked_all_reduce().sum(x.computed, devices(n));
            for (const tn::any_tensor& s : sums) CHECK(s.extents() == sizes);
            tn::session s(g, with_cpus(n));
            check_sums(x, s.run_untyped(x.given(), sums));
        }
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 44: more devices than a tape reads tensors") {
    const auto on = devices(40);
    const fed_tensors x(on, {100}, {100});
    const auto sums = tn::chunked_all_reduce().sum(x.computed, on);
    tn::session s(with_cpus(40));
    check_sums(x, s.run_untyped(x.given(), sums));
}

TEST_CASE_FIXTURE(in_graph, "SEMANTICS 44: chunked_all_reduce, of sizes that only the step knows") {
    const tn::extents unknown(tn::extent{}, tn::extent{});
    const fed_tensors x(devices(3), unknown, tn::extents(4, 5)), tiny(devices(3), unknown, tn::extents(1, 2));
    const tn::chunked_all_reduce reduce;
    tn::session s(g, with_cpus(3));
    check_sums(x, s.run_untyped(x.given(), reduce.sum(x.computed, devices(3))));
    check_sums(tiny, s.run_untyped(tiny.given(), reduce.sum(tiny.computed, devices(3))));
}

TEST_CASE("SEMANTICS 44: chunked_all_reduce sends 2 (n - 1) / n of the bytes from each device, and no device more") {
    for (const bool gpus : {false, true}) {
        constexpr int n = 4, elements = 4 * 25;
        const own_graph g;
        const auto on = devices(n, gpus ? "gpu" : "cpu");
        const fed_tensors x(on, tn::extents(elements), tn::extents(elements));
        const auto sums = tn::chunked_all_reduce().sum(x.computed, on);
        std::vector<tn::operation> ends;
        for (std::size_t i = 0; i < n; ++i) {
            const tn::device_scope inside(on[i]);
            ends.push_back(tn::untyped::identity(sums[i], "end").operation());
        }
        tn::session_options o = with_cpus(gpus ? 1 : n);
        if (gpus) o.gpus = tn::simulated_gpu(n, 16 << 20);
        tn::session s(g, o);
        std::vector<tn::fed_value> fed = x.given();
        const auto why = s.explain_placement(std::move(fed[0]), std::move(fed[1]), std::move(fed[2]), std::move(fed[3]),
                                             ends[0], ends[1], ends[2], ends[3]);
        std::vector<std::int64_t> sent(n), received(n);
        const auto number = [&](const std::string& name) {
            for (const auto& node : why.nodes)
                if (node.name == name) return static_cast<std::size_t>(node.device.index);
            FAIL("no node " << name);
            return std::size_t{0};
        };
        for (const auto& e : why.edges) {
            if (e.bytes == 0 || e.shared || e.tensor.find("placeholder") != std::string::npos) continue;
            sent[number(e.from)] += e.bytes;
            received[number(e.to)] += e.bytes;
        }
        for (std::size_t i = 0; i < n; ++i) {
            CHECK(sent[i] == 2 * (n - 1) * elements / n * 8);
            CHECK(received[i] == sent[i]);
        }
        check_sums(x, s.run_untyped(x.given(), sums));
    }
}

TEST_CASE("SEMANTICS 44: collective_all_reduce gives the sums that chunked_all_reduce gives, on devices of any kind") {
    for (const bool gpus : {false, true})
        for (const int n : {1, 2, 3, 5})
            for (const tn::extents& sizes : {tn::extents{}, tn::extents(0), tn::extents(7, 5), tn::extents(3000)}) {
                CAPTURE(gpus);
                CAPTURE(n);
                CAPTURE(to_string(sizes));
                const own_graph g;
                const auto on = devices(n, gpus ? "gpu" : "cpu");
                tn::extents unknown;
                for (int i = 0; i < sizes.rank(); ++i) unknown.push_back({});
                const fed_tensors x(on, unknown, sizes);
                const auto sums = tn::collective_all_reduce().sum(x.computed, on);
                tn::session_options o = with_cpus(gpus ? 1 : n);
                if (gpus) o.gpus = tn::simulated_gpu(n, 16 << 20);
                tn::session s(g, o);
                for (int step = 0; step < 3; ++step) check_sums(x, s.run_untyped(x.given(), sums));
                // What was summed is itself still there for others, and one sum alone can be asked for.
                std::vector<tn::any_tensor> asked = x.computed;
                asked.push_back(sums.back());
                const std::vector<tn::any_array> all = s.run_untyped(x.given(), asked);
                for (std::size_t i = 0; i < on.size(); ++i)
                    CHECK(std::memcmp(all[i].data(), x.feeds[i].value.data(), all[i].bytes()) == 0);
                const std::vector<tn::any_array> one = s.run_untyped(x.given(), {sums.front()});
                CHECK(std::memcmp(one[0].data(), all.back().data(), one[0].bytes()) == 0);
            }
}

TEST_CASE("SEMANTICS 44: sum_all sums many tensors in buckets of so many bytes, in the order in which they are given") {
    const auto method = [](std::int64_t bytes) -> std::unique_ptr<tn::all_reduce_method> {
        if (bytes < 0) return std::make_unique<tn::chunked_all_reduce>();
        return std::make_unique<tn::collective_all_reduce>(bytes);
    };
    const std::vector<tn::extents> sizes{tn::extents(50), tn::extents(2, 4), tn::extents{}, tn::extents(0),
                                         tn::extents(300)};
    // 400, 64, 8, 0 and 2400 bytes: how many sums these are
    for (const auto& [most, buckets] : std::vector<std::pair<int, int>>{{-1, 0}, {0, 5}, {464, 3}, {1 << 20, 1}})
        for (const bool gpus : {false, true}) {
            const int bytes = most;
            CAPTURE(bytes);
            CAPTURE(gpus);
            const own_graph g;
            const auto on = devices(3, gpus ? "gpu" : "cpu");
            std::vector<fed_tensors> fed;
            std::vector<std::vector<tn::any_tensor>> tensors;
            for (const tn::extents& e : sizes) tensors.push_back(fed.emplace_back(on, e, e).computed);
            std::vector<tn::any_tensor> asked;
            for (const auto& sums : method(bytes)->sum_all(tensors, on))
                asked.insert(asked.end(), sums.begin(), sums.end());
            int nodes = 0;
            for (std::int64_t i = 0; i < tn::graph(g).size(); ++i)
                nodes += tn::graph(g).at(i)->op->name == std::string("all_reduce");
            CHECK(nodes == 3 * buckets);
            tn::session_options o = with_cpus(gpus ? 1 : 3);
            if (gpus) o.gpus = tn::simulated_gpu(3, 16 << 20);
            tn::session s(g, o);
            for (int step = 0; step < 4; ++step) {
                std::vector<tn::fed_value> feeds;
                for (const fed_tensors& f : fed)
                    for (tn::fed_value& v : f.given()) feeds.push_back(std::move(v));
                std::vector<tn::any_array> got = s.run_untyped(std::move(feeds), asked);
                for (std::size_t k = 0; k < sizes.size(); ++k) {
                    std::vector<tn::any_array> own;
                    for (std::size_t i = 3 * k; i < 3 * k + 3; ++i) own.push_back(std::move(got[i]));
                    check_sums(fed[k], own);
                }
            }
        }
}

TEST_CASE(
    "collective_all_reduce: where one device's sums alone are read nothing else lies where the others' are meanwhile") {
    for (const bool gpus : {false, true}) {
        CAPTURE(gpus);
        const own_graph g;
        const auto on = devices(3, gpus ? "gpu" : "cpu");
        const fed_tensors x(on, {64}, {64}), y(on, {64}, {64});
        const auto sums = tn::collective_all_reduce().sum_all({x.computed, y.computed}, on);
        std::vector<tn::any_tensor> asked{sums[0][0], sums[1][0]};
        for (int i = 0; i < 3; ++i) // as much again on each device
            for (int k = 0; k < 4; ++k)
                asked.push_back(tn::on(on[static_cast<std::size_t>(i)], [&] {
                    const tn::any_tensor& of = x.computed[static_cast<std::size_t>(i)];
                    return tn::untyped::add_n({of, tn::untyped::add_n({of, of})});
                }));
        tn::session_options o = with_cpus(gpus ? 1 : 3);
        if (gpus) o.gpus = tn::simulated_gpu(3, 16 << 20);
        tn::session s(g, o);
        for (int step = 0; step < 4; ++step) {
            std::vector<tn::fed_value> feeds = x.given();
            for (tn::fed_value& f : y.given()) feeds.push_back(std::move(f));
            const std::vector<tn::any_array> got = s.run_untyped(std::move(feeds), asked);
            for (std::int64_t k = 0; k < 64; ++k) {
                double of_x = 0, of_y = 0;
                for (const tn::fed_value& f : x.feeds) of_x += f.value.data<double>()[k];
                for (const tn::fed_value& f : y.feeds) of_y += f.value.data<double>()[k];
                CHECK(got[0].data<double>()[k] == of_x);
                CHECK(got[1].data<double>()[k] == of_y);
                for (std::size_t i = 2; i < got.size(); ++i)
                    CHECK(got[i].data<double>()[k] ==
                          doctest::Approx(3 * x.feeds[(i - 2) / 4].value.data<double>()[k]));
            }
        }
    }
}

TEST_CASE_FIXTURE(in_graph, "collective_all_reduce: several steps of several sums at a time do not mix") {
    const fed_tensors x(devices(3), {50}, {50}), y(devices(3), {2, 4}, {2, 4});
    const tn::collective_all_reduce reduce;
    std::vector<tn::any_tensor> sums = reduce.sum(x.computed, devices(3));
    for (const tn::any_tensor& t : reduce.sum(y.computed, devices(3))) sums.push_back(t);
    for (const tn::any_tensor& t : reduce.sum(x.computed, devices(3))) sums.push_back(t);
    tn::session s(g, with_cpus(3));
    std::vector<std::thread> threads;
    std::vector<std::vector<tn::any_array>> results(4);
    for (std::vector<tn::any_array>& r : results)
        threads.emplace_back([&] {
            for (int step = 0; step < 20; ++step) {
                std::vector<tn::fed_value> fed = x.given();
                for (tn::fed_value& f : y.given()) fed.push_back(std::move(f));
                r = s.run_untyped(std::move(fed), sums);
            }
        });
    for (std::thread& t : threads) t.join();
    for (std::vector<tn::any_array>& r : results) {
        std::vector<tn::any_array> of[3];
        for (std::size_t i = 0; i < r.size(); ++i) of[i / 3].push_back(std::move(r[i]));
        check_sums(x, of[0]);
        check_sums(y, of[1]);
        check_sums(x, of[2]);
    }
}

TEST_CASE_FIXTURE(in_graph, "collective_all_reduce: devices that do not meet are an error, not a wrong sum") {
    const tn::any_tensor x = tn::untyped::placeholder(tn::element_type::float32, tn::extents(3));
    const tn::any_tensor alone = tn::add<tn::all_reduced_op>({7}, {tn::add<tn::all_reduce_op>({7, 0, 2}, {x})});
    tn::session s(g);
    std::vector<tn::fed_value> fed;
    fed.push_back({x, tn::any_array(tn::element_type::float32, {3})});
    CHECK_ERROR(tn::internal_error, "1 of 2 devices came to a meeting", s.run_untyped(std::move(fed), {alone}));
}

TEST_CASE_FIXTURE(in_graph, "all_reduce names tensors that cannot be summed") {
    const tn::chunked_all_reduce reduce;
    const tn::any_tensor a = tn::untyped::placeholder(tn::element_type::float32, tn::extents(3), "a"),
                         b = tn::untyped::placeholder(tn::element_type::float32, tn::extents(4), "b"),
                         text = tn::untyped::placeholder(tn::element_type::string, tn::extents(3), "text");
    CHECK_THROWS_WITH_AS(reduce.sum({}, {}), "all_reduce: there are no tensors to sum", tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(reduce.sum({a}, devices(2)), "all_reduce: 1 tensors on 2 devices; there must be one on each",
                         tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(reduce.sum({a, b}, devices(2)),
                         "all_reduce: a is float[3] and b is float[4]; all must have the same type",
                         tn::invalid_argument_error);
    CHECK_THROWS_WITH_AS(reduce.sum({text, text}, devices(2)), "all_reduce: text is string[3]; only numbers have a sum",
                         tn::invalid_argument_error);
    CHECK_THROWS_AS(reduce.sum({a, tn::any_tensor()}, devices(2)), tn::invalid_argument_error);
}
