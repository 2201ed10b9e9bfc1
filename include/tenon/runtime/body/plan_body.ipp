#pragma once

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/body.hpp>
#include <tenon/op/device_loop.hpp>
#include <tenon/runtime/body/body_tape.hpp>
#include <tenon/runtime/body/plan_body.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/plan/rewrite/rewrite.hpp>
#include <tenon/runtime/run/executable.hpp>

namespace tenon::runtime {

namespace detail {

// All of it on one device, but for constants, which devices copy.
inline program program_of(const body& b, type_list arguments, int device) {
    request r;
    for (const any_tensor& a : b.arguments()) r.feeds.push_back(a.output());
    r.feed_types.assign(arguments.begin(), arguments.end());
    for (const any_tensor& f : b.results()) r.fetches.push_back(f.output());
    program p = prune(r);
    for (program_value& v : p.values) v.device = device;
    for (program_item& i : p.items) {
        if (!i.op->is(op_flags::constant)) i.device = device;
        else p.value(i.outputs[0]).device = 0;
    }
    return p;
}

// The host beside a device that does not read its memory.
inline plan_options options_of(const plan_options& o, int device) {
    plan_options own = o;
    if (o.device(device).streams()) own.set_devices({&o.device(0), &o.device(device)});
    else own.set_devices({&o.device(device)});
    own.home = static_cast<int>(own.devices.size()) - 1;
    own.is_body = true;
    own.side_by_side = 1;
    own.measure = own.check_numerics = false;
    return own;
}

// Who runs it has all of what a run needs but pointers, which are kept here for the next run: a frame that has its arena from the kernel.
class executable_body final : public prepared_body, public device_loop {
public:
    executable_body(std::shared_ptr<const body> of, type_list arguments, const plan_options& o) :
        of_(std::move(of)), home_(static_cast<std::size_t>(o.home)), p_(program_of(*of_, arguments, o.home), o) {
        if (o.devices.size() == 1 && !o.has_streams()) {
            program own = program_of(*of_, arguments, o.home);
            rewrite(own, o);
            tape_ = body_tape_maker::make(own, held_);
        }
        for (std::size_t s = 0; s < p_.size(); ++s) {
            const executable::operation& op = p_.operations[s];
            if (op.copies) // of a device that has no kernel for it, which placement does not give a body
                throw internal_error("a body of control flow would copy " + p_.op_of(s) + " to another device");
            told_.push_back(told_bytes_);
            told_bytes_ += (op.kernel->told_bytes() + told_alignment - 1) / told_alignment * told_alignment;
            may_refuse_ = may_refuse_ || op.kernel->may_refuse();
        }
    }

    std::size_t scratch_bytes() const override { return p_.scheduled.memory.devices[home_].arena_bytes; }
    double cost() const override { return p_.summary.cost; }
    std::size_t kernels() const override { return p_.size(); }
    const body_tape* as_tape() const override { return tape_.get(); }
    bool may_be_recorded() const override {
        return std::all_of(p_.operations.begin(), p_.operations.end(),
                           [](const auto& op) { return op.kernel->may_be_recorded(); });
    }
    std::size_t told_bytes() const override { return told_bytes_; }
    void tell(std::byte* to) const override {
        for (std::size_t s = 0; s < p_.size(); ++s)
            if (p_.operations[s].kernel->told_bytes() > 0) p_.operations[s].kernel->tell(to + told_[s]);
    }
    void tell_to_end(std::byte* told) const noexcept override {
        for (std::size_t s = 0; s < p_.size(); ++s)
            if (const auto* const endless = dynamic_cast<const device_loop*>(p_.operations[s].kernel))
                endless->tell_to_end(told + told_[s]);
    }
    bool may_refuse() const override { return may_refuse_; }
    void refuse(const std::byte* told) const override {
        for (std::size_t s = 0; s < p_.size(); ++s) {
            if (!p_.operations[s].kernel->may_refuse()) continue;
            try {
                p_.operations[s].kernel->refuse(told + told_[s]);
            } catch (...) {
                p_.rethrow_with_place(std::current_exception(), s);
            }
        }
    }

