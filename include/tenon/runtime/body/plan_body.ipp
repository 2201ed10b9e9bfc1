#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/graph/body.hpp>
#include <tenon/runtime/body/plan_body.hpp>
#include <tenon/runtime/plan/rewrite/prune.hpp>
#include <tenon/runtime/run/executable.hpp>
#include <tenon/runtime/run/step_errors.hpp>

namespace tenon::runtime {

namespace detail {

inline program program_of(const body& b, type_list arguments) {
    request r;
    for (const any_tensor& a : b.arguments()) r.feeds.push_back(a.output());
    r.feed_types.assign(arguments.begin(), arguments.end());
    for (const any_tensor& f : b.results()) r.fetches.push_back(f.output());
    return prune(r);
}

inline plan_options options_of(const plan_options& o, int device) {
    plan_options own = o;
    own.set_devices({&o.device(device)});
    own.side_by_side = 1;
    own.measure = own.check_numerics = false;
    return own;
}

// Who runs it has all of what a run needs but pointers, which are kept here for the next run: a frame that has its arena from the kernel.
class executable_body final : public prepared_body {
public:
    executable_body(std::shared_ptr<const body> of, type_list arguments, const plan_options& o) :
        of_(std::move(of)), p_(program_of(*of_, arguments), o) {}

    std::size_t scratch_bytes() const override { return p_.scheduled.memory.devices[0].arena_bytes; }
    double cost() const override { return p_.summary.cost; }

    in_step& begin(std::byte* scratch, const kernel_run& r) const override {
        std::unique_ptr<pointers> taken;
        {
            const std::lock_guard lock(guard_);
            if (!idle_.empty()) {
                taken = std::move(idle_.back());
                idle_.pop_back();
            }
        }
        if (!taken) taken = std::make_unique<pointers>(p_);
        taken->begin(scratch, r);
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
    class pointers final : public in_step {
    public:
        explicit pointers(const executable& p) : p_(p), in_(p.in_begin.back()), out_(p.out_begin.back()) {
            for (std::size_t s = 0; s < p.size(); ++s)
                runs_.push_back({in_.data() + p.in_begin[s], out_.data() + p.out_begin[s], nullptr, nullptr});
        }

        void begin(std::byte* arena, const kernel_run& of) {
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
            }
        }

        void run(const void* const* arguments, void* const* results) override {
            for (const executable::patch& at : p_.feed_in) in_[at.slot] = arguments[at.index];
            for (const executable::patch& at : p_.fetch_out) out_[at.slot] = results[at.index];
            for (const executable::patch& at : p_.fetch_in) in_[at.slot] = results[at.index];
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
        const executable& p_;
        std::vector<const void*> in_;
        std::vector<void*> out_;
        std::vector<kernel_run> runs_;
    };

    const std::shared_ptr<const body> of_;
    const executable p_;
    mutable std::mutex guard_;
    mutable std::vector<std::unique_ptr<pointers>> idle_; // under the guard
};

} // namespace detail

TENON_INLINE std::unique_ptr<prepared_body> plan_body(const std::shared_ptr<const body>& of, type_list arguments,
                                                      int device, const plan_options& o) {
    return std::make_unique<detail::executable_body>(of, arguments, detail::options_of(o, device));
}

} // namespace tenon::runtime
