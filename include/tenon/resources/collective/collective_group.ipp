#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include <tenon/concurrency/failure.hpp>
#include <tenon/resources/collective/collective_group.hpp>

namespace tenon {

TENON_INLINE const char* name_of(collective_kind k) noexcept {
    switch (k) {
    case collective_kind::sum: return "sum";
    case collective_kind::mean: return "mean";
    case collective_kind::gather: return "gather";
    case collective_kind::broadcast: return "broadcast";
    }
    return "unknown";
}

TENON_INLINE std::string to_string(const collective_signature& s) {
    tensor_type shown = s.type;
    if (s.kind == collective_kind::gather && shown.extents.rank() > 0) shown.extents[0] = extent();
    return std::string(name_of(s.kind)) + " " + s.name + " (" + to_string(shown) + ")";
}

TENON_INLINE void check_collective(const collective_signature& s) {
    const auto refuse = [&](const char* why) {
        throw invalid_argument_error("collective: " + to_string(s) + ": " + why);
    };
    if (!is_numeric(s.type.element) && s.kind != collective_kind::gather && s.kind != collective_kind::broadcast)
        refuse("only numbers have a sum");
    if (s.type.element == element_type::string || s.type.element == element_type::none)
        refuse("only numbers and bools go from process to process");
    if (s.kind == collective_kind::mean && !is_floating(s.type.element)) refuse("only floating numbers have a mean");
    if (s.kind == collective_kind::gather && s.type.extents.rank() == 0) refuse("a scalar has no rows to gather");
}

namespace detail {
struct entered_groups {
    std::mutex guard;
    std::map<std::string, std::weak_ptr<collective_group>> by_name;
    static entered_groups& get() {
        static auto& g = *new entered_groups;
        return g;
    }
};
} // namespace detail

struct collective_group::progress {
    struct flight {
        std::uint64_t number = 0;
        collective* one = nullptr;
    };
    struct issued {
        std::uint64_t number = 0;
        collective_signature what;
        double weight = 1;
        any_array value;
    };
    [[noreturn]] void throw_end() const { throw_error(code, why, reason); }
    // The one whose turn it is in this step, if it has come: it is flying then.
    bool take_next(std::uint64_t of_step, issued& i) {
        const std::lock_guard lock(guard);
        if (of == 0 || step != of_step) return false;
        const auto at = std::find_if(early.begin(), early.end(), [&](const auto& e) { return e.first == next; });
        if (at == early.end()) return false;
        collective& c = *at->second;
        flying.push_back({i.number = ++last, &c});
        c.numbered();
        early.erase(at);
        if (++next == of) next = of = 0;
        i.what = c.what;
        i.weight = c.weight;
        i.value = std::move(c.value);
        return true;
    }