    in_step& begin(const kernel_run& r) const override {
        std::unique_ptr<pointers> taken;
        {
            const std::lock_guard lock(guard_);
            if (!idle_.empty()) {
                taken = std::move(idle_.back());
                idle_.pop_back();
            }
        }
        if (!taken) taken = std::make_unique<pointers>(*this);
        taken->begin(r);
        return *taken.release();
    }
    void end(in_step& ended) const noexcept override {
        std::unique_ptr<pointers> given(static_cast<pointers*>(&ended));
        const std::lock_guard lock(guard_);
        try {
            idle_.push_back(std::move(given));
        } catch (const std::bad_alloc&) { // it is not kept
        }
    }

private:
    static constexpr std::size_t told_alignment = 64;

    class pointers final : public in_step {
    public:
        explicit pointers(const executable_body& of) :
            of_(of),
            p_(of.p_),
            in_(p_.in_begin.back()),
            out_(p_.out_begin.back()),
            given_(p_.feed_types.size()),
            gives_(p_.fetch_types.size()) {
            for (std::size_t s = 0; s < p_.size(); ++s)
                runs_.push_back({in_.data() + p_.in_begin[s], out_.data() + p_.out_begin[s], nullptr, nullptr});
            arguments = given_.data();
            results = gives_.data();
        }

        void begin(const kernel_run& of) {
            std::byte* const arena = of.scratch;
            const auto address = [&](int v) -> const void* {
                const location& l = p_.scheduled.memory.locations[static_cast<std::size_t>(v)];
                return l.where == location::kind::arena ? arena + l.offset : p_.fixed_address(v);
            };
            for (std::size_t s = 0, i = 0, o = 0; s < p_.size(); ++s) {
                const program_item& it = p_.item(s);
                for (std::size_t k = 0; k < it.inputs.size(); ++k, ++i)
                    if (it.read[k]) in_[i] = address(it.inputs[k]);
                for (std::size_t k = 0; k < it.outputs.size(); ++k, ++o)
                    if (p_.wanted[o]) out_[o] = const_cast<void*>(address(it.outputs[k]));
                runs_[s].scratch = arena + p_.scheduled.memory.scratch[s];
                runs_[s].pool = of.pool;
                runs_[s].step = of.step;
                runs_[s].stream = of.stream;
                runs_[s].told = of.told ? of.told + of_.told_[s] : nullptr;
            }
        }

        void run() override {
            for (const executable::patch& at : p_.feed_in) in_[at.slot] = given_[static_cast<std::size_t>(at.index)];
            for (const executable::patch& at : p_.fetch_out) out_[at.slot] = gives_[static_cast<std::size_t>(at.index)];
            for (const executable::patch& at : p_.fetch_in) in_[at.slot] = gives_[static_cast<std::size_t>(at.index)];
            for (std::size_t s = 0; s < p_.size(); ++s) {
                try {
                    p_.operations[s].kernel->run(runs_[s]);
                } catch (const cancelled_error&) {
                    throw;
                } catch (...) {
                    p_.rethrow_with_place(std::current_exception(), s);
                }
            }
        }

    private:
        const executable_body& of_;
        const executable& p_;
        std::vector<const void*> in_;
        std::vector<void*> out_;
        std::vector<const void*> given_;
        std::vector<void*> gives_;
        std::vector<kernel_run> runs_;
    };

    const std::shared_ptr<const body> of_;
    const std::size_t home_;
    const executable p_;
    std::unique_ptr<const body_tape> tape_;
    std::vector<std::shared_ptr<const any_array>> held_; // its constants
    std::vector<std::size_t> told_;                      // by operation: where its own begins
    std::size_t told_bytes_ = 0;
    bool may_refuse_ = false;
    mutable std::mutex guard_;
    mutable std::vector<std::unique_ptr<pointers>> idle_; // under the guard
};

} // namespace detail

TENON_INLINE std::unique_ptr<prepared_body> plan_body(const std::shared_ptr<const body>& of, type_list arguments,
                                                      int device, const plan_options& o) {
    return std::make_unique<detail::executable_body>(of, arguments, detail::options_of(o, device));
}

} // namespace tenon::runtime
