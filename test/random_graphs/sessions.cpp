#include "random_graphs/sessions.hpp"

#include <tenon/runtime/device/gpu_backend.hpp>
#include <tenon/runtime/device/simulated_gpu.hpp>

namespace tn = tenon;

namespace random_graphs {

std::vector<session_kind> every_session() {
    constexpr std::size_t plenty = std::size_t{64} << 20;
    std::vector<session_kind> all;
    const auto add = [&](const char* name, auto change) {
        session_kind k{.name = name};
        k.options.allow_soft_placement = true; // the graphs ask for devices
        change(k);
        all.push_back(std::move(k));
    };
    // Where a GPU library is linked and has GPUs, these are its; what has none is tested without it.
    if (const auto linked = tn::linked_gpu_backend(); linked && !linked->physical().empty()) {
        add("gpu", [](session_kind& k) { k.written = true; });
        add("gpu_not_fused", [](session_kind& k) { k.options.fuse = k.options.fold_constants = false; });
        add("gpu_callable", [](session_kind& k) { k.callable = true; });
        add("gpu_started", [](session_kind& k) {
            k.options.inter_op_threads = k.options.intra_op_threads = 3;
            k.options.use_per_session_threads = true;
            k.placed = k.started = true;
        });
        add("gpu_started_on_one_thread", [](session_kind& k) {
            k.options.intra_op_threads = 1;
            k.options.use_per_session_threads = true;
            k.started = true;
        });
        add("gpu_placed_at_random", [](session_kind& k) {
            k.options.cpu_devices = 2;
            k.placed = k.callable = true;
        });
        add("gpu_traced", [](session_kind& k) { k.trace = k.placed = true; });
        add("gpu_measured", [](session_kind& k) { k.measure = true; });
        add("gpu_check_numerics", [](session_kind& k) { k.options.check_numerics = true; });
        for (session_kind& k : all) k.on_gpu = true;
        return all;
    }
    add("plain", [](session_kind& k) { k.written = true; });
    add("not_fused", [](session_kind& k) { k.options.fuse = false; });
    add("not_folded", [](session_kind& k) { k.options.fold_constants = false; });
    add("as_written", [](session_kind& k) {
        k.options.fuse = k.options.fold_constants = false;
        k.options.inter_op_threads = 1;
        k.options.intra_op_threads = 1;
        k.written = true;
    });
    add("callable", [](session_kind& k) { k.callable = true; });
    add("side_by_side", [](session_kind& k) {
        k.options.inter_op_threads = k.options.intra_op_threads = 4;
        k.options.use_per_session_threads = true;
    });
    add("two_cpus", [](session_kind& k) { k.options.cpu_devices = 2; });
    add("gpus", [](session_kind& k) {
        k.options.gpus = tn::simulated_gpu(2, plenty);
        k.options.log_device_placement = true;
        k.options.placement_log = [](const std::string&) {};
        k.trace = true;
    });
    add("gpus_not_fused", [](session_kind& k) {
        k.options.gpus = tn::simulated_gpu(2, 4 * plenty); // a loop's gradient keeps 40 MB of all its runs
        k.options.cpu_devices = 2;
        k.options.fuse = k.options.fold_constants = false;
        k.options.gpu_memory = {.fraction = 0.5, .growth = false};
        k.callable = true;
    });
    add("gpus_started", [](session_kind& k) {
        k.options.gpus = tn::simulated_gpu(2, plenty, 0, 5e-6); // copies sleep
        k.options.inter_op_threads = k.options.intra_op_threads = 3;
        k.options.use_per_session_threads = true;
        k.placed = k.started = true;
    });
    add("gpu_started_on_one_thread", [](session_kind& k) {
        k.options.gpus = tn::simulated_gpu(1, plenty, 0, 1e-6);
        k.options.intra_op_threads = 1;
        k.options.use_per_session_threads = true;
        k.started = true;
    });
    add("placed_at_random", [](session_kind& k) {
        k.options.gpus = tn::simulated_gpu(2, plenty);
        k.options.cpu_devices = 2;
        k.placed = true;
    });
    add("two_tasks", [](session_kind& k) {
        k.tasks = 2;
        k.placed = true;
    });
    add("three_tasks", [](session_kind& k) {
        k.tasks = 3;
        k.placed = true;
    });
#ifdef TENON_TEST_BY_WIRE
    add("by_wire", [](session_kind& k) {
        k.by_wire = true;
        k.placed = true;
    });
#endif
    add("placed_by_costs", [](session_kind& k) {
        k.options.gpus = tn::simulated_gpu(2, plenty);
        k.by_costs = true;
    });
    add("measured", [](session_kind& k) { k.measure = true; });
    add("check_numerics", [](session_kind& k) { k.options.check_numerics = true; });
    add("flushed", [](session_kind& k) { k.options.flush_denormals = true; });
    add("limited", [](session_kind& k) {
        k.options.memory_limit = plenty;
        k.options.kept_plans = 1;
        k.options.operation_timeout = 100;
    });
    return all;
}

} // namespace random_graphs
