#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <map>
#include <set>

#include <tenon/core/error.hpp>
#include <tenon/kernel/stop_scope.hpp>
#include <tenon/runtime/plan.hpp>

namespace tenon::runtime {

namespace detail {

[[noreturn]] inline void exceed_limit(const run_environment& e, const std::string& what) {
    char seconds[32];
    std::snprintf(seconds, sizeof seconds, "%g", e.limit);
    throw deadline_exceeded_error(std::string("the step did not end within its ") + e.limit_source + " of " + seconds +
                                  " s; " + what);
}

// Variables are locked in one order everywhere, so two steps cannot wait for each other.
class variable_locks {
public:
    using list = std::vector<std::pair<variable_resource*, bool>>;
    variable_locks(const list& v, const run_environment& e) : variables_(v) {
        for (; held_ < v.size(); ++held_) {
            std::shared_timed_mutex& guard = v[held_].first->guard;
            if (!e.limited()) v[held_].second ? guard.lock() : guard.lock_shared();
            else if (!(v[held_].second ? guard.try_lock_until(e.deadline) : guard.try_lock_shared_until(e.deadline))) {
                const std::string name = v[held_].first->name;
                release();
                exceed_limit(e, "it was waiting for variable \"" + name + "\", which another step was using");
            }
        }
    }
    ~variable_locks() { release(); }
    variable_locks(const variable_locks&) = delete;
    variable_locks& operator=(const variable_locks&) = delete;

private:
    void release() {
        while (held_ > 0) {
            const auto& [variable, updated] = variables_[--held_];
            updated ? variable->guard.unlock() : variable->guard.unlock_shared();
        }
    }
    const list& variables_;
    std::size_t held_ = 0;
};

} // namespace detail

TENON_INLINE plan::plan(const request& r, const plan_options& o) : device_(o.on), program_(prune(r, o)) {
    rewrite(program_, o);
    schedule_ = schedule(program_, o);
    feed_types_ = r.feed_types;
    for (const int f : program_.fetches) fetch_types_.push_back(program_.value(f).type);

    std::map<variable_resource*, bool> variables;
    std::size_t in = 0, out = 0;
    steps_.reserve(schedule_.order.size());
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
            const placement& p = schedule_.memory.placements[static_cast<std::size_t>(it.inputs[k])];
            if (p.where == placement::kind::feed) feed_in_.push_back({in, p.index});
            if (p.where == placement::kind::fetch) fetch_in_.push_back({in, p.index});
            if (variable_resource* v = program_.value(program_.root(it.inputs[k])).variable)
                variables.emplace(v, false);
        }
        for (std::size_t k = 0; k < it.outputs.size(); ++k, ++out) {
            const placement& p = schedule_.memory.placements[static_cast<std::size_t>(it.outputs[k])];
            if (p.where == placement::kind::fetch) fetch_out_.push_back({out, p.index});
        }
        if (it.op->is(op_flags::updates)) variables[program_.value(it.outputs[0]).variable] = true;
        steps_.push_back(std::move(s));
    }
    in_begin_.push_back(in);
    out_begin_.push_back(out);
    variables_.assign(variables.begin(), variables.end());

    check_numerics_ = o.check_numerics;
    if (check_numerics_) {
        std::set<int> sources;
        for (const int i : schedule_.order) {
            const program_item& it = program_.item(i);
            for (std::size_t k = 0; k < it.inputs.size(); ++k) {
                const int root = program_.root(it.inputs[k]);
                const program_value& v = program_.value(root);
                if (it.read[k] && (v.feed >= 0 || v.constant)) sources.insert(root);
            }
        }
        sources_.assign(sources.begin(), sources.end());
    }

    if (!schedule_.waits_for.empty()) side_by_side_ = o.side_by_side;
    for (std::size_t at = 0; at < steps_.size(); ++at) {
        if (side_by_side_ > 1)
            for (const int w : schedule_.waits_for[at]) {
                steps_[static_cast<std::size_t>(w)].successors.push_back(static_cast<int>(at));
                ++steps_[at].predecessors;
            }
        summary_.cost += steps_[at].cost;
        summary_.order.push_back(steps_[at].origin->name + " (" + program_.item(schedule_.order[at]).op->name + ")");
    }
    summary_.steps = static_cast<int>(steps_.size());
    summary_.folded = program_.folded;
    summary_.fused = program_.fused;
    summary_.arena_bytes = schedule_.memory.arena_bytes;
    summary_.lower_bound = schedule_.memory.lower_bound;
    summary_.fetched_bytes = schedule_.memory.fetched_bytes;
    summary_.largest = schedule_.memory.largest;
    if (!o.fits(summary_.peak_bytes())) {
        const std::size_t variable_bytes = device_->resources().bytes();
        std::string text = "this step needs " + std::to_string(summary_.peak_bytes()) + " bytes on " +
                           device_->attributes().name;
        if (variable_bytes) text += " beside the " + std::to_string(variable_bytes) + " of variables";
        text += ", of which " + std::to_string(device_->memory().limit()) + " may be used; the largest tensors:";
        throw resource_exhausted_error(text + largest_holders() +
                                       "\nfeed smaller batches, fetch less, or raise session_options::memory_limit");
    }
}

