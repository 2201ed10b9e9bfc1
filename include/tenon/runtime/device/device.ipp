#pragma once

#include <cstring>

#if defined(__linux__)
#include <unistd.h>
#endif

#include <tenon/core/array/large_memory.hpp>
#include <tenon/core/error.hpp>
#include <tenon/op/gpu_kernels.hpp>
#include <tenon/memory/memory_budget.hpp>
#include <tenon/runtime/device/device.hpp>
#include <tenon/simd/isa.hpp>

namespace tenon {

namespace detail {

TENON_INLINE std::int64_t host_memory_bytes() noexcept {
#if defined(__linux__)
    return static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
#else
    return 0;
#endif
}

TENON_INLINE std::string short_name(const device_name& d) {
    device_name local;
    local.type = d.type;
    local.index = d.index;
    return to_string(local);
}

class cpu_device final : public device {
public:
    cpu_device(std::size_t memory_limit, std::shared_ptr<memory_budget> budget, int index) :
        memory_(memory_limit), budget_(std::move(budget)), resources_(this) {
        attributes_.name = device_name("/job:localhost/replica:0/task:0/device:CPU:0");
        attributes_.name.index = index;
        attributes_.memory = host_memory_bytes();
        attributes_.description = std::string("CPU, ") + simd::name_of(simd::best_isa());
        name_ = short_name(attributes_.name);
    }
    ~cpu_device() override {
        if (budget_) budget_->when_short(nullptr, nullptr);
    }
    const device_attributes& attributes() const override { return attributes_; }
    const std::string& name() const override { return name_; }
    void belong_to(const device_name& task) override {
        attributes_.name.job = task.job;
        attributes_.name.task = task.task;
        name_ = to_string(attributes_.name);
    }

    void* allocate(std::size_t bytes) override {
        if (budget_) return allocate_of_budget(bytes);
        if (!memory_.take(bytes))
            throw resource_exhausted_error(name_ + ": " + memory_.refusal(bytes, resources_.bytes()));
        void* const memory = get(bytes);
        if (!memory) {
            memory_.give(bytes);
            throw none_left(bytes);
        }
        return memory;
    }
    void deallocate(void* memory, std::size_t bytes) noexcept override {
        if (budget_) return deallocate_of_budget(memory, bytes);
        put(memory, bytes);
        memory_.give(bytes);
    }
    void reserve(std::size_t bytes) override {
        const auto there_are = static_cast<std::size_t>(attributes_.memory);
        const std::size_t taken = memory().in_use;
        if (there_are > 0 && (taken > there_are || bytes > there_are - taken))
            throw resource_exhausted_error(name_ + ": " + std::to_string(bytes) + " bytes are too many: of the " +
                                           std::to_string(there_are) + " of this machine " + std::to_string(taken) +
                                           " are in use");
        if (budget_ && !budget_->take(bytes)) // who gives it back may be another thread
            throw resource_exhausted_error(name_ + ": " + budget_->refusal(bytes));
        if (!memory_.take(bytes))
            throw resource_exhausted_error(name_ + ": " + memory_.refusal(bytes, resources_.bytes()));
    }
    void release(std::size_t bytes) noexcept override {
        memory_.give(bytes);
        if (budget_) budget_->give(bytes);
    }
    void copy_from_host(void* to, const void* from, std::size_t bytes) override {
        if (bytes) std::memcpy(to, from, bytes);
    }
    void copy_to_host(void* to, const void* from, std::size_t bytes) override {
        if (bytes) std::memcpy(to, from, bytes);
    }
    kernel_factory kernel_of(const op_definition& op, element_type) const override { return op.cpu; }
    resource_manager& resources() override { return resources_; }
    tenon::memory_info memory() const override { return budget_ ? budget_->info() : memory_.info(); }
    tenon::memory_info allocated() const override {
        tenon::memory_info own = memory_.info();
        if (budget_) own.limit = budget_->info().limit;
        return own;
    }
    void when_short(bool (*give_back)(void*), void* context) noexcept override {
        if (budget_) budget_->when_short(give_back, context);
        else memory_.when_short(give_back, context);
    }

private:
    static void* get(std::size_t bytes) noexcept {
        return bytes < large_memory ? ::operator new (bytes, std::align_val_t{64}, std::nothrow) : new_large(bytes);
    }
    static void put(void* memory, std::size_t bytes) noexcept {
        bytes < large_memory ? ::operator delete (memory, std::align_val_t{64}) : delete_large(memory, bytes);
    }
    resource_exhausted_error none_left(std::size_t bytes) const {
        return resource_exhausted_error(name_ + ": no memory for " + std::to_string(bytes) + " bytes");
    }

    // Who was asked lies before what was given.
    static constexpr std::size_t header = 64;
    static std::size_t counted(std::size_t bytes) noexcept { return bytes < large_memory ? bytes + header : bytes; }
    void* allocate_of_budget(std::size_t bytes) {
        memory_payer* const payer = current_payer();
        if (payer) try {
                payer->take(counted(bytes));
            } catch (const resource_exhausted_error& e) {
                throw resource_exhausted_error(name_ + ": " + e.what());
            }
        else if (!budget_->take(counted(bytes))) throw resource_exhausted_error(name_ + ": " + budget_->refusal(bytes));
        auto* const memory = static_cast<std::byte*>(get(bytes + header));
        if (!memory) {
            give(payer, counted(bytes));
            throw none_left(bytes);
        }
        *reinterpret_cast<memory_payer**>(memory) = payer;
        (void)memory_.take(counted(bytes)); // which has no limit here
        return memory + header;
    }
    void deallocate_of_budget(void* given, std::size_t bytes) noexcept {
        auto* const memory = static_cast<std::byte*>(given) - header;
        memory_payer* const payer = *reinterpret_cast<memory_payer**>(memory);
        put(memory, bytes + header);
        memory_.give(counted(bytes));
        give(payer, counted(bytes));
    }
    void give(memory_payer* payer, std::size_t bytes) noexcept {
        if (payer) payer->give(bytes);
        else budget_->give(bytes);
    }

    device_attributes attributes_;
    std::string name_;
    memory_account memory_; // what is taken here; its limit is the budget's where there is one
    const std::shared_ptr<memory_budget> budget_;
    resource_manager resources_;
};

} // namespace detail

TENON_INLINE bool has_kernel(const device_attributes& of, const op_definition& op, element_type e) {
    if (of.name.type != "GPU") return op.cpu != nullptr;
    if (!(e == element_type::none ? !op.gpu_types.empty() : op.gpu_types.has(e))) return false;
    if (of.simulated) return op.cpu != nullptr;
    return find_gpu_kernel(op) != nullptr ||
           (op.cpu && !knows_gpu_kernels()); // another process knows those of its GPUs
}

TENON_INLINE std::unique_ptr<device> make_cpu_device(std::size_t memory_limit, int index) {
    return std::make_unique<detail::cpu_device>(memory_limit, nullptr, index);
}
TENON_INLINE std::unique_ptr<device> make_cpu_device(std::shared_ptr<memory_budget> budget, int index) {
    return std::make_unique<detail::cpu_device>(0, std::move(budget), index);
}

TENON_INLINE device_description describe(device& d) {
    return {d.attributes(), d.streams() != nullptr, d.memory().limit, d.resources().bytes()};
}

} // namespace tenon
