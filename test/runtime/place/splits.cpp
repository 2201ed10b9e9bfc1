#include <nlohmann/json.hpp>

#include "ops/untyped_run.hpp"
#include "tests.hpp"
#include "runtime/place/explained.hpp"

// Networks that costs split over devices as a person would (SEMANTICS 43). Nothing here is timed: which nodes there are is measured,
// what they take is said.

using probe::of;

namespace {

constexpr int rows = 64;

struct network {
    tn::any_tensor x;
    std::vector<tn::any_tensor> weights, outputs; // by layer
    tn::operation train;

    std::vector<tn::fed_value> fed() const {
        return tn::test::fed(x, tn::any_array::zeros(tn::element_type::float32, x.extents()));
    }
};

tn::any_tensor layer(network& n, const tn::any_tensor& x, int units, const std::string& name) {
    const tn::tensor_type type{tn::element_type::float32, tn::extents(x.extents()[1].size, std::int64_t{units})};
    n.weights.push_back(tn::untyped::variable(name, type, tn::glorot_uniform(n.weights.size() + 1)));
    n.outputs.push_back(tn::untyped::tanh(tn::untyped::matmul(x, n.weights.back())));
    return n.outputs.back();
}
void finish(network& n, const tn::any_tensor& y) {
    n.train = tn::gradient_descent(0.1).minimize(tn::untyped::mean(tn::untyped::square(y)));
}
// widths[0] -> widths[1] -> ..
network chain(const std::vector<int>& widths) {
    network n;
    n.x = tn::untyped::placeholder(tn::element_type::float32, tn::extents(rows, widths[0]), "x");
    tn::any_tensor h = n.x;
    for (std::size_t l = 1; l < widths.size(); ++l) h = layer(n, h, widths[l], "w" + std::to_string(l));
    finish(n, h);
    return n;
}
network towers(int depth, int width) {
    network n;
    n.x = tn::untyped::placeholder(tn::element_type::float32, tn::extents(rows, 16), "x");
    tn::any_tensor a = n.x, b = n.x;
    for (int l = 0; l < depth; ++l) { // made in turns
        a = layer(n, a, width, "a" + std::to_string(l));
        b = layer(n, b, width, "b" + std::to_string(l));
    }
    finish(n, tn::untyped::sum(a, {1}, true) + tn::untyped::sum(b, {1}, true));
    return n;
}

// Every node of a step on a GPU takes 2 us, products 20; on the CPU twenty times that. Links: 10 us, and 10 GB/s.
std::shared_ptr<tn::cost_measurements> costs_of(const network& n) {
    initialized_session s({.gpus = tn::simulated_gpu(1, std::size_t{256} << 20)});
    tn::cost_measurements seen;
    s.set_measurements(&seen);
    s.run_untyped(n.fed(), {}, {n.train});
    s.set_measurements(nullptr);
    const std::string cpu = tn::timed_on(s.list_logical_devices()[0]), gpu = tn::timed_on(s.list_logical_devices()[1]);
    auto said = std::make_shared<tn::cost_measurements>();
    const std::function<void(const nlohmann::json&)> visit = [&](const nlohmann::json& e) {
        if (e.is_object() && e.contains("node")) {
            const std::string node = e["node"];
            const std::int64_t time = node.find("matmul") != std::string::npos ? 20'000 : 2'000;
            said->add_kernel(gpu, node, time);
            said->add_kernel(cpu, node, 20 * time);
        } else if (e.is_structured())
            for (const auto& inner : e) visit(inner);
    };
    visit(nlohmann::json::parse(seen.to_json()));
    for (const std::string& from : {cpu, gpu})
        for (const std::string& to : {cpu, gpu})
            for (const double bytes : {1e3, 1e6})
                said->add_transfer(from, to, static_cast<std::size_t>(bytes),
                                   static_cast<std::int64_t>(1e4 + bytes / 10));
    return said;
}
// Bytes that the step takes of one GPU, with the variables.
std::size_t need_of(const network& n) {
    initialized_session s({.gpus = tn::simulated_gpu(1, std::size_t{256} << 20)});
    for (const tn::device_report& d : s.report_untyped(n.fed(), {}, {n.train}).devices)
        if (d.device == "/device:GPU:0") return d.peak_bytes + d.variable_bytes;
    return 0;
}

// The bytes that cross between GPUs in a step.
std::int64_t between_gpus(const tn::placement_explanation& e) {
    std::int64_t bytes = 0;
    for (const tn::crossing& c : e.crossings)
        if (c.from.find("GPU") != std::string::npos && c.to.find("GPU") != std::string::npos) bytes += c.bytes;
    return bytes;
}

tn::session on_two_gpus(const network& n, double share) {
    return tn::session({.gpus = tn::simulated_gpu(2, static_cast<std::size_t>(static_cast<double>(need_of(n)) * share)),
                        .cost_measurements = costs_of(n)});
}

} // namespace