TENON_INLINE std::string plan::largest_holders() const {
    std::vector<memory_holder> holders = summary_.largest;
    const auto variables = device_->resources().largest();
    holders.insert(holders.end(), variables.begin(), variables.end());
    return tenon::largest_holders(std::move(holders));
}

TENON_INLINE plan::~plan() {
    delete spare_.load();
    while (frames_) {
        frame* next = frames_->next;
        delete frames_;
        frames_ = next;
    }
}

TENON_INLINE std::unique_ptr<plan::frame> plan::make_frame() {
    auto f = std::make_unique<frame>();
    try {
        f->arena = device_memory(*device_, schedule_.memory.arena_bytes);
    } catch (const resource_exhausted_error& e) {
        throw resource_exhausted_error("no memory for this step: " + std::string(e.what()) + "; the largest tensors:" +
                                       largest_holders() +
                                       "\nfeed smaller batches, or use a machine with more memory");
    }
    auto* base = static_cast<std::byte*>(f->arena.data());
    const auto address = [&](int v) -> const void* {
        const placement& p = schedule_.memory.placements[static_cast<std::size_t>(v)];
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
        for (std::size_t k = 0; k < it.inputs.size(); ++k)
            f->in.push_back(it.read[k] ? address(it.inputs[k]) : nullptr);
        for (const int v : it.outputs) {
            // A kernel of one output is spared the question whether anybody reads it.
            const bool wanted =
                it.outputs.size() == 1 || uses[static_cast<std::size_t>(v)] > 0 || program_.value(v).variable;
            f->out.push_back(wanted ? const_cast<void*>(address(v)) : nullptr);
        }
    }
    for (std::size_t s = 0; s < steps_.size(); ++s)
        f->runs.push_back(
            {f->in.data() + in_begin_[s], f->out.data() + out_begin_[s], base + schedule_.memory.scratch[s], nullptr});
    frames_made_.fetch_add(1, std::memory_order_relaxed);
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

TENON_INLINE void plan::run(frame& f, const any_array* const* feeds, any_array* fetched, const run_environment& e) {
    if (check_numerics_) check_sources(feeds);
    for (const patch& p : feed_in_) f.in[p.slot] = feeds[p.index]->data();
    std::size_t made = 0;
    try {
        for (; made < fetch_types_.size(); ++made)
            fetched[made] = any_array(fetch_types_[made].element, fetch_types_[made].extents);
    } catch (const resource_exhausted_error& error) {
        throw resource_exhausted_error("no memory for what is fetched of " + any_tensor(program_.fetched[made]).name() +
                                       ", " + to_string(fetch_types_[made]) + ": " + error.what());
    }
    for (const patch& p : fetch_out_) f.out[p.slot] = fetched[p.index].data();
    for (const patch& p : fetch_in_) f.in[p.slot] = fetched[p.index].data();

    const detail::variable_locks locked(variables_, e);
    constexpr double worth_waking = 1e5; // ns
    const thread_pool::keep_awake awake(summary_.cost > worth_waking ? e.pool : nullptr);
    if (side_by_side_ > 1 && e.pool) run_side_by_side(f, e);
    else run_in_order(f, e);
}

TENON_INLINE void plan::run_in_order(frame& f, const run_environment& e) {
    const bool plain = !e.traced && !check_numerics_ && !e.limited();
    std::size_t s = 0;
    try {
        if (plain) {
            for (; s < steps_.size(); ++s) {
                kernel_run& r = f.runs[s];
                r.pool = e.pool;
                steps_[s].kernel->run(r);
            }
        } else {
            for (; s < steps_.size(); ++s) run_step(s, f, e);
        }
    } catch (...) {
        rethrow_with_place(std::current_exception(), s);
    }
}

TENON_INLINE void plan::run_step(std::size_t s, frame& f, const run_environment& e) {
    kernel_run& r = f.runs[s];
    r.pool = e.pool;
    const auto now = [] { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); };
    const std::int64_t begin = e.traced ? now() : 0;
    if (e.limited()) {
        const auto late = [&] { return std::chrono::steady_clock::now() >= e.deadline; };
        const auto give_up = [&] { detail::exceed_limit(e, "it was waiting for"); };
        try {
            const stop_scope stop(late);
            steps_[s].kernel->run(r);
        } catch (const cancelled_error&) {
            if (late()) give_up();
            throw;
        }
        if (late()) give_up();
    } else steps_[s].kernel->run(r);
    if (e.traced)
        e.traced->add(steps_[s].origin->name, program_.item(schedule_.order[s]).op->name,
                      e.traced->row_of_this_thread(), begin, now());
    if (check_numerics_) check_numerics(s, f);
}

