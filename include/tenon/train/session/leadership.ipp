#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

#include <tenon/core/text/process_name.hpp>
#include <tenon/core/xxh64.hpp>
#include <tenon/ops/control/control.hpp>
#include <tenon/train/session/host_scope.hpp>
#include <tenon/train/session/leadership.hpp>

namespace tenon::detail {

// "process 12 on host7 (5f02c3aa)"
inline std::string name_of_candidate() {
    return process_name() + " (" + text_of_xxh64(std::random_device()()).substr(14) + ")";
}

TENON_INLINE leadership::leadership(leadership_options o, const any_tensor& first_variable) :
    options_(std::move(o)), own_name_(name_of_candidate()) {
    const host_scope there(first_variable); // whose task all of them use
    const any_tensor held = add<lease_op>({options_.name}, {}, "chief");
    holder_in_ = untyped::placeholder(element_type::string, extents(), "chief/who");
    seconds_in_ = untyped::placeholder(element_type::float64, extents(), "chief/seconds");
    known_in_ = untyped::placeholder(element_type::int64, extents(), "chief/known");
    const any_tensor claimed = add<claim_lease_op>({}, {held, holder_in_, seconds_in_, known_in_}, "chief/claim");
    for (int i = 0; i < 3; ++i) standing_.push_back(any_tensor(node_output{claimed.node(), i}));
}

TENON_INLINE void leadership::ask(session& s, double seconds, double limit) {
    any_array who(element_type::string, {}), length(element_type::float64, {}), known(element_type::int64, {});
    *who.data<std::string>() = own_name_;
    *length.data<double>() = seconds;
    {
        const std::lock_guard lock(guard_);
        *known.data<std::int64_t>() = known_.term;
    }
    const lease::time_point began = std::chrono::steady_clock::now();
    std::vector<any_array> fed;
    fed.push_back(std::move(who));
    fed.push_back(std::move(length));
    fed.push_back(std::move(known));
    const std::vector<any_array> is =
        s.callable_untyped({holder_in_, seconds_in_, known_in_}, standing_, {}).run_for(limit, fed);
    lease::standing now;
    now.holder = *is[0].data<std::string>();
    now.term = *is[1].data<std::int64_t>();
    const std::lock_guard lock(guard_);
    const bool led = known_.is(own_name_), leads = now.is(own_name_);
    if (leads && seconds > 0)
        until_ = began + std::chrono::duration_cast<lease::duration>(std::chrono::duration<double>(seconds));
    if (!leads) until_ = {};
    if (!now.holder.empty()) led_last_ = leads;
    if (!now.holder.empty() || now.term >= known_.term) forgotten_ = {};
    else if (forgotten_ == lease::time_point{}) forgotten_ = began;
    now.term = std::max(now.term, known_.term);
    const bool as_meant = options_.leads_first && known_.term == 0; // what everybody expects is not said
    const bool differs = !as_meant && leads != led;
    known_ = std::move(now);
    if (differs && seconds >= 0 && options_.log)
        options_.log(leads ? "session: this process is the chief, term " + std::to_string(known_.term)
                           : "session: this process is the chief no more; " +
                                 (known_.holder.empty() ? std::string("nobody is") : known_.holder + " is"));
}

TENON_INLINE bool leadership::claim(session& s) { return claim_within(s, std::max(options_.seconds, 10.0)); }

TENON_INLINE bool leadership::claim_within(session& s, double limit) {
    bool may = options_.leads_first;
    if (!may) { // where another had it and is gone: who would have it again has the time of a lease
        ask(s, 0, limit);
        const std::lock_guard lock(guard_);
        const bool waits =
            forgotten_ != lease::time_point{} && !led_last_ &&
            std::chrono::steady_clock::now() - forgotten_ < std::chrono::duration<double>(options_.seconds);
        may = known_.is(own_name_) || (known_.holder.empty() && known_.term > 0 && !waits);
    }
    if (may) ask(s, options_.seconds, limit);
    return leads();
}

TENON_INLINE bool leadership::leads() const {
    const std::lock_guard lock(guard_);
    return known_.is(own_name_) && std::chrono::steady_clock::now() < until_;
}

TENON_INLINE std::string leadership::chief() const {
    const std::lock_guard lock(guard_);
    return known_.holder.empty() ? std::string("nobody") : known_.holder + ", term " + std::to_string(known_.term);
}

TENON_INLINE void leadership::join(session& s) {
    leave();
    (void)claim(s);
    const std::lock_guard lock(guard_);
    with_ = &s;
    claims_.emplace(options_.seconds, [this, &s] {
        (void)claim_within(s, std::max(options_.seconds / 3, 1.0)); // who leaves may wait so long
    });
}

TENON_INLINE void leadership::leave() noexcept {
    {
        const std::lock_guard lock(guard_);
        with_ = nullptr;
    }
    claims_.reset();
}

TENON_INLINE void leadership::give_back() noexcept {
    session* s = nullptr;
    {
        const std::lock_guard lock(guard_);
        s = with_;
    }
    leave();
    if (!s || !leads()) return;
    try {
        ask(*s, -1, 1);
    } catch (...) { // it runs out
    }
}

} // namespace tenon::detail
