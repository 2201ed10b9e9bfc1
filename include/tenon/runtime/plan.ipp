#pragma once

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <thread>

#include <tenon/core/error.hpp>
#include <tenon/runtime/plan.hpp>

namespace tenon::runtime {

TENON_INLINE plan::plan(const request& r, const plan_options& o) : program_(prune(r, o)) {
    rewrite(program_, o);
    schedule_ = schedule(program_, o);
    feed_types_ = r.feed_types;
    for (const int f : program_.fetches) fetch_types_.push_back(program_.value(f).type);

    std::map<variable_resource*, bool> variables;
    std::size_t in = 0, out = 0;
    for (std::size_t at = 0; at < schedule_.order.size(); ++at) {
        const program_item& it = program_.item(schedule_.order[at]);
        step s;
        s.origin = it.origin;
        s.kernel = it.kernel.get();
        s.cost = it.kernel->cost();
        s.outputs = it.outputs;
        in_begin_.push_back(in);
        out_begin_.push_back(out);
        for (std::size_t k = 0; k < it.inputs.size(); ++k, ++in) {
            if (!it.read[k]) continue;
            const placement& p = schedule_.placements[static_cast<std::size_t>(it.inputs[k])];
            if (p.where == placement::kind::feed) feed_in_.push_back({in, p.index});
            if (p.where == placement::kind::fetch) fetch_in_.push_back({in, p.index});
            if (variable_resource* v = program_.value(program_.root(it.inputs[k])).variable) variables.emplace(v, false);
        }
        for (std::size_t k = 0; k < it.outputs.size(); ++k, ++out) {
            const placement& p = schedule_.placements[static_cast<std::size_t>(it.outputs[k])];
            if (p.where == placement::kind::fetch) fetch_out_.push_back({out, p.index});
        }
        if (it.op->is(op_flags::updates)) variables[program_.value(it.outputs[0]).variable] = true;
        steps_.push_back(std::move(s));
    }
    in_begin_.push_back(in);
    out_begin_.push_back(out);
    variables_.assign(variables.begin(), variables.end());

    std::vector<double> ends(steps_.size());
    for (std::size_t at = 0; at < steps_.size(); ++at) {
        double begins = 0;
        if (!schedule_.waits_for.empty())
            for (const int w : schedule_.waits_for[at]) {
                steps_[static_cast<std::size_t>(w)].successors.push_back(static_cast<int>(at));
                ++steps_[at].predecessors;
                begins = std::max(begins, ends[static_cast<std::size_t>(w)]);
            }
        else if (at > 0) begins = ends[at - 1];
        ends[at] = begins + steps_[at].cost;
        summary_.cost += steps_[at].cost;
        summary_.critical_path = std::max(summary_.critical_path, ends[at]);
        summary_.order.push_back(steps_[at].origin->name + " (" + program_.item(schedule_.order[at]).op->name + ")");
    }
    summary_.steps = static_cast<int>(steps_.size());
    summary_.folded = program_.folded;
    summary_.fused = program_.fused;
    summary_.arena_bytes = schedule_.arena_bytes;
    summary_.lower_bound = schedule_.lower_bound;
    summary_.fetched_bytes = schedule_.fetched_bytes;
    summary_.largest = schedule_.largest;
    if (o.memory_limit && summary_.peak_bytes() > o.memory_limit) {
        std::string text = "this step needs " + std::to_string(summary_.peak_bytes()) + " bytes on /device:CPU:0, of which " +
                           std::to_string(o.memory_limit) + " may be used; the largest tensors:";
        for (const auto& [bytes, name] : summary_.largest) text += "\n  " + std::to_string(bytes) + " bytes: " + name;
        throw resource_exhausted_error(text);
    }
}

TENON_INLINE plan::~plan() {
    delete spare_.load();
    while (frames_) {
        frame* next = frames_->next;
        delete frames_;
        frames_ = next;
    }
}

TENON_INLINE std::unique_ptr<plan::frame> plan::make_frame() const {
    auto f = std::make_unique<frame>();
    try {
        f->arena = any_array(element_type::uint8, extents(static_cast<std::int64_t>(schedule_.arena_bytes)));
    } catch (const resource_exhausted_error&) {
        std::string text = "no memory for this step: its tensors need " + std::to_string(schedule_.arena_bytes) +
                           " bytes; the largest:";
        for (const auto& [bytes, name] : summary_.largest) text += "\n  " + std::to_string(bytes) + " bytes: " + name;
        throw resource_exhausted_error(text);
    }
    auto* base = static_cast<std::byte*>(f->arena.data());
    const auto address = [&](int v) -> const void* {
        const placement& p = schedule_.placements[static_cast<std::size_t>(v)];
        if (p.where == placement::kind::arena) return base + p.offset;
        return p.where == placement::kind::resident ? p.address : nullptr;
    };
    std::vector<int> uses(program_.values.size());
    for (const int i : schedule_.order) {
        const program_item& it = program_.item(i);
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            if (it.read[k]) ++uses[static_cast<std::size_t>(program_.root(it.inputs[k]))];
    }
    for (const int i : schedule_.order) {
        const program_item& it = program_.item(i);
        for (std::size_t k = 0; k < it.inputs.size(); ++k) f->in.push_back(it.read[k] ? address(it.inputs[k]) : nullptr);
        for (const int v : it.outputs) {
            // A kernel of one output is spared the question whether anybody reads it.
            const bool wanted = it.outputs.size() == 1 || uses[static_cast<std::size_t>(v)] > 0 || program_.value(v).variable;
            f->out.push_back(wanted ? const_cast<void*>(address(v)) : nullptr);
        }
    }
    for (std::size_t s = 0; s < steps_.size(); ++s)
        f->runs.push_back({f->in.data() + in_begin_[s], f->out.data() + out_begin_[s], base + schedule_.scratch[s], nullptr});
    return f;
}

TENON_INLINE plan::frame* plan::take_frame() {
    if (frame* f = spare_.exchange(nullptr, std::memory_order_acquire)) return f;
    {
        const std::lock_guard lock(guard_);
        if (frame* f = frames_) {
            frames_ = f->next;
            return f;
        }
    }
    return make_frame().release();
}

TENON_INLINE void plan::give_frame(frame* f) noexcept {
    f->next = nullptr;
    frame* none = nullptr;
    if (spare_.compare_exchange_strong(none, f, std::memory_order_release, std::memory_order_relaxed)) return;
    const std::lock_guard lock(guard_);
    f->next = frames_;
    frames_ = f;
}

TENON_INLINE bool plan::accepts(const any_array* const* feeds) const {
    for (std::size_t f = 0; f < feed_types_.size(); ++f) {
        const extents &a = feeds[f]->extents(), &b = feed_types_[f].extents;
        if (a.rank() != b.rank()) return false;
        for (int d = 0; d < a.rank(); ++d)
            if (a[d].size != b[d].size) return false;
    }
    return true;
}

TENON_INLINE void plan::run(const any_array* const* feeds, any_array* fetched, const run_environment& e) {
    struct held_frame {
        plan* owner;
        frame* f;
        ~held_frame() { owner->give_frame(f); }
    } const held{this, take_frame()};
    frame& f = *held.f;

    for (const patch& p : feed_in_) f.in[p.slot] = feeds[p.index]->data();
    for (std::size_t i = 0; i < fetch_types_.size(); ++i)
        fetched[i] = any_array(fetch_types_[i].element, fetch_types_[i].extents);
    for (const patch& p : fetch_out_) f.out[p.slot] = fetched[p.index].data();
    for (const patch& p : fetch_in_) f.in[p.slot] = fetched[p.index].data();

    // Variables are locked in one order everywhere, so two steps cannot wait for each other.
    struct locks {
        const std::vector<std::pair<variable_resource*, bool>>& variables;
        explicit locks(const std::vector<std::pair<variable_resource*, bool>>& v) : variables(v) {
            for (const auto& [r, updated] : variables) updated ? r->guard.lock() : r->guard.lock_shared();
        }
        ~locks() {
            for (const auto& [r, updated] : variables) updated ? r->guard.unlock() : r->guard.unlock_shared();
        }
    } const locked(variables_);

    constexpr double worth_waking = 1e5; // ns
    const thread_pool::keep_awake awake(summary_.cost > worth_waking ? e.pool : nullptr);
    if (e.side_by_side && e.pool && e.pool->size() > 1 && !schedule_.waits_for.empty()) run_side_by_side(f, e);
    else run_in_order(f, e);
}

TENON_INLINE void plan::run_in_order(frame& f, const run_environment& e) {
    const bool plain = !e.traced && !e.check_numerics && e.deadline == std::chrono::steady_clock::time_point::max();
    std::size_t s = 0;
    try {
        if (plain) {
            for (; s < steps_.size(); ++s) {
                kernel_run& r = f.runs[s];
                r.pool = e.pool;
                steps_[s].kernel->run(r);
            }
        } else {
            for (; s < steps_.size(); ++s) run_step(s, f, e, 0);
        }
    } catch (...) {
        rethrow_with_place(std::current_exception(), s);
    }
}

TENON_INLINE void plan::run_step(std::size_t s, frame& f, const run_environment& e, int row) {
    check_deadline(s, e);
    kernel_run& r = f.runs[s];
    r.pool = e.pool;
    if (e.traced) {
        const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
        const std::int64_t begin = now();
        steps_[s].kernel->run(r);
        e.traced->add(steps_[s].origin->name, program_.item(schedule_.order[s]).op->name, row, begin, now());
    } else steps_[s].kernel->run(r);
    if (e.check_numerics) check_numerics(s, f);
}

TENON_INLINE void plan::run_side_by_side(frame& f, const run_environment& e) {
    // Each step is run by whichever thread makes its count of unfinished predecessors zero, or by a task that
    // this thread submits. The counts are owned by this call; the tasks end before it returns.
    struct state {
        std::vector<std::atomic<int>> waiting;
        std::atomic<int> left;
        std::atomic<int> next_row{0};
        std::atomic<bool> failed{false};
        std::mutex guard;
        std::exception_ptr first;
        std::size_t first_step = 0;
        explicit state(std::size_t n) : waiting(n), left(static_cast<int>(n)) {}
    };
    state st(steps_.size());
    for (std::size_t s = 0; s < steps_.size(); ++s) st.waiting[s].store(steps_[s].predecessors, std::memory_order_relaxed);
    const std::thread::id caller = std::this_thread::get_id();

    // A step, then what it made ready: cheap successors on this thread, the others as tasks.
    struct runner {
        plan& p;
        frame& f;
        const run_environment& e;
        state& st;
        std::thread::id caller;
        void operator()(int first) const {
            thread_pool* const pool = e.pool; // the last step may end the caller's wait, and with it all but this
            std::vector<int> mine{first};
            while (!mine.empty()) {
                const int s = mine.back();
                mine.pop_back();
                if (!st.failed.load(std::memory_order_acquire)) {
                    try {
                        p.run_step(static_cast<std::size_t>(s), f, e, std::this_thread::get_id() == caller ? 0 : 1);
                    } catch (...) {
                        const std::lock_guard lock(st.guard);
                        if (!st.first) {
                            st.first = std::current_exception();
                            st.first_step = static_cast<std::size_t>(s);
                        }
                        st.failed.store(true, std::memory_order_release);
                    }
                }
                for (const int n : p.steps_[static_cast<std::size_t>(s)].successors)
                    if (st.waiting[static_cast<std::size_t>(n)].fetch_sub(1, std::memory_order_acq_rel) == 1) {
                        constexpr double worth_a_task = 2e4; // ns: about what waking a thread costs
                        if (mine.empty() || p.steps_[static_cast<std::size_t>(n)].cost < worth_a_task) mine.push_back(n);
                        else {
                            const runner again = *this;
                            pool->submit([again, n] { again(n); });
                        }
                    }
                if (st.left.fetch_sub(1, std::memory_order_acq_rel) == 1) pool->wake();
            }
        }
    };
    const runner run{*this, f, e, st, caller};
    std::vector<int> ready;
    for (std::size_t s = 0; s < steps_.size(); ++s)
        if (steps_[s].predecessors == 0) ready.push_back(static_cast<int>(s));
    for (std::size_t n = 1; n < ready.size(); ++n) {
        const int s = ready[n];
        if (steps_[static_cast<std::size_t>(s)].cost < 2e4) continue;
        e.pool->submit([run, s] { run(s); });
    }
    for (std::size_t n = 0; n < ready.size(); ++n)
        if (n == 0 || steps_[static_cast<std::size_t>(ready[n])].cost < 2e4) run(ready[n]);
    e.pool->work_until([&] { return st.left.load(std::memory_order_acquire) == 0; });
    if (st.first) rethrow_with_place(st.first, st.first_step);
}

TENON_INLINE void plan::check_deadline(std::size_t s, const run_environment& e) const {
    if (e.deadline == std::chrono::steady_clock::time_point::max() || std::chrono::steady_clock::now() < e.deadline) return;
    throw deadline_exceeded_error(std::string("the step did not end within its ") + e.deadline_source + "; after " +
                                  std::to_string(s) + " of " + std::to_string(steps_.size()) + " nodes it was about to run");
}

TENON_INLINE void plan::check_numerics(std::size_t s, const frame& f) const {
    for (std::size_t o = 0; o < steps_[s].outputs.size(); ++o) {
        const tensor_type& t = program_.value(steps_[s].outputs[o]).type;
        const void* data = f.out[out_begin_[s] + o];
        if (!data) continue;
        const std::int64_t n = t.extents.elements();
        const auto first_bad = [&]<class T>(const T* p) {
            for (std::int64_t i = 0; i < n; ++i)
                if (!std::isfinite(static_cast<double>(p[i]))) return i;
            return std::int64_t{-1};
        };
        std::int64_t bad = -1;
        if (t.element == element_type::float32) bad = first_bad(static_cast<const float*>(data));
        else if (t.element == element_type::float64) bad = first_bad(static_cast<const double*>(data));
        else if (t.element == element_type::float16) bad = first_bad(static_cast<const half*>(data));
        else if (t.element == element_type::bfloat16) bad = first_bad(static_cast<const bfloat16*>(data));
        if (bad >= 0)
            throw invalid_argument_error("check_numerics: element " + std::to_string(bad) + " of output " +
                                         std::to_string(o) + ", " + to_string(t) +
                                         ", is the first in this step that is not a finite number");
    }
}

TENON_INLINE void plan::rethrow_with_place(const std::exception_ptr& what, std::size_t s) const {
    const std::string place = " [node " + place_of(*steps_[s].origin) + "]";
    try {
        std::rethrow_exception(what);
    } catch (const cancelled_error& e) { throw cancelled_error(e.what() + place);
    } catch (const invalid_argument_error& e) { throw invalid_argument_error(e.what() + place);
    } catch (const deadline_exceeded_error& e) { throw deadline_exceeded_error(e.what() + place);
    } catch (const not_found_error& e) { throw not_found_error(e.what() + place);
    } catch (const resource_exhausted_error& e) { throw resource_exhausted_error(e.what() + place);
    } catch (const failed_precondition_error& e) { throw failed_precondition_error(e.what() + place);
    } catch (const aborted_error& e) { throw aborted_error(e.what() + place);
    } catch (const out_of_range_error& e) { throw out_of_range_error(e.what() + place);
    } catch (const unimplemented_error& e) { throw unimplemented_error(e.what() + place);
    } catch (const error& e) { throw internal_error(e.what() + place);
    } catch (const std::bad_alloc&) { throw resource_exhausted_error("no memory for a kernel" + place);
    } catch (const std::exception& e) { throw internal_error(std::string(e.what()) + place); }
}

} // namespace tenon::runtime