TENON_INLINE void plan::run_side_by_side(frame& f, const run_environment& e) {
    // A runner runs a node and goes on with what that made ready: cheap nodes itself, others are offered to further
    // runners, of which there are as many at a time as nodes may run. A runner without work takes what was offered in
    // vain. All is owned by this call; nothing of it is touched by a runner whose last node has been counted.
    struct state {
        std::vector<std::atomic<int>> waiting; // predecessors that have not ended
        std::atomic<int> left;
        std::atomic<bool> failed{false};
        std::mutex guard; // of what follows
        std::vector<int> offered;
        int runners = 1;
        std::exception_ptr first;
        std::size_t first_step = 0;
        explicit state(std::size_t n) : waiting(n), left(static_cast<int>(n)) {}

        // Another node for a runner that has none, or -1, and then it is none any more.
        int next() {
            const std::lock_guard lock(guard);
            if (offered.empty()) return --runners, -1;
            const int s = offered.front();
            offered.erase(offered.begin());
            return s;
        }
    };
    state st(steps_.size());
    for (std::size_t s = 0; s < steps_.size(); ++s)
        st.waiting[s].store(steps_[s].predecessors, std::memory_order_relaxed);

    struct runner {
        plan& p;
        frame& f;
        const run_environment& e;
        state& st;

        bool cheap(int s) const {
            constexpr double worth_a_task = 2e4; // ns: about what waking a thread costs
            return p.steps_[static_cast<std::size_t>(s)].cost < worth_a_task;
        }
        void offer(int s) const {
            {
                const std::lock_guard lock(st.guard);
                if (st.runners >= p.side_by_side_) {
                    st.offered.push_back(s);
                    return;
                }
                ++st.runners;
            }
            const runner again = *this;
            e.pool->submit([again, s] { again({s}); });
        }
        void operator()(std::vector<int> mine) const {
            thread_pool* const pool = e.pool; // the last step may end the caller's wait, and with it all but this
            while (!mine.empty()) {
                const int s = mine.back();
                mine.pop_back();
                if (!st.failed.load(std::memory_order_acquire)) {
                    try {
                        p.run_step(static_cast<std::size_t>(s), f, e);
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
                        if (mine.empty() || cheap(n)) mine.push_back(n);
                        else offer(n);
                    }
                if (mine.empty())
                    if (const int n = st.next(); n >= 0) mine.push_back(n);
                if (st.left.fetch_sub(1, std::memory_order_acq_rel) == 1) pool->wake();
            }
        }
    };
    const runner run{*this, f, e, st};
    std::vector<int> mine;
    for (int s = static_cast<int>(steps_.size()) - 1; s >= 0; --s)
        if (steps_[static_cast<std::size_t>(s)].predecessors == 0) mine.push_back(s);
    // The first, and those that are not worth a task, are for this thread.
    for (std::size_t n = mine.size() - 1; n-- > 0;)
        if (!run.cheap(mine[n])) {
            run.offer(mine[n]);
            mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(n));
        }
    run(std::move(mine));
    e.pool->work_until([&] { return st.left.load(std::memory_order_acquire) == 0; });
    if (st.first) rethrow_with_place(st.first, st.first_step);
}

namespace detail {

// The place of the first element that is not a finite number, or -1.
inline std::int64_t first_not_finite(const tensor_type& t, const void* data) {
    const std::int64_t n = t.extents.elements();
    const auto look = [&]<class T>(const T* p) {
        for (std::int64_t i = 0; i < n; ++i)
            if (!std::isfinite(static_cast<double>(p[i]))) return i;
        return std::int64_t{-1};
    };
    switch (t.element) {
    case element_type::float32: return look(static_cast<const float*>(data));
    case element_type::float64: return look(static_cast<const double*>(data));
    case element_type::float16: return look(static_cast<const half*>(data));
    case element_type::bfloat16: return look(static_cast<const bfloat16*>(data));
    default: return -1;
    }
}

} // namespace detail

// What the step begins with, so that no node is blamed for it.
TENON_INLINE void plan::check_sources(const any_array* const* feeds) const {
    for (const int s : sources_) {
        const program_value& v = program_.value(s);
        const any_array& value = v.feed >= 0 ? *feeds[v.feed] : *v.constant;
        const std::int64_t bad = detail::first_not_finite(v.type, value.data());
        if (bad >= 0)
            throw invalid_argument_error("check_numerics: element " + std::to_string(bad) + " of " +
                                         (v.feed >= 0 ? "what is fed for " : "the constant ") +
                                         any_tensor(v.origin).name() + ", " + to_string(v.type) +
                                         ", is not a finite number");
    }
}

TENON_INLINE void plan::check_numerics(std::size_t s, const frame& f) const {
    for (std::size_t o = 0; o < steps_[s].outputs.size(); ++o) {
        const tensor_type& t = program_.value(steps_[s].outputs[o]).type;
        const void* data = f.out[out_begin_[s] + o];
        if (!data) continue;
        const std::int64_t bad = detail::first_not_finite(t, data);
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
    } catch (const error& e) {
        throw_error(e.code(), e.what() + place);
    } catch (const std::bad_alloc&) {
        throw resource_exhausted_error("no memory for a kernel" + place);
    } catch (const std::exception& e) {
        throw internal_error(e.what() + place);
    }
}

} // namespace tenon::runtime
