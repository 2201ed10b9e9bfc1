#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include <tenon/core/array/print.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/text/number_text.hpp>
#include <tenon/core/with_element.hpp>
#include <tenon/train/optimize/schedules.hpp>
#include <tenon/train/session/session_hook.hpp>

namespace tenon {

namespace detail {

TENON_INLINE hook_period checked_period(hook_period p, const char* whose) {
    if (p.steps < 0 || !(p.seconds >= 0))
        throw invalid_argument_error(std::string(whose) + ": a period of " + std::to_string(p.steps) + " steps and " +
                                     detail::text_of_number(p.seconds) +
                                     " s; give positive numbers, or 0 for what does not count");
    if (p.steps == 0 && !(p.seconds > 0)) p.steps = 100;
    return p;
}

inline void tell(const hook_log& to, const std::string& line) {
    if (to) to(line);
    else std::fprintf(stderr, "%s\n", line.c_str());
}

TENON_INLINE bool can_compute_all(const hook_context& c, const std::vector<any_tensor>& all) {
    return std::all_of(all.begin(), all.end(), [&](const any_tensor& x) { return c.can_compute(x); });
}

inline std::string steps_per_second(double rate) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g steps/s", rate);
    return text;
}

// Without its type: "0.25"; more than a line begins on one of its own.
inline std::string value_text(const any_array& a) {
    const std::string text = to_string(a);
    const std::size_t elements = text.find_first_of(" \n");
    if (elements == std::string::npos) return text;
    const std::string shown = text.substr(elements + 1);
    return (shown.find('\n') == std::string::npos ? "" : "\n") + shown;
}

struct stop_at_step_hook final : session_hook {
    explicit stop_at_step_hook(std::int64_t n) : last(n) {}
    void begin() override { global = global_step(); }
    void opened(hook_context& c, bool) override {
        if (c.session().run_untyped({}, {global})[0].data<std::int64_t>()[0] >= last) c.request_stop();
    }
    void after_run(hook_context& c, const std::vector<any_array>&) override {
        if (c.step() < last) return;
        // What the step has read is from before it, and it may not have counted.
        if (c.session().run_untyped({}, {global})[0].data<std::int64_t>()[0] >= last) c.request_stop();
    }
    const std::int64_t last;
    any_tensor global;
};

struct log_hook final : session_hook {
    log_hook(std::vector<any_tensor> t, hook_period p, hook_log l) :
        tensors(std::move(t)), timer(checked_period(p, "log_tensors")), to(std::move(l)) {
        for (const any_tensor& x : tensors) require_node(x.node(), "log_tensors: a tensor");
    }
    std::vector<any_tensor> before_run(hook_context& c) override {
        is_due = timer.due(c.step() + 1, c.now()) && can_compute_all(c, tensors);
        return is_due ? tensors : std::vector<any_tensor>();
    }
    void after_run(hook_context& c, const std::vector<any_array>& fetched) override {
        if (!is_due) return;
        std::string line = "step " + std::to_string(c.step()) + ":";
        for (std::size_t i = 0; i < tensors.size(); ++i)
            line += (i ? ", " : " ") + tensors[i].name() + " = " + value_text(fetched[i]);
        timer.set(c.step(), c.now());
        tell(to, line);
    }
    const std::vector<any_tensor> tensors;
    hook_timer timer;
    const hook_log to;
    bool is_due = false;
};

struct nan_hook final : session_hook {
    nan_hook(const any_tensor& l, bool s) : loss(l), stop(s) {
        if (!is_floating(l.element()))
            throw invalid_argument_error("nan_guard: " + loss.name() + " is " + to_string(loss.type()) +
                                         "; give it a floating tensor");
    }
    std::vector<any_tensor> before_run(hook_context& c) override {
        return c.can_compute(loss) ? std::vector{loss} : std::vector<any_tensor>();
    }
    void after_run(hook_context& c, const std::vector<any_array>& fetched) override {
        if (fetched.empty()) return;
        const any_array& a = fetched[0];
        bool good = true;
        with_element(a.element(), [&]<class T>(const T&) {
            if constexpr (is_floating(element_type_of<T>)) {
                const T* const at = a.data<T>();
                for (std::int64_t i = 0; i < a.elements(); ++i)
                    good = good && std::isfinite(static_cast<double>(at[i]));
            }
        });
        if (good) return;
        if (stop) c.request_stop();
        else
            throw failed_precondition_error("nan_guard: " + loss.name() + " is " + value_text(a) + " in step " +
                                            std::to_string(c.step()) +
                                            ": training has diverged; try a smaller learning rate, or clip gradients");
    }
    const any_tensor loss;
    const bool stop;
};

struct rate_hook final : session_hook {
    rate_hook(hook_period p, hook_log l) : timer(checked_period(p, "step_rate")), to(std::move(l)) {}
    void opened(hook_context& c, bool) override { timer.set(c.step(), c.now()); }
    void after_run(hook_context& c, const std::vector<any_array>&) override {
        if (!timer.due(c.step(), c.now())) return;
        const double seconds = c.now() - timer.at();
        if (seconds > 0)
            tell(to, "step " + std::to_string(c.step()) + ": " +
                         steps_per_second(static_cast<double>(c.step() - timer.step()) / seconds));
        timer.set(c.step(), c.now());
    }
    hook_timer timer;
    const hook_log to;
};

} // namespace detail

TENON_INLINE std::shared_ptr<session_hook> stop_at_step(std::int64_t last) {
    return std::make_shared<detail::stop_at_step_hook>(last);
}
TENON_INLINE std::shared_ptr<session_hook> log_tensors(std::vector<any_tensor> tensors, hook_period every,
                                                       hook_log to) {
    return std::make_shared<detail::log_hook>(std::move(tensors), every, std::move(to));
}
TENON_INLINE std::shared_ptr<session_hook> nan_guard(const any_tensor& loss, bool stop) {
    return std::make_shared<detail::nan_hook>(loss, stop);
}
TENON_INLINE std::shared_ptr<session_hook> step_rate(hook_period every, hook_log to) {
    return std::make_shared<detail::rate_hook>(every, std::move(to));
}

} // namespace tenon
