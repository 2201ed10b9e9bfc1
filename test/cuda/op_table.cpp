#include <op_table/running.hpp>
#include <tenon/op/gpu_kernels.hpp>

#include "device_array.hpp"

using namespace op_table;

// Every op of the table on a GPU, against the host: for each element type its results, in double its gradients too.

namespace {

// What only moves elements, or puts the same ones anywhere, gives the host's bits.
const std::set<std::string>& exact() {
    static const std::set<std::string> all = {
        "add_n",         "assign",       "broadcast_like", "broadcast_to",   "concat",         "element_count",
        "ensure_shape",  "expand_dims",  "fill_like",      "identity",       "one_hot",        "pad",
        "reshape",       "reshape_like", "reverse",        "slice",          "slice_gradient", "split",
        "split_evenly",  "split_like",   "squeeze",        "stack",          "stop_gradient",  "tile",
        "tile_gradient", "transpose",    "unstack",        "is_initialized", "variable",       "constant",
        "einsum_operand"};
    return all;
}

// Whether a name is one of a list: "b n".
bool is_among(const std::string& name, const std::string& names) {
    return (" " + names + " ").find(" " + name + " ") != std::string::npos;
}

bool on_gpus(const entry& e) {
    const op_definition* op = find_op(e.op);
    return !op->gpu_types.empty() && find_gpu_kernel(*op);
}

// The sample's operands with other numbers where it takes any.
std::vector<any_array> random_values(const sample& s, const setting& at, std::mt19937& random) {
    std::vector<any_array> all = values_for(s, at);
    for (std::size_t k = 0; k < all.size(); ++k) {
        const operand& o = s.operands[k];
        if (!o.values.empty() || !is_floating(all[k].element())) continue;
        std::uniform_real_distribution<double> numbers(o.low, o.high);
        for (std::int64_t i = 0; i < all[k].elements(); ++i) set_number(all[k], i, numbers(random));
    }
    return all;
}

// Made on a device.
built build_on(const char* device, const entry& e, const sample& s, const setting& at) {
    return build(e, s, at, known::numbers, device);
}

session_options softly() {
    session_options o;
    o.allow_soft_placement = true; // what stands beside the op may have no kernel
    return o;
}

std::string difference_between(const entry& e, const std::vector<any_array>& got,
                               const std::vector<any_array>& wanted) {
    if (exact().contains(e.op)) return difference(got, wanted);
    arguments numbers;
    for (const any_array& a : wanted) numbers.push_back(to_plain(a));
    return difference(got, numbers, 4 * e.tolerance);
}

// The gradients of a weighted sum of the results.
std::vector<any_tensor> add_gradients(const entry& e, const sample& s, const built& b, const std::string& device) {
    const graph_scope in(b.in);
    const device_scope here{device_name(device)};
    std::vector<any_tensor> operands;
    for (std::size_t i = 0; i < b.operands.size(); ++i)
        if (is_floating(b.operands[i].element()) && !s.operands[i].slopeless) operands.push_back(b.operands[i]);
    any_tensor loss;
    for (const any_tensor& y : b.results()) {
        if (!is_floating(y.element()) || (e.slopes >= 0 && y.index() >= e.slopes)) continue;
        const any_tensor weighted = untyped::multiply(y, untyped::add(untyped::multiply(y, 0.25), 1.5));
        const any_tensor total = weighted.rank() == 0 ? weighted : untyped::sum(weighted);
        loss = loss.node() ? untyped::add(loss, total) : total;
    }
    return tenon::gradients(loss, operands);
}

} // namespace

TEST_CASE("every op that may run on a GPU has a kernel for it") {
    std::string missing;
    for (const op_definition* op : all_ops()) {
        if (op->gpu_types.empty() || !op->cpu || find_gpu_kernel(*op)) continue;
        missing += std::string(missing.empty() ? "" : ", ") + op->name;
    }
    CHECK(missing == "");
}

TEST_CASE("every op gives on a GPU what it gives on the host") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    for (const entry& e : entries()) {
        if (!on_gpus(e)) continue;
        for (const sample& s : e.samples)
            for (const element_type t : every_element()) {
                if (!e.elements.has(t)) continue;
                INFO(name_of(e, s, t));
                const setting at = setting_of(s, t);
                const std::vector<any_array> values = random_values(s, at, random);
                const std::vector<any_array> wanted = run(build_on("/cpu:0", e, s, at), values);
                session_options gpu{.allow_soft_placement = !find_op(e.op)->gpu_types.has(t)};
                std::vector<any_array> got;
                CHECK_NOTHROW(got = run(build_on("/gpu:0", e, s, at), values, gpu));
                CHECK(difference_between(e, got, wanted) == "");
            }
    }
}

TEST_CASE("every op gives on a GPU what it gives on the host without elements, and in other sizes") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    for_each_sample([&](const entry& e, const sample& s, element_type t) {
        if (!on_gpus(e) || !find_op(e.op)->gpu_types.has(t)) return;
        const setting usual = setting_of(s, t);
        std::vector<setting> all;
        for (const auto& [name, size] : usual.sizes) {
            all.push_back(usual);
            all.back().sizes[name] = 0;
        }
        for (int round = 0; round < 4 && !usual.sizes.empty(); ++round) {
            all.push_back(usual);
            for (auto& [name, size] : all.back().sizes)
                if (!is_among(name, s.own_sizes)) size = 1 + static_cast<std::int64_t>(random() % 23);
        }
        for (const setting& at : all) {
            std::string sizes;
            for (const auto& [name, size] : at.sizes) sizes += " " + name + "=" + std::to_string(size);
            INFO(name_of(e, s, t), "; sizes", sizes);
            const std::vector<any_array> values = random_values(s, at, random);
            std::vector<any_array> wanted, got;
            try {
                wanted = run(build_on("/cpu:0", e, s, at), values);
            } catch (const invalid_argument_error&) {
                continue; // these are none that it takes
            }
            CHECK_NOTHROW(got = run(build_on("/gpu:0", e, s, at), values));
            CHECK(difference_between(e, got, wanted) == "");
        }
    });
}

TEST_CASE("gradients on a GPU are those on the host") {
    std::mt19937 random = tenon::cuda::testing::seeded();
    for (const entry& e : entries()) {
        if (!on_gpus(e) || !e.no_gradient.empty() || !e.steps.empty()) continue;
        for (const sample& s : e.samples) {
            INFO(name_of(e, s, element_type::float64));
            const setting at = setting_of(s, element_type::float64);
            const std::vector<any_array> values = random_values(s, at, random);
            std::vector<any_array> wanted, got;
            const built host = build_on("/cpu:0", e, s, at), gpu = build_on("/gpu:0", e, s, at);
            wanted = fetch(host, values, add_gradients(e, s, host, "/cpu:0"));
            CHECK_NOTHROW(got = fetch(gpu, values, add_gradients(e, s, gpu, "/gpu:0"), softly()));
            arguments numbers;
            for (const any_array& a : wanted) numbers.push_back(to_plain(a));
            CHECK(difference(got, numbers, 50 * e.tolerance) == "");
        }
    }
}
