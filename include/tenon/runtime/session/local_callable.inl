#pragma once

#include <memory>
#include <utility>
#include <vector>

#include <tenon/runtime/session/local_pending.inl>

// A part of runtime/session/local_session.ipp: callables.

namespace tenon::detail {

TENON_INLINE void local_callable::run(const any_array* const* fed, any_array* fetched, double timeout) {
    naming_out_of_memory([&] { return step_of(request()); }, [&] { run_now(fed, fetched, timeout); });
}

TENON_INLINE void local_callable::run_now(const any_array* const* fed, any_array* fetched, double timeout) {
    local_session& s = *session_;
    s.require_open();
    s.require_limit(timeout);
    const auto run_with = [&](std::optional<runtime::step_plan::lease>& p) {
        bool fits = p && (*p)->is_measured() == s.is_measuring() && (*p)->epoch() == s.epoch() && (*p)->accepts(fed);
        for (std::size_t i = 0; i < feeds().size() && fits; ++i) fits = fed[i]->element() == feeds()[i].element();
        if (!fits) {
            for (std::size_t i = 0; i < feeds().size(); ++i) s.require_fit(feeds()[i], *fed[i]);
            p.emplace(s.plan_for(feeds(), fed, request()));
        }
        s.run(*p, fed, fetched, timeout);
    };
    std::optional<runtime::step_plan::lease> own;
    if (busy_.exchange(true, std::memory_order_acquire)) {
        run_with(own);
        return;
    }
    try {
        run_with(last_);
    } catch (...) {
        last_.reset();
        busy_.store(false, std::memory_order_release);
        throw;
    }
    busy_.store(false, std::memory_order_release);
}

TENON_INLINE std::shared_ptr<pending_state> local_callable::start(std::vector<any_array> fed, double timeout) {
    return start(std::move(fed), timeout, nullptr, {});
}

TENON_INLINE std::shared_ptr<pending_state> local_callable::start(std::vector<any_array> fed, double timeout, trace* t,
                                                                  completed then, step::clock::time_point deadline) {
    return naming_out_of_memory([&] { return step_of(request()); },
                                [&] { return start_now(std::move(fed), timeout, t, std::move(then), deadline); });
}

TENON_INLINE void local_callable::plan(const std::vector<any_array>& fed) {
    naming_out_of_memory([&] { return step_of(request()); }, [&] { (void)planned_for(fed); });
}

TENON_INLINE std::shared_ptr<runtime::step_plan> local_callable::planned_for(const std::vector<any_array>& fed) const {
    std::vector<const any_array*> values;
    for (std::size_t i = 0; i < feeds().size(); ++i) {
        session_->require_fit(feeds()[i], fed[i]);
        values.push_back(&fed[i]);
    }
    return session_->plan_for(feeds(), values.data(), request());
}

TENON_INLINE std::vector<runtime::awaited> local_callable::waits_of(pending_state& step) {
    return static_cast<local_pending&>(step).waits();
}
TENON_INLINE std::shared_ptr<pending_state> local_callable::start_now(std::vector<any_array> fed, double timeout,
                                                                      trace* t, completed then,
                                                                      step::clock::time_point deadline) {
    session_->require_open();
    session_->require_limit(timeout);
    auto plan = planned_for(fed);
    auto p = std::make_shared<local_pending>(session_, std::move(plan), std::move(fed), request().fetches.size(),
                                             std::move(then));
    local_pending::start(p, timeout, t, deadline);
    return p;
}

} // namespace tenon::detail
