#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/function_ref.hpp>
#include <tenon/op/device_loop.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/ops/flow/bodies.hpp>
#include <tenon/ops/flow/treeverse.hpp>

/// What kernels of cond, while_loop and scan have in common, on whichever device they run: their bodies, and the way between them.

namespace tenon::detail {

/// A kernel that runs bodies. On streams it gives theirs what the bodies do, and is told, recorded and refused as their kernels are.
class kernel_of_bodies : public kernel, public device_loop {
public:
    bool may_be_recorded() const override {
        return std::all_of(bodies_.begin(), bodies_.end(), [](const auto& b) { return b.prepared->may_be_recorded(); });
    }
    std::size_t told_bytes() const override { return told_bytes_; }
    void tell(std::byte* to) override {
        if (repeats_on_device_) {
            end_in(to).store(0, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst); // before it is asked whether the step is stopped
        }
        for (const own_body& b : bodies_) b.prepared->tell(to + b.told);
    }
    void tell_to_end(std::byte* told) const noexcept override {
        if (repeats_on_device_) end_in(told).store(1, std::memory_order_relaxed);
        for (const own_body& b : bodies_)
            if (const auto* const endless = dynamic_cast<const device_loop*>(b.prepared.get()))
                endless->tell_to_end(told + b.told);
    }
    bool may_refuse() const override {
        return std::any_of(bodies_.begin(), bodies_.end(), [](const auto& b) { return b.prepared->may_refuse(); });
    }
    void refuse(const std::byte* told) const override {
        for (const own_body& b : bodies_) b.prepared->refuse(told + b.told);
    }

protected:
    /// `repeats_on_device`: as often as that finds, which is told there when it is to end.
    explicit kernel_of_bodies(bool repeats_on_device = false) :
        repeats_on_device_(repeats_on_device), told_bytes_(repeats_on_device ? 64 : 0) {}
    /// Where the device finds that it is to end: not 0.
    static const std::uint32_t* told_to_end(const kernel_run& r) {
        return reinterpret_cast<const std::uint32_t*>(r.told);
    }
    /// The next of the kernel's bodies, planned.
    const prepared_body& add_body(const kernel_setup& s, const std::string& text, type_list arguments) {
        bodies_.push_back({planned(s, text, arguments), told_bytes_});
        told_bytes_ += bodies_.back().prepared->told_bytes();
        return *bodies_.back().prepared;
    }
    const prepared_body& body_at(std::size_t number) const { return *bodies_[number].prepared; }
    /// Runs of one of them, which works from `scratch` on in the kernel's working memory.
    body_runs begin_body(std::size_t number, const kernel_run& r, std::size_t scratch) const {
        kernel_run own = r;
        own.scratch = r.scratch + scratch;
        own.told = r.told ? r.told + bodies_[number].told : nullptr;
        return {body_at(number), own};
    }

private:
    struct own_body {
        std::unique_ptr<prepared_body> prepared;
        std::size_t told; // where what it is told begins
    };
    static std::atomic_ref<std::uint32_t> end_in(std::byte* told) {
        return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(told));
    }

    std::vector<own_body> bodies_;
    const bool repeats_on_device_;
    std::size_t told_bytes_;
};

/// Copies a tensor of one type in the memory of a kernel's device.
class tensor_copy {
public:
    tensor_copy(const kernel_setup& s, const tensor_type& t) {
        if (bytes_in(t) == 0) return;
        const kernel_factory make = s.bodies ? s.bodies->kernel_of(identity_definition, t.element) : nullptr;
        if (!make) throw internal_error(s.node.name + ": its device cannot copy " + to_string(t));
        kernel_setup own = s;
        own.inputs = own.outputs = {&t, 1};
        by_ = make(own);
    }
    void operator()(void* to, const void* from, const kernel_run& r) const {
        if (!by_ || to == from) return;
        const void* in[] = {from};
        void* out[] = {to};
        by_->run({in, out, nullptr, r.pool, r.step, r.stream});
    }

private:
    kernel_pointer by_; // nullptr: it has no elements
};

/// Tensors one after another in working memory, each at an address for any type.
class tensor_places {
public:
    tensor_places() = default;
    tensor_places(const tensor_type* first, std::size_t count) {
        for (std::size_t c = 0; c < count; ++c) {
            offsets_.push_back(bytes_);
            bytes_ += block_of(bytes_in(first[c]));
        }
    }
    std::size_t size() const noexcept { return offsets_.size(); }
    std::size_t bytes() const noexcept { return bytes_; }
    std::byte* at(std::byte* begin, std::size_t c) const { return begin + offsets_[c]; }

private:
    std::vector<std::size_t> offsets_;
    std::size_t bytes_ = 0;
};

/// Of a device that goes on by values which the host does not see: both give r.stream what decides there. What they are called with gives
/// the stream of the run that it is called with what comes then; it is called now, and not as often as that runs.
class device_branches {
public:
    using part = function_ref<void(const kernel_run&)>;

    virtual ~device_branches() = default;
    virtual void either(const kernel_run& r, const bool* condition, part yes, part no) = 0;
    /// While the condition is true, which `each` leaves there; *count is how often that was. Ends soon after *end, where there is one, is not
    /// 0, as whoever stops the step says.
    virtual void repeat(const kernel_run& r, const bool* condition, std::int64_t* count, const std::uint32_t* end,
                        part each) = 0;
    /// False where the host decides after all.
    virtual bool may_be_recorded() const = 0;

    // Of a loop backwards.
    virtual void clear(const kernel_run& r, void* at, std::size_t bytes) = 0;
    /// What is next in `order`, which begins with this where `runs` says of how many; whether there is more, and whether it goes on.
    virtual void next(const kernel_run& r, treeverse* order, const std::int64_t* runs, std::int64_t kept, bool* more,
                      bool* advances) = 0;
    /// Tensors of one type, `distance` bytes apart from `begin` on; number treeverse::first lies elsewhere, and is only read.
    struct kept_tensors {
        const void* first;
        std::byte* begin;
        std::size_t distance;
        tensor_type type;
    };
    /// Copies the one whose number lies at `number`; to it.
    virtual void take(const kernel_run& r, void* to, const kept_tensors& from, const std::int64_t* number) = 0;
    virtual void put(const kernel_run& r, const kept_tensors& to, const std::int64_t* number, const void* from) = 0;
};

} // namespace tenon::detail