TEST_CASE("S43: costs cut a network that is too large for one device once, where the fewest bytes cross") {
    std::mt19937 random(43);
    for (int trial = 0; trial < 6; ++trial) {
        // Both halves weigh the same; where the network is narrow is anywhere near their border.
        std::vector<int> widths(9, 128 + 32 * static_cast<int>(random() % 5));
        const int narrow = 8 << random() % 2;
        widths[4] = narrow;
        widths[0] = 32;
        CAPTURE(trial);
        const own_graph g;
        const network n = chain(widths);
        tn::session s = on_two_gpus(n, 0.7);
        const auto e = s.explain_placement_untyped(n.fed(), {}, {n.train});
        const auto first = of(e, n.outputs[0]).device, last = of(e, n.outputs[7]).device;
        CHECK(first.type == "GPU");
        CHECK(last.type == "GPU");
        CHECK(first != last);
        for (std::size_t l = 0; l < 8; ++l) {
            CHECK(of(e, n.weights[l]).device == (l < 4 ? first : last));
            CHECK(of(e, n.outputs[l]).device == (l < 4 ? first : last));
        }
        // What the narrow layer gives, and its gradient.
        CHECK(between_gpus(e) == 2 * rows * narrow * 4);
        s.run(tn::initialize_variables());
        s.run_untyped(n.fed(), {}, {n.train});
    }
}

TEST_CASE("S43: where the narrowest place leaves one side too large, costs cut at the next one that does not") {
    const own_graph g;
    // By far the most of it lies behind layer 2, of which nothing would be left for the first device.
    const network n = chain({256, 256, 8, 256, 256, 64, 256, 256, 256});
    tn::session s = on_two_gpus(n, 0.65);
    const auto e = s.explain_placement_untyped(n.fed(), {}, {n.train});
    const auto first = of(e, n.outputs[0]).device, last = of(e, n.outputs[7]).device;
    CHECK(first != last);
    for (std::size_t l = 0; l < 8; ++l) CHECK(of(e, n.weights[l]).device == (l < 5 ? first : last));
    CHECK(between_gpus(e) == 2 * rows * 64 * 4);
    s.run(tn::initialize_variables());
    s.run_untyped(n.fed(), {}, {n.train});
}

TEST_CASE("S43: costs put towers that do not need each other on a device each, whether or not they fit on one") {
    for (const double share : {0.7, 4.0}) {
        const own_graph g;
        const network n = towers(4, 192);
        tn::session s = on_two_gpus(n, share);
        const auto e = s.explain_placement_untyped(n.fed(), {}, {n.train});
        const auto a = of(e, n.outputs[0]).device, b = of(e, n.outputs[1]).device;
        CAPTURE(share);
        CHECK(a.type == "GPU");
        CHECK(b.type == "GPU");
        CHECK(a != b);
        for (std::size_t l = 0; l < n.outputs.size(); ++l) {
            CHECK(of(e, n.outputs[l]).device == (l % 2 == 0 ? a : b));
            CHECK(of(e, n.weights[l]).device == (l % 2 == 0 ? a : b));
        }
        CHECK(between_gpus(e) <= 2 * rows * 4); // a column, and its gradient
        CHECK(e.predicted_seconds < 0.7 * e.predicted_by_rules);
        s.run(tn::initialize_variables());
        s.run_untyped(n.fed(), {}, {n.train});
    }
}
