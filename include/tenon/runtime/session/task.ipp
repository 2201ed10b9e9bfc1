#pragma once

#include <algorithm>

#include <tenon/core/error.hpp>
#include <tenon/runtime/device/gpu_backend.hpp>
#include <tenon/runtime/session/task.hpp>
#include <tenon/runtime/session/task_state.hpp>

namespace tenon {

namespace detail {

inline thread_pool* process_pool(int threads) {
    // Never destroyed, so that sessions in static objects may outlive main.
    static auto* pool = threads == 0 ? &thread_pool::shared() : new thread_pool(threads);
    return pool;
}

inline void require_task_options(const task_options& o, const char* maker) {
    const auto require = [&](bool good, const char* name, const std::string& value, const std::string& wanted) {
        if (!good) throw invalid_argument_error(std::string(maker) + "::" + name + " is " + value + "; " + wanted);
    };
    require(o.intra_op_threads >= 0, "intra_op_threads", std::to_string(o.intra_op_threads),
            "give a positive number, or 0 for as many as there are cores");
    require(o.index >= 0, "index", std::to_string(o.index), "give the task's number among those of its job");
    require(o.cpu_devices >= 1 && o.cpu_devices <= 64, "cpu_devices", std::to_string(o.cpu_devices),
            "give 1 to 64 devices");
    const auto there_is = static_cast<std::size_t>(host_memory_bytes());
    require(there_is == 0 || o.memory_limit <= there_is, "memory_limit", std::to_string(o.memory_limit),
            "this machine has " + std::to_string(there_is) + " bytes");
}

TENON_INLINE task_state::task_state(const task_options& o, thread_pool* p, const char* maker,
                                    const time_source* of_steps, const std::shared_ptr<memory_budget>& shared) :
    pool((require_task_options(o, maker), p ? p : process_pool(o.intra_op_threads))), time(of_steps) {
    for (int i = 0; i < o.cpu_devices; ++i)
        devices.push_back(shared ? make_cpu_device(shared, i) : make_cpu_device(o.memory_limit, i));
    if (const auto gpus = o.gpus ? o.gpus : linked_gpu_backend())
        for (auto& d : gpus->make({.memory = with_environment(o.gpu_memory),
                       .selection = o.gpu_devices,
                       .pool = pool->size() > 1 ? pool : nullptr,
                       .log = o.placement_log}))
            devices.push_back(std::move(d));
    device_name own;
    try {
        own = device_name("/job:" + o.job + "/task:" + std::to_string(o.index));
    } catch (const invalid_argument_error& e) {
        throw invalid_argument_error(std::string(maker) + "::job is \"" + o.job + "\": " + e.what());
    }
    if (own.job != devices[0]->full_name().job || own.task != devices[0]->full_name().task)
        for (auto& d : devices) d->belong_to(own);
    for (auto& d : devices) d->limit_files(o.files);
    for (auto& d : devices)
        d->when_short([](void* t) { return static_cast<task_state*>(t)->give_back_memory(); }, this);
}

TENON_INLINE void task_state::enter(task_member& m) {
    const std::lock_guard lock(guard_);
    members_.push_back(&m);
}
TENON_INLINE void task_state::leave(task_member& m) noexcept {
    const std::lock_guard lock(guard_);
    members_.erase(std::find(members_.begin(), members_.end(), &m));
}

TENON_INLINE bool task_state::give_back_memory() {
    bool any = false;
    for (const auto& d : devices) any = d->resources().give_back_spares() || any;
    if (any) return true;
    const std::lock_guard lock(guard_);
    return std::any_of(members_.begin(), members_.end(), [](task_member* m) { return m->give_back_memory(); });
}

// First the epoch, so that a plan that is made meanwhile, of old resources and new, is not kept.
TENON_INLINE void task_state::reset(const std::vector<std::string>& containers) {
    epoch_.fetch_add(1, std::memory_order_acq_rel);
    for (const auto& d : devices) {
        if (containers.empty()) d->resources().clear("");
        for (const std::string& c : containers) d->resources().clear(c);
    }
    const std::lock_guard lock(guard_);
    for (task_member* m : members_) m->forget_plans();
}

} // namespace detail

TENON_INLINE task::task() : task(task_options{}) {}
TENON_INLINE task::task(const task_options& o) :
    state_(std::make_shared<detail::task_state>(o, nullptr, "task_options")) {}
TENON_INLINE void task::reset(const std::vector<std::string>& containers) {
    if (!state_) detail::moved_from("task");
    state_->reset(containers);
}
TENON_INLINE std::vector<device_attributes> task::list_logical_devices() const {
    if (!state_) detail::moved_from("task");
    std::vector<device_attributes> all;
    for (const auto& d : state_->devices) all.push_back(d->attributes());
    return all;
}

} // namespace tenon