    mutable std::mutex guard;                       // of what follows
    std::uint64_t step = 0;                         // which is not through with its collectives
    int next = 0, of = 0;                           // whose turn it is; of none: there is no such step
    std::vector<std::pair<int, collective*>> early; // whose turn has not come
    std::vector<flight> flying;
    std::uint64_t last = 0; // number
    bool ended = false;
    error_code code{};
    error_reason reason{};
    std::string why;
};

TENON_INLINE collective_group::collective_group(std::string name, int rank, int size) :
    name_(std::move(name)), rank_(rank), size_(size), progress_(std::make_unique<progress>()) {}
TENON_INLINE collective_group::~collective_group() = default;

TENON_INLINE void collective_group::enter(const std::shared_ptr<collective_group>& g) {
    detail::entered_groups& all = detail::entered_groups::get();
    const std::lock_guard lock(all.guard);
    std::weak_ptr<collective_group>& at = all.by_name[g->name()];
    if (!at.expired())
        throw already_exists_error("this process has a group of processes called \"" + g->name() +
                                   "\" already; use that one, or give this one another name");
    at = g;
}
TENON_INLINE std::shared_ptr<collective_group> collective_group::called(const std::string& name) {
    detail::entered_groups& all = detail::entered_groups::get();
    const std::lock_guard lock(all.guard);
    const auto at = all.by_name.find(name);
    return at == all.by_name.end() ? nullptr : at->second.lock();
}

TENON_INLINE void collective_group::check() const {
    const std::lock_guard lock(progress_->guard);
    if (progress_->ended) progress_->throw_end();
}
TENON_INLINE bool collective_group::has_ended() const noexcept {
    const std::lock_guard lock(progress_->guard);
    return progress_->ended;
}

TENON_INLINE void collective_group::begin(collective& c, collective_turn t) {
    check_collective(c.what);
    progress& p = *progress_;
    {
        const std::lock_guard lock(p.guard);
        if (p.ended) p.throw_end();
        if (p.of > 0 && p.step != t.step)
            throw failed_precondition_error(to_string(c.what) + " of group " + name_ +
                                            ": another step is not through with its collectives. Processes could not "
                                            "agree on the order of two steps at "
                                            "once; run steps that have collectives one after another");
        p.early.emplace_back(t.number, &c);
        p.step = t.step;
        p.of = t.of;
    }
    for (progress::issued i; p.take_next(t.step, i);) {
        try {
            issue(i.number, i.what, i.weight, std::move(i.value));
        } catch (const error& e) {
            (void)fail(e.code(), e.what(), e.reason(), true);
        } catch (const std::exception& e) {
            (void)fail(error_code::resource_exhausted, e.what(), error_reason::none, true);
        }
    }
}

TENON_INLINE bool collective_group::stop(collective& c) noexcept {
    bool found = false, begun = false;
    std::string what;
    {
        progress& p = *progress_;
        const std::lock_guard lock(p.guard);
        found = std::erase_if(p.early, [&](const auto& e) { return e.second == &c; }) > 0;
        begun = found && p.next > 0;
        if (found && !begun && p.early.empty()) p.of = 0;
        if (std::erase_if(p.flying, [&](const auto& f) { return f.one == &c; }) > 0) found = begun = true;
        if (!found) return false;
    }
    if (begun) {
        try {
            what = member(rank_) + " has stopped a step in " + to_string(c.what) + " of group " + name_ +
                   ", or the step has failed there; the processes must begin again, from a checkpoint";
        } catch (...) { // no memory for words
        }
        abort(error_code::aborted, what);
    }
    return true;
}

TENON_INLINE void collective_group::abort(error_code code, const std::string& why) noexcept {
    (void)fail(code, why, error_reason::none, true);
}

TENON_INLINE std::string collective_group::awaited(const collective& c) const {
    std::uint64_t number = 0;
    std::string text = to_string(c.what);
    {
        const std::lock_guard lock(progress_->guard);
        for (const progress::flight& f : progress_->flying)
            if (f.one == &c) number = f.number;
        if (number == 0)
            for (const auto& [turn, one] : progress_->early)
                if (one == &c)
                    return text + " of group " + name_ + ", number " + std::to_string(turn + 1) + " of the " +
                           std::to_string(progress_->of) + " of its step, of which number " +
                           std::to_string(progress_->next + 1) + " has not begun in this process";
    }
    text += ", number " + std::to_string(number) + " of group " + name_;
    const std::string who = number == 0 ? std::string() : missing(number);
    return who.empty() ? text : text + "; " + who;
}

TENON_INLINE void collective_group::finish(std::uint64_t sequence, any_array result) noexcept {
    collective* c = nullptr;
    {
        std::vector<progress::flight>& flying = progress_->flying;
        const std::lock_guard lock(progress_->guard);
        const auto at = std::find_if(flying.begin(), flying.end(), [&](const auto& f) { return f.number == sequence; });
        if (at == flying.end()) return;
        c = at->one;
        flying.erase(at);
        c->value = std::move(result);
    }
    c->completed(nullptr);
}

TENON_INLINE bool collective_group::fail(error_code code, const std::string& why, error_reason reason,
                                         bool tells) noexcept {
    std::vector<progress::flight> flying;
    std::vector<std::pair<int, collective*>> early;
    {
        const std::lock_guard lock(progress_->guard);
        if (progress_->ended) return false;
        progress_->ended = true;
        progress_->code = code;
        progress_->reason = reason;
        try {
            progress_->why = why;
        } catch (...) { // no memory for words
        }
        flying.swap(progress_->flying);
        early.swap(progress_->early);
        progress_->of = 0;
    }
    std::exception_ptr failure = thrown_by([&] { progress_->throw_end(); });
    for (const progress::flight& f : flying) f.one->completed(failure);
    for (const auto& [turn, c] : early) c->completed(failure);
    end(code, why, reason, tells);
    return true;
}

} // namespace tenon
